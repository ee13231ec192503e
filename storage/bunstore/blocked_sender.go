package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type blockedSenderRow struct {
	bun.BaseModel `bun:"table:hw_blocked_senders,alias:hw_blocked_senders"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Sender        string
	SenderKey     string
	UserID        int64
	CreatedAt     int64
}

func (r *blockedSenderRow) blocked() helpdesk.BlockedSender {
	return helpdesk.BlockedSender{ID: r.ID, Sender: r.Sender, Key: r.SenderKey, UserID: r.UserID, CreatedAt: timeOf(r.CreatedAt)}
}

func blockedSenderRowOf(account int64, b *helpdesk.BlockedSender) blockedSenderRow {
	return blockedSenderRow{ID: b.ID, AccountID: account, Sender: b.Sender, SenderKey: b.Key, UserID: b.UserID, CreatedAt: micros(b.CreatedAt)}
}

var blockedSenders = table[writer, helpdesk.BlockedSender, helpdesk.BlockedSenderFilter, blockedSenderRow]{
	Noun: nouns.BlockedSenders, row: blockedSenderRowOf, item: (*blockedSenderRow).blocked,
	match: func(_ context.Context, _ writer, q *bun.SelectQuery, f helpdesk.BlockedSenderFilter) error {
		if len(f.Keys) > 0 {
			q.Err(checkText(f.Keys)).Where("sender_key IN (?)", bun.List(f.Keys))
		}
		return nil
	},
	order: func(f helpdesk.BlockedSenderFilter) string {
		if len(f.Keys) > 0 {
			return "+id" // these filters match few rows
		}
		return "id"
	},
}

// BlockedSenders implements [helpdesk.Reader].
func (r reader) BlockedSenders() storage.RowReader[helpdesk.BlockedSender, helpdesk.BlockedSenderFilter] {
	return rowsOf(r.placed(), &blockedSenders)
}

// BlockedSenders implements [helpdesk.Rows].
func (w writer) BlockedSenders() storage.Rows[helpdesk.BlockedSender, helpdesk.BlockedSenderFilter] {
	return storedOf(w, &blockedSenders)
}
