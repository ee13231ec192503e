package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// outbox implements storage.Outbox for the transactions of both domains.
type outbox struct {
	into    source
	account int64
}

// Emit appends events to the account's log.
func (o outbox) Emit(ctx context.Context, events ...storage.Event) error {
	return inAccount(ctx, o.into, o.account, func(db *data) error {
		for _, e := range events {
			if err := check(&e); err != nil {
				return err
			}
			e.Seq = db.lastEvent(o.account) + 1
			db.events.set(o.account, e.Seq, clone(&e))
		}
		if len(events) > 0 && !slices.Contains(db.emitted, o.account) {
			db.emitted = append(db.emitted, o.account)
		}
		return nil
	})
}

// Events reads an account's log.
func (s *store) Events(ctx context.Context, accountID, after int64, limit int) ([]storage.Event, error) {
	return query(ctx, s, func(db *data) ([]storage.Event, error) {
		seek := storage.Seek{From: &storage.Position{ID: after}, Limit: limit}
		return db.events.list(accountID, seek, every), nil
	})
}

// Events reads the log within a scope.
func (r reader) Events(ctx context.Context, f subscription.EventFilter, seek storage.Seek) ([]storage.Event, error) {
	return query(ctx, r.src, func(db *data) ([]storage.Event, error) {
		return db.events.list(r.scope.AccountID, seek, func(e *storage.Event) bool {
			area, _, _ := strings.Cut(e.Type, ".")
			return (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) &&
				(f.Areas == nil || slices.Contains(f.Areas, area) && strings.Contains(e.Type, ".")) &&
				(f.ConversationIDs == nil || slices.Contains(f.ConversationIDs, e.ConversationID)) &&
				(e.MailboxID == 0 || r.scope.Mailboxes == nil || slices.Contains(r.scope.Mailboxes, e.MailboxID))
		}), nil
	})
}

// LastEvent returns the number of the newest event.
func (r reader) LastEvent(ctx context.Context) (int64, error) {
	return query(ctx, r.src, func(db *data) (int64, error) {
		if _, err := db.accounts.get(global, r.scope.AccountID); err != nil {
			return 0, err
		}
		return db.lastEvent(r.scope.AccountID), nil
	})
}

// NotifyEvents registers fn to be called after commits.
func (s *store) NotifyEvents(fn func(accountID int64)) (stop func()) { return s.watchers.Add(fn) }
