package subscription

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// EventFilter narrows a list of events.
type EventFilter struct {
	Types []string // any of these; empty: all
	Areas []string // type prefixes up to the dot; nil: all

	ConversationIDs []int64 // of any of these; nil: all
}

// EventReader reads the account's event log. It omits events of mailboxes outside the scope, but not those without a
// mailbox.
type EventReader interface {
	// Events lists events by Seq, which is a position's id.
	Events(ctx context.Context, filter EventFilter, seek storage.Seek) ([]storage.Event, error)
	// LastEvent returns the Seq of the newest event, even outside the scope, or 0 if there is none.
	LastEvent(ctx context.Context) (int64, error)
	// EventsBySeq returns the existing ones of the given events, by Seq.
	EventsBySeq(ctx context.Context, seqs []int64) ([]storage.Event, error)
}

// WebhookDirectory finds the accounts whose webhooks have work to do.
type WebhookDirectory interface {
	// WebhookBacklog lists, by id, the accounts whose event log extends beyond their webhook cursor. Accounts without a cursor
	// are omitted.
	WebhookBacklog(ctx context.Context, seek storage.Seek) ([]identity.Account, error)
	// AccountsWithWebhooks lists, by id, the accounts that have webhooks.
	AccountsWithWebhooks(ctx context.Context, seek storage.Seek) ([]identity.Account, error)
}

// WebhookWriter changes deliveries of webhooks.
type WebhookWriter interface {
	// FailWebhookDeliveries marks the pending deliveries of a webhook, even outside the scope, as failed at a time with a
	// Problem. It clears their holds and their next attempts.
	FailWebhookDeliveries(ctx context.Context, webhookID int64, problem string, at time.Time) error
}

// WebhookQueue keeps the account's position in the event log for its webhooks, and prunes deliveries.
type WebhookQueue interface {
	// WebhookCursorForUpdate returns the Seq of the last event taken and locks the cursor until the transaction ends. Without a
	// cursor it returns a NotFound fault.
	WebhookCursorForUpdate(ctx context.Context) (int64, error)
	// StartWebhookCursor creates a cursor at seq. An existing cursor stays unchanged and is locked as by
	// WebhookCursorForUpdate.
	StartWebhookCursor(ctx context.Context, seq int64) error
	// SaveWebhookCursor moves the existing cursor.
	SaveWebhookCursor(ctx context.Context, seq int64) error
	// DeleteWebhookCursor removes the existing cursor.
	DeleteWebhookCursor(ctx context.Context) error
	// PruneWebhookDeliveries removes at most n finished deliveries of a webhook, even outside the scope: those that were made
	// before a time or are not among the newest keep. It removes the oldest first and returns the number removed.
	PruneWebhookDeliveries(ctx context.Context, webhookID int64, before time.Time, keep, n int) (int, error)
}
