package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	business "github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// calendarShown is a calendar as the API shows it.
type calendarShown struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Timezone  string          `json:"timezone" description:"IANA name." example:"Europe/Berlin"`
	Week      week            `json:"week" description:"The hours that begin on each day. A day without hours is left out."`
	Holidays  []holiday       `json:"holidays" description:"Dates that are closed, from midnight to midnight, by date."`
	IsOpen    bool            `json:"is_open" description:"Whether now is within the hours."`
	ChangesAt *transport.Time `json:"changes_at" description:"When the hours begin or end next. Null if that is more than a year away."`
	CreatedAt transport.Time  `json:"created_at"`
	UpdatedAt transport.Time  `json:"updated_at"`
}

// Stable implements [Stabler]: the time of day is no change that an editor could overwrite.
func (c calendarShown) Stable() any {
	c.IsOpen, c.ChangesAt = false, nil
	return c
}

// week has the spans of each day.
type week struct {
	Mon []span `json:"mon,omitempty" maxItems:"12" description:"Hours that begin on Monday."`
	Tue []span `json:"tue,omitempty" maxItems:"12" description:"Hours that begin on Tuesday."`
	Wed []span `json:"wed,omitempty" maxItems:"12" description:"Hours that begin on Wednesday."`
	Thu []span `json:"thu,omitempty" maxItems:"12" description:"Hours that begin on Thursday."`
	Fri []span `json:"fri,omitempty" maxItems:"12" description:"Hours that begin on Friday."`
	Sat []span `json:"sat,omitempty" maxItems:"12" description:"Hours that begin on Saturday."`
	Sun []span `json:"sun,omitempty" maxItems:"12" description:"Hours that begin on Sunday."`
}

// days are the fields of a week by time.Weekday.
func (w *week) days() [7]*[]span {
	return [7]*[]span{&w.Sun, &w.Mon, &w.Tue, &w.Wed, &w.Thu, &w.Fri, &w.Sat}
}

type span struct {
	From string `json:"from" required:"true" description:"hh:mm" example:"09:00"`
	To   string `json:"to" required:"true" description:"End, hh:mm up to 24:00. If before from, on the next day." example:"17:30"`
}

type holiday struct {
	From string `json:"from" required:"true" description:"First date, yyyy-mm-dd." example:"2026-12-24"`
	To   string `json:"to" required:"true" description:"Last date." example:"2026-12-26"`
	Name string `json:"name" maxLength:"100" example:"Christmas"`
}

type calendarInput struct {
	Name     string                 `json:"name" required:"true" maxLength:"100" example:"Office"`
	Timezone string                 `json:"timezone" required:"true" description:"IANA name." example:"Europe/Berlin"`
	Week     week                   `json:"week" required:"true" description:"The hours that begin on each day, without overlaps. At least one day has some."`
	Holidays storage.Opt[[]holiday] `json:"holidays" maxItems:"500" description:"Dates that are closed, from midnight to midnight."`
}

type calendarUpdate struct {
	calendarID
	Name     storage.Opt[string]    `json:"name" maxLength:"100" description:"Name of the calendar."`
	Timezone storage.Opt[string]    `json:"timezone" description:"IANA name."`
	Week     storage.Opt[week]      `json:"week" description:"Replaces the whole week."`
	Holidays storage.Opt[[]holiday] `json:"holidays" maxItems:"500" description:"Replaces all holidays. Null or empty: none."`
}

type calendarID struct {
	CalendarID int64 `path:"calendar_id"`
}

const (
	calendarsPath = accountPath + "/calendars"
	calendarPath  = calendarsPath + "/{calendar_id}"
)

