package desk

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	business "github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type hoursView struct {
	Rows      []hoursRow
	New       string
	CanCreate bool
}

type hoursRow struct {
	Name, Zone, URL string
	Now             openState
}

// openState says whether hours are open now, and when that changes.
type openState struct {
	Open bool
	Text string
}

func (v *visit) hoursPage() error {
	all, err := v.allCalendars()
	if err != nil {
		return err
	}
	view := hoursView{New: v.at("/settings/hours/new")}
	if view.CanCreate, err = v.changesHours(identity.CalendarsCreate); err != nil {
		return err
	}
	for _, c := range all {
		view.Rows = append(view.Rows, hoursRow{Name: c.Name, Zone: spaced(c.Timezone), URL: v.at("/settings/hours/" + itoa(c.ID)), Now: v.openNow(c)})
	}
	return v.settingsPage("hours", v.words.T("Business hours"), view, 0)
}

// allCalendars returns all calendars, of which there are at most [helpdesk.MaxCalendars].
func (v *visit) allCalendars() ([]helpdesk.Calendar, error) {
	page, err := v.Calendars().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	return page.Items, err
}

// changesHours reports whether the member may do something with calendars, which also requires access to all mailboxes.
func (v *visit) changesHours(p identity.Permission) (bool, error) {
	if !v.may(p) {
		return false, nil
	}
	own, err := v.Membership(v.ctx())
	return len(own.MailboxIDs) == 0, err
}

// openNow says whether a calendar is open: "Open now · closes in 2 h".
func (v *visit) openNow(c helpdesk.Calendar) openState {
	hours, err := c.Hours()
	if err != nil {
		return openState{}
	}
	state := openState{Open: hours.Open(v.now)}
	next, err := hours.Next(v.now)
	in := next.Sub(v.now)
	switch near := in < 12*time.Hour; {
	case errors.Is(err, business.ErrOpen):
		state.Text = v.words.T("Always open")
	case err != nil:
		state.Text = v.words.T("Closed for more than a year")
	case state.Open && near:
		state.Text = v.words.T("Open now · closes in %s", v.lasting(in))
	case state.Open:
		state.Text = v.words.T("Open now · closes %s", v.moment(next))
	case near:
		state.Text = v.words.T("Closed now · opens in %s", v.lasting(in))
	default:
		state.Text = v.words.T("Closed now · opens %s", v.moment(next))
	}
	return state
}

// lasting says a duration of less than a day: 35 min, 2 h.
func (v *visit) lasting(d time.Duration) string {
	if d < 100*time.Minute {
		return v.words.T("%s min", max(1, int((d+time.Minute-1)/time.Minute)))
	}
	return v.words.T("%s h", int((d+30*time.Minute)/time.Hour))
}

// calendarView is the form of a calendar.
type calendarView struct {
	Title, Action, List, Name string
	Zones                     []zoneGroup
	Zone                      string // a time zone that is not among them
	Days                      []dayField
	Holidays                  string
	Next                      []nextHoliday
	Now                       openState
	Wide, Slim                weekPicture
	Starts                    []link // other weeks to begin with
	CanUpdate, CanDelete      bool
	Errors                    map[string]string
}

type link struct{ Text, URL string }

// dayField is the hours of a day as text.
type dayField struct{ Key, Name, Value, Problem string }

type nextHoliday struct{ Name, When string }

// weekStarts are weeks to begin with: their hours from Monday to Friday and at the weekend.
var weekStarts = []struct{ key, text, week, weekend string }{
	{"", say("Working days"), "9-17", ""}, {"days", say("Every day"), "8-20", "8-20"}, {"always", say("Around the clock"), "0-24", "0-24"},
}

// newCalendarPage shows a form that can be saved as it is.
func (v *visit) newCalendarPage() error {
	c := helpdesk.Calendar{Name: v.words.T("Office"), Timezone: v.zone.String()}
	if _, err := business.Zone(c.Timezone); err != nil {
		c.Timezone = "UTC"
	}
	view := calendarView{Title: v.words.T("New business hours"), Action: v.at("/settings/hours"), CanUpdate: true}
	for _, s := range weekStarts {
		if s.key == v.r.URL.Query().Get("week") {
			for day := range c.Week {
				text := s.week
				if day == int(time.Saturday) || day == int(time.Sunday) {
					text = s.weekend
				}
				c.Week[day], _ = business.ParseSpans(text) // of this program
			}
			continue
		}
		to := v.at("/settings/hours/new")
		if s.key != "" {
			to += "?week=" + s.key
		}
		view.Starts = append(view.Starts, link{v.words.T(s.text), to})
	}
	v.fillCalendar(&view, c)
	return v.showCalendar(view, 0)
}

