package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
)

// inSite is write in a site that has to be there.
func (t kbTx) inSite(ctx context.Context, fn func(db *data) error) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.site(t.scope, t.scope.SiteID); err != nil {
			return err
		}
		return fn(db)
	})
}

func (t kbTx) CollectionForUpdate(ctx context.Context, id int64) (kb.Collection, error) {
	return t.Collection(ctx, id)
}

func (t kbTx) InsertCollection(ctx context.Context, c *kb.Collection) error {
	return t.inSite(ctx, func(db *data) error {
		row := *c
		row.SiteID, row.Counters = t.scope.SiteID, kb.Counters{}
		row.ID = db.collections.last + 1
		if err := db.collections.update(t.scope.AccountID, row.ID, &row); err != nil {
			return err
		}
		db.collections.last, c.ID, c.SiteID = row.ID, row.ID, row.SiteID
		return nil
	})
}

func (t kbTx) UpdateCollection(ctx context.Context, c *kb.Collection) error {
	return t.inSite(ctx, func(db *data) error {
		old, err := db.collection(t.scope, c.ID)
		if err != nil {
			return err
		}
		row := *c
		row.SiteID, row.Counters = t.scope.SiteID, old.Counters
		return db.collections.update(t.scope.AccountID, row.ID, &row)
	})
}

func (t kbTx) DeleteCollection(ctx context.Context, id int64) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.collection(t.scope, id); err != nil {
			return err
		}
		account := t.scope.AccountID
		if db.categories.conflict(account, 0, func(c *kb.Category) bool { return c.CollectionID == id }) ||
			db.articles.conflict(account, 0, func(a *kb.Article) bool { return a.CollectionID == id }) {
			return fault.New(fault.Conflict, "The collection is not empty.")
		}
		db.collections.set(account, id, nil)
		return nil
	})
}

func (t kbTx) CategoryForUpdate(ctx context.Context, id int64) (kb.Category, error) {
	return t.Category(ctx, id)
}

func (t kbTx) InsertCategory(ctx context.Context, c *kb.Category) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.collection(t.scope, c.CollectionID); err != nil {
			return err
		}
		row := *c
		row.SiteID, row.Counters = t.scope.SiteID, kb.Counters{}
		row.ID = db.categories.last + 1
		if err := db.categories.update(t.scope.AccountID, row.ID, &row); err != nil {
			return err
		}
		db.categories.last, c.ID, c.SiteID = row.ID, row.ID, row.SiteID
		return nil
	})
}

func (t kbTx) UpdateCategory(ctx context.Context, c *kb.Category) error {
	return t.inSite(ctx, func(db *data) error {
		old, err := db.category(t.scope, c.ID)
		if err != nil {
			return err
		}
		if _, err := db.collection(t.scope, c.CollectionID); err != nil {
			return err
		}
		row := *c
		row.SiteID, row.Counters = t.scope.SiteID, old.Counters
		return db.categories.update(t.scope.AccountID, row.ID, &row)
	})
}

func (t kbTx) DeleteCategory(ctx context.Context, id int64) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.category(t.scope, id); err != nil {
			return err
		}
		if db.articles.conflict(t.scope.AccountID, 0, func(a *kb.Article) bool { return slices.Contains(a.CategoryIDs, id) }) {
			return fault.New(fault.Conflict, "The category is not empty.")
		}
		db.categories.set(t.scope.AccountID, id, nil)
		return nil
	})
}

func (t kbTx) ArticleForUpdate(ctx context.Context, id int64) (kb.Article, error) {
	return query(ctx, t.src, func(db *data) (kb.Article, error) { return copyOf(db.article(t.scope, id)) })
}

func (t kbTx) ArticlesForUpdate(ctx context.Context, ids []int64) ([]kb.Article, error) {
	return query(ctx, t.src, func(db *data) ([]kb.Article, error) {
		return db.articles.where(t.scope.AccountID, func(a *kb.Article) bool {
			return a.SiteID == t.scope.SiteID && slices.Contains(ids, a.ID)
		}), nil
	})
}

// refers checks what an article refers to.
func (t kbTx) refers(db *data, a *kb.Article) error {
	if _, err := db.collection(t.scope, a.CollectionID); err != nil {
		return err
	}
	for _, id := range a.CategoryIDs {
		if _, err := db.category(t.scope, id); err != nil {
			return err
		}
	}
	return nil
}

