package bunstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// snapshotOf marks the contexts of a snapshot of a database.
type snapshotOf struct{ *DB }

// seen is the snapshot of a context, nil when there is none.
func (db *DB) seen(ctx context.Context) bun.IConn {
	if q, ok := ctx.Value(snapshotOf{db}).(*querier); ok && q.state() == nil {
		return q.tx.conn
	}
	return nil
}

// frozen runs fn with statements that all see one state: those of the snapshot that the context has, else of a new one.
// SQLite's WAL grows meanwhile with what others write, and PostgreSQL removes no old rows that the snapshot may still see.
func (db *DB) frozen(ctx context.Context, fn func(ctx context.Context, q *querier) error) error {
	if q, ok := ctx.Value(snapshotOf{db}).(*querier); ok && q.state() == nil {
		return fn(ctx, q)
	}
	options := &sql.TxOptions{}
	if db.postgres {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.read.DB.BeginTx(ctx, options)
	if err != nil {
		return failure(ctx, err, "transaction", 0)
	}
	s := &querier{store: db, db: db.read, tx: newTransaction(tx)}
	defer func() { // also when fn panics
		s.tx.ended.Store(true)
		_ = tx.Rollback() // nothing was written
	}()
	begin := "SELECT 1 FROM hw_accounts WHERE FALSE" // on SQLite the first statement that reads makes the snapshot
	if db.postgres {                                 // whoever reads may do something else for a while, such as writing files
		begin = "SET LOCAL idle_in_transaction_session_timeout = 0"
	}
	if _, err := tx.ExecContext(ctx, begin); err != nil {
		return failure(ctx, err, "transaction", 0)
	}
	return fn(context.WithValue(ctx, snapshotOf{db}, s), s)
}

// InSnapshot implements [helpdesk.Store]. All that is read under the context of fn is of the same moment, also of the
// knowledge base. On SQLite in memory, where one connection does everything, others wait for its end.
func (db *DB) InSnapshot(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, r helpdesk.Reader) error) error {
	return db.frozen(ctx, func(ctx context.Context, q *querier) error { return fn(ctx, reader{querier: q, scope: own(s)}) })
}

// InSnapshot implements [helpdesk.Store]; it reads in the transaction.
func (b *Bound) InSnapshot(ctx context.Context, s helpdesk.Scope, fn func(ctx context.Context, r helpdesk.Reader) error) error {
	return fn(ctx, b.Within(s))
}

// InSnapshot implements [kb.Store], see [DB.InSnapshot].
func (s kbStore) InSnapshot(ctx context.Context, fn func(ctx context.Context, within func(kb.Scope) kb.Reader) error) error {
	run := func(ctx context.Context, q *querier) error {
		return fn(ctx, func(scope kb.Scope) kb.Reader { return kbReader{querier: q, scope: scope} })
	}
	if s.tx != nil {
		return run(ctx, s.querier)
	}
	return s.store.frozen(ctx, run)
}

// AllInteractions implements [helpdesk.TransferReader].
func (r reader) AllInteractions(ctx context.Context, seek storage.Seek) ([]helpdesk.Interaction, error) {
	var rows []interactionRow
	err := page(r.selects(&rows).ApplyQueryBuilder(r.ofConversation), "id", seek).Scan(ctx)
	return mapped(rows, (*interactionRow).interaction), failure(ctx, err, "interaction", 0)
}

// ParticipantsOf implements [helpdesk.TransferReader].
func (r reader) ParticipantsOf(ctx context.Context, conversationIDs []int64) ([]helpdesk.Participants, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []participantRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofConversation).Where("conversation_id IN (?)", bun.List(conversationIDs)).
		Order("conversation_id").Scan(ctx)
	if err != nil {
		return nil, failure(ctx, err, "conversation", 0)
	}
	var all []helpdesk.Participants
	for _, row := range rows {
		if len(all) == 0 || all[len(all)-1].ConversationID != row.ConversationID {
			all = append(all, helpdesk.Participants{ConversationID: row.ConversationID})
		}
		last := &all[len(all)-1]
		last.Keys = append(last.Keys, row.AddressKey)
	}
	for _, p := range all {
		slices.Sort(p.Keys) // whatever the database's collation
	}
	return all, nil
}

// ReadMarks implements [helpdesk.TransferReader].
func (r reader) ReadMarks(ctx context.Context, conversationIDs []int64) ([]helpdesk.ReadMark, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []readMarkRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofConversation).Where("conversation_id IN (?)", bun.List(conversationIDs)).
		Order("conversation_id", "user_id").Scan(ctx)
	return mapped(rows, func(m *readMarkRow) helpdesk.ReadMark {
		return helpdesk.ReadMark{UserID: m.UserID, ConversationID: m.ConversationID, InteractionID: m.InteractionID}
	}), failure(ctx, err, "conversation", 0)
}

type redirectRow struct {
	bun.BaseModel  `bun:"table:hw_conversation_redirects,alias:hw_conversation_redirects"`
	AccountID      int64
	ConversationID int64
	MailboxID      int64
	IntoID         int64
}

