package memstore

import (
	"context"

	"github.com/helpwright/helpwright/kb"
)

func (t kbTx) AddViews(ctx context.Context, views []kb.View) error {
	if len(views) == 0 {
		return nil
	}
	return t.writeSite(ctx, func(db *data) error {
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
	return t.writeSite(ctx, func(db *data) error {
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