func (a *api) addCalendars(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Calendars", Summary: summary, Description: description}
	}
	create := op("createCalendar", http.MethodPost, calendarsPath, "Create a calendar",
		"Business hours, as automatic replies use them. Hours are read off the clock on the wall, also in the nights of daylight "+
			"saving. 422 if the name is taken, ignoring case. At most 100 per account. Needs calendars.create and all mailboxes.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in calendarInput) (calendarShown, error) {
		input := calendarUpdate{Name: storage.Some(in.Name), Timezone: storage.Some(in.Timezone), Week: storage.Some(in.Week), Holidays: in.Holidays}
		made, err := d.Calendars().Create(ctx, input.input())
		return a.showCalendar(made), err
	})
	transport.HandlePage(t, a.desk, op("listCalendars", http.MethodGet, calendarsPath, "List calendars", "Oldest first. Needs calendars.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[calendarShown], error) {
			page, err := d.Calendars().List(ctx, in.Request())
			return mapPage(page, func(c helpdesk.Calendar) calendarShown { return a.showCalendar(c) }), err
		})
	transport.Handle(t, a.desk, op("getCalendar", http.MethodGet, calendarPath, "Retrieve a calendar", "Needs calendars.view."),
		func(ctx context.Context, d *helpdesk.Desk, in calendarID) (calendarShown, error) {
			found, err := d.Calendars().Get(ctx, in.CalendarID)
			return a.showCalendar(found), err
		})
	transport.Handle(t, a.desk, op("updateCalendar", http.MethodPut, calendarPath, "Update a calendar", "Needs calendars.update and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in calendarUpdate) (calendarShown, error) {
			changed, err := d.Calendars().Update(ctx, in.CalendarID, in.input())
			return a.showCalendar(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteCalendar", http.MethodDelete, calendarPath, "Delete a calendar",
		"409 if an automatic reply uses it; the message names the reply. Needs calendars.delete and all mailboxes."),
		func(ctx context.Context, d *helpdesk.Desk, in calendarID) error {
			return d.Calendars().Delete(ctx, in.CalendarID)
		})
}

// input reads the texts of times and dates. What is none becomes an invalid value, which the service refuses with all else.
func (in calendarUpdate) input() helpdesk.CalendarInput {
	out := helpdesk.CalendarInput{Name: in.Name, Timezone: in.Timezone}
	clock := func(text string) business.Clock {
		c, err := business.ParseClock(text)
		if err != nil {
			return -1
		}
		return c
	}
	date := func(text string) business.Date {
		d, _ := business.ParseDate(text) // the zero Date is invalid
		return d
	}
	if given, ok := in.Week.Get(); ok {
		var all business.Week
		for day, spans := range given.days() {
			for _, s := range *spans {
				all[day] = append(all[day], business.Span{From: clock(s.From), To: clock(s.To)})
			}
		}
		out.Week = storage.Some(all)
	}
	if in.Holidays.IsSet() {
		var all []business.Holiday
		for _, h := range in.Holidays.Or(nil) {
			all = append(all, business.Holiday{From: date(h.From), To: date(h.To), Name: h.Name})
		}
		out.Holidays = storage.Some(all)
	}
	return out
}

func (a *api) showCalendar(c helpdesk.Calendar) calendarShown {
	out := calendarShown{
		ID: c.ID, Name: c.Name, Timezone: c.Timezone, Holidays: make([]holiday, len(c.Holidays)),
		CreatedAt: transport.Time(c.CreatedAt), UpdatedAt: transport.Time(c.UpdatedAt),
	}
	for day, spans := range out.Week.days() {
		for _, s := range c.Week[day] {
			*spans = append(*spans, span{From: s.From.String(), To: s.To.String()})
		}
	}
	for n, h := range c.Holidays {
		out.Holidays[n] = holiday{From: h.From.String(), To: h.To.String(), Name: h.Name}
	}
	if hours, err := c.Hours(); err == nil {
		now := a.seen.now()
		out.IsOpen = hours.Open(now)
		if at, err := hours.Next(now); err == nil {
			out.ChangesAt = transport.TimePtr(&at)
		}
	}
	return out
}
