package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
)

type noteRow struct {
	bun.BaseModel  `bun:"table:hw_idempotency,alias:hw_idempotency"`
	Key            []byte `bun:",pk"`
	Request        []byte
	Holder         string
	Until          int64
	Answer         []byte // nil: the request is in progress
	ConversationID int64
}

var _ storage.Idempotency = (*DB)(nil)

// Noted implements [storage.Idempotency].
func (db *DB) Noted(ctx context.Context, key []byte, now time.Time) (storage.Note, error) {
	var row noteRow
	err := db.selects(&row).Where("key = ? AND until > ?", key, micros(now)).Scan(ctx)
	return storage.Note{
		Key: row.Key, Request: row.Request, Holder: row.Holder, Until: timeOf(row.Until), Answer: row.Answer, ConversationID: row.ConversationID,
	}, failure(ctx, err, "idempotency key", 0)
}

// Note implements [storage.Idempotency].
func (db *DB) Note(ctx context.Context, n storage.Note, now time.Time) error {
	var holder string
	err := db.queue().raw(`INSERT INTO hw_idempotency (key, request, holder, until, answer, conversation_id) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET request = excluded.request, holder = excluded.holder, until = excluded.until,
		answer = excluded.answer, conversation_id = excluded.conversation_id WHERE hw_idempotency.until <= ? OR hw_idempotency.holder = excluded.holder RETURNING holder`,
		n.Key, n.Request, n.Holder, micros(n.Until), n.Answer, n.ConversationID, micros(now)).Scan(ctx, &holder)
	if errors.Is(err, sql.ErrNoRows) {
		return storage.ErrNoted
	}
	return failure(ctx, err, "idempotency key", 0)
}

// Sweep implements [storage.Idempotency].
func (db *DB) Sweep(ctx context.Context, now time.Time, n int) (int, error) {
	res, err := db.queue().raw(`DELETE FROM hw_idempotency WHERE until <= ? AND key IN
		(SELECT key FROM hw_idempotency WHERE until <= ? ORDER BY until LIMIT ?)`, micros(now), micros(now), max(0, n)).Exec(ctx)
	if err != nil {
		return 0, failure(ctx, err, "idempotency key", 0)
	}
	swept, err := res.RowsAffected()
	return int(swept), failure(ctx, err, "idempotency key", 0)
}

// ForgetNotes implements [helpdesk.ConversationWriter].
func (w writer) ForgetNotes(ctx context.Context, conversationIDs []int64) error {
	var found []int64
	if len(conversationIDs) > 0 {
		q := w.selects((*conversationRow)(nil)).Column("id").ApplyQueryBuilder(w.conversationsInScope).Where("id IN (?)", bun.List(conversationIDs))
		if err := q.Scan(ctx, &found); err != nil {
			return failure(ctx, err, "conversation", 0)
		}
	}
	if len(found) == 0 {
		return w.requireAccount(ctx)
	}
	return w.forgetNotes(ctx, found)
}

// forgetNotes deletes the notes about conversations of the scope.
func (w writer) forgetNotes(ctx context.Context, conversationIDs []int64) error {
	_, err := w.raw("DELETE FROM hw_idempotency WHERE conversation_id IN (?)", bun.List(conversationIDs)).Exec(ctx)
	return failure(ctx, err, "idempotency key", 0)
}
