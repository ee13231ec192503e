package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// hand runs hand-written statements. After the first error it does nothing.
type hand struct {
	ctx context.Context //nolint:containedctx // it is for one measurement
	tx  *sql.Tx
	err error
}

// inTx runs a function in a plain transaction.
func (w *world) inTx(ctx context.Context, do func(tx *hand)) error {
	if w.kind == "SQLite" {
		w.writes.Lock()
		defer w.writes.Unlock()
	}
	tx, err := w.plain.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	h := &hand{ctx: ctx, tx: tx}
	if do(h); h.err != nil {
		_ = tx.Rollback()
		return h.err
	}
	return tx.Commit()
}

func (h *hand) exec(query string, args ...any) {
	if h.err == nil {
		_, h.err = h.tx.ExecContext(h.ctx, query, args...)
	}
}

func (h *hand) number(query string, args ...any) (n int64) {
	if h.err == nil {
		h.err = h.tx.QueryRowContext(h.ctx, query, args...).Scan(&n)
	}
	return n
}

// insert inserts a row, and returns its id.
func (h *hand) insert(table, columns string, args ...any) int64 {
	names := strings.Fields(columns)
	holders := make([]string, len(names))
	for i := range names {
		holders[i] = fmt.Sprintf("$%d", i+1)
	}
	return h.number("INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(holders, ", ")+") RETURNING id", args...)
}

// events inserts an event of each subject.
func (h *hand) events(account int64, kind string, subjects []int64, now int64) {
	last := h.number("UPDATE hw_accounts SET last_event = last_event + $1 WHERE id = $2 RETURNING last_event", len(subjects), account)
	var values []string
	var args []any
	for i, subject := range subjects {
		n := len(args)
		values = append(values, fmt.Sprintf("($%d, $%d, $%d, $%d, 0, 0, $%d)", n+1, n+2, n+3, n+4, n+5))
		args = append(args, account, last-int64(i), kind, subject, now)
	}
	h.exec("INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, time) VALUES "+strings.Join(values, ", "), args...)
}
