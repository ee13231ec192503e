package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// siteSearch has the settings of a site's search.
type siteSearch struct {
	Synonyms [][]string `json:"synonyms" description:"Groups of words or phrases that mean the same."`
	Pins     []pin      `json:"pins" description:"Articles that come first for a query."`
}

type pin struct {
	Query      string  `json:"query" required:"true" maxLength:"60" example:"refund" description:"Its words in any form and order; words such as how and my do not count."`
	ArticleIDs []int64 `json:"article_ids" required:"true" minItems:"1" maxItems:"5" example:"[1]" description:"Articles of the site. Those that are not published are left out."`
}

type siteSearchInput struct {
	Synonyms storage.Opt[[][]string] `json:"synonyms" maxItems:"100" example:"[[\"invoice\", \"bill\"]]" description:"Groups of 2 to 8 words or phrases of at most 60 characters."`
	Pins     storage.Opt[[]pin]      `json:"pins" maxItems:"100" description:"A query has 1 to 5 articles, in this order before all others."`
}

func (in siteSearchInput) input() kb.SearchSettingsInput {
	out := kb.SearchSettingsInput{Synonyms: in.Synonyms}
	pins, given := in.Pins.Get()
	switch {
	case given:
		all := make([]kb.Pin, len(pins))
		for i, p := range pins {
			all[i] = kb.Pin{Query: p.Query, Articles: p.ArticleIDs}
		}
		out.Pins = storage.Some(all)
	case in.Pins.IsNull():
		out.Pins = storage.Null[[]kb.Pin]()
	}
	return out
}

func showSiteSearch(s kb.SearchSettings) siteSearch {
	out := siteSearch{Synonyms: append([][]string{}, s.Synonyms...), Pins: []pin{}}
	for _, p := range s.Pins {
		out.Pins = append(out.Pins, pin{p.Query, p.Articles})
	}
	return out
}

func (a *api) addSiteSearch(t *transport.Table) {
	const path = sitePath + "/search"
	transport.Handle(t, a.editor, transport.Operation{
		ID: "getSiteSearch", Method: http.MethodGet, Path: path, Tag: "Sites", Summary: "Retrieve a site's search settings", Description: "Needs sites.view.",
	}, func(ctx context.Context, e *kb.Editor, _ struct{}) (siteSearch, error) {
		out, err := e.SearchSettings(ctx)
		return showSiteSearch(out), err
	})
	transport.Handle(t, a.editor, transport.Operation{
		ID: "updateSiteSearch", Method: http.MethodPut, Path: path, Tag: "Sites", Summary: "Update a site's search settings",
		Description: "Omitted fields stay unchanged; a list replaces the former one. Needs sites.update.",
	}, func(ctx context.Context, e *kb.Editor, in siteSearchInput) (siteSearch, error) {
		out, err := e.SetSearchSettings(ctx, in.input())
		return showSiteSearch(out), err
	})
}
