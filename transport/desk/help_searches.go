package desk

import (
	"net/url"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
)

// searchesView is the page of what readers searched for.
type searchesView struct {
	Back, Name           string
	Tabs, Filters, Spans []option
	Rows                 []askedRow
	Alone                bool // only what left readers alone
	MayWrite             bool
	Few                  string // from when on a query is shown
}

type askedRow struct {
	Query, Lang, Dir, Language          string
	Searches, Unanswered, Opened, Wrote string
	Last                                string
	ResultsURL, WriteURL                string
	LeftAlone                           bool // nothing was found, or nothing was opened
}

// searchSpans are the choices of how far back the page looks: days, or the beginning of the year.
var searchSpans = []string{"30", "90", "year"}

// searchesPage lists what readers searched for: what left them alone, unless all is chosen.
func (hv *helpVisit) searchesPage() error {
	if !hv.visit.may(identity.ReportsView) {
		return hv.missing()
	}
	q := hv.r.URL.Query()
	all, days := q.Get("show") == "all", q.Get("days")
	if days != "90" && days != "year" {
		days = "30"
	}
	from := hv.now.UTC().AddDate(0, 0, 1-int(number(days)))
	if days == "year" {
		from = time.Date(hv.now.UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	found, err := hv.Reports().Searches(hv.ctx(), helpdesk.SearchQuery{
		SiteID: hv.site.ID, From: from.Format(time.DateOnly), Unanswered: !all,
	})
	if err != nil {
		return err
	}
	view := searchesView{
		Back: hv.here(""), Name: hv.site.Name, Tabs: hv.feedbackTabs("searches"), Alone: !all, MayWrite: hv.may(kb.ArticlesCreate),
		Few: hv.words.T("A search appears here once it was made three times."),
	}
	at := func(show, days string) string {
		return hv.here("/feedback/searches?" + url.Values{"show": {show}, "days": {days}}.Encode())
	}
	show := "asked"
	if all {
		show = "all"
	}
	view.Filters = []option{
		{Text: hv.words.T("Asked, not answered"), URL: at("asked", days), Active: !all}, {Text: hv.words.T("All searches"), URL: at("all", days), Active: all},
	}
	for _, span := range searchSpans {
		view.Spans = append(view.Spans, option{Text: hv.words.periodText(span), URL: at(show, span), Active: span == days})
	}
	for _, s := range found {
		view.Rows = append(view.Rows, hv.askedRow(s))
	}
	return hv.showHelp("help-searches", hv.words.T("Searches"), view, 0)
}

func (hv *helpVisit) askedRow(s helpdesk.Search) askedRow {
	row := askedRow{
		Query: s.Query, Lang: s.Locale, Dir: direction(s.Locale), Searches: hv.words.whole(s.Searches), Unanswered: hv.words.whole(s.Unanswered),
		Opened: hv.words.whole(s.Clicks), Wrote: hv.words.whole(s.Contacts), LeftAlone: s.Unanswered > 0 || s.Clicks == 0,
		WriteURL: hv.here("/new?" + url.Values{"title": {s.Query}}.Encode()), ResultsURL: hv.ed.URL() + "/" + s.Locale + "/search?" + url.Values{"query": {s.Query}}.Encode(),
	}
	if len(hv.account.Languages) > 1 {
		row.Language = languageName(s.Locale)
	}
	if at, err := time.Parse(time.DateOnly, s.Last); err == nil {
		row.Last = hv.day(at)
	}
	return row
}
