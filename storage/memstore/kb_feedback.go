package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// feedbackOf returns a stored feedback if the scope has it.
func (db *data) feedbackOf(s kb.Scope, id int64) (*kb.Feedback, error) {
	f, err := db.feedback.get(s.AccountID, id)
	if err != nil || f.SiteID != s.SiteID {
		return nil, db.feedback.missing(id)
	}
	return f, nil
}

func (r kbReader) Feedback(ctx context.Context, id int64) (kb.Feedback, error) {
	return query(ctx, r.src, func(db *data) (kb.Feedback, error) {
		f, err := db.feedbackOf(r.scope, id)
		if err != nil {
			return kb.Feedback{}, err
		}
		return *clone(f), nil
	})
}

func (r kbReader) Feedbacks(ctx context.Context, filter kb.FeedbackFilter, seek storage.Seek) ([]kb.Feedback, error) {
	return query(ctx, r.src, func(db *data) ([]kb.Feedback, error) {
		return db.feedback.list(r.scope.AccountID, seek, func(f *kb.Feedback) bool {
			return f.SiteID == r.scope.SiteID && (filter.ArticleID == 0 || f.ArticleID == filter.ArticleID)
		}), nil
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

func (t kbTx) InsertFeedback(ctx context.Context, f *kb.Feedback) error {
	return t.write(ctx, func(db *data) error {
		a, err := db.article(t.scope, f.ArticleID)
		if err != nil {
			return err
		}
		f.SiteID = t.scope.SiteID
		if err := db.feedback.insert(t.scope.AccountID, f, &f.ID); err != nil {
			return err
		}
		row := *clone(f)
		db.feedback.set(t.scope.AccountID, f.ID, &row) // with its id
		counted := *clone(a)
		counted.Feedbacks++
		db.articles.set(t.scope.AccountID, a.ID, &counted)
		return nil
	})
}

func (t kbTx) DeleteFeedback(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		f, err := db.feedbackOf(t.scope, id)
		if err != nil {
			return err
		}
		if a, err := db.article(t.scope, f.ArticleID); err == nil {
			counted := *clone(a)
			counted.Feedbacks--
			db.articles.set(t.scope.AccountID, a.ID, &counted)
		}
		db.feedback.set(t.scope.AccountID, id, nil)
		return nil
	})
}

func (t kbTx) SetReaction(ctx context.Context, r kb.VisitorReaction) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.article(t.scope, r.ArticleID); err != nil {
			return err
		}
		account := t.scope.AccountID
		rev, err := db.revisions.get(account, revisionID(r.ArticleID, r.Revision))
		if err != nil {
			return err
		}
		counted := *clone(rev)
		for id, old := range db.reactions.all(account) {
			if old.ArticleID != r.ArticleID || old.Revision != r.Revision || !bytes.Equal(old.Visitor, r.Visitor) {
				continue
			}
			if old.Positive == r.Positive {
				return nil
			}
			count(&counted, old.Positive, -1)
			db.reactions.set(account, id, nil)
			break
		}
		var id int64
		if err := db.reactions.insert(account, &r, &id); err != nil {
			return err
		}
		count(&counted, r.Positive, 1)
		db.revisions.set(account, revisionID(r.ArticleID, r.Revision), &counted)
		return nil
	})
}

func count(r *kb.Revision, positive bool, n int64) {
	if positive {
		r.Positive += n
	} else {
		r.Negative += n
	}
}
