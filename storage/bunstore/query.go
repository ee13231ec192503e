package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// querier runs statements: in the pool, each on its own snapshot, or in one transaction. While the transaction of the
// context's unit is open, statements for the pool run in it.
type querier struct {
	store *DB
	db    *bun.DB      // dialect, hooks and pool
	tx    *transaction // nil: the pool
}

// state returns the error of all statements after the end of the transaction.
func (s *querier) state() error {
	if s.tx != nil && s.tx.ended.Load() {
		return errEnded
	}
	return nil
}

// conn returns the connection for statements.
func (s *querier) conn() bun.IConn {
	if s.tx != nil {
		return s.tx.conn
	}
	return pooled{s.db, s.store.unit, s.store.seen}
}

func (s *querier) selects(model any) *bun.SelectQuery {
	q := s.db.NewSelect().Model(model).Err(s.state())
	return q.Conn(s.conn())
}

func (s *querier) inserts(model any) *bun.InsertQuery {
	q := s.db.NewInsert().Model(model).Err(s.state()).Err(checkText(model))
	return q.Conn(s.conn())
}

// updates writes all columns of one row except its id.
func (s *querier) updates(model any) *bun.UpdateQuery {
	q := s.db.NewUpdate().Model(model).Err(s.state()).Err(checkText(model))
	return q.Conn(s.conn())
}

func (s *querier) deletes(model any) *bun.DeleteQuery {
	q := s.db.NewDelete().Model(model).Err(s.state())
	return q.Conn(s.conn())
}

func (s *querier) raw(query string, args ...any) *bun.RawQuery {
	q := s.db.NewRaw(query, args...).Err(s.state()).Err(checkText(args...))
	return q.Conn(s.conn())
}

// rows runs a query whose rows belong to several nouns, so that scan reads them by hand. The time limit includes reading the
// rows.
func (s *querier) rows(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	if err := s.state(); err != nil {
		return err
	}
	if err := checkText(args...); err != nil {
		return err
	}
	ctx, cancel := s.store.bounded(ctx)
	defer cancel()
	var rows *sql.Rows
	var err error
	conn := s.conn()
	if p, ok := conn.(pooled); ok && p.reads(ctx) == p.db.DB {
		rows, err = s.db.QueryContext(context.WithValue(ctx, outlasting{}, true), query, args...) // with its hooks
	} else {
		rows, err = conn.QueryContext(ctx, s.db.QueryGen().FormatQuery(query, args...))
	}
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err reports all that matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// forUpdate locks the selected rows on PostgreSQL. SQLite has one writer at a time.
func (s *querier) forUpdate(q *bun.SelectQuery) *bun.SelectQuery {
	if s.store.postgres {
		q.For("UPDATE OF ?TableAlias") // and not the joined tables
	}
	return q
}

// forChange is forUpdate for rows that stay: like an update, it does not block inserts that refer to them. Those that have
// taken a number of the account would otherwise deadlock with a transaction that has locked the row and then emits an event.
func (s *querier) forChange(q *bun.SelectQuery) *bun.SelectQuery {
	if s.store.postgres {
		q.For("NO KEY UPDATE OF ?TableAlias")
	}
	return q
}

// reader implements [helpdesk.Reader].
type reader struct {
	*querier
	scope helpdesk.Scope
}

// writer implements [helpdesk.Tx].
type writer struct {
	reader
	outbox
}

func newWriter(q *querier, s helpdesk.Scope) writer {
	return writer{reader{querier: q, scope: own(s)}, outbox{q, s.AccountID}}
}

var (
	_ helpdesk.Reader = reader{}
	_ helpdesk.Tx     = writer{}
)

// filter is a part of a WHERE clause shared by selects, updates and deletes.
type filter = func(bun.QueryBuilder) bun.QueryBuilder

// account restricts a statement to the account.
func (r reader) account(q bun.QueryBuilder) bun.QueryBuilder {
	return q.Where("?TableName.account_id = ?", r.scope.AccountID)
}

// inScope restricts a statement to account and mailboxes; column holds the mailbox.
func (r reader) inScope(column string) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		q = r.account(q)
		if r.scope.Mailboxes != nil {
			q = q.Where("?TableName.? IN (?)", bun.Ident(column), bun.List(r.scope.Mailboxes))
		}
		return q
	}
}

// ofConversation restricts a statement to account and mailboxes by the row's conversation.
func (r reader) ofConversation(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.Mailboxes != nil {
		q = q.Where(`EXISTS (SELECT 1 FROM hw_conversations AS c WHERE c.account_id = ?TableName.account_id
			AND c.id = ?TableName.conversation_id AND c.mailbox_id IN (?))`, bun.List(r.scope.Mailboxes))
	}
	return q
}

