package bunstore

import (
	"context"

	"github.com/helpwright/helpwright/kb"
)

// relink adds references to articles stored before references existed.
func (db *DB) relink(ctx context.Context) error {
	var sites []struct{ SiteID, AccountID int64 }
	if err := db.write.NewRaw("SELECT site_id, account_id FROM hw_reference_pending ORDER BY site_id").Scan(ctx, &sites); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	for _, s := range sites {
		err := db.KB().InTx(ctx, kb.Scope{AccountID: s.AccountID, SiteID: s.SiteID}, func(ctx context.Context, tx kb.Tx) error {
			return tx.(kbWriter).relink(ctx, tx) //nolint:forcetypeassert // it is this store's
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// relink does so for the scope's site, and records that it is done.
func (w kbWriter) relink(ctx context.Context, tx kb.Tx) error {
	site, err := tx.Sites().Get(ctx, w.scope.SiteID)
	if err != nil {
		return err
	}
	var keys []kb.RevisionKey
	err = w.raw(`SELECT article_id, number FROM hw_article_revisions WHERE account_id = ? AND site_id = ? AND (translations LIKE '%/files/%'
		OR translations LIKE '%/articles/%' OR translations LIKE '%/collections/%' OR translations LIKE '%/categories/%') ORDER BY article_id, number`,
		w.scope.AccountID, w.scope.SiteID).Scan(ctx, &keys)
	if err != nil {
		return failure(ctx, err, "migration", 0)
	}
	if err := kb.Relink(ctx, tx, site, keys); err != nil {
		return err
	}
	_, err = w.raw("DELETE FROM hw_reference_pending WHERE site_id = ?", w.scope.SiteID).Exec(ctx)
	return failure(ctx, err, "migration", 0)
}