// Redirects implements [helpdesk.TransferReader].
func (r reader) Redirects(ctx context.Context, intoIDs []int64) ([]helpdesk.Redirect, error) {
	there, err := r.Conversations().ByIDs(ctx, intoIDs)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	ids := make([]int64, len(there))
	for i, c := range there {
		ids[i] = c.ID
	}
	var rows []redirectRow
	err = r.selects(&rows).ApplyQueryBuilder(r.account).Where("into_id IN (?)", bun.List(ids)).OrderExpr("+conversation_id").Scan(ctx) // sorted, not walked
	return mapped(rows, func(d *redirectRow) helpdesk.Redirect {
		return helpdesk.Redirect{ConversationID: d.ConversationID, MailboxID: d.MailboxID, IntoID: d.IntoID}
	}), failure(ctx, err, "conversation", 0)
}

// InsertMoves implements [helpdesk.TransferWriter].
func (w writer) InsertMoves(ctx context.Context, moves []helpdesk.Move) error {
	if len(moves) == 0 {
		return w.requireAccount(ctx)
	}
	rows, ids := make([]moveRow, len(moves)), make([]int64, len(moves))
	for i, m := range moves {
		ids[i] = m.InteractionID
		rows[i] = moveRow{
			AccountID: w.scope.AccountID, InteractionID: m.InteractionID, Rule: m.Rule, FromID: m.FromID, IntoID: m.IntoID,
			MailboxID: m.MailboxID, UserID: m.UserID, CreatedAt: micros(m.CreatedAt),
		}
	}
	if err := w.requireInteractions(ctx, ids...); err != nil {
		return err
	}
	_, err := w.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "interaction", 0)
}

// InsertRedirects implements [helpdesk.TransferWriter].
func (w writer) InsertRedirects(ctx context.Context, redirects []helpdesk.Redirect) error {
	if len(redirects) == 0 {
		return w.requireAccount(ctx)
	}
	rows, into := make([]redirectRow, len(redirects)), make([]int64, len(redirects))
	for i, d := range redirects {
		into[i] = d.IntoID
		rows[i] = redirectRow{AccountID: w.scope.AccountID, ConversationID: d.ConversationID, MailboxID: d.MailboxID, IntoID: d.IntoID}
	}
	slices.Sort(into)
	if err := w.requireNotified(ctx, slices.Compact(into), nil); err != nil {
		return err
	}
	_, err := w.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "conversation", 0)
}

// AddReactions implements [kb.TransferWriter].
func (w kbWriter) AddReactions(ctx context.Context, all []kb.Reactions) error {
	for _, n := range all {
		res, err := w.raw(`UPDATE hw_article_revisions SET positive = positive + ?, negative = negative + ?
			WHERE account_id = ? AND site_id = ? AND article_id = ? AND number = ?`,
			n.Positive, n.Negative, w.scope.AccountID, w.scope.SiteID, n.ArticleID, n.Revision).Exec(ctx)
		if err := changed(ctx, res, err, "revision", n.Revision); err != nil {
			return err
		}
	}
	return w.state()
}

type newIDRow struct {
	bun.BaseModel `bun:"table:hw_new_ids,alias:hw_new_ids"`
	AccountID     int64
	Noun          string
	OldID         int64
	NewID         int64
}

// NewIDs implements [storage.IDMap] for the transactions of both domains.
func (o outbox) NewIDs(ctx context.Context, noun string, old []int64) (map[int64]int64, error) {
	found := map[int64]int64{}
	if len(old) == 0 {
		return found, o.into.state()
	}
	if err := checkText(noun); err != nil {
		return nil, err
	}
	var rows []newIDRow
	err := o.into.selects(&rows).Where("account_id = ?", o.of).Where("noun = ?", noun).Where("old_id IN (?)", bun.List(old)).Scan(ctx)
	for _, row := range rows {
		found[row.OldID] = row.NewID
	}
	return found, failure(ctx, err, "id", 0)
}

// SaveNewIDs implements [storage.IDMap].
func (o outbox) SaveNewIDs(ctx context.Context, noun string, ids map[int64]int64) error {
	if err := o.requireAccount(ctx); err != nil || len(ids) == 0 {
		return err
	}
	rows := make([]newIDRow, 0, len(ids))
	for _, old := range slices.Sorted(maps.Keys(ids)) {
		rows = append(rows, newIDRow{AccountID: o.of, Noun: noun, OldID: old, NewID: ids[old]})
	}
	_, err := o.into.inserts(&rows).Exec(ctx)
	return failure(ctx, err, "id", 0)
}

// ForgetNewIDs implements [storage.IDMap].
func (o outbox) ForgetNewIDs(ctx context.Context, n int) (int, error) {
	if err := o.requireAccount(ctx); err != nil {
		return 0, err
	}
	some := o.into.raw("SELECT noun, old_id FROM hw_new_ids WHERE account_id = ? LIMIT ?", o.of, max(n, 0))
	res, err := o.into.raw("DELETE FROM hw_new_ids WHERE account_id = ? AND (noun, old_id) IN (?)", o.of, some).Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "id", 0)
	}
	removed, err := res.RowsAffected()
	return int(removed), failure(ctx, err, "id", 0)
}