func (t kbTx) InsertArticle(ctx context.Context, a *kb.Article) error {
	return t.inSite(ctx, func(db *data) error {
		if err := t.refers(db, a); err != nil {
			return err
		}
		row := *a
		row.SiteID, row.Views, row.Feedbacks = t.scope.SiteID, 0, 0
		row.ID = db.articles.last + 1
		if err := db.articles.update(t.scope.AccountID, row.ID, &row); err != nil {
			return err
		}
		db.articles.last, a.ID, a.SiteID = row.ID, row.ID, row.SiteID
		return nil
	})
}

func (t kbTx) UpdateArticle(ctx context.Context, a *kb.Article) error {
	return t.inSite(ctx, func(db *data) error {
		old, err := db.article(t.scope, a.ID)
		if err != nil {
			return err
		}
		if err := t.refers(db, a); err != nil {
			return err
		}
		row := *a
		row.SiteID, row.Views, row.Feedbacks = t.scope.SiteID, old.Views, old.Feedbacks
		return db.articles.update(t.scope.AccountID, row.ID, &row)
	})
}

func (t kbTx) DeleteArticle(ctx context.Context, id int64) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.article(t.scope, id); err != nil {
			return err
		}
		db.articles.set(t.scope.AccountID, id, nil)
		db.revisions.removeIf(t.scope.AccountID, func(r *kb.Revision) bool { return r.ArticleID == id })
		db.forgetArticle(t.scope.AccountID, id)
		return nil
	})
}

func (t kbTx) InsertRevision(ctx context.Context, r *kb.Revision) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.article(t.scope, r.ArticleID); err != nil {
			return err
		}
		id := revisionID(r.ArticleID, r.Number)
		if _, taken := db.revisions.find(t.scope.AccountID, id); taken {
			return fault.New(fault.Conflict, "There is such a revision already.")
		}
		row := *r
		row.Views, row.Positive, row.Negative = 0, 0, 0
		return db.revisions.update(t.scope.AccountID, id, &row)
	})
}

// revision returns the stored revision of an article of the site.
func (db *data) revision(s kb.Scope, articleID, number int64) (*kb.Revision, error) {
	if _, err := db.article(s, articleID); err != nil {
		return nil, db.revisions.missing(number)
	}
	return db.revisions.get(s.AccountID, revisionID(articleID, number))
}

func (t kbTx) UpdateRevision(ctx context.Context, r *kb.Revision) error {
	return t.inSite(ctx, func(db *data) error {
		old, err := db.revision(t.scope, r.ArticleID, r.Number)
		if err != nil {
			return err
		}
		row := *r
		row.Views, row.Positive, row.Negative = old.Views, old.Positive, old.Negative
		return db.revisions.update(t.scope.AccountID, revisionID(r.ArticleID, r.Number), &row)
	})
}

func (t kbTx) DeleteRevision(ctx context.Context, articleID, number int64) error {
	return t.inSite(ctx, func(db *data) error {
		if _, err := db.revision(t.scope, articleID, number); err != nil {
			return err
		}
		db.revisions.set(t.scope.AccountID, revisionID(articleID, number), nil)
		db.reactions.removeIf(t.scope.AccountID, func(r *kb.VisitorReaction) bool {
			return r.ArticleID == articleID && r.Revision == number
		})
		return nil
	})
}

func (t kbTx) AddViews(ctx context.Context, views []kb.View) error {
	if len(views) == 0 {
		return nil
	}
	return t.inSite(ctx, func(db *data) error {
		for _, v := range views {
			a, err := copyOf(db.article(t.scope, v.ArticleID))
			if err != nil {
				return err
			}
			a.Views += v.N
			db.articles.set(t.scope.AccountID, a.ID, &a)
			r, err := copyOf(db.revision(t.scope, v.ArticleID, v.Revision))
			if err != nil {
				continue
			}
			r.Views += v.N
			db.revisions.set(t.scope.AccountID, revisionID(r.ArticleID, r.Number), &r)
		}
		return nil
	})
}

func (t kbTx) AddCounts(ctx context.Context, counts []kb.Counts) error {
	if len(counts) == 0 {
		return nil
	}
	return t.inSite(ctx, func(db *data) error {
		for _, n := range counts {
			if n.CollectionID != 0 {
				c, err := copyOf(db.collection(t.scope, n.CollectionID))
				if err != nil {
					return err
				}
				c.Counters = c.Counters.Add(n.Counters)
				db.collections.set(t.scope.AccountID, c.ID, &c)
				continue
			}
			c, err := copyOf(db.category(t.scope, n.CategoryID))
			if err != nil {
				return err
			}
			c.Counters = c.Counters.Add(n.Counters)
			db.categories.set(t.scope.AccountID, c.ID, &c)
		}
		return nil
	})
}
