package kb

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
	"github.com/helpwright/helpwright/storage/search"
)

// Limits of the search index. Text beyond them is stored but not found.
const (
	MaxSearchText  = 256 << 10 // bytes of the text of an article in one language
	MaxSearchTerms = 256 << 10 // bytes of its distinct terms
)

// SearchTerm is a term of a [Document] to search for, or the prefix of one.
type SearchTerm = search.Term

// Rank says where the words of a query were found. Lower ranks are better hits.
type Rank int

// The ranks.
const (
	InTitle   Rank = iota // all words are in the title
	InSummary             // all are in the title or the summary, and not all in the title
	InContent             // all are in the title, the summary or the content, and not all in the first two
	ranks
)

// Document is the search index entry of an article's live revision in one language.
type Document struct {
	Locale    string
	Language  string // of the locale, such as pt of pt-BR
	Source    bool   // whether it is the article's source locale
	Published bool
	// Title, Summary and Content are the terms of each field: sorted, distinct, made of letters and digits.
	Title, Summary, Content []string
}

// SearchQuery finds documents.
type SearchQuery struct {
	Rank Rank
	// Words lists the words of the query, all of which must match, each by any of its terms. It is never empty.
	Words [][]SearchTerm
	// Locales are in order of preference. Each article is searched only in the first of them that it has, or in its source
	// locale when it has none.
	Locales []LocaleChoice
	Filter  ArticleFilter
}

// LocaleChoice is one locale or, without a locale, the first by code of a language's locales.
type LocaleChoice struct{ Locale, Language string }

// Matches reports whether a document matches the choice.
func (c LocaleChoice) Matches(d Document) bool {
	return c.Locale != "" && c.Locale == d.Locale || c.Locale == "" && c.Language == d.Language
}

// Hit is a document that the search found.
type Hit struct {
	ID        int64 // of the document
	ArticleID int64
	Locale    string
}

// Highlight shows why an article was found. Both fields are HTML: escaped text with the matches in mark elements.
type Highlight struct {
	Title   string
	Snippet string // a passage of the content or the summary; "" when there is no text
}

// documents returns the index entries of a live revision: for each language, the text that is shown in it.
func documents(r Revision) []Document {
	var all []Document
	source, _ := r.Translation(r.SourceLocale)
	shared := searchTerms(contenthtml.Text(source.Content))
	for _, t := range r.Translations {
		if t.Title == "" {
			continue
		}
		d := Document{
			Locale: t.Locale, Language: languageOf(t.Locale), Source: t.Locale == r.SourceLocale, Published: r.Status == Published,
			Title: searchTerms(t.Title), Summary: searchTerms(cmp.Or(t.Summary, source.Summary)), Content: shared,
		}
		if t.Content != "" && t.Locale != r.SourceLocale {
			d.Content = searchTerms(contenthtml.Text(t.Content))
		}
		all = append(all, d)
	}
	return all
}

// languageOf returns the language of a locale.
func languageOf(locale string) string {
	tag, err := language.Parse(locale)
	if err != nil {
		return locale
	}
	base, _ := tag.Base()
	return base.String()
}

// choices returns the order in which [Text.Serve] looks for translations.
func choices(fallback string, wanted []string) []LocaleChoice {
	var all []LocaleChoice
	for _, code := range append(slices.Clone(wanted), fallback) {
		tag, err := language.Parse(code)
		if err != nil {
			continue
		}
		for at := tag; at != language.Und; at = at.Parent() {
			all = append(all, LocaleChoice{Locale: at.String()})
		}
		base, _ := tag.Base()
		all = append(all, LocaleChoice{Language: base.String()})
	}
	return all[:min(len(all), maxChoices)]
}

// maxChoices limits how many locales a search considers.
const maxChoices = 30

func searchTerms(text string) []string {
	if len(text) > MaxSearchText {
		text = plain.Text(text[:MaxSearchText])
	}
	terms, size := search.Terms(text), 0
	for i, t := range terms {
		if size += len(t); size > MaxSearchTerms {
			return terms[:i]
		}
	}
	return terms
}

// index updates the search index with an article's live revision.
func index(ctx context.Context, tx Tx, articleID int64, documents []Document) error {
	if err := tx.SetDocuments(ctx, articleID, documents); err != nil {
		return err
	}
	var words []string
	for _, d := range documents {
		words = append(append(words, d.Title...), d.Summary...)
	}
	slices.Sort(words)
	words = slices.DeleteFunc(slices.Compact(words), func(w string) bool { return search.Variants(w) == nil })
	if len(words) == 0 {
		return nil
	}
	return tx.AddSpellings(ctx, words)
}

// misspelled extends each word of a query by the words of titles and summaries that differ from it by one character. It does
// so only when no article matches all words as given, which an empty first page shows; a later page may be empty anyway.
func (s searcher) misspelled(ctx context.Context, q SearchQuery, first bool) (words [][]SearchTerm, near bool, err error) {
	var variants []string
	for _, word := range q.Words {
		variants = append(variants, search.Variants(word[0].Text)...)
	}
	if len(variants) == 0 {
		return q.Words, false, nil
	}
	if !first {
		if found, err := anything(ctx, s.find, q); err != nil || found {
			return q.Words, false, err
		}
	}
	known, err := s.spellings.Spellings(ctx, variants)
	if err != nil {
		return nil, false, err
	}
	for _, word := range q.Words {
		all := slices.Clone(word)
		for _, w := range known {
			if search.Misspelled(word[0].Text, w) && len(all) < len(word)+maxSpellings {
				all, near = append(all, SearchTerm{Text: w}), true
			}
		}
		words = append(words, all)
	}
	return words, near, nil
}

