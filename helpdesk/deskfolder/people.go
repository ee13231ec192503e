package deskfolder

import (
	"context"
	"net/url"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/storage"
)

// unresolved is the error for a value that the desk cannot be asked about.
type unresolved struct{ message string }

// Error returns the message.
func (e *unresolved) Error() string { return e.message }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// readAll reads a list and converts its items.
func readAll[T any, D named](w *work, list lister[T], of func(T) held[D]) ([]held[D], error) {
	found, err := listed(w.ctx, list)
	var all []held[D]
	for _, one := range found {
		all = append(all, of(one))
	}
	return all, err
}

func tagKind() kind[Tag] {
	return kind[Tag]{
		noun: "tag", title: "tag", file: "tags.yaml",
		in: func(s *Setup) *[]Tag { return &s.Tags },
		read: func(w *work) ([]held[Tag], error) {
			all, err := readAll(w, w.desk.Tags().List, func(t helpdesk.Tag) held[Tag] { return held[Tag]{t.ID, Tag{t.Name, t.Color}} })
			return byName(all), err
		},
		save: func(w *work, id int64, d Tag) (int64, error) {
			in := helpdesk.TagInput{Name: d.Name, Color: orNull(d.Color)}
			if id == 0 {
				t, err := w.desk.Tags().Create(w.ctx, in)
				return t.ID, err
			}
			_, err := w.desk.Tags().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Tags().Delete(w.ctx, id) },
	}
}

func fieldKind() kind[Field] {
	return kind[Field]{
		title: "field", file: "fields.yaml",
		in: func(s *Setup) *[]Field { return &s.Fields },
		read: func(w *work) ([]held[Field], error) {
			list := func(ctx context.Context, req storage.PageRequest) (storage.Page[helpdesk.Field], error) {
				return w.desk.Fields().List(ctx, nil, req)
			}
			return readAll(w, list, fieldOf)
		},
		save: func(w *work, id int64, d Field) (int64, error) {
			in := helpdesk.FieldInput{
				Key: d.Key, Label: d.Label, AppliesTo: helpdesk.FieldKind(d.AppliesTo), Type: helpdesk.FieldType(d.Type),
				CustomerVisible: storage.Some(d.CustomerVisible), SortOrder: storage.Some(d.SortOrder),
			}
			if d.AppliesTo == string(helpdesk.FieldOfConversation) || d.RequiredToClose {
				in.RequiredToClose = storage.Some(d.RequiredToClose)
			}
			if len(d.Options) > 0 {
				options := []helpdesk.FieldOption{}
				for _, o := range d.Options {
					options = append(options, helpdesk.FieldOption{Value: o.Value, Label: o.Label, Archived: o.Archived})
				}
				in.Options = storage.Some(options)
			}
			if id == 0 {
				f, err := w.desk.Fields().Create(w.ctx, in)
				return f.ID, err
			}
			_, err := w.desk.Fields().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Fields().Delete(w.ctx, id) },
	}
}

func fieldOf(f helpdesk.Field) held[Field] {
	d := Field{
		Key: f.Key, AppliesTo: string(f.AppliesTo), Label: f.Label, Type: string(f.Type), RequiredToClose: f.RequiredToClose,
		CustomerVisible: f.CustomerVisible, SortOrder: f.SortOrder,
	}
	for _, o := range f.Options {
		d.Options = append(d.Options, Option{o.Value, o.Label, o.Archived})
	}
	return held[Field]{f.ID, d}
}

func calendarKind() kind[Calendar] {
	return kind[Calendar]{
		noun: "calendar", title: "calendar", file: "calendars.yaml",
		in: func(s *Setup) *[]Calendar { return &s.Calendars },
		read: func(w *work) ([]held[Calendar], error) {
			all, err := readAll(w, w.desk.Calendars().List, calendarOf)
			return byName(all), err
		},
		save: func(w *work, id int64, d Calendar) (int64, error) {
			in := helpdesk.CalendarInput{Name: storage.Some(d.Name), Timezone: storage.Some(d.Timezone)}
			week, err := d.Week.spans()
			if err != nil {
				return 0, err
			}
			holidays, err := datesOf(d.Holidays)
			if err != nil {
				return 0, err
			}
			in.Week, in.Holidays = storage.Some(week), storage.Some(holidays)
			if id == 0 {
				c, err := w.desk.Calendars().Create(w.ctx, in)
				return c.ID, err
			}
			_, err = w.desk.Calendars().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Calendars().Delete(w.ctx, id) },
	}
}

