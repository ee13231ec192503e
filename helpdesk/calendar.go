package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Calendar are business hours with a name.
type Calendar struct {
	ID        int64
	Name      string
	Key       string // case-folded Name; unique in the account
	Timezone  string // IANA name
	Week      hours.Week
	Holidays  []hours.Holiday
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UniqueCalendar is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueCalendar = "calendar"

// MaxCalendars is the maximum number of calendars in an account.
const MaxCalendars = 100

// CalendarInput creates or changes a calendar. Absent fields are unchanged; a new calendar needs all but Holidays.
type CalendarInput struct {
	Name     storage.Opt[string] // at most 100 characters
	Timezone storage.Opt[string] // IANA name
	Week     storage.Opt[hours.Week]
	Holidays storage.Opt[[]hours.Holiday]
}

// calendarNoun declares the rows of calendars.
func calendarNoun() storage.Declared[Calendar, storage.NoFilter] {
	return storage.Declared[Calendar, storage.NoFilter]{
		Noun: storage.Noun[Calendar]{
			Name: "calendar",
			ID:   func(t *Calendar) *int64 { return &t.ID },
			Unique: []storage.Unique[Calendar]{
				{Code: UniqueCalendar, Index: "key", Fields: func(t *Calendar) []any { return []any{&t.Key} }},
			},
		},
		Key: "calendar", Plural: "calendars",
		Columns: []storage.Column[Calendar]{
			{Name: "name", Field: func(t *Calendar) any { return &t.Name }},
			{Name: "name_key", Field: func(t *Calendar) any { return &t.Key }},
			{Name: "timezone", Field: func(t *Calendar) any { return &t.Timezone }},
			{Name: "week", Field: func(t *Calendar) any { return storedWeek{&t.Week} }},
			{Name: "holidays", Field: func(t *Calendar) any {
				return storage.Objects(&t.Holidays, func(h hours.Holiday) []string { return []string{h.Name} })
			}},
			{Name: "created_at", Field: func(t *Calendar) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Calendar) any { return &t.UpdatedAt }},
		},
	}
}

// storedWeek stores a week as a [storage.Value]: the spans of each day, Sunday first.
type storedWeek struct{ week *hours.Week }

// Text implements [storage.Value].
func (s storedWeek) Text() (string, error) {
	text, err := json.Marshal(s.week)
	return string(text), err
}

// Read implements [storage.Value].
func (s storedWeek) Read(text string) error {
	*s.week = hours.Week{}
	return json.Unmarshal([]byte(text), s.week)
}

func (c Calendar) plan() hours.Plan {
	return hours.Plan{Timezone: c.Timezone, Week: c.Week, Holidays: c.Holidays}
}

// Hours returns what the calendar computes with.
func (c Calendar) Hours() (*hours.Calendar, error) { return hours.New(c.plan()) }

// apply validates in and copies it into c.
func (c *Calendar) apply(in CalendarInput) error {
	var problems fault.Collector
	c.Name = plain.Line(in.Name.Or(c.Name))
	c.Key = tagKey(c.Name)
	required(&problems, "name", c.Name, 100)
	c.Timezone, c.Week = plain.Line(in.Timezone.Or(c.Timezone)), in.Week.Or(c.Week)
	c.Holidays = slices.Clone(in.Holidays.Or(c.Holidays))
	for n := range c.Holidays[:min(len(c.Holidays), hours.MaxHolidays)] {
		c.Holidays[n].Name = plain.Line(c.Holidays[n].Name)
		bounded(&problems, fmt.Sprintf("holidays[%d][name]", n), c.Holidays[n].Name, 100)
	}
	c.plan().Check(&problems)
	if problems.Err() == nil { // in the order in which all read them
		for n := range c.Week {
			c.Week[n] = slices.SortedFunc(slices.Values(c.Week[n]), func(a, b hours.Span) int { return int(a.From - b.From) })
		}
		slices.SortStableFunc(c.Holidays, func(a, b hours.Holiday) int { return strings.Compare(a.From.String(), b.From.String()) })
	}
	return problems.Err()
}

// Calendars are opening hours with holidays.
type Calendars struct{ *desk }

// Calendars returns the handle of calendars.
func (d *Desk) Calendars() Calendars { return Calendars{&d.desk} }

