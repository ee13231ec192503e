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

// querier is where statements go: to the pool, each on its own snapshot, or into one transaction. Those for the pool go
// into the transaction of the context's unit while it is open.
type querier struct {
	store *DB
	db    *bun.DB      // dialect, hooks and pool
	tx    *transaction // nil: the pool
}

// state is the error of every statement after the end of the transaction.
func (s *querier) state() error {
	if s.tx != nil && s.tx.ended.Load() {
		return errEnded
	}
	return nil
}

// conn is where statements go.
func (s *querier) conn() bun.IConn {
	if s.tx != nil {
		return s.tx.conn
	}
	return pooled{s.db, s.store.unit}
}

func (s *querier) selects(model any) *bun.SelectQuery {
	q := s.db.NewSelect().Model(model).Err(s.state())
	return q.Conn(s.conn())
}

func (s *querier) inserts(model any) *bun.InsertQuery {
	q := s.db.NewInsert().Model(model).Err(s.state()).Err(checkText(model))
	return q.Conn(s.conn())
}

// updates writes all columns of one row but its id.
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

// rows runs a query whose rows stand for several nouns, so that scan reads them by hand. A query that takes too long
// ends, the reading of its rows with it.
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
	if p, ok := conn.(pooled); ok && p.conn(ctx) == p.db.DB {
		rows, err = s.db.QueryContext(context.WithValue(ctx, outlasting{}, true), query, args...) // with its hooks
	} else {
		rows, err = conn.QueryContext(ctx, s.db.QueryGen().FormatQuery(query, args...))
	}
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells all that matters
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
		q.For("UPDATE OF ?TableAlias") // and of no table that is joined
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

// filter is a part of a WHERE clause that selects, updates and deletes share.
type filter = func(bun.QueryBuilder) bun.QueryBuilder

// account keeps a statement within the account.
func (r reader) account(q bun.QueryBuilder) bun.QueryBuilder {
	return q.Where("?TableName.account_id = ?", r.scope.AccountID)
}

// inScope keeps a statement within account and mailboxes; column names the mailbox.
func (r reader) inScope(column string) filter {
	return func(q bun.QueryBuilder) bun.QueryBuilder {
		q = r.account(q)
		if r.scope.Mailboxes != nil {
			q = q.Where("?TableName.? IN (?)", bun.Ident(column), bun.List(r.scope.Mailboxes))
		}
		return q
	}
}

// ofConversation keeps a statement within account and mailboxes by the row's conversation.
func (r reader) ofConversation(q bun.QueryBuilder) bun.QueryBuilder {
	q = r.account(q)
	if r.scope.Mailboxes != nil {
		q = q.Where(`EXISTS (SELECT 1 FROM hw_conversations AS c WHERE c.account_id = ?TableName.account_id
			AND c.id = ?TableName.conversation_id AND c.mailbox_id IN (?))`, bun.List(r.scope.Mailboxes))
	}
	return q
}

// ofInteraction keeps a statement within account and mailboxes by the conversation of the row's interaction.
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

// sees reports whether a mailbox is in the scope; whether it is in the account is for the database to say.
func (r reader) sees(mailboxID int64) bool {
	return r.scope.Mailboxes == nil || slices.Contains(r.scope.Mailboxes, mailboxID)
}

// page orders by (key, id) and cuts out what seek asks for. A key of "id" is no key: the list is by id. One that begins with
// "+" hides the column from the planner, which would walk its index for the few rows that another one finds.
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
	if seek.Limit <= 0 { // bun takes it for no limit
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

// pageBy is page for a list whose order is an expression that no two rows have in common.
func pageBy(q *bun.SelectQuery, id bun.Safe, seek storage.Seek) *bun.SelectQuery {
	order, beyond := bun.Safe("ASC"), bun.Safe(">")
	if seek.Desc {
		order, beyond = "DESC", "<"
	}
	q.OrderExpr("? ?", id, order)
	if seek.Limit != storage.NoLimit {
		q.Limit(int64(seek.Limit))
	}
	if seek.Limit <= 0 { // bun takes it for no limit
		q.Where("1 = 0")
	}
	if seek.From != nil {
		q.Where("? ? ?", id, beyond, seek.From.ID)
	}
	return q
}

// unsigned splits the key of a page from the sign in front of it.
func unsigned(key string) (string, bun.Safe) {
	if name, hidden := strings.CutPrefix(key, "+"); hidden {
		return name, "+"
	}
	return key, ""
}

// among keeps a list to the rows whose column names one of ids.
func among(q *bun.SelectQuery, column string, ids []int64) error {
	if len(ids) == 0 {
		return errNone
	}
	q.Where("? IN (?)", bun.Ident(column), bun.List(ids))
	return nil
}

// one reads a single row.
func one(ctx context.Context, q *bun.SelectQuery, resource string, id int64) error {
	return failure(ctx, locked(ctx, q).Scan(ctx), resource, id)
}

// mapped turns rows into what the domain knows; none is nil.
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

// changed is the outcome of a statement that had to hit a row.
func changed(ctx context.Context, res sql.Result, err error, resource string, id int64) error {
	if err != nil {
		return failure(ctx, err, resource, id)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return failure(ctx, err, resource, id)
	}
	return failure(ctx, sql.ErrNoRows, resource, id)
}

// insertAll stores rows and sets their ids. Databases number the rows of a statement in their order, but promise
// nothing about the order in which they return the numbers.
func insertAll[R any](ctx context.Context, s *querier, rows []R, ids []*int64, resource string) error {
	const batch = 500 // rows of a statement
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
