package memstore

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// within returns the stored row if it is of the scope's site.
func within[T any](s kb.Scope, t *table[T], id int64, siteOf func(*T) int64) (*T, error) {
	v, err := t.get(s.AccountID, id)
	if err == nil && siteOf(v) != s.SiteID {
		return nil, t.missing(id)
	}
	return v, err
}

func siteOfCollection(c *kb.Collection) int64 { return c.SiteID }
func siteOfCategory(c *kb.Category) int64     { return c.SiteID }
func siteOfArticle(a *kb.Article) int64       { return a.SiteID }

func (db *data) collection(s kb.Scope, id int64) (*kb.Collection, error) {
	return within(s, &db.collections, id, siteOfCollection)
}

func (db *data) category(s kb.Scope, id int64) (*kb.Category, error) {
	return within(s, &db.categories, id, siteOfCategory)
}

func (db *data) article(s kb.Scope, id int64) (*kb.Article, error) {
	return within(s, &db.articles, id, siteOfArticle)
}

// bySortOrder cuts out of rows what seek asks for, in the order of their keys.
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

func (r kbReader) Collection(ctx context.Context, id int64) (kb.Collection, error) {
	return query(ctx, r.src, func(db *data) (kb.Collection, error) { return copyOf(db.collection(r.scope, id)) })
}

func (r kbReader) Collections(ctx context.Context, seek storage.Seek) ([]kb.Collection, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Collection, error) {
		rows := db.collections.where(r.scope.AccountID, func(c *kb.Collection) bool { return c.SiteID == r.scope.SiteID })
		return bySortOrder(rows, seek, func(c kb.Collection) storage.Position { return storage.Position{Key: int64(c.SortOrder), ID: c.ID} }), nil
	})
}

func (r kbReader) CollectionsByID(ctx context.Context, ids []int64) ([]kb.Collection, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Collection, error) {
		return db.collections.where(r.scope.AccountID, func(c *kb.Collection) bool {
			return c.SiteID == r.scope.SiteID && slices.Contains(ids, c.ID)
		}), nil
	})
}

func (r kbReader) Category(ctx context.Context, id int64) (kb.Category, error) {
	return query(ctx, r.src, func(db *data) (kb.Category, error) { return copyOf(db.category(r.scope, id)) })
}

func (r kbReader) Categories(ctx context.Context, filter kb.CategoryFilter, seek storage.Seek) ([]kb.Category, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Category, error) {
		rows := db.categories.where(r.scope.AccountID, func(c *kb.Category) bool {
			return c.SiteID == r.scope.SiteID && (filter.CollectionID == 0 || c.CollectionID == filter.CollectionID)
		})
		return bySortOrder(rows, seek, func(c kb.Category) storage.Position { return storage.Position{Key: int64(c.SortOrder), ID: c.ID} }), nil
	})
}

func (r kbReader) CategoriesByID(ctx context.Context, ids []int64) ([]kb.Category, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Category, error) {
		return db.categories.where(r.scope.AccountID, func(c *kb.Category) bool {
			return c.SiteID == r.scope.SiteID && slices.Contains(ids, c.ID)
		}), nil
	})
}

// revisionID is where a revision is in the table: beside the others of its article.
func revisionID(articleID, number int64) int64 { return articleID<<20 | number }

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

// passes reports whether a filter lets an article through.
func passes(a *kb.Article, f kb.ArticleFilter) bool {
	return (f.CollectionID == 0 || a.CollectionID == f.CollectionID) &&
		(f.CategoryID == 0 || slices.Contains(a.CategoryIDs, f.CategoryID)) && (f.IDs == nil || slices.Contains(f.IDs, a.ID)) &&
		(!f.Loose || len(a.CategoryIDs) == 0) && (!f.Outdated || a.Outdated > 0) && (!f.Drafts || a.Draft > 0)
}

// brief takes the contents off.
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

// published are the brief articles that are published and match, by sort order.
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

func (r kbReader) FirstArticles(ctx context.Context, categoryIDs []int64, n int) ([]kb.ArticleRevision, error) {
	seen := map[int64]int{}
	return r.published(ctx, func(a kb.Article) bool {
		first := false
		for _, id := range a.CategoryIDs {
			if slices.Contains(categoryIDs, id) {
				seen[id]++
				first = first || seen[id] <= n
			}
		}
		return first
	})
}

func (r kbReader) PublishedLocales(ctx context.Context) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		var locales []string
		for _, d := range db.documents.all(r.scope.AccountID) {
			if d.SiteID == r.scope.SiteID && d.Published {
				locales = append(locales, d.Locale)
			}
		}
		slices.Sort(locales)
		return slices.Compact(locales), nil
	})
}

func (r kbReader) Revision(ctx context.Context, articleID, number int64) (kb.Revision, error) {
	return query(ctx, r.src, func(db *data) (kb.Revision, error) {
		if _, err := db.article(r.scope, articleID); err != nil {
			return kb.Revision{}, db.revisions.missing(number)
		}
		return copyOf(db.revisions.get(r.scope.AccountID, revisionID(articleID, number)))
	})
}

func (r kbReader) Revisions(ctx context.Context, articleID int64, seek storage.Seek) ([]kb.Revision, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Revision, error) {
		if _, err := db.article(r.scope, articleID); err != nil {
			return nil, nil
		}
		rows := db.revisions.where(r.scope.AccountID, func(v *kb.Revision) bool { return v.ArticleID == articleID })
		if seek.From != nil {
			seek.From = &storage.Position{ID: seek.From.ID}
		}
		return bySortOrder(rows, seek, func(v kb.Revision) storage.Position { return storage.Position{ID: v.Number} }), nil
	})
}
