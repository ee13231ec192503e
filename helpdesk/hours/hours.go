// Package hours computes with business hours: whether a moment is within them, when they begin or end next, and how much of
// them lies between two moments. Its functions are pure: they know no help desk, no store and no clock.
//
// Hours are read off the clock on the wall. A span begins, and ends, at the first moment at which the clock of the zone shows
// its time or a later one, so that 22:00-06:00 has nine hours in the night in which clocks are set back, and seven in the one
// in which they are set forward. A holiday closes its dates from midnight to midnight, also for a span that began before.
package hours

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // calendars use named time zones, also where the system has no database

	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of a [Plan].
const (
	MaxSpans    = 12  // of a day
	MaxHolidays = 500 // of a plan
)

const (
	// longestClosure is how long hours may be closed without a break.
	longestClosure = 366 * 24 * time.Hour
	// horizon is how far ahead Add and Between look, in days.
	horizon = 100 * 366
)

var (
	// ErrClosed is the error for hours that do not begin within a year: there are none, or holidays cover them.
	ErrClosed = errors.New("hours: closed for more than a year")
	// ErrOpen is the error of [Calendar.Next] for hours that do not end within a year.
	ErrOpen = errors.New("hours: open for more than a year")
	// ErrFar is the error for a result more than a hundred years ahead.
	ErrFar = errors.New("hours: more than a hundred years ahead")
	// ErrNegative is the error for adding a negative duration.
	ErrNegative = errors.New("hours: a negative duration")
)

// Span is a part of a day. If To is not after From, it ends on the next day.
type Span struct {
	From Clock `json:"from"`
	To   Clock `json:"to"`
}

// overnight reports whether the span ends on the next day, after midnight.
func (s Span) overnight() bool { return s.To < s.From }

// Week has the spans that begin on each day, by [time.Weekday].
type Week [7][]Span

// Holiday closes all dates from From to To, both included.
type Holiday struct {
	From Date   `json:"from"`
	To   Date   `json:"to"`
	Name string `json:"name"`
}

// Plan is what a [Calendar] is made of.
type Plan struct {
	Timezone string // IANA name
	Week     Week
	Holidays []Holiday
}

// Zone returns the time zone of an IANA name. Unlike time.LoadLocation, it refuses "" and "Local", which depend on the machine.
func Zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, errors.New("hours: not a time zone")
	}
	return time.LoadLocation(name)
}

// Check adds a problem for each invalid field: timezone, week, week[mon], week[mon][0][to], holidays, holidays[0][to].
func (p Plan) Check(problems *fault.Collector) {
	_, err := Zone(p.Timezone)
	problems.Check(err == nil, "timezone", "is not a time zone (use an IANA name, such as Europe/Berlin)")
	open := false
	for day, spans := range p.Week {
		open = open || len(spans) > 0
		checkDay(problems, "week["+DayKey(time.Weekday(day))+"]", spans, p.Week[(day+1)%7])
	}
	problems.Check(open, "week", "needs at least one span")
	problems.Check(len(p.Holidays) <= MaxHolidays, "holidays", fmt.Sprintf("has more than %d entries", MaxHolidays))
	for n, h := range p.Holidays[:min(len(p.Holidays), MaxHolidays)] {
		field := fmt.Sprintf("holidays[%d]", n)
		if problems.Check(h.From.Valid(), field+"[from]", "must be a date: yyyy-mm-dd") && problems.Check(h.To.Valid(), field+"[to]", "must be a date: yyyy-mm-dd") {
			problems.Check(h.To.day() >= h.From.day(), field+"[to]", "is before from")
		}
	}
}

