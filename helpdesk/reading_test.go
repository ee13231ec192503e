package helpdesk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	figures "github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// searched counts searches of readers of site 1, as the site does.
func (b *bundle) searched(query string, times int, counts helpdesk.ReadingCounts) {
	b.t.Helper()
	for range times {
		counts.Searches = 1
		b.svc.CountReading(b.ctx, b.account.ID, helpdesk.SiteReading{SiteID: 1, Locale: "en", Query: query, ReadingCounts: counts})
	}
	ok(b.t, b.svc.FlushMarks(b.ctx))
}

func (b *bundle) readings() []helpdesk.SiteReading {
	b.t.Helper()
	r := helpdesk.Nouns().Readings.Reader(b.store.Within(b.desk.Scope()))
	return must(r.List(b.ctx, helpdesk.ReadingFilter{}, storage.Seek{Limit: storage.NoLimit}))(b.t)
}

func (b *bundle) searches(q helpdesk.SearchQuery) []string {
	b.t.Helper()
	q.SiteID = 1
	var all []string
	for _, s := range must(b.desk.Reports().Searches(b.ctx, q))(b.t) {
		all = append(all, fmt.Sprintf("%s %s: %d %d %d %d on %d", s.Locale, s.Query, s.Searches, s.Unanswered, s.Clicks, s.Contacts, s.Days))
	}
	return all
}

