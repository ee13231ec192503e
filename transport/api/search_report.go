package api

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
)

type searchesIn struct {
	SiteID     int64  `query:"site_id" required:"true" description:"Whose readers."`
	From       string `query:"from" description:"The first day, of UTC. Default: 30 days until the last."`
	To         string `query:"to" description:"The last day, at most 400 days later. Default: today."`
	Unanswered bool   `query:"unanswered" description:"Only what found nothing or led to no article, or was followed by messages: what left most readers alone comes first."`
}

type searchesOut struct {
	Searches []searchOut `json:"searches" description:"At most 200."`
}

type searchOut struct {
	Query      string `json:"query" description:"In lower case."`
	Locale     string `json:"locale" description:"Of the page on which it was asked."`
	Searches   int64  `json:"searches" description:"How often."`
	Unanswered int64  `json:"unanswered" description:"How often nothing was found."`
	Clicks     int64  `json:"clicks" description:"How many articles were opened from the results."`
	Contacts   int64  `json:"contacts" description:"How many messages were written from the results."`
	Days       int    `json:"days" description:"On how many days."`
	FirstDay   string `json:"first_day" format:"date" description:"The first day of the period on which it was asked."`
	LastDay    string `json:"last_day" format:"date" description:"The last one."`
}

func listSearches(ctx context.Context, d *helpdesk.Desk, in searchesIn) (searchesOut, error) {
	found, err := d.Reports().Searches(ctx, helpdesk.SearchQuery{SiteID: in.SiteID, From: in.From, To: in.To, Unanswered: in.Unanswered})
	out := searchesOut{Searches: []searchOut{}}
	for _, s := range found {
		out.Searches = append(out.Searches, searchOut{s.Query, s.Locale, s.Searches, s.Unanswered, s.Clicks, s.Contacts, s.Days, s.First, s.Last})
	}
	return out, err
}