func (v *visit) calendarPage() error {
	c, err := v.Calendars().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view, err := v.calendarView(c)
	if err != nil {
		return err
	}
	return v.showCalendar(view, 0)
}

func (v *visit) calendarView(c helpdesk.Calendar) (calendarView, error) {
	view := calendarView{Title: c.Name, Action: v.at("/settings/hours/" + itoa(c.ID)), Now: v.openNow(c)}
	v.fillCalendar(&view, c)
	var err error
	if view.CanUpdate, err = v.changesHours(identity.CalendarsUpdate); err != nil {
		return view, err
	}
	view.CanDelete, err = v.changesHours(identity.CalendarsDelete)
	return view, err
}

func (v *visit) showCalendar(view calendarView, status int) error {
	view.List, view.Errors = v.at("/settings/hours"), orEmpty(view.Errors)
	return v.settingsPage("calendar", view.Title, view, status)
}

// fillCalendar fills in the fields and the pictures of a calendar.
func (v *visit) fillCalendar(view *calendarView, c helpdesk.Calendar) {
	view.Name, view.Holidays = c.Name, business.FormatHolidays(c.Holidays)
	v.chooseZone(view, c.Timezone)
	for _, day := range business.Days() {
		view.Days = append(view.Days, dayField{Key: business.DayKey(day), Name: v.dayName(day), Value: business.FormatSpans(c.Week[day])})
	}
	hours, err := c.Hours()
	if err != nil {
		return
	}
	view.Wide, view.Slim = v.weekOf(hours, c.Week, 640), v.weekOf(hours, c.Week, 330)
	for _, h := range hours.Upcoming(v.now, 5) {
		view.Next = append(view.Next, nextHoliday{Name: h.Name, When: v.dates(h)})
	}
}

func (v *visit) chooseZone(view *calendarView, zone string) {
	var listed bool
	if view.Zones, listed = zoneGroups(zone); !listed {
		view.Zone = zone
	}
}

// dates says the dates of a holiday.
func (v *visit) dates(h business.Holiday) string {
	c := calendars[v.words.lang]
	from := c.format(c.complete, h.From.Time())
	if h.To == h.From {
		return from
	}
	return from + " – " + c.format(c.complete, h.To.Time())
}

func (v *visit) dayName(day time.Weekday) string {
	return v.words.T([...]string{say("Sunday"), say("Monday"), say("Tuesday"), say("Wednesday"), say("Thursday"), say("Friday"), say("Saturday")}[day])
}

// calendarInput reads the form. Problems of its texts are by field.
func (v *visit) calendarInput() (helpdesk.CalendarInput, map[string]string) {
	problems := map[string]string{}
	in := helpdesk.CalendarInput{Name: storage.Some(v.r.PostFormValue("name")), Timezone: storage.Some(v.r.PostFormValue("zone"))}
	var week business.Week
	for _, day := range business.Days() {
		var err error
		key := business.DayKey(day)
		if week[day], err = business.ParseSpans(v.r.PostFormValue(key)); err != nil {
			problems[key] = v.words.T("Write hours as in 9:00–12:30, 13:30–18:00, or leave it empty.")
		}
	}
	in.Week = storage.Some(week)
	holidays, line, err := business.ParseHolidays(v.r.PostFormValue("holidays"))
	if err != nil {
		problems["holidays"] = v.words.T("This is not a date and a name: %s", line)
	}
	in.Holidays = storage.Some(holidays)
	return in, problems
}

// refuse shows the form as it was submitted, with its problems.
func (v *visit) refuseCalendar(view calendarView, problems map[string]string, err error) error {
	for field, text := range wholeFields(err) {
		key, _, _ := strings.Cut(strings.TrimPrefix(field, "week["), "]")
		name, _, _ := strings.Cut(field, "[")
		if strings.HasPrefix(field, "week[") {
			name = key
		}
		if known := plain[text]; known != "" {
			text = known
		}
		problems[name] = v.words.T(text)
	}
	view.Name, view.Holidays, view.Errors = v.r.PostFormValue("name"), v.r.PostFormValue("holidays"), problems
	v.chooseZone(&view, v.r.PostFormValue("zone"))
	for n := range view.Days {
		d := &view.Days[n]
		d.Value, d.Problem = v.r.PostFormValue(d.Key), problems[d.Key]
	}
	return v.showCalendar(view, http.StatusUnprocessableEntity)
}

