package helpdesk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// WebhookState is the state of delivering an event to a webhook.
type WebhookState string

// The states of a delivery to a webhook.
const (
	WebhookPending   WebhookState = "pending"   // not attempted yet, or to be retried
	WebhookDelivered WebhookState = "delivered" // the receiver answered with a 2xx
	WebhookFailed    WebhookState = "failed"    // given up
)

// WebhookDelivery is the delivery of one event to one webhook. It is kept for 30 days, within the
// newest 10,000 of its webhook. Pending deliveries are always kept.
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

// webhookDeliveryNoun declares the rows of deliveries.
func webhookDeliveryNoun() storage.Noun[WebhookDelivery] {
	return storage.Noun[WebhookDelivery]{
		Name:        "delivery",
		ID:          func(d *WebhookDelivery) *int64 { return &d.ID },
		InMailboxes: true,
	}
}

// MessageID returns the webhook-id, which is the same in every attempt. It includes the time
// because a restored database reuses ids.
func (d WebhookDelivery) MessageID() string {
	return fmt.Sprintf("msg_%d_%d", d.ID, d.CreatedAt.UnixMicro())
}

// WebhookDeliveryFilter narrows a list of deliveries.
type WebhookDeliveryFilter struct {
	WebhookID int64        // required
	State     WebhookState // "": all
}

// webhookBackoff returns the delay after a number of failed attempts; false: give up. The delays
// add up to about a day.
func webhookBackoff(attempts int) (time.Duration, bool) {
	steps := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour,
	}
	if attempts > len(steps) {
		return 0, false
	}
	wait := steps[max(attempts, 1)-1]
	return wait + rand.N(wait/20), true // jitter spreads retries
}

// WebhookDeliveries lists a webhook's deliveries, newest first. It omits events of mailboxes that
// the member does not reach. It needs webhooks.view. An absent webhook is a NotFound fault.
func (d *Desk) WebhookDeliveries(ctx context.Context, filter WebhookDeliveryFilter, req storage.PageRequest) (storage.Page[WebhookDelivery], error) {
	var none storage.Page[WebhookDelivery]
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return none, err
	}
	switch filter.State {
	case "", WebhookPending, WebhookDelivered, WebhookFailed:
	default:
		return none, fault.Field("state", "must be pending, delivered or failed")
	}
	if _, err := r.Webhooks().Get(ctx, filter.WebhookID); err != nil {
		return none, err
	}
	position := func(d WebhookDelivery) storage.Position { return storage.Position{ID: d.ID} }
	return storage.List(req, true, position, func(seek storage.Seek) ([]WebhookDelivery, error) {
		return r.WebhookDeliveries().List(ctx, filter, seek)
	})
}

// RedeliverWebhook retries a delivery now, whatever its state, and then as often as a new one, with
// the same MessageID. It needs webhooks.update. A disabled webhook or a delivery in progress is a
// Conflict fault.
func (d *Desk) RedeliverWebhook(ctx context.Context, webhookID, id int64) (WebhookDelivery, error) {
	begin, err := d.guard.Write(identity.WebhooksUpdate)
	if err != nil {
		return WebhookDelivery{}, err
	}
	var out WebhookDelivery
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		w, err := tx.Webhooks().Lock(ctx, webhookID)
		if err != nil {
			return err
		}
		if err := d.mayHandle(w); err != nil {
			return err
		}
		if out, err = tx.WebhookDeliveries().Get(ctx, id); err != nil {
			return err
		}
		now := d.svc.now()
		switch {
		case out.WebhookID != webhookID:
			return fault.Missing("delivery", id)
		case !w.IsActive:
			return fault.New(fault.Conflict, "The webhook is switched off. Switch it on first.")
		case out.HeldUntil.After(now):
			return fault.New(fault.Conflict, "The delivery is being attempted right now.")
		}
		out.State, out.Attempts, out.NextAttemptAt = WebhookPending, 0, now // the result of the last attempt stays visible
		if err := tx.WebhookDeliveries().Update(ctx, &out); err != nil {
			return err
		}
		return tx.Enqueue(ctx, webhookJob(d.scope.AccountID, webhookID, now))
	})
	return out, err
}

// webhookJob returns a job that attempts a webhook's due deliveries.
func webhookJob(accountID, webhookID int64, at time.Time) storage.Job {
	return storage.Job{Kind: JobWebhook, AccountID: accountID, Subject: webhookID, RunAt: at}
}
