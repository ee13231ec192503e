package helpdesk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// WebhookState is how far the delivery of an event to a webhook got.
type WebhookState string

// The states of a delivery to a webhook.
const (
	WebhookPending   WebhookState = "pending"   // not tried yet, or to be tried again
	WebhookDelivered WebhookState = "delivered" // the receiver answered with a 2xx
	WebhookFailed    WebhookState = "failed"    // given up
)

// WebhookDelivery is one event on its way to one webhook. It is kept for 30 days, and
// of each webhook the newest 10,000; what is pending is kept in any case.
type WebhookDelivery struct {
	ID            int64
	WebhookID     int64
	Seq           int64  // of the event
	Type          string // of the event
	MailboxID     int64  // of the event; 0: none
	State         WebhookState
	Attempts      int
	Status        int       // HTTP status of the last answer; 0: there was none
	Problem       string    // what was wrong with the last try; "": nothing
	Response      string    // beginning of the last answer's body, in one line; at most 1,024 characters
	NextAttemptAt time.Time // not before; zero: no try is to come
	HeldBy        int64     // id of the job that tries it now; 0: none
	HeldUntil     time.Time // when that job must have given up
	CreatedAt     time.Time
	UpdatedAt     time.Time // of the last try
}

// webhookDeliveryNoun declares the rows of deliveries.
func webhookDeliveryNoun() storage.Noun[WebhookDelivery] {
	return storage.Noun[WebhookDelivery]{
		Name:        "delivery",
		ID:          func(d *WebhookDelivery) *int64 { return &d.ID },
		InMailboxes: true,
	}
}

// MessageID is the webhook-id of every try of the delivery. It names the time too, as
// a restored database gives ids again.
func (d WebhookDelivery) MessageID() string {
	return fmt.Sprintf("msg_%d_%d", d.ID, d.CreatedAt.UnixMicro())
}

// WebhookDeliveryFilter narrows a list of deliveries.
type WebhookDeliveryFilter struct {
	WebhookID int64        // required
	State     WebhookState // "": all
}

// webhookBackoff is how long to wait after a number of failed tries; false: no longer.
// All of it is about a day.
func webhookBackoff(attempts int) (time.Duration, bool) {
	steps := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour,
	}
	if attempts > len(steps) {
		return 0, false
	}
	wait := steps[max(attempts, 1)-1]
	return wait + rand.N(wait/20), true // what failed together is not tried together
}

// WebhookDeliveries lists the deliveries of a webhook, newest first: those of events
// of mailboxes that the member reaches and of no mailbox. It needs webhooks.view. A
// webhook that is not there is a NotFound fault.
func (d *Desk) WebhookDeliveries(ctx context.Context, filter WebhookDeliveryFilter, req storage.PageRequest) (storage.Page[WebhookDelivery], error) {
	var none storage.Page[WebhookDelivery]
	r, err := d.guard.Read(WebhooksView)
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

// RedeliverWebhook tries a delivery now, whatever became of it before, and then as
// often as a new one, with the same MessageID. It needs webhooks.update. A webhook that
// is switched off, and a delivery that is being tried now, are Conflict faults.
func (d *Desk) RedeliverWebhook(ctx context.Context, webhookID, id int64) (WebhookDelivery, error) {
	begin, err := d.guard.Write(WebhooksUpdate)
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
			return fault.New(fault.Conflict, "The webhook is switched off: switch it on first.")
		case out.HeldUntil.After(now):
			return fault.New(fault.Conflict, "The delivery is being tried now.")
		}
		out.State, out.Attempts, out.NextAttemptAt = WebhookPending, 0, now // what the last try met stays to be seen
		if err := tx.WebhookDeliveries().Update(ctx, &out); err != nil {
			return err
		}
		return tx.Enqueue(ctx, webhookJob(d.scope.AccountID, webhookID, now))
	})
	return out, err
}

// webhookJob has due deliveries of a webhook tried.
func webhookJob(accountID, webhookID int64, at time.Time) storage.Job {
	return storage.Job{Kind: JobWebhook, AccountID: accountID, Subject: webhookID, RunAt: at}
}
