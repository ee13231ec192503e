package kb

import (
	"cmp"
	"context"
	"slices"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Locales are the languages that a reader can choose from: those that something is
// published in, in the order of the account's languages, others behind them by their
// code. A site without anything published has the account's default language.
func (v *Visitor) Locales(ctx context.Context) ([]string, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	found, err := r.PublishedLocales(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return []string{v.site.DefaultLocale}, nil
	}
	place := func(locale string) int {
		if i := slices.Index(v.site.Languages, locale); i >= 0 {
			return i
		}
		return len(v.site.Languages)
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return found, nil
}

// Published returns a published article. Unlike [Visitor.Article] it counts no view.
func (v *Visitor) Published(ctx context.Context, id int64) (ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return ArticleRevision{}, err
	}
	a, err := r.PublishedArticle(ctx, id)
	return a.shown(), err
}

// Top returns the first articles of the site in an order, without contents.
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

// FirstOfEach returns the first n articles of each category by its id, without
// contents.
func (v *Visitor) FirstOfEach(ctx context.Context, categoryIDs []int64, n int) (map[int64][]ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	if len(categoryIDs) > storage.MaxLimit || n > storage.MaxLimit {
		return nil, fault.Field("categories", "has more than 100 ids")
	}
	list, err := r.FirstArticles(ctx, categoryIDs, n)
	first := map[int64][]ArticleRevision{}
	for _, a := range shownArticles(list) {
		for _, id := range a.Article.CategoryIDs {
			if slices.Contains(categoryIDs, id) && len(first[id]) < n {
				first[id] = append(first[id], a)
			}
		}
	}
	return first, err
}

// Neighbours returns the articles before and after one by their sort order, without
// contents. Where there is none its ID is 0.
func (v *Visitor) Neighbours(ctx context.Context, a Article, filter ArticleFilter) (before, after ArticleRevision, err error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return before, after, err
	}
	filter.Brief = true
	next := func(desc bool) (ArticleRevision, error) {
		from := ArticleRevision{Article: a}.position()
		list, err := r.PublishedArticles(ctx, filter, storage.Seek{From: &from, Desc: desc, Limit: 1})
		if len(list) == 0 {
			return ArticleRevision{}, err
		}
		return list[0].shown(), err
	}
	if before, err = next(true); err != nil {
		return before, after, err
	}
	after, err = next(false)
	return before, after, err
}

// Weights of what makes two articles related.
const (
	maxRelatedWords = 8
	maxRelatedHits  = 12 // of a word that more articles have in their titles nothing is learnt
)

// Related returns at most n articles whose titles share words with that of an
// article, the rarer the words the better, without contents. Those of except are left
// out, and so is the article itself.
func (v *Visitor) Related(ctx context.Context, a ArticleRevision, locale string, except []int64, n int) ([]ArticleRevision, error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return nil, err
	}
	terms := searchTerms(a.Revision.Serve(v.site.DefaultLocale, locale).Title)
	slices.SortStableFunc(terms, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // short words say little
	var words []SearchTerm
	for _, term := range terms[:min(len(terms), maxRelatedWords)] {
		words = append(words, SearchTerm{Text: term})
	}
	found, err := r.FindPublishedEach(ctx, SearchQuery{Rank: InTitle, Locales: choices(v.site.DefaultLocale, []string{locale})}, words, maxRelatedHits)
	if err != nil {
		return nil, err
	}
	weights := map[int64]int{}
	for _, hits := range found {
		if len(hits) == maxRelatedHits {
			continue
		}
		for _, h := range hits {
			if h.ArticleID != a.Article.ID && !slices.Contains(except, h.ArticleID) {
				weights[h.ArticleID] += 1000 / (1 + len(hits))
			}
		}
	}
	ids := make([]int64, 0, len(weights))
	for id := range weights {
		ids = append(ids, id)
	}
	byWeight := func(a, b int64) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) }
	slices.SortFunc(ids, byWeight)
	ids = ids[:min(len(ids), max(n, 0))]
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := r.PublishedArticles(ctx, ArticleFilter{IDs: ids, Brief: true}, storage.Seek{Limit: len(ids)})
	slices.SortFunc(list, func(a, b ArticleRevision) int { return byWeight(a.Article.ID, b.Article.ID) })
	return shownArticles(list), err
}

// MaxFound is how many hits [Visitor.CountFound] counts.
const MaxFound = 100

// CountFound tells how many articles [Visitor.Search] finds; more: there are more than
// that.
func (v *Visitor) CountFound(ctx context.Context, query string, wanted []string) (n int, more bool, err error) {
	r, err := v.guard.Read(published)
	if err != nil {
		return 0, false, err
	}
	s := searcher{find: r.FindPublished, spellings: r, site: v.site}
	q := SearchQuery{Locales: choices(v.site.DefaultLocale, wanted)}
	if q.Words = exactly(query); len(q.Words) == 0 {
		return 0, false, nil
	}
	hits, err := s.hits(ctx, q, storage.Seek{Limit: MaxFound + 1})
	if err == nil && len(hits) == 0 {
		var near bool
		if q.Words, near, err = s.misspelled(ctx, q, true); near && err == nil {
			hits, err = s.hits(ctx, q, storage.Seek{Limit: MaxFound + 1})
		}
	}
	return min(len(hits), MaxFound), len(hits) > MaxFound, err
}

// CountView counts a view of an article that is published, see [Service.Run].
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
	v.svc.count(ctx, Scope{AccountID: v.site.AccountID, SiteID: v.site.ID}, list[0].Article)
	return nil
}

func shownArticles(list []ArticleRevision) []ArticleRevision {
	list = slices.Clone(list)
	for i, a := range list {
		list[i] = a.shown()
	}
	return list
}