func calendarOf(c helpdesk.Calendar) held[Calendar] {
	d := Calendar{Name: c.Name, Timezone: c.Timezone}
	for day, text := range d.Week.days() {
		for i, span := range c.Week[day] {
			if i > 0 {
				*text += ", "
			}
			*text += span.From.String() + "-" + span.To.String()
		}
	}
	for _, h := range c.Holidays {
		holiday := Holiday{From: h.From.String(), To: h.To.String(), Name: h.Name}
		if h.From == h.To {
			holiday.To = ""
		}
		d.Holidays = append(d.Holidays, holiday)
	}
	return held[Calendar]{c.ID, d}
}

// days returns the texts of the days, by [time.Weekday].
func (w *Week) days() map[time.Weekday]*string {
	return map[time.Weekday]*string{
		time.Monday: &w.Mon, time.Tuesday: &w.Tue, time.Wednesday: &w.Wed, time.Thursday: &w.Thu, time.Friday: &w.Fri, time.Saturday: &w.Sat,
		time.Sunday: &w.Sun,
	}
}

func (w Week) spans() (hours.Week, error) {
	var week hours.Week
	for day, text := range w.days() {
		spans, err := hours.ParseSpans(*text)
		if err != nil {
			return week, &unresolved{"week " + hours.DayKey(day) + `: must be hours, such as "09:00-12:00, 13:00-17:30"`}
		}
		week[day] = spans
	}
	return week, nil
}

func datesOf(all []Holiday) ([]hours.Holiday, error) {
	dates := []hours.Holiday{}
	for _, h := range all {
		from, err := hours.ParseDate(h.From)
		to := from
		if h.To != "" && err == nil {
			to, err = hours.ParseDate(h.To)
		}
		if err != nil {
			return nil, &unresolved{"holiday " + h.From + ": must be a date, yyyy-mm-dd"}
		}
		dates = append(dates, hours.Holiday{From: from, To: to, Name: h.Name})
	}
	return dates, nil
}

func teamKind() kind[Team] {
	return kind[Team]{
		noun: "team", title: "team", file: "teams.yaml",
		in: func(s *Setup) *[]Team { return &s.Teams },
		read: func(w *work) ([]held[Team], error) {
			all, err := readAll(w, w.desk.Teams().List, teamOf)
			return byName(all), err
		},
		save: func(w *work, id int64, d Team) (int64, error) {
			a := d.Assignment
			in := helpdesk.TeamInput{Name: d.Name, Assignment: helpdesk.AssignmentInput{
				Strategy: orNull(assign.Strategy(a.Strategy)), Capacity: orNull(a.Capacity), Who: orNull(assign.Who(a.Who)),
				WhenUnavailable: orNull(assign.WhenUnavailable(a.WhenUnavailable)), ReturnAfter: orNull(a.ReturnAfter), Sticky: storage.Some(a.Sticky),
			}}
			if id == 0 {
				t, err := w.desk.Teams().Create(w.ctx, in)
				return t.ID, err
			}
			_, err := w.desk.Teams().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Teams().Delete(w.ctx, id) },
	}
}

// teamOf leaves out what is of no effect.
func teamOf(t helpdesk.Team) held[Team] {
	p := t.Assignment
	a := Assignment{
		Strategy: string(p.Strategy), Capacity: p.Capacity, Who: string(p.Who), WhenUnavailable: string(p.WhenUnavailable), ReturnAfter: p.ReturnAfter,
		Sticky: p.Sticky,
	}
	return held[Team]{t.ID, Team{Name: t.Name, Assignment: a}}
}
