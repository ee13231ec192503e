package report

import (
	"time"
)

// DefaultDays is how many days a period has if nobody says.
const DefaultDays = 30

// Period returns the period between two days or moments: "2026-11-30" or RFC 3339. A day is one of the zone, and the last one is
// part of the period; a moment is not. Without to, it ends with today, and without from, it begins 30 days before its end. The text
// of a problem is "" if there is none.
func Period(from, to string, zone *time.Location, now time.Time) (begin, end time.Time, fromProblem, toProblem string) {
	const problem = "must be a day, such as 2026-11-30, or a time (RFC 3339)"
	year, month, day := now.In(zone).Date()
	end = time.Date(year, month, day+1, 0, 0, 0, 0, zone)
	if to != "" {
		at, isDay, known := moment(to, zone)
		if !known {
			toProblem = problem
		} else if end = at; isDay {
			year, month, day = at.Date()
			end = time.Date(year, month, day+1, 0, 0, 0, 0, zone)
		}
	}
	year, month, day = end.In(zone).Date()
	begin = time.Date(year, month, day-DefaultDays, 0, 0, 0, 0, zone)
	if from != "" {
		at, _, known := moment(from, zone)
		if !known {
			fromProblem = problem
		}
		begin = at
	}
	return begin.UTC(), end.UTC(), fromProblem, toProblem
}

func moment(text string, zone *time.Location) (at time.Time, isDay, known bool) {
	if at, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, true, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, false, err == nil
}
