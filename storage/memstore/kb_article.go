package memstore

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

var articles = noun[kb.Scope, kb.Article, kb.ArticleFilter]{
	Noun: kbNouns.Articles, of: func(db *data) *table[kb.Article] { return &db.articles },
	sees:   func(_ *data, s kb.Scope, a *kb.Article) bool { return a.SiteID == s.SiteID },
	match:  func(_ *data, _ kb.Scope, f kb.ArticleFilter, a *kb.Article) bool { return passes(a, f) },
	key:    func(_ kb.ArticleFilter, a *kb.Article) int64 { return int64(a.SortOrder) },
	strip:  func(a *kb.Article) { a.Views, a.Feedbacks = 0, 0 },
	refers: articleRefers,
	remove: func(db *data, s kb.Scope, id int64) error {
		db.revisions.removeIf(s.AccountID, func(r *kb.Revision) bool { return r.ArticleID == id })
		db.forgetArticle(s.AccountID, id)
		return nil
	},
}

// articleRefers refuses a collection and categories that are not in the site.
func articleRefers(db *data, s kb.Scope, a *kb.Article) error {
	if _, err := db.collection(s, a.CollectionID); err != nil {
		return err
	}
	for _, id := range a.CategoryIDs {
		if _, err := db.category(s, id); err != nil {
			return err
		}
	}
	return nil
}

// Articles implements [kb.Reader].
func (r kbReader) Articles() storage.RowReader[kb.Article, kb.ArticleFilter] {
	return kbRowsOf(r, &articles)
}

// Articles implements [kb.Rows].
func (t kbTx) Articles() storage.Rows[kb.Article, kb.ArticleFilter] {
	return kbStoredOf(t, &articles)
}

func (db *data) article(s kb.Scope, id int64) (*kb.Article, error) {
	return articles.get(db, s.AccountID, s, id)
}

// LockArticles needs no lock: a transaction has the whole store to itself.
func (t kbTx) LockArticles(ctx context.Context, ids []int64) ([]kb.Article, error) {
	return t.Articles().ByIDs(ctx, ids)
}

// bySortOrder returns the part of rows that seek asks for, in key order.
func bySortOrder[T any](rows []T, seek storage.Seek, position func(T) storage.Position) []T {
	compare := func(a, b storage.Position) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) }
	sign := 1
	if seek.Desc {
		sign = -1
	}
	rows = slices.DeleteFunc(rows, func(v T) bool { return seek.From != nil && sign*compare(position(v), *seek.From) <= 0 })
	slices.SortFunc(rows, func(a, b T) int { return sign * compare(position(a), position(b)) })
	return rows[:min(max(seek.Limit, 0), len(rows))]
}

// live joins an article with its live revision.
func (db *data) live(account int64, a *kb.Article) (kb.ArticleRevision, error) {
	rev, err := db.revisions.get(account, revisionID(a.ID, a.Live))
	if err != nil {
		return kb.ArticleRevision{}, db.articles.missing(a.ID)
	}
	return kb.ArticleRevision{Article: *clone(a), Revision: *clone(rev)}, nil
}

func (r kbReader) liveArticle(ctx context.Context, id int64, published bool) (kb.ArticleRevision, error) {
	return query(ctx, r.src, func(db *data) (kb.ArticleRevision, error) {
		a, err := db.article(r.scope, id)
		if err != nil {
			return kb.ArticleRevision{}, err
		}
		if published && !a.Published {
			return kb.ArticleRevision{}, db.articles.missing(id)
		}
		return db.live(r.scope.AccountID, a)
	})
}

// passes reports whether an article matches a filter.
func passes(a *kb.Article, f kb.ArticleFilter) bool {
	return (f.CollectionID == 0 || a.CollectionID == f.CollectionID) &&
		(f.CategoryID == 0 || slices.Contains(a.CategoryIDs, f.CategoryID)) && (f.IDs == nil || slices.Contains(f.IDs, a.ID)) &&
		(!f.Loose || len(a.CategoryIDs) == 0) && (!f.Outdated || a.Outdated > 0) && (!f.Drafts || a.Draft > 0)
}

// brief removes the contents.
func brief(a kb.ArticleRevision) kb.ArticleRevision {
	for i := range a.Revision.Translations {
		a.Revision.Translations[i].Content, a.Revision.Translations[i].Markdown = "", ""
		a.Revision.Translations[i].MadeFrom = kb.SourceText{}
	}
	return a
}

