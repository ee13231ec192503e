package kb

import (
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
	"github.com/helpwright/helpwright/storage/search"
)

// Limits of a site's search settings.
const (
	MaxSynonyms     = 100 // groups
	MaxSynonymWords = 8   // of a group
	MaxPins         = 100
	MaxPinned       = 5  // articles of a query
	maxSynonym      = 60 // characters
)

// SearchSettings say what a site's search finds besides the words of a question.
type SearchSettings struct {
	Synonyms [][]string `json:"synonyms,omitempty"` // groups of words that mean the same
	Pins     []Pin      `json:"pins,omitempty"`
}

// Pin has the articles that come first for a query.
type Pin struct {
	Query    string  `json:"query"`
	Articles []int64 `json:"articles"`
}

// SearchSettingsInput changes the search settings. Absent fields stay as they are; null clears one.
type SearchSettingsInput struct {
	Synonyms storage.Opt[[][]string] // at most [MaxSynonyms] groups of two to [MaxSynonymWords]
	Pins     storage.Opt[[]Pin]      // at most [MaxPins], each of one to [MaxPinned] articles of the site
}

// SearchSettings returns the settings of the site's search. It needs sites.view.
func (e *Editor) SearchSettings(ctx context.Context) (SearchSettings, error) {
	r, err := e.guard.Read(SitesView)
	if err != nil {
		return SearchSettings{}, err
	}
	site, err := r.Sites().Get(ctx, e.site.ID)
	return site.Search, err
}

// SetSearchSettings changes the settings of the site's search. It needs sites.update.
func (e *Editor) SetSearchSettings(ctx context.Context, in SearchSettingsInput) (SearchSettings, error) {
	begin, err := e.guard.Write(SitesUpdate)
	if err != nil {
		return SearchSettings{}, err
	}
	var site Site
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if site, err = tx.Sites().Lock(ctx, e.site.ID); err != nil {
			return err
		}
		var problems fault.Collector
		site.Search.applySynonyms(&problems, in.Synonyms)
		site.Search.applyPins(&problems, in.Pins)
		if err := problems.Err(); err != nil {
			return err
		}
		if in.Pins.IsSet() {
			if err := checkPinned(ctx, tx, site.Search.Pins); err != nil {
				return err
			}
		}
		site.UpdatedAt = e.svc.now()
		if err := tx.Sites().Update(ctx, &site); err != nil {
			return err
		}
		return e.emit(ctx, tx, "site.updated", site.ID)
	})
	return site.Search, err
}

// searchWords returns the text of a setting, in which there must be a word that can be searched for.
func searchWords(problems *fault.Collector, field, text string) string {
	text = plain.Line(text)
	if problems.Check(len(search.Query(text)) > 0, field, "has no word to search for") {
		bounded(problems, field, text, maxSynonym)
	}
	return text
}

func (s *SearchSettings) applySynonyms(problems *fault.Collector, in storage.Opt[[][]string]) {
	groups, given := in.Get()
	if !given {
		if in.IsNull() {
			s.Synonyms = nil
		}
		return
	}
	s.Synonyms = nil
	problems.Check(len(groups) <= MaxSynonyms, "synonyms", fmt.Sprintf("has more than %d groups", MaxSynonyms))
	for i, words := range groups[:min(len(groups), MaxSynonyms)] {
		field := fmt.Sprintf("synonyms[%d]", i)
		var group []string
		for _, w := range words[:min(len(words), MaxSynonymWords)] {
			if w = searchWords(problems, field, w); !slices.Contains(group, w) {
				group = append(group, w)
			}
		}
		problems.Check(len(group) >= 2 && len(words) <= MaxSynonymWords, field, fmt.Sprintf("must have from 2 to %d words", MaxSynonymWords))
		s.Synonyms = append(s.Synonyms, group)
	}
}

func (s *SearchSettings) applyPins(problems *fault.Collector, in storage.Opt[[]Pin]) {
	pins, given := in.Get()
	if !given {
		if in.IsNull() {
			s.Pins = nil
		}
		return
	}
	s.Pins = nil
	problems.Check(len(pins) <= MaxPins, "pins", fmt.Sprintf("has more than %d queries", MaxPins))
	for i, p := range pins[:min(len(pins), MaxPins)] {
		field := fmt.Sprintf("pins[%d]", i)
		p.Query = searchWords(problems, field+"[query]", p.Query)
		var articles []int64
		for _, id := range p.Articles[:min(len(p.Articles), MaxPinned)] {
			if !slices.Contains(articles, id) {
				articles = append(articles, id)
			}
		}
		problems.Check(len(p.Articles) >= 1 && len(p.Articles) <= MaxPinned, field+"[article_ids]", fmt.Sprintf("must have from 1 to %d articles", MaxPinned))
		s.Pins = append(s.Pins, Pin{p.Query, articles})
	}
}

// checkPinned refuses articles that the site does not have.
func checkPinned(ctx context.Context, tx Tx, pins []Pin) error {
	var ids []int64
	for _, p := range pins {
		ids = append(ids, p.Articles...)
	}
	articles, err := tx.Articles().ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	var problems fault.Collector
	for i, p := range pins {
		for _, id := range p.Articles {
			known := slices.ContainsFunc(articles, func(a Article) bool { return a.ID == id })
			problems.Check(known, fmt.Sprintf("pins[%d][article_ids]", i), fmt.Sprintf("has no article %d of the site", id))
		}
	}
	return problems.Err()
}

// means reports whether two words have the same stem in one of the languages.
func (q *question) means(a, b string) bool {
	return a == b || slices.ContainsFunc(q.languages, func(l string) bool { return search.Stem(l, a) == search.Stem(l, b) })
}

// widen adds the synonyms of the question's words.
func (q *question) widen(groups [][]string) {
	type addition struct {
		to    *asked
		words [][]SearchTerm
	}
	var added []addition // after all were found: a synonym of a synonym may mean something else
	for _, group := range groups {
		texts := make([][][]SearchTerm, len(group))
		for i, text := range group {
			texts[i] = q.content(text, maxAsked)
		}
		for i, words := range texts {
			at := q.index(words)
			if at < 0 {
				continue
			}
			for j, others := range texts {
				for _, w := range q.words[at : at+len(words)] {
					if j != i {
						added = append(added, addition{w, others})
					}
				}
			}
		}
	}
	for _, a := range added {
		for _, word := range a.words {
			for _, l := range append([]string{""}, q.languages...) {
				a.to.add(alternative{SearchTerm{Text: search.Stem(l, word[0].Text)}, ofSynonym, true})
			}
		}
	}
}

// index returns where words are in the question, next to each other, or -1.
func (q *question) index(words [][]SearchTerm) int {
	for at := range len(q.words) - len(words) + 1 {
		same := len(words) > 0
		for i, w := range words {
			same = same && q.means(w[0].Text, q.words[at+i].text)
		}
		if same {
			return at
		}
	}
	return -1
}

// pinned returns the articles that come first for the question: those whose query has the same words.
func (q *question) pinned(pins []Pin) (articles []int64) {
	for _, p := range pins {
		words := q.content(p.Query, maxAsked)
		same := len(words) == len(q.words)
		for _, w := range words {
			same = same && slices.ContainsFunc(q.words, func(o *asked) bool { return q.means(w[0].Text, o.text) })
		}
		if same {
			articles = append(articles, p.Articles...)
		}
	}
	return articles
}