// What readers search for is added up over days, without what only one of them asked, or what says who they are.
func TestSearchesOfReaders(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	none := helpdesk.ReadingCounts{Unanswered: 1}
	b.searched("  Reset\tPassword ", 2, helpdesk.ReadingCounts{Clicks: 1})
	b.clock.Add(24 * time.Hour)
	b.searched("reset password", 1, helpdesk.ReadingCounts{Clicks: 1})
	b.searched("refund", 4, none)
	b.searched("opening hours", 5, helpdesk.ReadingCounts{})
	b.searched("invoice", 3, helpdesk.ReadingCounts{Clicks: 1, Contacts: 1})
	b.searched("rare", 2, none)
	for _, private := range []string{"ada@example.com", "where is order 12345678", "+49 30 1234567", strings.Repeat("x", 101)} {
		b.searched(private, 3, none)
	}
	all := []string{"en opening hours: 5 0 0 0 on 1", "en refund: 4 4 0 0 on 1", "en invoice: 3 0 3 3 on 1", "en reset password: 3 0 3 0 on 2"}
	if diff := cmp.Diff(all, b.searches(helpdesk.SearchQuery{})); diff != "" {
		t.Errorf("all (-want +got): %s", diff)
	}
	if diff := cmp.Diff(all[:3], b.searches(helpdesk.SearchQuery{Unanswered: true})); diff != "" {
		t.Errorf("unanswered (-want +got): %s", diff)
	}
	today := b.clock.Now().Format(time.DateOnly)
	if got := b.searches(helpdesk.SearchQuery{From: today, To: today}); len(got) != 3 {
		t.Errorf("today: %v", got)
	}
	for _, r := range b.readings() {
		if strings.ContainsAny(r.Query, "@+x1") {
			t.Errorf("kept %q", r.Query)
		}
	}
	for _, q := range []helpdesk.SearchQuery{{From: "yesterday"}, {To: "2026-13-01"}, {From: "2026-02-01", To: "2026-01-01"}, {From: "2020-01-01", To: "2026-01-01"}} {
		if _, err := b.desk.Reports().Searches(b.ctx, q); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// Queries that stay rare are forgotten after a while, others after a year, and a day has not more rows than it may.
func TestReadingsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.searched("rare", 1, helpdesk.ReadingCounts{})
	b.searched("common", 3, helpdesk.ReadingCounts{})
	queries := func() map[string]bool {
		found := map[string]bool{}
		for _, r := range b.readings() {
			found[r.Query] = true
		}
		return found
	}
	for _, step := range []struct {
		days int
		want map[string]bool
	}{
		{20, map[string]bool{"": true, "rare": true, "common": true}},
		{12, map[string]bool{"": true, "common": true}},
		{380, map[string]bool{"": true}},
	} {
		b.clock.Add(time.Duration(step.days) * 24 * time.Hour)
		b.searched("", 1, helpdesk.ReadingCounts{})
		if diff := cmp.Diff(step.want, queries()); diff != "" {
			t.Errorf("after %d more days (-want +got): %s", step.days, diff)
		}
	}
	for n := range 1000 {
		b.svc.CountReading(b.ctx, b.account.ID, helpdesk.SiteReading{SiteID: 1, Locale: "en", Query: fmt.Sprintf("flood %d", n), ReadingCounts: helpdesk.ReadingCounts{Searches: 1}})
	}
	ok(t, b.svc.FlushMarks(b.ctx))
	if n := len(queries()); n != 301 {
		t.Errorf("%d different queries are kept", n)
	}
	total := int64(0)
	for _, r := range b.readings() {
		if r.Query == "" && r.Day == b.clock.Now().Format(time.DateOnly) {
			total += r.Searches
		}
	}
	if total != 1001 {
		t.Errorf("%d searches are counted", total)
	}
}

// The report on help centres counts all readers, by the days of the query, and its rows are refused.
func TestHelpCentreReport(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.searched("refund", 8, helpdesk.ReadingCounts{Clicks: 1})
	b.searched("zzz", 2, helpdesk.ReadingCounts{Unanswered: 1})
	read := func(r helpdesk.SiteReading) {
		b.svc.CountReading(b.ctx, b.account.ID, r)
		ok(t, b.svc.FlushMarks(b.ctx))
	}
	read(helpdesk.SiteReading{SiteID: 1, Locale: "en", ArticleID: 7, ReadingCounts: helpdesk.ReadingCounts{Views: 5}})
	read(helpdesk.SiteReading{SiteID: 1, Locale: "de", ArticleID: 7, ReadingCounts: helpdesk.ReadingCounts{Contacts: 2}})
	read(helpdesk.SiteReading{SiteID: 2, Locale: "en", ReadingCounts: helpdesk.ReadingCounts{Views: 1}})
	today := b.clock.Now().Truncate(24 * time.Hour)
	for _, tt := range []struct {
		name string
		q    figures.Query
		want []float64
	}{
		{"all sites", figures.Query{From: today, To: today.AddDate(0, 0, 1)}, []float64{6, 10, 2, 8, 2, 60}},
		{"one site", figures.Query{From: today, To: today.AddDate(0, 0, 1), SiteID: 1}, []float64{5, 10, 2, 8, 2, 60}},
		{"a day before", figures.Query{From: today.AddDate(0, 0, -1), To: today}, []float64{0, 0, 0, 0, 0, 0}},
	} {
		for _, by := range []figures.Group{figures.ByDay, figures.ByWeek, figures.ByMonth, figures.ByNothing} {
			tt.q.GroupBy = by
			r := must(b.desk.Reports().Get(b.ctx, figures.HelpCentre, tt.q))(t)
			var got, sum []float64
			for n, f := range r.Total.Figures {
				got, sum = append(got, f.Value), append(sum, 0)
				for _, line := range r.Lines {
					sum[n] += line.Figures[n].Value
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s by %q (-want +got): %s", tt.name, by, diff)
			}
			if diff := cmp.Diff(tt.want, sum); by != figures.ByNothing && diff != "" {
				t.Errorf("%s, lines by %q (-want +got): %s", tt.name, by, diff)
			}
		}
	}
	next := figures.Query{From: today.AddDate(0, 0, 1), To: today.AddDate(0, 0, 2)}
	if r := must(b.desk.Reports().Get(b.ctx, figures.HelpCentre, next))(t); r.Before.Figures[1].Value != 10 {
		t.Errorf("the period before: %+v", r.Before)
	}
	next.GroupBy = figures.ByTag
	if _, err := b.desk.Reports().Get(b.ctx, figures.HelpCentre, next); !fault.Is(err, fault.Invalid) {
		t.Errorf("by tag: %v", err)
	}
	next.GroupBy = figures.ByDay
	if _, err := b.desk.Reports().Rows(b.ctx, figures.HelpCentre, next, "views", "", storage.PageRequest{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("rows: %v", err)
	}
	after := must(b.desk.Reports().ContactsAfter(b.ctx, 1, []int64{7, 8}))(t)
	if diff := cmp.Diff(map[int64]int64{7: 2}, after); diff != "" {
		t.Errorf("contacts (-want +got): %s", diff)
	}
}
