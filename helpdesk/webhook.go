package helpdesk

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// wants reports whether the webhook subscribes to an event.
func wants(w *subscription.Webhook, e storage.Event) bool {
	return w.IsActive && e.Seq > w.After &&
		(slices.Contains(w.Events, subscription.AllEvents) && e.Type != eventPresence && e.Type != eventNotified || slices.Contains(w.Events, e.Type)) &&
		(e.MailboxID == 0 || len(w.MailboxIDs) == 0 || slices.Contains(w.MailboxIDs, e.MailboxID))
}

// withoutSecrets returns the webhook without its secrets.
func withoutSecrets(w subscription.Webhook) subscription.Webhook {
	w.SealedSecret, w.SealedFormer = nil, nil
	return w
}

// applyWebhook validates in and copies it into w.
func applyWebhook(w *subscription.Webhook, in subscription.WebhookInput, r *identity.Registry) error {
	var problems fault.Collector
	w.URL = strings.TrimSpace(in.URL.Or(w.URL))
	if problems.Check(w.URL != "", "url", "is required") {
		problems.Check(validWebhookURL(w.URL), "url", "must be an http or https address of at most 2,000 bytes, without a username and password")
	}
	w.Events = slices.Compact(slices.Sorted(slices.Values(in.Events.Or(w.Events))))
	switch {
	case len(w.Events) == 0:
		problems.Add("events", "is required: list event types, or *")
	case slices.Contains(w.Events, subscription.AllEvents):
		problems.Check(len(w.Events) == 1, "events", "must be either * alone or event types")
	default:
		checkEventTypes(r, &problems, "events", w.Events)
	}
	w.MailboxIDs = sortedSet(in.MailboxIDs.Or(w.MailboxIDs))
	problems.Check(len(w.MailboxIDs) <= 1000, "mailboxes", "has more than 1000 ids")
	w.IsActive = in.IsActive.Or(w.IsActive)
	return problems.Err()
}

func validWebhookURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= 2000 && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		plain.Text(text) == text
}

// mayAim returns a fault if the webhook receives more than the member may view.
func (d *desk) mayAim(w subscription.Webhook) error {
	areas := d.svc.registry.Areas()
	if !slices.Contains(w.Events, subscription.AllEvents) {
		areas = nil
		for _, kind := range w.Events {
			areas = append(areas, areaOf(kind))
		}
	}
	for _, area := range areas {
		p, _ := d.svc.registry.Views(area)
		if _, err := d.guard.Read(p); err != nil {
			return err
		}
	}
	if d.scope.Mailboxes == nil {
		return nil
	}
	if len(w.MailboxIDs) == 0 {
		return limited("You do not see the events of all mailboxes: name some of yours.")
	}
	for _, id := range w.MailboxIDs {
		if !slices.Contains(d.scope.Mailboxes, id) {
			return fault.Missing("mailbox", id)
		}
	}
	return nil
}

// mayHandle returns a fault if the webhook receives events of mailboxes that the member does not reach.
func (d *desk) mayHandle(w subscription.Webhook) error {
	beyond := func(id int64) bool { return !slices.Contains(d.scope.Mailboxes, id) }
	if d.scope.Mailboxes != nil && (len(w.MailboxIDs) == 0 || slices.ContainsFunc(w.MailboxIDs, beyond)) {
		return limited("The webhook has the events of mailboxes that you do not reach.")
	}
	return nil
}

// newWebhookSecret returns a new secret, in clear and sealed.
func (d *desk) newWebhookSecret(w subscription.Webhook) (secret string, sealed []byte, err error) {
	key, err := d.svc.random(32)
	if err != nil {
		return "", nil, err
	}
	if sealed, err = d.svc.cfg.Sealer.Seal(key, w.SecretContext(d.scope.AccountID)); err != nil {
		return "", nil, fault.Wrap(fault.Internal, "sealing the secret of a webhook", err)
	}
	return subscription.WebhookSecretPrefix + base64.StdEncoding.EncodeToString(key), sealed, nil
}

// Webhooks send events to other programs.
type Webhooks struct{ *desk }

// Webhooks returns the handle of webhooks.
func (d *Desk) Webhooks() Webhooks { return Webhooks{&d.desk} }

// Get returns a webhook. It needs webhooks.view.
func (d Webhooks) Get(ctx context.Context, id int64) (subscription.Webhook, error) {
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return subscription.Webhook{}, err
	}
	w, err := webhookNoun().Reader(r).Get(ctx, id)
	return withoutSecrets(w), err
}