func (v *visit) addCalendar() error {
	in, problems := v.calendarInput()
	var err error
	if len(problems) == 0 {
		var c helpdesk.Calendar
		if c, err = v.Calendars().Create(v.ctx(), in); err == nil {
			return v.saved("hours/"+itoa(c.ID), v.words.T("Added %s", c.Name))
		}
	}
	if err != nil && !fault.Is(err, fault.Invalid) {
		return v.unless(err, "hours", "")
	}
	view := calendarView{Title: v.words.T("New business hours"), Action: v.at("/settings/hours"), CanUpdate: true}
	v.fillCalendar(&view, helpdesk.Calendar{})
	return v.refuseCalendar(view, problems, err)
}

func (v *visit) saveCalendar() error {
	id := v.number("id")
	in, problems := v.calendarInput()
	var err error
	if len(problems) == 0 {
		if _, err = v.Calendars().Update(v.ctx(), id, in); err == nil {
			return v.saved("hours/"+itoa(id), v.words.T("Saved"))
		}
	}
	if err != nil && !fault.Is(err, fault.Invalid) {
		return err
	}
	c, readErr := v.Calendars().Get(v.ctx(), id)
	if readErr != nil {
		return readErr
	}
	view, readErr := v.calendarView(c)
	if readErr != nil {
		return readErr
	}
	return v.refuseCalendar(view, problems, err)
}

func (v *visit) deleteCalendar() error {
	id := v.number("id")
	err := v.Calendars().Delete(v.ctx(), id)
	if fault.Is(err, fault.Conflict) {
		return v.unless(err, "hours/"+itoa(id), "")
	}
	return v.unless(err, "hours", v.words.T("Business hours deleted"))
}

// weekPicture is the present week: a row for each day, from midnight to midnight.
type weekPicture struct {
	Width, Height int
	Days          []weekDay
	Hours         []weekHour
	Now           *weekMark
}

type weekDay struct {
	Text    string
	Y, Base int // of its bars, and of the text
	Today   bool
	Holiday string // "": none
	Bars    []weekBar
}

type weekBar struct {
	X, W int
	Text string
}

type weekHour struct {
	X    int
	Text string
}

type weekMark struct{ X, From, To int }

// Measures of the picture.
const (
	weekLeft = 46
	weekRow  = 26
	weekTop  = 4
	weekBarH = 16
)

// weekOf draws the week of a calendar that is the present one in its zone.
func (v *visit) weekOf(hours *business.Calendar, week business.Week, width int) weekPicture {
	p := weekPicture{Width: width, Height: weekTop + 7*weekRow + 20}
	x := func(minutes int) int { return weekLeft + (width-weekLeft-14)*minutes/(24*60) }
	step := 3
	if width < 500 {
		step = 6
	}
	for h := 0; h <= 24; h += step {
		p.Hours = append(p.Hours, weekHour{x(h * 60), itoa(int64(h))})
	}
	now := v.now.In(hours.Zone())
	monday := time.Date(now.Year(), now.Month(), now.Day()-(int(now.Weekday())+6)%7, 12, 0, 0, 0, hours.Zone())
	c := calendars[v.words.lang]
	for n, day := range business.Days() {
		date := monday.AddDate(0, 0, n)
		y := weekTop + n*weekRow
		row := weekDay{Text: c.format("E", date), Y: y, Base: y + 12, Today: day == now.Weekday()}
		if h, closed := hours.Holiday(date); closed {
			row.Holiday = h.Name
			if h.Name == "" {
				row.Holiday = v.words.T("Holiday")
			}
		}
		for _, s := range week[(day+6)%7] { // that began the day before
			if s.To < s.From && s.To > 0 {
				row.Bars = append(row.Bars, weekBar{x(0), x(int(s.To)) - x(0), s.String()})
			}
		}
		for _, s := range week[day] {
			to := s.To
			if s.To < s.From {
				to = business.Midnight
			}
			row.Bars = append(row.Bars, weekBar{x(int(s.From)), x(int(to)) - x(int(s.From)), s.String()})
		}
		if row.Today {
			at := x(now.Hour()*60 + now.Minute())
			p.Now = &weekMark{at, y - 2, y + weekBarH + 2}
		}
		p.Days = append(p.Days, row)
	}
	return p
}

// sortedTicks returns choices in the order of their texts.
func sortedTicks(all []tick) []tick {
	slices.SortFunc(all, func(a, b tick) int { return strings.Compare(a.Text, b.Text) })
	return all
}
