package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
)

// reindexPiece is how many rows get their terms in one transaction.
const reindexPiece = 50

// index computes the search terms of accounts that are indexed by earlier rules, or not at all. Only the services can compute
// them, so the migration merely listed the accounts. A list also says which rows are done: a call that was interrupted is
// continued by the next one.
func (db *DB) index(ctx context.Context) error {
	var accounts []int64
	if err := db.write.NewRaw("SELECT account_id FROM hw_search_pending ORDER BY account_id").Scan(ctx, &accounts); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	if len(accounts) > 0 {
		db.cfg.Logger.InfoContext(ctx, "indexing customers and conversations again, for other rules of search", "accounts", len(accounts))
	}
	for _, id := range accounts {
		for more := true; more; {
			err := db.InTx(ctx, helpdesk.Scope{AccountID: id}, func(ctx context.Context, tx helpdesk.Tx) (err error) {
				more, err = tx.(writer).indexSome(ctx, tx) //nolint:forcetypeassert // it is this store's
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// indexSome indexes the next customers of the account or, after these, conversations, which include their customers' terms.
func (w writer) indexSome(ctx context.Context, tx helpdesk.Tx) (more bool, err error) {
	pending := w.raw("account_id = ?", w.scope.AccountID)
	of := w.raw("account_id = ?", w.scope.AccountID)
	more, err = w.reindexNext(ctx, "hw_search_pending", "customer_id", pending, "hw_customers", of, func(ids []int64) error {
		if err := helpdesk.ReindexCustomers(ctx, tx, ids); err != nil {
			return err
		}
		return w.mergeSome(ctx, customerSearch.name)
	})
	if more || err != nil {
		return more, err
	}
	more, err = w.reindexNext(ctx, "hw_search_pending", "conversation_id", pending, "hw_conversations", of, func(ids []int64) error {
		if err := helpdesk.ReindexConversations(ctx, tx, ids); err != nil {
			return err
		}
		return w.mergeSome(ctx, conversationSearch.name)
	})
	if more || err != nil {
		return more, err
	}
	_, err = w.raw("DELETE FROM hw_search_pending WHERE ?", pending).Exec(ctx)
	return false, failure(ctx, err, "migration", 0)
}

// reindexNext indexes the next rows of a table after the one that a list names as the last that is done, and notes the new one.
func (s *querier) reindexNext(ctx context.Context, list, done string, pending *bun.RawQuery, table string, of *bun.RawQuery, index func(ids []int64) error) (more bool, err error) {
	var ids []int64
	err = s.raw("SELECT id FROM ? WHERE ? AND id > (SELECT ? FROM ? WHERE ?) ORDER BY id LIMIT ?",
		bun.Ident(table), of, bun.Ident(done), bun.Ident(list), pending, reindexPiece).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return false, failure(ctx, err, "migration", 0)
	}
	if err := index(ids); err != nil {
		return false, err
	}
	_, err = s.raw("UPDATE ? SET ? = ? WHERE ?", bun.Ident(list), bun.Ident(done), ids[len(ids)-1], pending).Exec(ctx)
	return true, failure(ctx, err, "migration", 0)
}

// indexSites does for articles what index does for customers and conversations.
func (db *DB) indexSites(ctx context.Context) error {
	var sites []struct{ SiteID, AccountID int64 }
	if err := db.write.NewRaw("SELECT site_id, account_id FROM hw_document_pending ORDER BY site_id").Scan(ctx, &sites); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	if len(sites) > 0 {
		db.cfg.Logger.InfoContext(ctx, "indexing articles again, for other rules of search", "sites", len(sites))
	}
	for _, s := range sites {
		for more := true; more; {
			err := db.KB().InTx(ctx, kb.Scope{AccountID: s.AccountID, SiteID: s.SiteID}, func(ctx context.Context, tx kb.Tx) (err error) {
				more, err = tx.(kbWriter).indexSome(ctx, tx) //nolint:forcetypeassert // it is this store's
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// indexSome indexes the next articles of the site.
func (w kbWriter) indexSome(ctx context.Context, tx kb.Tx) (more bool, err error) {
	pending := w.raw("account_id = ? AND site_id = ?", w.scope.AccountID, w.scope.SiteID)
	more, err = w.reindexNext(ctx, "hw_document_pending", "article_id", pending, "hw_articles", pending, func(ids []int64) error {
		if err := kb.Reindex(ctx, tx, ids); err != nil {
			return err
		}
		return w.mergeSome(ctx, "hw_article_terms")
	})
	if more || err != nil {
		return more, err
	}
	_, err = w.raw("DELETE FROM hw_document_pending WHERE ?", pending).Exec(ctx)
	return false, failure(ctx, err, "migration", 0)
}
