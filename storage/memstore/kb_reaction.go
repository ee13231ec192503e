package memstore

import (
	"bytes"
	"context"

	"github.com/helpwright/helpwright/kb"
)

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
