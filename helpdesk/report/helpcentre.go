package report

import "time"

// ReadingDay is what readers of help centres did on a day.
type ReadingDay struct {
	Day        string // such as "2026-11-29"
	Views      int64  // of articles
	Searches   int64
	Unanswered int64 // searches that found nothing
	Clicks     int64 // articles that were opened from what a search found
	Contacts   int64 // messages that were written with the form
}

func (d *ReadingDay) add(o ReadingDay) {
	d.Views += o.Views
	d.Searches += o.Searches
	d.Unanswered += o.Unanswered
	d.Clicks += o.Clicks
	d.Contacts += o.Contacts
}

func helpCentreMeasures() []measured {
	var all []measured
	for _, key := range []string{"views", "searches", "unanswered", "clicks", "contacts"} {
		all = append(all, measured{Measure: Measure{key, Count, Sum}})
	}
	return append(all, measured{Measure: Measure{"deflection", Percent, Share}})
}

// figures are in the order of the measures. Deflection is the share of searches that led to an article, less the messages that were
// written all the same: nobody is followed from page to page, so it is rather too low.
func (d ReadingDay) figures() []Figure {
	var all []Figure
	for _, n := range []int64{d.Views, d.Searches, d.Unanswered, d.Clicks, d.Contacts} {
		all = append(all, Figure{Value: float64(n), Of: n})
	}
	if d.Searches == 0 {
		return append(all, Figure{None: true})
	}
	helped := min(d.Searches, max(0, d.Clicks-d.Contacts))
	return append(all, Figure{Value: 100 * float64(helped) / float64(d.Searches), Of: d.Searches})
}

// HelpCentreFigures computes the figures of [HelpCentre] from the days of a query. A day counts by its date, whatever the time zone.
func HelpCentreFigures(q Query, zone *time.Location, days []ReadingDay) (total Line, lines []Line) {
	spans := Spans(q, zone)
	sums, all := make([]ReadingDay, max(0, len(spans)-1)), ReadingDay{}
	of := New(Volume, q, Options{Zone: zone}) // for the names of lines
	for _, d := range days {
		at, err := time.ParseInLocation(time.DateOnly, d.Day, zone)
		if err != nil {
			continue
		}
		all.add(d)
		if n := of.spanAt(at); n >= 0 && n < len(sums) {
			sums[n].add(d)
		}
	}
	for n, sum := range sums {
		lines = append(lines, Line{Key: of.name(key{number: int64(n)}), From: spans[n], To: spans[n+1], Figures: sum.figures()})
	}
	return Line{Figures: all.figures()}, lines
}

// Days lists the dates of a query's period in a time zone.
func Days(q Query, zone *time.Location) []string {
	var all []string
	year, month, day := q.From.In(zone).Date()
	for n := 0; ; n++ {
		at := time.Date(year, month, day+n, 0, 0, 0, 0, zone)
		if !at.Before(q.To) {
			return all
		}
		all = append(all, at.Format(time.DateOnly))
	}
}
