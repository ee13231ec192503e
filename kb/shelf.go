package kb

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/search"
)

// Front returns the data that every page of the site shows. Its Locales are the languages that a reader can choose from:
// those with published content, in the order of the account's languages, then any others by code. Without published content
// it is the account's default language.
func (v *Visitor) Front(ctx context.Context) (Front, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return Front{}, err
	}
	front, err := r.Front(ctx)
	if err != nil {
		return Front{}, err
	}
	if len(front.Locales) == 0 {
		front.Locales = []string{v.site.DefaultLocale}
		return front, nil
	}
	place := func(locale string) int {
		if i := slices.Index(v.site.Languages, locale); i >= 0 {
			return i
		}
		return len(v.site.Languages)
	}
	slices.SortStableFunc(front.Locales, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return front, nil
}

// Shelf returns a collection with its categories, at most [storage.MaxLimit], by sort order.
func (v *Visitor) Shelf(ctx context.Context, collectionID int64) (Shelf, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return Shelf{}, err
	}
	s, err := r.Shelf(ctx, collectionID, storage.MaxLimit)
	s.Collection.Counters = s.Collection.Counters.published()
	s.Categories = shownCategories(s.Categories)
	return s, err
}

// Published returns a published article. Unlike [Visitor.Article] it does not count a view.
func (v *Visitor) Published(ctx context.Context, id int64) (ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return ArticleRevision{}, err
	}
	a, err := r.PublishedArticle(ctx, id)
	return a.shown(), err
}

// Top returns the first articles of the site in the given order, without contents.
func (v *Visitor) Top(ctx context.Context, order ArticleOrder, limit int) ([]ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	if limit < 0 || limit > storage.MaxLimit {
		return nil, fault.Field("limit", "must be from 0 to 100")
	}
	list, err := r.TopArticles(ctx, order, limit)
	return shownArticles(list), err
}

// FirstOfEach returns the first articles of each category by category id, without contents.
func (v *Visitor) FirstOfEach(ctx context.Context, of []FirstOf) (map[int64][]ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	if len(of) > storage.MaxLimit || slices.ContainsFunc(of, func(f FirstOf) bool { return f.N > storage.MaxLimit }) {
		return nil, fault.Field("categories", "has more than 100 ids or requests more than 100 articles")
	}
	list, err := r.FirstArticles(ctx, of)
	wanted := map[int64]int{}
	for _, f := range of {
		wanted[f.CategoryID] = f.N
	}
	first := map[int64][]ArticleRevision{}
	for _, a := range shownArticles(list) {
		for _, id := range a.Article.CategoryIDs {
			if len(first[id]) < wanted[id] {
				first[id] = append(first[id], a)
			}
		}
	}
	return first, err
}

// Neighbours returns the articles before and after an article by sort order, without contents. A missing neighbour has the
// ID 0.
func (v *Visitor) Neighbours(ctx context.Context, a Article, filter ArticleFilter) (before, after ArticleRevision, err error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return before, after, err
	}
	before, after, err = r.Beside(ctx, filter, ArticleRevision{Article: a}.position())
	return before.shown(), after.shown(), err
}

// Weights for the relatedness of two articles.
const (
	maxRelatedWords = 8
	maxRelatedHits  = 12 // words in the titles of more articles than this are too common to mean anything
)

// RelatedQuery narrows the search of [Visitor.Related].
type RelatedQuery struct {
	Locale string            // language of the titles that are compared
	Except []int64           // articles to leave out
	Known  []ArticleRevision // articles that were read already
	Limit  int               // maximum number of results
	Words  *TitleWords       // cache of the site and the locale; nil: every word is looked up
}

// TitleWords caches which articles have a word in their title, so that [Visitor.Related] looks up each word once, common
// words included, and the related articles themselves, which are the same for many. Its owner discards it when articles
// change. The zero value is ready to use. It is safe for concurrent use.
type TitleWords struct {
	mu     sync.Mutex
	byWord map[string][]int64 // articles with the word, fewer than maxRelatedHits; nil if it is too common
	byID   map[int64]ArticleRevision
}

// Limits of what is cached.
const (
	maxTitleWords    = 1000
	maxTitleArticles = 300
)

// article returns a cached article.
func (t *TitleWords) article(id int64) (a ArticleRevision, ok bool) {
	if t == nil {
		return a, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok = t.byID[id]
	return a, ok
}

// cacheArticles caches articles.
func (t *TitleWords) cacheArticles(articles []ArticleRevision) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil || len(t.byID)+len(articles) > maxTitleArticles {
		t.byID = map[int64]ArticleRevision{}
	}
	for _, a := range articles {
		t.byID[a.Article.ID] = a
	}
}