func (r kbReader) liveArticles(ctx context.Context, f kb.ArticleFilter, published bool, seek storage.Seek) ([]kb.ArticleRevision, error) {
	return query(ctx, r.src, func(db *data) ([]kb.ArticleRevision, error) {
		var all []kb.ArticleRevision
		for _, a := range db.articles.all(r.scope.AccountID) {
			if a.SiteID != r.scope.SiteID || published && !a.Published || !passes(a, f) {
				continue
			}
			if one, err := db.live(r.scope.AccountID, a); err == nil {
				if f.Brief {
					one = brief(one)
				}
				all = append(all, one)
			}
		}
		return bySortOrder(all, seek, func(a kb.ArticleRevision) storage.Position {
			if f.ByViews {
				return storage.Position{Key: a.Article.Views, ID: a.Article.ID}
			}
			return storage.Position{Key: int64(a.Article.SortOrder), ID: a.Article.ID}
		}), nil
	})
}

func (r kbReader) LiveArticle(ctx context.Context, id int64) (kb.ArticleRevision, error) {
	return r.liveArticle(ctx, id, false)
}

func (r kbReader) LiveArticles(ctx context.Context, f kb.ArticleFilter, seek storage.Seek) ([]kb.ArticleRevision, error) {
	return r.liveArticles(ctx, f, false, seek)
}

func (r kbReader) PublishedArticle(ctx context.Context, id int64) (kb.ArticleRevision, error) {
	return r.liveArticle(ctx, id, true)
}

func (r kbReader) PublishedArticles(ctx context.Context, f kb.ArticleFilter, seek storage.Seek) ([]kb.ArticleRevision, error) {
	return r.liveArticles(ctx, f, true, seek)
}

// published returns the published articles that match, without contents, by sort order.
func (r kbReader) published(ctx context.Context, match func(kb.Article) bool) ([]kb.ArticleRevision, error) {
	all, err := r.PublishedArticles(ctx, kb.ArticleFilter{Brief: true}, storage.Seek{Limit: math.MaxInt})
	return slices.DeleteFunc(all, func(a kb.ArticleRevision) bool { return !match(a.Article) }), err
}

func (r kbReader) TopArticles(ctx context.Context, order kb.ArticleOrder, limit int) ([]kb.ArticleRevision, error) {
	all, err := r.published(ctx, func(a kb.Article) bool { return order != kb.MostViewed || a.Views > 0 })
	slices.SortFunc(all, func(a, b kb.ArticleRevision) int {
		first := b.Article.ChangedAt.Compare(a.Article.ChangedAt)
		if order == kb.MostViewed {
			first = cmp.Compare(b.Article.Views, a.Article.Views)
		}
		return cmp.Or(first, cmp.Compare(b.Article.ID, a.Article.ID))
	})
	return all[:min(max(limit, 0), len(all))], err
}

func (r kbReader) Beside(ctx context.Context, f kb.ArticleFilter, at storage.Position) (before, after kb.ArticleRevision, err error) {
	f.Brief = true
	for _, to := range []struct {
		neighbour *kb.ArticleRevision
		desc      bool
	}{{&before, true}, {&after, false}} {
		next, err := r.PublishedArticles(ctx, f, storage.Seek{From: &at, Desc: to.desc, Limit: 1})
		if err != nil {
			return before, after, err
		}
		for _, a := range next {
			*to.neighbour = a
		}
	}
	return before, after, nil
}

func (r kbReader) FirstArticles(ctx context.Context, of []kb.FirstOf) ([]kb.ArticleRevision, error) {
	left := map[int64]int{}
	for _, f := range of {
		left[f.CategoryID] = f.N
	}
	all, err := r.Articles().List(ctx, kb.ArticleFilter{}, storage.Seek{Limit: math.MaxInt})
	if err != nil {
		return nil, err
	}
	first := map[int64]bool{}
	for _, a := range all {
		if !a.Published {
			continue
		}
		for _, id := range a.CategoryIDs {
			first[a.ID] = first[a.ID] || left[id] > 0
			left[id]--
		}
	}
	return r.published(ctx, func(a kb.Article) bool { return first[a.ID] })
}

func (r kbReader) Front(ctx context.Context) (kb.Front, error) {
	return query(ctx, r.src, func(db *data) (kb.Front, error) {
		var front kb.Front
		for _, d := range db.documents.all(r.scope.AccountID) {
			if d.SiteID == r.scope.SiteID && d.Published {
				front.Locales = append(front.Locales, d.Locale)
			}
		}
		slices.Sort(front.Locales)
		front.Locales = slices.Compact(front.Locales)
		t, err := db.themes.first(r.scope.AccountID, func(t *kb.Theme) bool { return t.SiteID == r.scope.SiteID && t.IsActive })
		if err == nil {
			front.ThemeID, front.ThemeRevision = t.ID, t.Revision
		}
		return front, nil
	})
}

func (r kbReader) Shelf(ctx context.Context, collectionID int64, limit int) (kb.Shelf, error) {
	c, err := r.Collections().Get(ctx, collectionID)
	if err != nil {
		return kb.Shelf{}, err
	}
	list, err := r.Categories().List(ctx, kb.CategoryFilter{CollectionID: collectionID}, storage.Seek{Limit: max(limit, 0)})
	return kb.Shelf{Collection: c, Categories: list}, err
}
