package helpdesk

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// webhookDeliveryNoun declares the rows of deliveries.
func webhookDeliveryNoun() storage.Noun[subscription.WebhookDelivery] {
	return storage.Noun[subscription.WebhookDelivery]{
		Name:        "delivery",
		ID:          func(d *subscription.WebhookDelivery) *int64 { return &d.ID },
		InMailboxes: true,
	}
}

// webhookBackoff returns the delay after a number of failed attempts; false: give up. The delays add up to about a day.
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

// Deliveries lists a webhook's deliveries, newest first. It omits events of mailboxes that the member does not reach.
// It needs webhooks.view. An absent webhook is a NotFound fault.
func (d Webhooks) Deliveries(ctx context.Context, filter subscription.WebhookDeliveryFilter, req storage.PageRequest) (storage.Page[subscription.WebhookDelivery], error) {
	var none storage.Page[subscription.WebhookDelivery]
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return none, err
	}
	switch filter.State {
	case "", subscription.WebhookPending, subscription.WebhookDelivered, subscription.WebhookFailed:
	default:
		return none, fault.Field("state", "must be pending, delivered or failed")
	}
	if _, err := webhookNoun().Reader(r).Get(ctx, filter.WebhookID); err != nil {
		return none, err
	}
	position := func(d subscription.WebhookDelivery) storage.Position { return storage.Position{ID: d.ID} }
	return storage.List(req, true, position, func(seek storage.Seek) ([]subscription.WebhookDelivery, error) {
		return r.WebhookDeliveries().List(ctx, filter, seek)
	})
}

// Redeliver retries a delivery now, whatever its state, and then as often as a new one, with the same MessageID. It
// needs webhooks.update. A disabled webhook or a delivery in progress is a Conflict fault.
func (d Webhooks) Redeliver(ctx context.Context, webhookID, id int64) (subscription.WebhookDelivery, error) {
	begin, err := d.guard.Write(identity.WebhooksUpdate)
	if err != nil {
		return subscription.WebhookDelivery{}, err
	}
	var out subscription.WebhookDelivery
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		w, err := webhookNoun().Rows(tx).Lock(ctx, webhookID)
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
			return fault.New(fault.Conflict, "The webhook is turned off. Turn it on first.")
		case out.HeldUntil.After(now):
			return fault.New(fault.Conflict, "The delivery is being attempted right now.")
		}
		out.State, out.Attempts, out.NextAttemptAt = subscription.WebhookPending, 0, now // the result of the last attempt stays visible
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
