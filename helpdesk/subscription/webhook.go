package subscription

import (
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage"
)

const (
	// WebhookSecretPrefix begins every webhook's secret, as Standard Webhooks specifies.
	WebhookSecretPrefix = "whsec_"
	// AllEvents in [Webhook].Events selects every event type except conversation.presence and notification.created, which are
	// frequent or private and must be named explicitly.
	AllEvents = "*"
	// MaxWebhooks is the maximum number of webhooks in an account.
	MaxWebhooks = 20
	// FormerSecretLife is how long after a rotation the former secret also signs.
	FormerSecretLife = 24 * time.Hour
)

// WebhookReason is the reason why the service disabled a webhook.
type WebhookReason string

// The reasons. More may be added.
const (
	WebhookGone    WebhookReason = "gone"    // the receiver answered 410
	WebhookFailing WebhookReason = "failing" // ten consecutive deliveries were given up
	// WebhookOrphaned: its last editor may no longer view its events.
	WebhookOrphaned WebhookReason = "orphaned"
)

// Webhook posts an account's events to a URL, each signed and at least once; see package webhook.
type Webhook struct {
	ID         int64
	URL        string
	Events     []string // types, or AllEvents alone
	MailboxIDs []int64  // deliver their events and those without a mailbox; empty: of all mailboxes
	IsActive   bool
	Reason     WebhookReason // why the service disabled it; "": it did not

	FailingSince  time.Time // first failure since the last success; zero: the last attempt succeeded
	Failures      int       // deliveries given up since the last success
	LastSuccessAt time.Time // exact to a minute
	After         int64     // Seq of the last event before activation; only later events are delivered

	SealedSecret []byte // neither secret leaves the service
	SealedFormer []byte // the secret before the last rotation
	FormerUntil  time.Time
	UserID       int64 // creator or last editor: it works only while that member could create it
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// WebhookInput creates or changes a webhook. Absent fields are unchanged.
type WebhookInput struct {
	// URL is http or https, with a host and without a password; at most 2,000 bytes. Required for a new webhook.
	URL storage.Opt[string]
	// Events are 1 to 50 types, or AllEvents alone. Required for a new webhook.
	Events     storage.Opt[[]string]
	MailboxIDs storage.Opt[[]int64] // null or empty: the events of all mailboxes
	// IsActive defaults to true for a new webhook. Activation delivers only later events. Deactivation gives up pending
	// deliveries.
	IsActive storage.Opt[bool]
}

// SecretContext is what the sealed secrets are bound to: the account and CreatedAt.
func (w *Webhook) SecretContext(accountID int64) string {
	return fmt.Sprintf("webhook/%d/%d/secret", accountID, w.CreatedAt.UnixMicro())
}

// Secrets returns the sealed fields. See [Webhook.SecretContext].
func (w *Webhook) Secrets(accountID int64) []storage.Secret {
	return []storage.Secret{{Sealed: &w.SealedSecret, Context: w.SecretContext(accountID)}, {Sealed: &w.SealedFormer, Context: w.SecretContext(accountID)}}
}