func checkDay(problems *fault.Collector, field string, spans, next []Span) {
	problems.Check(len(spans) <= MaxSpans, field, fmt.Sprintf("has more than %d spans", MaxSpans))
	spans = spans[:min(len(spans), MaxSpans)]
	fine := true
	for n, s := range spans {
		at := fmt.Sprintf("%s[%d]", field, n)
		fine = problems.Check(s.From >= 0 && s.From < Midnight, at+"[from]", "must be hh:mm, 00:00 to 23:59") && fine
		if problems.Check(s.To >= 0 && s.To <= Midnight, at+"[to]", "must be hh:mm, 00:00 to 24:00") {
			fine = problems.Check(s.To != s.From, at+"[to]", "equals from; a whole day is 00:00 to 24:00") && fine
		} else {
			fine = false
		}
	}
	if !fine {
		return
	}
	sorted := slices.SortedFunc(slices.Values(spans), bySpan)
	for n, s := range sorted {
		meets := n+1 < len(sorted) && (s.overnight() || s.To > sorted[n+1].From)
		if !meets && s.overnight() {
			meets = slices.ContainsFunc(next, func(other Span) bool { return other.From < s.To })
		}
		problems.Check(!meets, field, "has spans that overlap")
	}
}

func bySpan(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) }

// Calendar are business hours in a time zone. It never changes, and many goroutines may use it.
type Calendar struct {
	zone     *time.Location
	week     Week
	closed   []closure // sorted, without overlaps
	holidays []Holiday // sorted
}

// closure are the days from first to last, both included.
type closure struct{ first, last day }

// New returns the calendar of a plan; one that [Plan.Check] has a problem with is an Invalid fault. A plan without any span is
// valid here: its calendar is never open.
func New(p Plan) (*Calendar, error) {
	var problems fault.Collector
	check := p
	if len(slices.Concat(p.Week[:]...)) == 0 {
		check.Week[0] = []Span{{0, Midnight}}
	}
	check.Check(&problems)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c := &Calendar{holidays: slices.Clone(p.Holidays)}
	c.zone, _ = Zone(p.Timezone) // checked
	for n, spans := range p.Week {
		c.week[n] = slices.SortedFunc(slices.Values(spans), bySpan)
	}
	slices.SortStableFunc(c.holidays, func(a, b Holiday) int {
		return cmp.Or(cmp.Compare(a.From.day(), b.From.day()), cmp.Compare(a.To.day(), b.To.day()))
	})
	for _, h := range c.holidays {
		first, last := h.From.day(), h.To.day()
		if n := len(c.closed); n > 0 && first <= c.closed[n-1].last+1 {
			c.closed[n-1].last = max(c.closed[n-1].last, last)
			continue
		}
		c.closed = append(c.closed, closure{first, last})
	}
	return c, nil
}

// Zone returns the time zone.
func (c *Calendar) Zone() *time.Location { return c.zone }

// Upcoming returns the next holidays, at most n: those that have not ended at t, by date.
func (c *Calendar) Upcoming(t time.Time, n int) []Holiday {
	today := c.dateOf(t)
	var next []Holiday
	for _, h := range c.holidays {
		if h.To.day() >= today && len(next) < n {
			next = append(next, h)
		}
	}
	return next
}

// Holiday returns the holiday on the date of t, and whether there is one.
func (c *Calendar) Holiday(t time.Time) (Holiday, bool) {
	next := c.Upcoming(t, 1)
	if len(next) == 0 || next[0].From.day() > c.dateOf(t) {
		return Holiday{}, false
	}
	return next[0], true
}

// Open reports whether t is within the hours.
func (c *Calendar) Open(t time.Time) bool {
	from := c.dateOf(t)
	for d := from - 2; d <= from+1; d++ {
		for _, s := range c.week[d.weekday()] {
			if begin, end := c.bounds(d, s); !t.Before(begin) && t.Before(end) {
				return true
			}
		}
	}
	return false
}

// Next returns the first moment after t at which the hours begin, or end if t is within them. If that is more than a year away,
// it returns [ErrClosed] or [ErrOpen].
func (c *Calendar) Next(t time.Time) (time.Time, error) {
	t = t.Round(0)
	var end time.Time // of the hours that t is within
	var next time.Time
	err := c.walk(t, longestClosure, func(from, to time.Time) bool {
		switch {
		case end.IsZero() && from.After(t):
			next = from
		case !end.IsZero() && from.After(end):
			next = end
		default:
			end = to
		}
		return next.IsZero() && end.Sub(t) <= longestClosure
	})
	switch {
	case !next.IsZero():
		return next, nil
	case end.IsZero():
		return time.Time{}, err
	case end.Sub(t) > longestClosure:
		return time.Time{}, ErrOpen
	}
	return end, nil // and then closed for more than a year
}

