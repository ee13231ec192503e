package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// helpCentre completes the report on what readers did. Its figures have no rows: nobody knows who the readers were.
func (d Reports) helpCentre(ctx context.Context, r Reader, out report.Report, zone *time.Location) (report.Report, error) {
	days, err := readingDays(ctx, r, out.Query, zone)
	if err != nil {
		return out, err
	}
	out.FoldedAt = d.svc.now()
	out.Total, out.Lines = report.HelpCentreFigures(out.Query, zone, days)
	before := out.Query
	before.From, before.To, before.GroupBy = out.Query.From.Add(out.Query.From.Sub(out.Query.To)), out.Query.From, report.ByNothing
	days, err = readingDays(ctx, r, before, zone)
	out.Before, _ = report.HelpCentreFigures(before, zone, days)
	return out, err
}

// readingDays reads what readers did on the days of a period, in all languages.
func readingDays(ctx context.Context, r storage.RecordReader, q report.Query, zone *time.Location) ([]report.ReadingDay, error) {
	filter := ReadingFilter{Days: report.Days(q, zone), Queries: []string{""}, ArticleIDs: []int64{0}}
	if q.SiteID != 0 {
		filter.SiteIDs = []int64{q.SiteID}
	}
	all, err := readingNoun().Reader(r).List(ctx, filter, storage.Seek{Limit: storage.NoLimit})
	days := make([]report.ReadingDay, len(all))
	for i, one := range all {
		days[i] = report.ReadingDay{Day: one.Day, Views: one.Views, Searches: one.Searches, Unanswered: one.Unanswered, Clicks: one.Clicks, Contacts: one.Contacts}
	}
	return days, err
}
