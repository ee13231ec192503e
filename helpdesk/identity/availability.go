package identity

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Availability determines when a member counts as online.
type Availability struct {
	ForceOffline bool // never online; overrides the rest
	WhileInApp   bool // online within five minutes of the last activity; set for new members
	UseSchedule  bool // online during the hours of Schedule
	Schedule     []WorkingHours
	Timezone     string // IANA name of the zone of Schedule; "" means UTC
}

// WorkingHours are the hours of one day of the week. If To is not after From they end on the next day; equal ones mean 24
// hours.
type WorkingHours struct {
	Day      time.Weekday
	From, To string // hh:mm on the clock of the zone, 00:00 to 23:59
}

// activeFor is how long after their last activity a member counts as active.
const activeFor = 5 * time.Minute

// scheduled reports whether the local time in the zone is within working hours. An hour repeated at the end of summer time
// counts both times.
func (a Availability) scheduled(now time.Time) bool {
	zone, err := zoneOf(a.Timezone)
	if err != nil { // it was known when it was stored
		zone = time.UTC
	}
	local := now.In(zone)
	today, clock := local.Weekday(), local.Format("15:04")
	yesterday := (today + 6) % 7
	for _, h := range a.Schedule {
		overnight := h.To <= h.From
		switch {
		case h.Day == today && clock >= h.From && (overnight || clock < h.To),
			h.Day == yesterday && overnight && clock < h.To:
			return true
		}
	}
	return false
}

// OnDuty reports whether a member is at work by schedule at a time, and not away.
func (a Availability) OnDuty(now time.Time) bool {
	return !a.ForceOffline && a.UseSchedule && a.scheduled(now)
}

// dutyEnded returns when the last working hours before a time ended; zero: none in the week before.
func (a Availability) dutyEnded(now time.Time) (ended time.Time) {
	zone, err := zoneOf(a.Timezone)
	if err != nil || !a.UseSchedule {
		return ended
	}
	year, month, today := now.In(zone).Date()
	for back := range 9 {
		day := time.Date(year, month, today-back, 0, 0, 0, 0, zone)
		for _, h := range a.Schedule {
			to, err := time.Parse("15:04", h.To)
			if h.Day != day.Weekday() || err != nil {
				continue
			}
			date := today - back
			if h.To <= h.From {
				date++
			}
			end := time.Date(year, month, date, to.Hour(), to.Minute(), 0, 0, zone).UTC()
			if !end.After(now) && end.After(ended) {
				ended = end
			}
		}
	}
	return ended
}

// zoneOf returns the zone with an IANA name. It rejects "Local".
func zoneOf(name string) (*time.Location, error) {
	if name == "Local" || len(name) > 64 {
		return nil, fmt.Errorf("unknown time zone")
	}
	return time.LoadLocation(name)
}

// weekdays are the keys of a schedule, by time.Weekday.
var weekdays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// DayKey returns the name of a day in a schedule: mon, tue and so on.
func DayKey(d time.Weekday) string { return weekdays[d] }

// AvailabilityInput sets an availability.
type AvailabilityInput struct {
	ForceOffline storage.Opt[bool] // required
	WhileInApp   storage.Opt[bool] // required
	UseSchedule  storage.Opt[bool] // required
	// Schedule contains each day at most once; it is required with UseSchedule. Null or empty clears it, absent leaves it
	// unchanged.
	Schedule storage.Opt[[]WorkingHours]
	Timezone storage.Opt[string] // IANA name; null or "": UTC; absent: unchanged
}

// Check adds a problem for each invalid field.
func (in AvailabilityInput) Check(problems *fault.Collector) {
	for field, flag := range map[string]storage.Opt[bool]{
		"force_offline": in.ForceOffline, "while_in_app": in.WhileInApp, "use_schedule": in.UseSchedule,
	} {
		_, given := flag.Get()
		problems.Check(given, field, "is required")
	}
	problems.Check(!in.UseSchedule.Or(false) || len(in.Schedule.Or(nil)) > 0, "schedule", "is required")
	seen := map[time.Weekday]bool{}
	for _, h := range in.Schedule.Or(nil) {
		if h.Day < time.Sunday || h.Day > time.Saturday || seen[h.Day] {
			problems.Add("schedule", "names an unknown day, or the same day twice")
			continue
		}
		seen[h.Day] = true
		checkClock(problems, "schedule["+DayKey(h.Day)+"][from]", h.From)
		checkClock(problems, "schedule["+DayKey(h.Day)+"][to]", h.To)
	}
	if _, err := zoneOf(in.Timezone.Or("")); err != nil {
		problems.Add("timezone", "is not a time zone (use an IANA name, such as Europe/Berlin)")
	}
}

func checkClock(problems *fault.Collector, field, text string) {
	if text == "" {
		problems.Add(field, "is required")
		return
	}
	_, err := time.Parse("15:04", text)
	problems.Check(err == nil && len(text) == len("hh:mm"), field, "must be hh:mm, 00:00 to 23:59")
}

// Apply writes the input, which Check has approved, into an availability.
func (in AvailabilityInput) Apply(a *Availability) {
	a.ForceOffline, a.WhileInApp, a.UseSchedule = in.ForceOffline.Or(false), in.WhileInApp.Or(false), in.UseSchedule.Or(false)
	a.Schedule, a.Timezone = in.Schedule.Or(a.Schedule), in.Timezone.Or(a.Timezone)
}