// ofInteraction restricts a statement to account and mailboxes by the conversation of the row's interaction.
func (r reader) ofInteraction(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.Mailboxes != nil {
		q = q.Where(`EXISTS (SELECT 1 FROM hw_interactions AS i JOIN hw_conversations AS c
			ON c.account_id = i.account_id AND c.id = i.conversation_id
			WHERE i.account_id = ?TableName.account_id AND i.id = ?TableName.interaction_id
			AND c.mailbox_id IN (?))`, bun.List(r.scope.Mailboxes))
	}
	return q
}

// sees reports whether a mailbox is in the scope; the database checks whether it is in the account.
func (r reader) sees(mailboxID int64) bool {
	return r.scope.Mailboxes == nil || slices.Contains(r.scope.Mailboxes, mailboxID)
}

// byID makes SQLite look up rows by their ids, one by one. It takes an account for small, and would walk it for many ids.
func (s *querier) byID(q *bun.SelectQuery) *bun.SelectQuery {
	if !s.store.postgres {
		q.ModelTableExpr("?TableName AS ?TableAlias NOT INDEXED")
	}
	return q
}

// page orders by (key, id) and applies seek. A key of "id" orders by id alone. A leading "+" hides the column from the
// planner, which would otherwise walk its index for the few rows that another index finds.
func page(q *bun.SelectQuery, key string, seek storage.Seek) *bun.SelectQuery {
	order, beyond := "ASC", ">"
	if seek.Desc {
		order, beyond = "DESC", "<"
	}
	key, sign := unsigned(key)
	if key != "id" {
		q.OrderExpr("??TableName.? ?", sign, bun.Ident(key), bun.Safe(order))
	}
	if key == "id" {
		q.OrderExpr("??TableName.id ?", sign, bun.Safe(order))
	} else {
		q.OrderExpr("?TableName.id ?", bun.Safe(order))
	}
	if seek.Limit != storage.NoLimit {
		q.Limit(int64(seek.Limit))
	}
	if seek.Limit <= 0 { // bun would take it as no limit
		return q.Where("1 = 0")
	}
	if seek.From == nil {
		return q
	}
	if key == "id" {
		return q.Where("?TableName.id ? ?", bun.Safe(beyond), seek.From.ID)
	}
	return q.Where("(??TableName.?, ?TableName.id) ? (?, ?)", sign, bun.Ident(key), bun.Safe(beyond), seek.From.Key, seek.From.ID)
}

// pageBy is page for a list ordered by an expression that is unique per row.
func pageBy(q *bun.SelectQuery, id bun.Safe, seek storage.Seek) *bun.SelectQuery {
	order, beyond := bun.Safe("ASC"), bun.Safe(">")
	if seek.Desc {
		order, beyond = "DESC", "<"
	}
	q.OrderExpr("? ?", id, order)
	if seek.Limit != storage.NoLimit {
		q.Limit(int64(seek.Limit))
	}
	if seek.Limit <= 0 { // bun would take it as no limit
		q.Where("1 = 0")
	}
	if seek.From != nil {
		q.Where("? ? ?", id, beyond, seek.From.ID)
	}
	return q
}

// unsigned splits a leading sign from the key of a page.
func unsigned(key string) (string, bun.Safe) {
	if name, hidden := strings.CutPrefix(key, "+"); hidden {
		return name, "+"
	}
	return key, ""
}

// one reads a single row.
func one(ctx context.Context, q *bun.SelectQuery, resource string, id int64) error {
	return failure(ctx, locked(ctx, q).Scan(ctx), resource, id)
}

// mapped converts rows to domain types; without rows it returns nil.
func mapped[R, T any](rows []R, turn func(*R) T) []T {
	if len(rows) == 0 {
		return nil
	}
	all := make([]T, len(rows))
	for i := range rows {
		all[i] = turn(&rows[i])
	}
	return all
}

// changed checks that a statement affected a row.
func changed(ctx context.Context, res sql.Result, err error, resource string, id int64) error {
	if err != nil {
		return failure(ctx, err, resource, id)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return failure(ctx, err, resource, id)
	}
	return failure(ctx, sql.ErrNoRows, resource, id)
}

// insertAll stores rows and sets their ids. Databases number the rows of a statement in order, but do not guarantee to
// return the numbers in that order.
func insertAll[R any](ctx context.Context, s *querier, rows []R, ids []*int64, resource string) error {
	const batch = 500 // rows per statement
	if len(rows) == 0 {
		return s.state()
	}
	for from := 0; from < len(rows); from += batch {
		some := rows[from:min(from+batch, len(rows))]
		given := make([]int64, 0, len(some))
		if err := s.inserts(&some).Returning("id").Scan(ctx, &given); err != nil {
			return failure(ctx, err, resource, 0)
		}
		slices.Sort(given)
		for i, id := range given {
			*ids[from+i] = id
		}
	}
	return nil
}