// Add returns the moment at which d of the hours have passed since t: a deadline. The moment at which hours end belongs to
// them, so a deadline is never later than necessary; with d 0 it is t. Hours that are closed for more than a year before d has
// passed are [ErrClosed], a result more than a hundred years ahead is [ErrFar], and a negative d is [ErrNegative].
func (c *Calendar) Add(t time.Time, d time.Duration) (time.Time, error) {
	t = t.Round(0)
	if d < 0 {
		return time.Time{}, ErrNegative
	}
	if d == 0 {
		return t, nil
	}
	var at time.Time
	err := c.walk(t, longestClosure, func(from, to time.Time) bool {
		if length := to.Sub(from); length < d {
			d -= length
			return true
		}
		at = from.Add(d)
		return false
	})
	return at, err
}

// Between returns how much of the hours lies between two moments, negative if b is before a. It counts the first hundred years
// only.
func (c *Calendar) Between(a, b time.Time) time.Duration {
	a, b = a.Round(0), b.Round(0)
	if b.Before(a) {
		return -c.Between(b, a)
	}
	var sum time.Duration
	_ = c.walk(a, 0, func(from, to time.Time) bool { // it is cut off after a hundred years
		if to.After(b) {
			to = b
		}
		if from.Before(to) {
			sum += to.Sub(from)
		}
		return to.Before(b)
	}, b)
	return sum
}

// walk calls visit with the hours after t in order, without overlaps, until it returns false, or a day begins after one of
// until. A closure longer than closed is ErrClosed, unless closed is 0; after a hundred years it is ErrFar.
func (c *Calendar) walk(t time.Time, closed time.Duration, visit func(from, to time.Time) bool, until ...time.Time) error {
	done, today := t, c.dateOf(t)
	for d := today - 2; d < today+horizon; d++ {
		if d > today {
			midnight := c.at(d, 0)
			if closed > 0 && midnight.Sub(done) > closed {
				return ErrClosed
			}
			if len(until) > 0 && !midnight.Before(until[0]) {
				return nil
			}
		}
		for _, s := range c.week[d.weekday()] {
			from, to := c.bounds(d, s)
			if from.Before(done) {
				from = done
			}
			if !from.Before(to) {
				continue
			}
			done = to
			if !visit(from, to) {
				return nil
			}
		}
	}
	return ErrFar
}

// bounds returns when a span of a day begins and ends, without what holidays close. It is empty if begin is not before end.
func (c *Calendar) bounds(d day, s Span) (begin, end time.Time) {
	last := d
	if s.overnight() {
		last++
	}
	begin, end = c.at(d, s.From), c.at(last, s.To)
	if c.isClosed(d) {
		begin = c.at(d+1, 0)
	}
	if last > d && c.isClosed(last) {
		end = c.at(last, 0)
	}
	return begin, end
}

func (c *Calendar) isClosed(d day) bool {
	_, found := slices.BinarySearchFunc(c.closed, d, func(is closure, d day) int {
		switch {
		case is.last < d:
			return -1
		case is.first > d:
			return 1
		}
		return 0
	})
	return found
}

// dateOf returns the date in the zone.
func (c *Calendar) dateOf(t time.Time) day {
	year, month, date := t.In(c.zone).Date()
	return dayOf(year, month, date)
}

// at returns the first moment at which the clocks of the zone show a time of a day, or a later one.
func (c *Calendar) at(d day, clock Clock) time.Time {
	wall := d.utc().Add(time.Duration(clock) * time.Minute) // what the clock shows, as if it were UTC
	t := wall.Add(-50 * time.Hour).In(c.zone)               // before it in any zone, even one that skips a day
	for {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second).In(c.zone)
		if end.IsZero() || at.Before(end) {
			if at.Before(t) { // clocks were set forward, over it
				at = t
			}
			return at
		}
		t = end
	}
}
