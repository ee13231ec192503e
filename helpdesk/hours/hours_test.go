package hours_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/storage/fault"
)

// calendar returns a calendar with the same hours every day, or on the days given.
func calendar(t *testing.T, zone, spans, holidays string, days ...time.Weekday) *hours.Calendar {
	t.Helper()
	p := hours.Plan{Timezone: zone}
	if len(days) == 0 {
		days = hours.Days()
	}
	for _, d := range days {
		var err error
		if p.Week[d], err = hours.ParseSpans(spans); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.Holidays, _, err = hours.ParseHolidays(holidays); err != nil {
		t.Fatal(err)
	}
	c, err := hours.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// moment reads RFC 3339, or a time on the clock of a zone.
func moment(t *testing.T, zone, text string) time.Time {
	t.Helper()
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", text, location)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestNights asks for the length of a night shift, of a whole day, and of the hour that clocks skip or repeat, in the nights of
// daylight saving of six zones: south and north, by half an hour, and at midnight.
func TestNights(t *testing.T) {
	t.Parallel()
	type night struct {
		before string // the date on which the shift begins
		spans  string
		want   time.Duration
	}
	const h, m = time.Hour, time.Minute
	for zone, nights := range map[string][]night{
		"Europe/Berlin": {
			{"2026-03-28", "22:00-06:00", 7 * h}, {"2026-10-24", "22:00-06:00", 9 * h}, {"2026-06-01", "22:00-06:00", 8 * h},
			{"2026-03-29", "00:00-24:00", 23 * h}, {"2026-10-25", "00:00-24:00", 25 * h},
			{"2026-03-29", "02:00-03:00", 0}, {"2026-10-25", "02:00-03:00", 2 * h},
			{"2026-03-29", "02:30-04:00", h}, {"2026-03-29", "01:00-02:30", h}, {"2026-10-25", "02:30-04:00", 2*h + 30*m}, {"2026-10-25", "01:00-02:30", h + 30*m},
		},
		"America/New_York": {
			{"2026-03-07", "22:00-06:00", 7 * h}, {"2026-10-31", "22:00-06:00", 9 * h},
			{"2026-03-08", "00:00-24:00", 23 * h}, {"2026-11-01", "00:00-24:00", 25 * h},
		},
		"Australia/Lord_Howe": {
			{"2026-10-03", "22:00-06:00", 7*h + 30*m}, {"2026-04-04", "22:00-06:00", 8*h + 30*m},
			{"2026-10-04", "00:00-24:00", 23*h + 30*m}, {"2026-04-05", "00:00-24:00", 24*h + 30*m},
		},
		"Africa/Cairo": { // forward at midnight, back at 24:00
			{"2026-04-23", "22:00-06:00", 7 * h}, {"2026-10-29", "22:00-06:00", 9 * h},
			{"2026-04-24", "00:00-24:00", 23 * h}, {"2026-10-29", "00:00-24:00", 25 * h}, {"2026-10-30", "00:00-24:00", 24 * h},
		},
		"America/Santiago": {
			{"2026-09-05", "22:00-06:00", 7 * h}, {"2026-04-04", "22:00-06:00", 9 * h},
			{"2026-09-06", "00:00-24:00", 23 * h}, {"2026-04-04", "00:00-24:00", 25 * h},
		},
		"Asia/Tokyo": {{"2026-03-28", "22:00-06:00", 8 * h}, {"2026-10-25", "00:00-24:00", 24 * h}},
		// A day that a zone skipped.
		"Pacific/Apia": {{"2011-12-29", "22:00-06:00", 2 * h}, {"2011-12-30", "09:00-17:00", 0}, {"2011-12-31", "09:00-17:00", 8 * h}},
	} {
		for _, n := range nights {
			noon := moment(t, "UTC", n.before+" 12:00")
			c := calendar(t, zone, n.spans, "", noon.Weekday())
			from := noon.Add(-40 * time.Hour) // before the date anywhere, and after that of a week ago
			if got := c.Between(from, from.Add(90*time.Hour)); got != n.want {
				t.Errorf("%s, %s from %s: %v, want %v", zone, n.before, n.spans, got, n.want)
			}
			if n.want == 0 {
				continue
			}
			if at, err := c.Add(from, n.want); err != nil || c.Between(from, at) != n.want {
				t.Errorf("%s, %s from %s: adding %v gives %v, %v", zone, n.before, n.spans, n.want, at, err)
			}
		}
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	const berlin = "Europe/Berlin"
	workdays := []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	office := calendar(t, berlin, "9-12, 13-17", "2026-12-24 - 2027-01-03 Between the years\n2027-03-26 Good Friday", workdays...)
	bar := calendar(t, berlin, "20:00-02:00", "2026-12-25", time.Friday, time.Thursday)
	late := calendar(t, berlin, "18:00-24:00", "", workdays...)
	for name, tt := range map[string]struct {
		of   *hours.Calendar
		at   string
		open bool
		next string
		add  time.Duration
		due  string
	}{
		"in the morning":         {office, "2026-11-30 10:00", true, "2026-11-30 12:00", time.Hour, "2026-11-30 11:00"},
		"at the beginning":       {office, "2026-11-30 09:00", true, "2026-11-30 12:00", 3 * time.Hour, "2026-11-30 12:00"},
		"at the end":             {office, "2026-11-30 12:00", false, "2026-11-30 13:00", time.Hour, "2026-11-30 14:00"},
		"over lunch":             {office, "2026-11-30 11:30", true, "2026-11-30 12:00", time.Hour, "2026-11-30 13:30"},
		"over the weekend":       {office, "2026-12-04 16:59", true, "2026-12-04 17:00", 2 * time.Minute, "2026-12-07 09:01"},
		"over the years":         {office, "2026-12-23 18:00", false, "2027-01-04 09:00", 8 * time.Hour, "2027-01-05 10:00"},
		"on a holiday":           {office, "2027-03-26 10:00", false, "2027-03-29 09:00", time.Second, "2027-03-29 07:00:01"},
		"a night":                {bar, "2026-12-04 01:00", true, "2026-12-04 02:00", 2 * time.Hour, "2026-12-04 21:00"},
		"a night into a holiday": {bar, "2026-12-24 23:00", true, "2026-12-25 00:00", 2 * time.Hour, "2026-12-26 01:00"},
		"after a holiday":        {bar, "2026-12-25 22:00", false, "2026-12-26 00:00", 2 * time.Hour, "2026-12-26 02:00"},
		"until midnight":         {late, "2026-11-30 23:00", true, "2026-12-01 00:00", 2 * time.Hour, "2026-12-01 19:00"},
	} {
		at := moment(t, berlin, tt.at)
		if got := tt.of.Open(at); got != tt.open {
			t.Errorf("%s: open %v", name, got)
		}
		if next, err := tt.of.Next(at); err != nil || !next.Equal(moment(t, berlin, tt.next)) {
			t.Errorf("%s: next %v, %v, want %v", name, next, err, tt.next)
		}
		if name == "on a holiday" {
			tt.due = "2027-03-29T07:00:01Z"
		}
		if due, err := tt.of.Add(at, tt.add); err != nil || !due.Equal(moment(t, berlin, tt.due)) {
			t.Errorf("%s: due %v, %v, want %v", name, due, err, tt.due)
		}
		if back := tt.of.Between(moment(t, berlin, tt.next), at); tt.open != (back < 0) {
			t.Errorf("%s: backwards %v", name, back)
		}
	}
}

func TestWithoutEnd(t *testing.T) {
	t.Parallel()
	now := moment(t, "UTC", "2026-11-30 12:00")
	never, err := hours.New(hours.Plan{Timezone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	always := calendar(t, "Europe/Berlin", "0-24", "")
	for name, tt := range map[string]struct {
		of        *hours.Calendar
		open      bool
		next, add error
		d         time.Duration
	}{
		"never open":                            {never, false, hours.ErrClosed, hours.ErrClosed, time.Second},
		"closed for three years":                {calendar(t, "UTC", "9-17", "2026-01-01 - 2028-12-31 Gone"), false, hours.ErrClosed, hours.ErrClosed, time.Second},
		"closed for more than a year from now":  {calendar(t, "UTC", "9-17", "2026-12-01 - 2028-12-31 Gone"), true, nil, hours.ErrClosed, 6 * time.Hour},
		"closed for eleven months":              {calendar(t, "UTC", "9-17", "2026-11-30 - 2027-10-31 Gone"), false, nil, nil, time.Second},
		"always open":                           {always, true, hours.ErrOpen, nil, 1000 * 24 * time.Hour},
		"always, but for a day within the year": {calendar(t, "UTC", "0-24", "2027-10-31"), true, nil, nil, 400 * 24 * time.Hour},
		"a minute a day":                        {calendar(t, "UTC", "9:00-9:01", ""), false, nil, hours.ErrFar, 800 * time.Hour},
		"a negative duration":                   {always, true, hours.ErrOpen, hours.ErrNegative, -1},
	} {
		if got := tt.of.Open(now); got != tt.open {
			t.Errorf("%s: open %v", name, got)
		}
		if _, err := tt.of.Next(now); !errors.Is(err, tt.next) {
			t.Errorf("%s: next: %v", name, err)
		}
		if _, err := tt.of.Add(now, tt.d); !errors.Is(err, tt.add) {
			t.Errorf("%s: add: %v", name, err)
		}
	}
	if got := always.Between(now, now.AddDate(1, 0, 0)); got != 365*24*time.Hour {
		t.Errorf("a year at 24/7 has %v", got)
	}
	if got := never.Between(now, now.AddDate(5000, 0, 0)); got != 0 {
		t.Errorf("nothing has %v", got)
	}
}

// someCalendar returns any calendar.
func someCalendar(r *rand.Rand) (*hours.Calendar, error) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Asia/Kolkata", "Pacific/Apia", "America/St_Johns"}
	p := hours.Plan{Timezone: zones[r.IntN(len(zones))]}
	for {
		for d := range p.Week {
			p.Week[d] = nil
			for at := r.IntN(1500); at < 1440 && len(p.Week[d]) < 4; at += 1 + r.IntN(500) {
				to := at + 1 + r.IntN(600)
				s := hours.Span{From: hours.Clock(at), To: hours.Clock(to)}
				if to > 1440 {
					s.To -= 1440
				}
				p.Week[d], at = append(p.Week[d], s), to
			}
		}
		first := time.Date(2025+r.IntN(3), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
		p.Holidays = []hours.Holiday{{From: hours.DateOf(first), To: hours.DateOf(first.AddDate(0, 0, r.IntN(20)))}}
		var problems fault.Collector
		if p.Check(&problems); problems.Err() == nil {
			return hours.New(p)
		}
	}
}

// TestAnyCalendar compares with what Open says of each minute.
func TestAnyCalendar(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 11))
	nights := []string{"2026-03-28", "2026-10-24", "2026-03-07", "2026-10-31", "2026-04-04", "2026-10-03", "2026-04-23", "2026-10-29", "2026-12-30", "2011-12-29"}
	for range 300 {
		c, err := someCalendar(r)
		if err != nil {
			t.Fatal(err)
		}
		night := moment(t, "UTC", nights[r.IntN(len(nights))]+" 00:00")
		from := night.Add(time.Duration(r.Int64N(int64(48 * time.Hour)))).Truncate(time.Minute)
		var sum time.Duration
		next, err := c.Next(from)
		if err != nil {
			t.Fatal(err)
		}
		to := from.Add(60 * time.Hour)
		for at := from; at.Before(to); at = at.Add(time.Minute) {
			open := c.Open(at)
			if open {
				sum += time.Minute
			}
			if at.Before(next) == (open != c.Open(from)) && !at.After(next) {
				t.Fatalf("%v: open %v at %v, but the next change after %v is at %v", c.Zone(), open, at, from, next)
			}
		}
		if got := c.Between(from, to); got != sum {
			t.Fatalf("%v: from %v: %v, but %v of the minutes are open", c.Zone(), from, got, sum)
		}
		for range 20 {
			at := from.Add(time.Duration(r.Int64N(int64(500 * 24 * time.Hour))))
			d := time.Duration(r.Int64N(int64(300 * time.Hour)))
			due, err := c.Add(at, d)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Between(at, due); got != d {
				t.Fatalf("%v: %v after %v is %v, between which are %v", c.Zone(), d, at, due, got)
			}
			if d > 0 && c.Between(at, due.Add(-time.Nanosecond)) != d-time.Nanosecond {
				t.Fatalf("%v: %v after %v is later than necessary: %v", c.Zone(), d, at, due)
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "9-17": "09:00–17:00", " 09:00 – 12.30, 13:00—17:30 ": "09:00–12:30, 13:00–17:30", "22:00-06:00": "22:00–06:00", "0-24": "00:00–24:00",
		"9am-5pm": "09:00–17:00", "12am - 12pm": "00:00–12:00", "9h30-17h": "09:30–17:00", "9 to 5 p.m.": "09:00–17:00", "9-12;13-17": "09:00–12:00, 13:00–17:00",
	} {
		spans, err := hours.ParseSpans(text)
		if got := hours.FormatSpans(spans); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"9", "9-", "25-26", "9:60-10", "13pm-14pm", "0am-1", "closed", "9-17-18", "24:01-3", strings.Repeat("1-2,", 13)} {
		if spans, err := hours.ParseSpans(text); err == nil {
			t.Errorf("%q: %v", text, spans)
		}
	}
	const list = "2026-12-24 – 2026-12-26 Christmas\n2027-01-01\n"
	all, _, err := hours.ParseHolidays("\n2026-12-24 - 2026-12-26: Christmas \n\n 2027-01-01")
	if diff := cmp.Diff(list, hours.FormatHolidays(all)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []string{"Christmas", "2026-02-30", "2026-12-24 - 2026-13-01", "24.12.2026"} {
		if _, line, err := hours.ParseHolidays("2026-01-01\n" + text); err == nil || line != text {
			t.Errorf("%q: %q, %v", text, line, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p := hours.Plan{Timezone: "Local", Holidays: []hours.Holiday{{From: hours.Date{Year: 2026, Month: 2, Day: 30}}, {From: hours.Date{Year: 2026, Month: 2, Day: 2}, To: hours.Date{Year: 2026, Month: 2, Day: 1}}}}
	p.Week[time.Monday] = []hours.Span{{From: 60, To: 120}, {From: 119, To: 180}}
	p.Week[time.Tuesday] = []hours.Span{{From: 60, To: 120}, {From: 119, To: 180}, {From: 1440, To: 1441}, {From: 300, To: 300}}
	p.Week[time.Saturday] = []hours.Span{{From: 1200, To: 61}}
	p.Week[time.Sunday] = []hours.Span{{From: 60, To: 90}}
	var problems fault.Collector
	p.Check(&problems)
	f, _ := errors.AsType[*fault.Error](problems.Err())
	want := fault.Fields{
		"timezone":           {"is not a time zone (use an IANA name, such as Europe/Berlin)"},
		"week[mon]":          {"has spans that overlap"},
		"week[tue][2][from]": {"must be hh:mm, 00:00 to 23:59"}, "week[tue][2][to]": {"must be hh:mm, 00:00 to 24:00"},
		"week[tue][3][to]":  {"equals from; a whole day is 00:00 to 24:00"},
		"week[sat]":         {"has spans that overlap"},
		"holidays[0][from]": {"must be a date: yyyy-mm-dd"},
		"holidays[1][to]":   {"is before from"},
	}
	if diff := cmp.Diff(want, f.Fields); diff != "" {
		t.Error(diff)
	}
	problems = fault.Collector{}
	hours.Plan{Timezone: "UTC"}.Check(&problems)
	if f, _ := errors.AsType[*fault.Error](problems.Err()); len(f.Fields["week"]) != 1 {
		t.Error(f.Fields)
	}
}

func TestUpcoming(t *testing.T) {
	t.Parallel()
	c := calendar(t, "Pacific/Auckland", "9-17", "2027-01-01 New Year\n2026-12-24 - 2026-12-26 Christmas\n2026-06-01 Past\n2028-01-01 Later")
	now := moment(t, "UTC", "2026-12-26 10:00") // 23:00 there
	var names []string
	for _, h := range c.Upcoming(now, 2) {
		names = append(names, h.Name)
	}
	if diff := cmp.Diff([]string{"Christmas", "New Year"}, names); diff != "" {
		t.Error(diff)
	}
	if h, is := c.Holiday(now); !is || h.Name != "Christmas" {
		t.Error(h, is)
	}
	if h, is := c.Holiday(now.Add(time.Hour)); is {
		t.Error(h)
	}
}

func FuzzPlan(f *testing.F) {
	f.Fuzz(func(t *testing.T, zone, spans, other, holidays string, at, d int64) {
		p := hours.Plan{Timezone: zone}
		var err error
		for _, day := range hours.Days() {
			text := spans
			if day%2 == 0 {
				text = other
			}
			if p.Week[day], err = hours.ParseSpans(text); err != nil {
				return
			}
			again, err := hours.ParseSpans(hours.FormatSpans(p.Week[day]))
			if diff := cmp.Diff(p.Week[day], again); err != nil || diff != "" {
				t.Fatalf("%q: %v\n%s", text, err, diff)
			}
		}
		if p.Holidays, _, err = hours.ParseHolidays(holidays); err != nil {
			return
		}
		again, _, err := hours.ParseHolidays(hours.FormatHolidays(p.Holidays))
		if diff := cmp.Diff(p.Holidays, again); err != nil || diff != "" {
			t.Fatalf("%q: %v\n%s", holidays, err, diff)
		}
		c, err := hours.New(p)
		if err != nil {
			return
		}
		from := time.UnixMicro(at % 4e15) // within a century of 1970
		if next, err := c.Next(from); err == nil && (c.Open(next) == c.Open(from) || !next.After(from)) {
			t.Fatalf("the next change after %v is %v", from, next)
		}
		length := time.Duration(d) % (3000 * time.Hour)
		if due, err := c.Add(from, length); err == nil && c.Between(from, due) != length {
			t.Fatalf("%v after %v is %v", length, from, due)
		}
	})
}