// finder is a store's FindArticles or FindPublished.
type finder func(ctx context.Context, q SearchQuery, seek storage.Seek) ([]Hit, error)

// maxSpellings limits the corrections of one word of a query.
const maxSpellings = 8

// anything reports whether a query has any hits.
func anything(ctx context.Context, find finder, q SearchQuery) (bool, error) {
	for q.Rank = range ranks {
		hits, err := find(ctx, q, storage.Seek{Limit: 1})
		if err != nil || len(hits) > 0 {
			return len(hits) > 0, err
		}
	}
	return false, nil
}

// highlight marks the matched words.
func highlight(title, summary, content string, words [][]SearchTerm) Highlight {
	text := contenthtml.Text(content)
	if len(text) > MaxSearchText {
		text = plain.Text(text[:MaxSearchText])
	}
	marks := search.Marks(text, words)
	if len(marks) == 0 {
		if in := search.Marks(summary, words); len(in) > 0 || text == "" {
			text, marks = summary, in
		}
	}
	return Highlight{Title: search.Highlight(title, search.Marks(title, words)), Snippet: search.Snippet(text, marks)}
}

// Found is an article that a search found.
type Found struct {
	ArticleRevision
	Locale    string // in which it was found
	Highlight Highlight
}

// Search finds articles by the words of a query in their live revision: matches in titles rank before summaries, and these
// before contents. Each article is searched in the language that [Text.Serve] picks for these locales. The last word may be
// incomplete, and when no article matches all words, each may be misspelled by one character. It needs articles.view.
func (e *Editor) Search(ctx context.Context, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return storage.Page[Found]{}, err
	}
	s := searcher{find: r.FindArticles, spellings: r, articles: r.LiveArticles, site: e.site}
	return s.search(ctx, r, query, wanted, filter, req)
}

// Search finds published articles, see [Editor.Search].
func (v *Visitor) Search(ctx context.Context, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return storage.Page[Found]{}, err
	}
	s := searcher{find: r.FindPublished, spellings: r, articles: r.PublishedArticles, site: v.site}
	page, err := s.search(ctx, r, query, wanted, filter, req)
	for i, f := range page.Items {
		page.Items[i].ArticleRevision = f.shown()
	}
	return page, err
}

// searcher searches what a handle may read.
type searcher struct {
	find      finder
	spellings PublicSearcher
	articles  func(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
	site      Site
}

func (s searcher) search(ctx context.Context, in shelves, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	if err := filter.check(ctx, in); err != nil {
		return storage.Page[Found]{}, err
	}
	q := SearchQuery{Locales: choices(s.site.DefaultLocale, wanted), Filter: filter}
	if q.Words = search.Query(query); len(q.Words) == 0 {
		return storage.Page[Found]{}, nil
	}
	list := func() (storage.Page[rankedHit], error) {
		return storage.List(req, false, rankedHit.position, func(seek storage.Seek) ([]rankedHit, error) { return s.hits(ctx, q, seek) })
	}
	ranked, err := list()
	if err == nil && len(ranked.Items) == 0 {
		var near bool
		if q.Words, near, err = s.misspelled(ctx, q, req.Cursor == ""); near && err == nil {
			ranked, err = list()
		}
	}
	if err != nil {
		return storage.Page[Found]{}, err
	}
	found, err := s.load(ctx, ranked.Items, q.Words)
	return storage.Page[Found]{Items: found, Next: ranked.Next, Prev: ranked.Prev}, err
}

// rankedHit is a hit with its place in the list.
type rankedHit struct {
	Hit
	rank Rank
}

func (h rankedHit) position() storage.Position { return storage.Position{Key: int64(h.rank), ID: h.ID} }

// hits lists hits by rank, then by document.
func (s searcher) hits(ctx context.Context, q SearchQuery, seek storage.Seek) ([]rankedHit, error) {
	order := []Rank{InTitle, InSummary, InContent}
	if seek.Desc {
		slices.Reverse(order)
	}
	within := storage.Seek{Desc: seek.Desc}
	if seek.From != nil {
		i := slices.Index(order, Rank(seek.From.Key))
		if i < 0 {
			return nil, fault.Field("cursor", "is not a cursor of this list")
		}
		order, within.From = order[i:], &storage.Position{ID: seek.From.ID}
	}
	var all []rankedHit
	for _, q.Rank = range order {
		if within.Limit = seek.Limit - len(all); within.Limit <= 0 {
			break
		}
		found, err := s.find(ctx, q, within)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			all = append(all, rankedHit{h, q.Rank})
		}
		within.From = nil
	}
	return all, nil
}

// load reads the articles of hits, in their order.
func (s searcher) load(ctx context.Context, hits []rankedHit, words [][]SearchTerm) ([]Found, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(hits))
	for i, h := range hits {
		ids[i] = h.ArticleID
	}
	articles, err := s.articles(ctx, ArticleFilter{IDs: ids}, storage.Seek{Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, h := range hits {
		i := slices.IndexFunc(articles, func(a ArticleRevision) bool { return a.Article.ID == h.ArticleID })
		if i < 0 {
			continue // it has been deleted since
		}
		t := articles[i].Revision.Serve(h.Locale)
		found = append(found, Found{articles[i], t.Locale, highlight(t.Title, t.Summary, t.Content, words)})
	}
	return found, nil
}
