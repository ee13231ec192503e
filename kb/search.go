package kb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
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

// Rank says where a term of a document is found first. Lower ranks are better.
type Rank int

// The ranks.
const (
	InTitle   Rank = iota
	InSummary      // or in a heading
	InContent
)

// Document is the search index entry of an article's live revision in one language.
type Document struct {
	Locale    string
	Language  string // of the locale, such as pt of pt-BR
	Source    bool   // whether it is the article's source locale
	Published bool
	Terms     []WeightedTerm // sorted by term, which are distinct: made of letters and digits, or of "_r" and letters
}

// WeightedTerm is a term of a document.
type WeightedTerm struct {
	Term   string
	Rank   Rank
	Weight int64 // how much the document is about it, from 1 to 1000
}

// Posting says that a document has a term.
type Posting struct {
	DocumentID int64
	WeightedTerm
}

// PostingQuery asks which documents have some terms.
type PostingQuery struct {
	Terms  []SearchTerm
	Last   Rank          // the last rank that is wanted
	Filter ArticleFilter // Brief has no meaning
	Limit  int           // of each term and rank
}

// DocumentQuery asks for documents in the languages in which they are shown.
type DocumentQuery struct {
	IDs      []int64 // of documents
	Articles []int64 // or their published ones, when there are no IDs
	// Locales are in order of preference. Each article is searched only in the first of them that it has, or in its source
	// locale when it has none.
	Locales []LocaleChoice
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
	for _, t := range r.Translations {
		if t.Title == "" {
			continue
		}
		d := Document{Locale: t.Locale, Language: languageOf(t.Locale), Source: t.Locale == r.SourceLocale, Published: r.Status == Published}
		content, language := source.Content, languageOf(r.SourceLocale)
		if t.Content != "" && t.Locale != r.SourceLocale {
			content, language = t.Content, d.Language
		}
		d.Terms = weightedTerms(fields(t.Title, cmp.Or(t.Summary, source.Summary), content, d.Language, language))
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

// index updates the search index with an article's live revision.
func index(ctx context.Context, tx Tx, articleID int64, documents []Document) error {
	if err := tx.SetDocuments(ctx, articleID, documents); err != nil {
		return err
	}
	var words []string
	for _, d := range documents {
		for _, t := range d.Terms {
			if spelled(t.Term) {
				words = append(words, t.Term)
			}
		}
	}
	slices.Sort(words)
	if words = slices.Compact(words); len(words) == 0 {
		return nil
	}
	return tx.AddSpellings(ctx, words)
}

// spelled reports whether a term is a word that a query may have misspelled.
func spelled(term string) bool {
	return search.Variants(term) != nil && !strings.ContainsFunc(term, func(r rune) bool { return r == '_' || unicode.IsNumber(r) })
}

// highlight marks the matched words.
func highlight(title, summary, content string, words [][]SearchTerm, stem func(string) string) Highlight {
	text := contenthtml.Text(content)
	if len(text) > MaxSearchText {
		text = plain.Text(text[:MaxSearchText])
	}
	marks := search.StemMarks(text, words, stem)
	if len(marks) == 0 {
		if in := search.StemMarks(summary, words, stem); len(in) > 0 || text == "" {
			text, marks = summary, in
		}
	}
	return Highlight{Title: search.Highlight(title, search.StemMarks(title, words, stem)), Snippet: search.Snippet(text, marks)}
}

// Found is an article that a search found.
type Found struct {
	ArticleRevision
	Locale    string // in which it was found
	Highlight Highlight
}

// Search finds articles by the words of a question in their live revision. It ranks them by how much they are about the words,
// of which rare ones count more, and titles more than summaries and headings, and these more than contents; it leaves out
// articles that are about little of the question. Words are found in all their forms in the article's language, the last one
// may be incomplete, and one that no article has may be misspelled. Each article is searched in the language that [Text.Serve]
// picks for these locales. At most [MaxHits] articles are found. It needs articles.view.
func (e *Editor) Search(ctx context.Context, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return storage.Page[Found]{}, err
	}
	s := searcher{postings: r.Postings, index: r, articles: r.LiveArticles, site: e.site}
	return s.search(ctx, r, query, wanted, filter, req)
}

// Search finds published articles, see [Editor.Search].
func (v *Visitor) Search(ctx context.Context, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return storage.Page[Found]{}, err
	}
	s := searcher{postings: r.PublishedPostings, index: r, articles: r.PublishedArticles, site: v.site}
	page, err := s.search(ctx, r, query, wanted, filter, req)
	for i, f := range page.Items {
		page.Items[i].ArticleRevision = f.shown()
	}
	return page, err
}

// searcher searches what a handle may read.
type searcher struct {
	postings func(ctx context.Context, q PostingQuery) ([][]Posting, error) // a store's Postings or PublishedPostings
	index    PublicSearcher
	articles func(ctx context.Context, filter ArticleFilter, seek storage.Seek) ([]ArticleRevision, error)
	site     Site
}

func (s searcher) search(ctx context.Context, in shelves, query string, wanted []string, filter ArticleFilter, req storage.PageRequest) (storage.Page[Found], error) {
	if err := filter.check(ctx, in); err != nil {
		return storage.Page[Found]{}, err
	}
	var all []rankedHit
	var q *question
	ranked, err := storage.List(req, false, rankedHit.position, func(seek storage.Seek) ([]rankedHit, error) {
		if q == nil { // not before the request is checked
			q = s.ask(query, wanted)
			var err error
			if all, err = s.rank(ctx, q, filter); err != nil {
				return nil, err
			}
		}
		return sought(all, seek), nil
	})
	if err != nil {
		return storage.Page[Found]{}, err
	}
	found, err := s.load(ctx, ranked.Items, q)
	return storage.Page[Found]{Items: found, Next: ranked.Next, Prev: ranked.Prev}, err
}

// sought returns the part of sorted hits that a page is read from.
func sought(all []rankedHit, seek storage.Seek) []rankedHit {
	all = slices.Clone(all)
	if seek.Desc {
		slices.Reverse(all)
	}
	if seek.From != nil {
		all = slices.DeleteFunc(all, func(h rankedHit) bool {
			at := comparePositions(h.position(), *seek.From)
			return at == 0 || at > 0 == seek.Desc
		})
	}
	return all[:min(len(all), max(seek.Limit, 0))]
}

// load reads the articles of hits, in their order.
func (s searcher) load(ctx context.Context, hits []rankedHit, q *question) ([]Found, error) {
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
	words := q.marks()
	stems := map[[2]string]string{} // texts have most words in common
	var found []Found
	for _, h := range hits {
		i := slices.IndexFunc(articles, func(a ArticleRevision) bool { return a.Article.ID == h.ArticleID })
		if i < 0 {
			continue // it has been deleted since
		}
		t := articles[i].Revision.Serve(h.Locale)
		language := languageOf(t.Locale)
		stem := func(word string) string {
			of := [2]string{language, word}
			if _, known := stems[of]; !known {
				stems[of] = search.Stem(language, word)
			}
			return stems[of]
		}
		found = append(found, Found{articles[i], t.Locale, highlight(t.Title, t.Summary, t.Content, words, stem)})
	}
	return found, nil
}
