package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// revisionID returns a revision's id in the table, where it is next to the others of its article.
func revisionID(articleID, number int64) int64 { return articleID<<20 | number }

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
			return nil, nil //nolint:nilerr // an absent article has none
		}
		rows := db.revisions.where(r.scope.AccountID, func(v *kb.Revision) bool { return v.ArticleID == articleID })
		if seek.From != nil {
			seek.From = &storage.Position{ID: seek.From.ID}
		}
		return bySortOrder(rows, seek, func(v kb.Revision) storage.Position { return storage.Position{ID: v.Number} }), nil
	})
}

func (r kbReader) RevisionsByKey(ctx context.Context, keys []kb.RevisionKey) ([]kb.ArticleRevision, error) {
	return query(ctx, r.src, func(db *data) ([]kb.ArticleRevision, error) {
		var found []kb.ArticleRevision
		for _, rev := range db.revisions.all(r.scope.AccountID) {
			if !slices.Contains(keys, kb.RevisionKey{ArticleID: rev.ArticleID, Number: rev.Number}) {
				continue
			}
			if a, err := db.article(r.scope, rev.ArticleID); err == nil {
				found = append(found, kb.ArticleRevision{Article: *clone(a), Revision: *clone(rev)})
			}
		}
		return found, nil
	})
}

func (t kbTx) InsertRevision(ctx context.Context, r *kb.Revision) error {
	return t.writeSite(ctx, func(db *data) error {
		if _, err := db.article(t.scope, r.ArticleID); err != nil {
			return err
		}
		id := revisionID(r.ArticleID, r.Number)
		if _, taken := db.revisions.find(t.scope.AccountID, id); taken {
			return fault.New(fault.Conflict, "This revision already exists.")
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
	return t.writeSite(ctx, func(db *data) error {
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
	return t.writeSite(ctx, func(db *data) error {
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