// List lists the account's webhooks, oldest first. It needs webhooks.view.
func (d Webhooks) List(ctx context.Context, req storage.PageRequest) (storage.Page[subscription.Webhook], error) {
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return storage.Page[subscription.Webhook]{}, err
	}
	return storage.List(req, false, func(w subscription.Webhook) storage.Position { return storage.Position{ID: w.ID} },
		func(seek storage.Seek) ([]subscription.Webhook, error) {
			found, err := webhookNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
			for i := range found {
				found[i] = withoutSecrets(found[i])
			}
			return found, err
		})
}

// Create creates a webhook and returns its secret, which is not shown again. It delivers only later events. It needs
// webhooks.create, the view permission of each area whose events it subscribes to (of all areas for AllEvents), and reach of
// its mailboxes: a member limited to some mailboxes must name some of them. More than [subscription.MaxWebhooks] in an
// account is a Conflict fault.
func (d Webhooks) Create(ctx context.Context, in subscription.WebhookInput) (w subscription.Webhook, secret string, err error) {
	begin, err := d.guard.Write(identity.WebhooksCreate)
	if err != nil {
		return subscription.Webhook{}, "", err
	}
	now := d.svc.now()
	w = subscription.Webhook{IsActive: true, UserID: d.userID, CreatedAt: now, UpdatedAt: now}
	if err := applyWebhook(&w, in, d.svc.registry); err != nil {
		return subscription.Webhook{}, "", err
	}
	if err := d.mayAim(w); err != nil {
		return subscription.Webhook{}, "", err
	}
	if secret, w.SealedSecret, err = d.newWebhookSecret(w); err != nil {
		return subscription.Webhook{}, "", err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := follow(ctx, tx, &w, w.IsActive); err != nil {
			return err
		}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		others, err := webhookNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: subscription.MaxWebhooks})
		if err != nil {
			return err
		}
		if len(others) == subscription.MaxWebhooks {
			return fault.Newf(fault.Conflict, "An account has at most %d webhooks.", subscription.MaxWebhooks)
		}
		if err := d.findMailboxes(ctx, tx.Reader(), w.MailboxIDs); err != nil {
			return err
		}
		if err := webhookNoun().Rows(tx).Insert(ctx, &w); err != nil {
			return err
		}
		return d.emit(ctx, tx, "webhook.created", w.ID, 0)
	})
	if err != nil {
		return subscription.Webhook{}, "", err
	}
	return withoutSecrets(w), secret, nil
}

// follow starts the account's webhook cursor, for a webhook that becomes active, and records the current end of the log in
// w. The lock order is the cursor, then webhooks, then the account.
func follow(ctx context.Context, tx Tx, w *subscription.Webhook, active bool) error {
	if !active {
		return nil
	}
	last, err := tx.LastEvent(ctx)
	if err != nil {
		return err
	}
	w.After = last
	return tx.StartWebhookCursor(ctx, last)
}

// Update changes a webhook. It needs webhooks.update and, for the resulting webhook, everything that
// [Webhooks.Create] requires.
func (d Webhooks) Update(ctx context.Context, id int64, in subscription.WebhookInput) (subscription.Webhook, error) {
	var begun subscription.Webhook
	return d.changeWebhook(ctx, id, func(ctx context.Context, tx Tx) error {
		return follow(ctx, tx, &begun, in.IsActive.Or(false))
	}, func(ctx context.Context, tx Tx, w *subscription.Webhook) error {
		old := *w
		if err := applyWebhook(w, in, d.svc.registry); err != nil {
			return err
		}
		if err := d.mayAim(*w); err != nil {
			return err
		}
		w.UserID = d.userID // their permissions now bound the webhook
		if ids, given := in.MailboxIDs.Get(); given {
			if err := d.findMailboxes(ctx, tx.Reader(), sortedSet(ids), old.MailboxIDs...); err != nil {
				return err
			}
		}
		switch {
		case w.IsActive && !old.IsActive:
			w.Reason, w.FailingSince, w.Failures, w.After = "", time.Time{}, 0, begun.After
		case !w.IsActive && old.IsActive:
			return tx.FailWebhookDeliveries(ctx, id, webhookOff, d.svc.now())
		}
		return nil
	})
}

// webhookOff is the problem of deliveries that were given up when their webhook was disabled.
const webhookOff = "The webhook was switched off."

