package desk

import (
	"net/url"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/report"
)

// Periods begin and end with days of the member's zone, also where a day has 23 or 25 hours.
func TestPeriods(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, time.March, 30, 0, 0, 0, 0, berlin) // the day before had 23 hours
	for _, tt := range []struct {
		key, from, to string // the form's
		first, last   string // days; "" for no period
		days          int
		by            report.Group
	}{
		{key: "7", first: "2026-03-24", last: "2026-03-30", days: 7, by: report.ByDay},
		{key: "30", first: "2026-03-01", last: "2026-03-30", days: 30, by: report.ByDay},
		{key: "90", first: "2025-12-31", last: "2026-03-30", days: 90, by: report.ByWeek},
		{key: "month", first: "2026-03-01", last: "2026-03-30", days: 30, by: report.ByDay},
		{key: "last-month", first: "2026-02-01", last: "2026-02-28", days: 28, by: report.ByDay},
		{key: "year", first: "2026-01-01", last: "2026-03-30", days: 89, by: report.ByWeek},
		{key: "own", from: "2026-03-29", to: "2026-03-29", first: "2026-03-29", last: "2026-03-29", days: 1, by: report.ByDay},
		{key: "own", from: "2025-01-01", to: "2026-01-31", first: "2025-01-01", last: "2026-01-31", days: 396, by: report.ByMonth},
		{key: "own", from: "2026-03-30", to: "2026-03-29"}, {key: "own", from: "30.3.2026", to: "2026-03-29"}, {key: "own", from: "2026-03-30"},
		{key: "own", from: "2020-01-01", to: "2026-03-29"}, {key: "own", from: "0001-01-01", to: "0001-01-02"}, {key: "never"}, {key: ""},
	} {
		p, ok := periodOf(tt.key, url.Values{"from": {tt.from}, "to": {tt.to}}, today)
		if ok != (tt.first != "") {
			t.Errorf("%+v: there is one: %t", tt, ok)
			continue
		}
		if !ok {
			continue
		}
		first, last := p.from.Format(time.DateOnly), p.last().Format(time.DateOnly)
		if first != tt.first || last != tt.last || p.days() != tt.days || p.byTime() != tt.by || p.from.Hour() != 0 || p.to.Hour() != 0 {
			t.Errorf("%+v: from %s to %s, %d days by %s", tt, p.from, p.to, p.days(), p.byTime())
		}
	}
}

func TestHourOfWeek(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key       string
		day, hour int
		ok        bool
	}{
		{"mon 00", 0, 0, true}, {"sun 23", 6, 23, true}, {"wed 09", 2, 9, true}, {"wed 24", 2, 24, false}, {"day 09", -1, 9, false}, {"mon", 0, 0, false}, {"", -1, 0, false},
	} {
		if day, hour, ok := hourOfWeek(tt.key); day != tt.day || hour != tt.hour || ok != tt.ok {
			t.Errorf("%q: %d, %d, %t", tt.key, day, hour, ok)
		}
	}
}
