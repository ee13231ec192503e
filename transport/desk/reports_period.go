package desk

import (
	"net/url"
	"time"
)

// period is a span of days in the member's time zone.
type period struct {
	key      string
	from, to time.Time // the beginnings of the first day, and of the first one after
}

// Limits of dates that a member gives.
const (
	maxReportDays = 3 * 366
	dateForm      = time.DateOnly
)

// periodKeys are the periods that can be chosen, beside dates.
var periodKeys = []string{"7", "30", "90", "month", "last-month", "year"}

// usualPeriod is the period of a page without a choice.
const usualPeriod = "30"

// periodOf returns the period of a key, with today as its last day, or that of two dates if the key is "own". It reports
// whether there is such a period.
func periodOf(key string, dates url.Values, today time.Time) (period, bool) {
	p := period{key: key, to: nextDay(today)}
	first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, today.Location())
	switch key {
	case "7":
		p.from = today.AddDate(0, 0, -6)
	case "30":
		p.from = today.AddDate(0, 0, -29)
	case "90":
		p.from = today.AddDate(0, 0, -89)
	case "month":
		p.from = first
	case "last-month":
		p.from, p.to = first.AddDate(0, -1, 0), first
	case "year":
		p.from = time.Date(today.Year(), 1, 1, 0, 0, 0, 0, today.Location())
	case "own":
		from, err := time.ParseInLocation(dateForm, dates.Get("from"), today.Location())
		if err != nil {
			return p, false
		}
		last, err := time.ParseInLocation(dateForm, dates.Get("to"), today.Location())
		if err != nil || last.Before(from) || from.Year() < 1990 {
			return p, false
		}
		p.from, p.to = from, nextDay(last)
	default:
		return p, false
	}
	return p, p.days() <= maxReportDays
}

// nextDay is the beginning of the next day, also where that is not after 24 hours.
func nextDay(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, day.Location())
}

// days is the number of days.
func (p period) days() int { return int((p.to.Sub(p.from).Hours() + 12) / 24) }

// last is the last day.
func (p period) last() time.Time {
	return time.Date(p.to.Year(), p.to.Month(), p.to.Day()-1, 0, 0, 0, 0, p.to.Location())
}

// periodText names a period that can be chosen.
func (w words) periodText(key string) string {
	switch key {
	case "7", "30", "90":
		return w.N(int(number(key)), "Last %s days")
	case "month":
		return w.T("This month")
	case "last-month":
		return w.T("Last month")
	case "year":
		return w.T("This year")
	}
	return w.T("Own dates")
}

// datesText says the days of a period.
func (v *visit) datesText(p period) string {
	if p.days() == 1 {
		return v.day(p.from)
	}
	return v.words.T("%s to %s", v.day(p.from), v.day(p.last()))
}