// RotateSecret replaces the secret and returns the new one, which is not shown again. The former secret also signs
// deliveries for [subscription.FormerSecretLife]. It needs the permissions of [Webhooks.Update].
func (d Webhooks) RotateSecret(ctx context.Context, id int64) (w subscription.Webhook, secret string, err error) {
	nothing := func(context.Context, Tx) error { return nil }
	w, err = d.changeWebhook(ctx, id, nothing, func(_ context.Context, _ Tx, w *subscription.Webhook) error {
		if err := d.mayAim(*w); err != nil {
			return err
		}
		former := w.SealedSecret
		var err error
		if secret, w.SealedSecret, err = d.newWebhookSecret(*w); err != nil {
			return err
		}
		w.SealedFormer, w.FormerUntil = former, d.svc.now().Add(subscription.FormerSecretLife)
		return nil
	})
	if err != nil {
		return subscription.Webhook{}, "", err
	}
	return w, secret, nil
}

// changeWebhook applies change to a webhook and writes it. It calls first before locking the webhook.
func (d *desk) changeWebhook(ctx context.Context, id int64, first func(ctx context.Context, tx Tx) error, change func(ctx context.Context, tx Tx, w *subscription.Webhook) error) (subscription.Webhook, error) {
	begin, err := d.guard.Write(identity.WebhooksUpdate)
	if err != nil {
		return subscription.Webhook{}, err
	}
	var w subscription.Webhook
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		err := first(ctx, tx)
		if err != nil {
			return err
		}
		if w, err = webhookNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if err := d.mayHandle(w); err != nil {
			return err
		}
		old := w
		if err := change(ctx, tx, &w); err != nil {
			return err
		}
		w.UpdatedAt = d.svc.now()
		if err := webhookNoun().Rows(tx).Update(ctx, &w); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "webhook.updated", w.ID, 0, ofWebhook(old, w))
	})
	if err != nil {
		return subscription.Webhook{}, err
	}
	return withoutSecrets(w), nil
}

// Delete removes a webhook with its deliveries. It needs webhooks.delete.
func (d Webhooks) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.WebhooksDelete)
	if err != nil {
		return err
	}
	begin = begin.After(func(ctx context.Context, tx Tx) error {
		w, err := webhookNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		return d.mayHandle(w)
	})
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		return webhookNoun().Rows(tx).Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := webhookNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "webhook.deleted", id, 0)
	})
}

func webhookNoun() storage.Declared[subscription.Webhook, storage.NoFilter] {
	return storage.Declared[subscription.Webhook, storage.NoFilter]{
		Noun: storage.Noun[subscription.Webhook]{
			Name: "webhook",
			ID:   func(t *subscription.Webhook) *int64 { return &t.ID },
		},
		Key: "webhook", Plural: "webhooks",
		Columns: []storage.Column[subscription.Webhook]{
			{Name: "url", Field: func(t *subscription.Webhook) any { return &t.URL }},
			{Name: "events", Field: func(t *subscription.Webhook) any { return storage.Texts(&t.Events) }},
			{Name: "mailbox_ids", Field: func(t *subscription.Webhook) any { return storage.IDs(&t.MailboxIDs) }, Refers: "mailbox", Loose: true, Limits: true},
			{Name: "is_active", Field: func(t *subscription.Webhook) any { return &t.IsActive }},
			{Name: "reason", Field: func(t *subscription.Webhook) any { return (*string)(&t.Reason) }},
			{Name: "failing_since", Field: func(t *subscription.Webhook) any { return &t.FailingSince }},
			{Name: "failures", Field: func(t *subscription.Webhook) any { return &t.Failures }},
			{Name: "last_success_at", Field: func(t *subscription.Webhook) any { return &t.LastSuccessAt }},
			{Name: "after_seq", Field: func(t *subscription.Webhook) any { return &t.After }},
			{Name: "sealed_secret", Field: func(t *subscription.Webhook) any { return &t.SealedSecret }},
			{Name: "sealed_former", Field: func(t *subscription.Webhook) any { return &t.SealedFormer }},
			{Name: "former_until", Field: func(t *subscription.Webhook) any { return &t.FormerUntil }},
			{Name: "user_id", Field: func(t *subscription.Webhook) any { return &t.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(t *subscription.Webhook) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *subscription.Webhook) any { return &t.UpdatedAt }},
		},
		Parts: []storage.Part{{Table: "hw_webhook_deliveries", Of: "webhook_id"}},
	}
}