// known returns the articles of the words that are known, and the other words.
func (t *TitleWords) known(words []SearchTerm) (hits [][]int64, unknown []SearchTerm) {
	if t == nil {
		return nil, words
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range words {
		if ids, ok := t.byWord[w.Text]; ok {
			hits = append(hits, ids)
		} else {
			unknown = append(unknown, w)
		}
	}
	return hits, unknown
}

// add remembers the articles of a word.
func (t *TitleWords) add(word string, articles []int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byWord == nil {
		t.byWord = map[string][]int64{}
	}
	if len(t.byWord) < maxTitleWords {
		t.byWord[word] = articles
	}
}

// Related returns articles whose titles share words with that of an article, without contents; rarer words count more. It
// leaves out the article itself.
func (v *Visitor) Related(ctx context.Context, a ArticleRevision, q RelatedQuery) ([]ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	var words []SearchTerm
	for _, word := range search.Query(a.Revision.Serve(v.site.DefaultLocale, q.Locale).Title) {
		words = append(words, SearchTerm{Text: word[0].Text})
	}
	slices.SortFunc(words, func(a, b SearchTerm) int { // short words carry little meaning
		return cmp.Or(cmp.Compare(len(b.Text), len(a.Text)), cmp.Compare(a.Text, b.Text))
	})
	words = slices.Compact(words)
	words = words[:min(len(words), maxRelatedWords)]
	hits, words := q.Words.known(words)
	found, err := withTitles(ctx, r, words, choices(v.site.DefaultLocale, []string{q.Locale}))
	if err != nil {
		return nil, err
	}
	for i, articles := range found {
		q.Words.add(words[i].Text, articles)
		hits = append(hits, articles)
	}
	weights := map[int64]int{}
	for _, articles := range hits {
		for _, id := range articles {
			if id != a.Article.ID && !slices.Contains(q.Except, id) {
				weights[id] += 1000 / (1 + len(articles))
			}
		}
	}
	ids := make([]int64, 0, len(weights))
	for id := range weights {
		ids = append(ids, id)
	}
	byWeight := func(a, b int64) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) }
	slices.SortFunc(ids, byWeight)
	ids = ids[:min(len(ids), max(q.Limit, 0))]
	if len(ids) == 0 {
		return nil, nil
	}
	var list []ArticleRevision
	var missing []int64
	for _, id := range ids {
		if i := slices.IndexFunc(q.Known, func(k ArticleRevision) bool { return k.Article.ID == id }); i >= 0 {
			list = append(list, q.Known[i])
		} else if known, ok := q.Words.article(id); ok {
			list = append(list, known)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		found, err := r.PublishedArticles(ctx, ArticleFilter{IDs: missing, Brief: true}, storage.Seek{Limit: len(missing)})
		if err != nil {
			return nil, err
		}
		found = shownArticles(found)
		q.Words.cacheArticles(found)
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b ArticleRevision) int { return byWeight(a.Article.ID, b.Article.ID) })
	return list, nil
}

// withTitles returns for each word the articles that have it in the title that is shown; none for a word that too many have.
func withTitles(ctx context.Context, r PublicSearcher, words []SearchTerm, locales []LocaleChoice) ([][]int64, error) {
	if len(words) == 0 {
		return nil, nil
	}
	found, err := r.PublishedPostings(ctx, PostingQuery{Terms: words, Last: InTitle, Limit: maxRelatedHits})
	if err != nil {
		return nil, err
	}
	var documents []int64
	for i, of := range found {
		if len(of) == maxRelatedHits {
			found[i] = nil
		}
		for _, p := range found[i] {
			documents = append(documents, p.DocumentID)
		}
	}
	slices.Sort(documents)
	shown, err := r.FindDocuments(ctx, DocumentQuery{IDs: slices.Compact(documents), Locales: locales})
	if err != nil {
		return nil, err
	}
	articles := map[int64]int64{}
	for _, h := range shown {
		articles[h.ID] = h.ArticleID
	}
	all := make([][]int64, len(words))
	for i, of := range found {
		for _, p := range of {
			if id := articles[p.DocumentID]; id != 0 {
				all[i] = append(all[i], id)
			}
		}
		slices.Sort(all[i])
	}
	return all, nil
}

// MaxFound is the highest count that [Visitor.CountFound] returns.
const MaxFound = 100

// CountFound returns how many articles [Visitor.Search] finds; more is true when there are more than MaxFound.
func (v *Visitor) CountFound(ctx context.Context, query string, wanted []string) (n int, more bool, err error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return 0, false, err
	}
	s := searcher{postings: r.PublishedPostings, index: r, site: v.site}
	hits, err := s.rank(ctx, s.ask(query, wanted), ArticleFilter{})
	return min(len(hits), MaxFound), len(hits) > MaxFound, err
}

// CountView counts a view of a published article, see [Service.Run].
func (v *Visitor) CountView(ctx context.Context, id int64) error {
	r, err := v.guard.Read(published)
	if err != nil {
		return err
	}
	list, err := r.PublishedArticles(ctx, ArticleFilter{IDs: []int64{id}, Brief: true}, storage.Seek{Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fault.Missing("article", id)
	}
	v.svc.countView(ctx, v.site, list[0].Article)
	return nil
}

func shownArticles(list []ArticleRevision) []ArticleRevision {
	list = slices.Clone(list)
	for i, a := range list {
		list[i] = a.shown()
	}
	return list
}
