package subscription

import (
	"fmt"
	"time"
)

// WebhookState is the state of delivering an event to a webhook.
type WebhookState string

// The states of a delivery to a webhook.
const (
	WebhookPending   WebhookState = "pending"   // not attempted yet, or to be retried
	WebhookDelivered WebhookState = "delivered" // the receiver answered with a 2xx
	WebhookFailed    WebhookState = "failed"    // given up
)

// WebhookDelivery is the delivery of one event to one webhook. It is kept for 30 days, within the newest 10,000 of its
// webhook. Pending deliveries are always kept.
type WebhookDelivery struct {
	ID            int64
	WebhookID     int64
	Seq           int64  // of the event
	Type          string // of the event
	MailboxID     int64  // of the event; 0: none
	State         WebhookState
	Attempts      int
	Status        int       // HTTP status of the last response; 0: none
	Problem       string    // why the last attempt failed; "": it did not
	Response      string    // beginning of the last response's body, as one line; at most 1,024 characters
	NextAttemptAt time.Time // earliest next attempt; zero: none
	HeldBy        int64     // ID of the job that is attempting it; 0: none
	HeldUntil     time.Time // deadline of that job
	CreatedAt     time.Time
	UpdatedAt     time.Time // time of the last attempt
}

// MessageID returns the webhook-id, which is the same in every attempt. It includes the time because a restored database
// reuses ids.
func (d WebhookDelivery) MessageID() string {
	return fmt.Sprintf("msg_%d_%d", d.ID, d.CreatedAt.UnixMicro())
}

// WebhookDeliveryFilter narrows a list of deliveries.
type WebhookDeliveryFilter struct {
	WebhookID int64        // required
	State     WebhookState // "": all
	// DueBy selects the pending ones whose NextAttemptAt and HeldUntil are not after it, by the later of the two and id.
	DueBy time.Time
	// HeldAfter selects the pending ones whose HeldUntil is after it.
	HeldAfter time.Time
}

// WebhookCall is one attempt of a delivery.
type WebhookCall struct {
	AccountID  int64
	WebhookID  int64
	DeliveryID int64
	Job        int64 // that holds the delivery
	URL        string
	MessageID  string   // webhook-id: the same in every attempt
	Body       []byte   // CloudEvent in its JSON form: the same in every attempt
	Keys       [][]byte // to sign with, the current one first
}

// WebhookOutcome is the result of one attempt.
type WebhookOutcome struct {
	Status   int    // HTTP status; 0: no response
	Response string // the beginning of the body
	Problem  string // why the attempt failed, for people; unused for a 2xx
	// RetryAfter is the delay that the receiver asked for (RFC 9110 section 10.2.3). The next attempt respects it up to an
	// hour. 0: none.
	RetryAfter time.Duration
}
