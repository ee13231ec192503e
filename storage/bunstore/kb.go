package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/kb"
)

// KB returns the knowledge base's store in the same database, with the same outbox.
func (db *DB) KB() kb.Store {
	return kbStore{querier: &querier{store: db, db: db.read}, transact: db.transact}
}

// KB returns the knowledge base's store in the caller's transaction, see [DB.Bind].
func (b *Bound) KB() kb.Store {
	return kbStore{querier: b.querier, transact: func(ctx context.Context, _ entry, fn func(context.Context, *querier) error) error {
		return b.savepoint(ctx, func(q *querier) error { return fn(ctx, q) })
	}}
}

// kbStore implements [kb.Store].
type kbStore struct {
	*querier
	transact func(ctx context.Context, into entry, fn func(context.Context, *querier) error) error
}

// Within implements [kb.Store].
func (s kbStore) Within(scope kb.Scope) kb.Reader { return kbReader{querier: s.querier, scope: scope} }

// InTx implements [kb.Store], see [DB.InTx].
func (s kbStore) InTx(ctx context.Context, scope kb.Scope, fn func(ctx context.Context, tx kb.Tx) error) error {
	return s.transact(ctx, entry{account: scope.AccountID}, func(ctx context.Context, q *querier) error {
		return fn(ctx, kbWriter{kbReader{querier: q, scope: scope}, outbox{q, scope.AccountID}})
	})
}

// kbReader implements [kb.Reader].
type kbReader struct {
	*querier
	scope kb.Scope
}

// kbWriter implements [kb.Tx].
type kbWriter struct {
	kbReader
	outbox
}

var (
	_ kb.Reader = kbReader{}
	_ kb.Tx     = kbWriter{}
)

// kbNouns are the noun declarations shared with other stores.
var kbNouns = kb.Nouns()

// placed returns the reader as a place to read rows from.
func (r kbReader) placed() kbWriter { return kbWriter{r, outbox{r.querier, r.scope.AccountID}} }

// Reader implements [kb.Tx].
func (w kbWriter) Reader() kb.Reader { return w.kbReader }

// siteID implements [place].
func (w kbWriter) siteID() int64 { return w.scope.SiteID }

// site restricts a statement to the scope's site.
func (r kbReader) site(q bun.QueryBuilder) bun.QueryBuilder {
	return r.account(q).Where("?TableName.site_id = ?", r.scope.SiteID)
}

// ofSite restricts a statement on rows to the scope's site.
func ofSite(w kbWriter, q bun.QueryBuilder) bun.QueryBuilder { return w.site(q) }

// counted selects the columns of rows and of their counters.
func counted(counters ...string) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		q.ColumnExpr("?TableColumns")
		for _, column := range counters {
			q.ColumnExpr("?TableName.?", bun.Ident(column))
		}
		return q
	}
}

// account restricts a statement to the account.
func (r kbReader) account(q bun.QueryBuilder) bun.QueryBuilder {
	return q.Where("?TableName.account_id = ?", r.scope.AccountID)
}