// Get returns a calendar. It needs calendars.view.
func (d Calendars) Get(ctx context.Context, id int64) (Calendar, error) {
	r, err := d.guard.Read(identity.CalendarsView)
	if err != nil {
		return Calendar{}, err
	}
	return calendarNoun().Reader(r).Get(ctx, id)
}

// List lists the account's calendars, oldest first. It needs calendars.view.
func (d Calendars) List(ctx context.Context, req storage.PageRequest) (storage.Page[Calendar], error) {
	r, err := d.guard.Read(identity.CalendarsView)
	if err != nil {
		return storage.Page[Calendar]{}, err
	}
	return storage.List(req, false, func(c Calendar) storage.Position { return storage.Position{ID: c.ID} },
		func(seek storage.Seek) ([]Calendar, error) {
			return calendarNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
		})
}

// Create creates a calendar. It needs calendars.create and all mailboxes. A name that another calendar has, ignoring
// case, is an Invalid fault on name; more than [MaxCalendars] are a Conflict fault.
func (d Calendars) Create(ctx context.Context, in CalendarInput) (Calendar, error) {
	begin, err := d.guard.Write(identity.CalendarsCreate)
	if err != nil {
		return Calendar{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Calendar{}, err
	}
	now := d.svc.now()
	c := Calendar{CreatedAt: now, UpdatedAt: now}
	if err := c.apply(in); err != nil {
		return Calendar{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		some, err := calendarNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxCalendars})
		if err != nil {
			return err
		}
		if len(some) >= MaxCalendars {
			return fault.Newf(fault.Conflict, "An account has at most %d calendars.", MaxCalendars)
		}
		if err := calendarNoun().Rows(tx).Insert(ctx, &c); err != nil {
			return err
		}
		return d.emit(ctx, tx, "calendar.created", c.ID, 0)
	})
	return c, takenField(err, UniqueCalendar, "name")
}

// Update changes a calendar. It needs calendars.update and all mailboxes.
func (d Calendars) Update(ctx context.Context, id int64, in CalendarInput) (Calendar, error) {
	begin, err := d.guard.Write(identity.CalendarsUpdate)
	if err != nil {
		return Calendar{}, err
	}
	defer d.svc.slaCache.forget(d.scope.AccountID)
	if err := d.reachesAll(); err != nil {
		return Calendar{}, err
	}
	var c Calendar
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := calendarNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		c = old
		if err := c.apply(in); err != nil {
			return err
		}
		c.UpdatedAt = d.svc.now()
		if err := calendarNoun().Rows(tx).Update(ctx, &c); err != nil {
			return err
		}
		if err := d.svc.slasChanged(ctx, tx, d.scope.AccountID, false); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "calendar.updated", c.ID, 0, ofCalendar(old, c))
	})
	return c, takenField(err, UniqueCalendar, "name")
}

// Delete removes a calendar. It needs calendars.delete and all mailboxes. One that an automatic reply, a rule or an SLA uses
// is a Conflict fault that names it.
func (d Calendars) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.CalendarsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil { // no reply begins to use it meanwhile
			return err
		}
		if _, err := calendarNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		all, err := autoReplyNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		var users []string
		for _, a := range all {
			if a.CalendarID == id {
				users = append(users, "“"+a.Name+"”")
			}
		}
		if len(users) > 0 {
			return fault.Newf(fault.Conflict, "The calendar is used by automatic replies: %s.", strings.Join(users, ", "))
		}
		rules, err := allRules(ctx, tx.Reader())
		if err != nil {
			return err
		}
		for _, r := range rules {
			if r.usesCalendar(id) {
				users = append(users, "“"+r.Name+"”")
			}
		}
		if len(users) > 0 {
			return fault.Newf(fault.Conflict, "The calendar is used by rules: %s.", strings.Join(users, ", "))
		}
		slas, err := allSLAs(ctx, tx.Reader())
		if err != nil {
			return err
		}
		for _, s := range slas {
			if s.CalendarID == id {
				users = append(users, "“"+s.Name+"”")
			}
		}
		if len(users) > 0 {
			return fault.Newf(fault.Conflict, "The calendar is used by SLAs: %s.", strings.Join(users, ", "))
		}
		if err := calendarNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "calendar.deleted", id, 0)
	})
}
