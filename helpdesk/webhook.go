package helpdesk

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	// WebhookSecretPrefix begins every webhook's secret, as Standard Webhooks specifies.
	WebhookSecretPrefix = "whsec_"
	// AllEvents in [Webhook].Events selects every event type except conversation.presence and
	// notification.created, which are frequent or private and must be named explicitly.
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
	// URL is http or https, with a host and without a password; at most 2,000 bytes. Required for a
	// new webhook.
	URL storage.Opt[string]
	// Events are 1 to 50 types, or AllEvents alone. Required for a new webhook.
	Events     storage.Opt[[]string]
	MailboxIDs storage.Opt[[]int64] // null or empty: the events of all mailboxes
	// IsActive defaults to true for a new webhook. Activation delivers only later events.
	// Deactivation gives up pending deliveries.
	IsActive storage.Opt[bool]
}

// secretContext binds the sealed secrets to their webhook.
func (w Webhook) secretContext(accountID int64) string {
	return fmt.Sprintf("webhook/%d/%d/secret", accountID, w.CreatedAt.UnixMicro())
}

// wants reports whether the webhook subscribes to an event.
func (w Webhook) wants(e storage.Event) bool {
	return w.IsActive && e.Seq > w.After &&
		(slices.Contains(w.Events, AllEvents) && e.Type != eventPresence && e.Type != eventNotified || slices.Contains(w.Events, e.Type)) &&
		(e.MailboxID == 0 || len(w.MailboxIDs) == 0 || slices.Contains(w.MailboxIDs, e.MailboxID))
}

// bare returns the webhook without its secrets.
func (w Webhook) bare() Webhook {
	w.SealedSecret, w.SealedFormer = nil, nil
	return w
}

// apply validates in and copies it into w.
func (w *Webhook) apply(in WebhookInput, r *identity.Registry) error {
	var problems fault.Collector
	w.URL = strings.TrimSpace(in.URL.Or(w.URL))
	if problems.Check(w.URL != "", "url", "is required") {
		problems.Check(validWebhookURL(w.URL), "url", "must be an http or https address of at most 2,000 bytes, without a username and password")
	}
	w.Events = slices.Compact(slices.Sorted(slices.Values(in.Events.Or(w.Events))))
	switch {
	case len(w.Events) == 0:
		problems.Add("events", "is required: list event types, or *")
	case slices.Contains(w.Events, AllEvents):
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
func (d *Desk) mayAim(w Webhook) error {
	areas := d.svc.registry.Areas()
	if !slices.Contains(w.Events, AllEvents) {
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

// mayHandle returns a fault if the webhook receives events of mailboxes that the member does not
// reach.
func (d *Desk) mayHandle(w Webhook) error {
	beyond := func(id int64) bool { return !slices.Contains(d.scope.Mailboxes, id) }
	if d.scope.Mailboxes != nil && (len(w.MailboxIDs) == 0 || slices.ContainsFunc(w.MailboxIDs, beyond)) {
		return limited("The webhook has the events of mailboxes that you do not reach.")
	}
	return nil
}

// newWebhookSecret returns a new secret, in clear and sealed.
func (d *Desk) newWebhookSecret(w Webhook) (secret string, sealed []byte, err error) {
	key, err := d.svc.random(32)
	if err != nil {
		return "", nil, err
	}
	if sealed, err = d.svc.cfg.Sealer.Seal(key, w.secretContext(d.scope.AccountID)); err != nil {
		return "", nil, fault.Wrap(fault.Internal, "sealing the secret of a webhook", err)
	}
	return WebhookSecretPrefix + base64.StdEncoding.EncodeToString(key), sealed, nil
}

// Webhook returns a webhook. It needs webhooks.view.
func (d *Desk) Webhook(ctx context.Context, id int64) (Webhook, error) {
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return Webhook{}, err
	}
	w, err := r.Webhooks().Get(ctx, id)
	return w.bare(), err
}

// Webhooks lists the account's webhooks, oldest first. It needs webhooks.view.
func (d *Desk) Webhooks(ctx context.Context, req storage.PageRequest) (storage.Page[Webhook], error) {
	r, err := d.guard.Read(identity.WebhooksView)
	if err != nil {
		return storage.Page[Webhook]{}, err
	}
	return storage.List(req, false, func(w Webhook) storage.Position { return storage.Position{ID: w.ID} },
		func(seek storage.Seek) ([]Webhook, error) {
			found, err := r.Webhooks().List(ctx, storage.NoFilter{}, seek)
			for i := range found {
				found[i] = found[i].bare()
			}
			return found, err
		})
}

// CreateWebhook creates a webhook and returns its secret, which is not shown again. It delivers
// only later events. It needs webhooks.create, the view permission of each area whose events it
// subscribes to (of all areas for AllEvents), and reach of its mailboxes: a member limited to some
// mailboxes must name some of them. More than [MaxWebhooks] in an account is a Conflict fault.
func (d *Desk) CreateWebhook(ctx context.Context, in WebhookInput) (w Webhook, secret string, err error) {
	begin, err := d.guard.Write(identity.WebhooksCreate)
	if err != nil {
		return Webhook{}, "", err
	}
	now := d.svc.now()
	w = Webhook{IsActive: true, UserID: d.userID, CreatedAt: now, UpdatedAt: now}
	if err := w.apply(in, d.svc.registry); err != nil {
		return Webhook{}, "", err
	}
	if err := d.mayAim(w); err != nil {
		return Webhook{}, "", err
	}
	if secret, w.SealedSecret, err = d.newWebhookSecret(w); err != nil {
		return Webhook{}, "", err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := follow(ctx, tx, &w, w.IsActive); err != nil {
			return err
		}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		others, err := tx.Webhooks().List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxWebhooks})
		if err != nil {
			return err
		}
		if len(others) == MaxWebhooks {
			return fault.Newf(fault.Conflict, "An account has at most %d webhooks.", MaxWebhooks)
		}
		if err := d.findMailboxes(ctx, tx.Reader(), w.MailboxIDs); err != nil {
			return err
		}
		if err := tx.Webhooks().Insert(ctx, &w); err != nil {
			return err
		}
		return d.emit(ctx, tx, "webhook.created", w.ID, 0)
	})
	if err != nil {
		return Webhook{}, "", err
	}
	return w.bare(), secret, nil
}

// follow starts the account's webhook cursor, for a webhook that becomes active, and records the
// current end of the log in w. The lock order is the cursor, then webhooks, then the account.
func follow(ctx context.Context, tx Tx, w *Webhook, active bool) error {
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

// UpdateWebhook changes a webhook. It needs webhooks.update and, for the resulting webhook,
// everything that [Desk.CreateWebhook] requires.
func (d *Desk) UpdateWebhook(ctx context.Context, id int64, in WebhookInput) (Webhook, error) {
	var begun Webhook
	return d.changeWebhook(ctx, id, func(ctx context.Context, tx Tx) error {
		return follow(ctx, tx, &begun, in.IsActive.Or(false))
	}, func(ctx context.Context, tx Tx, w *Webhook) error {
		old := *w
		if err := w.apply(in, d.svc.registry); err != nil {
			return err
		}
		if err := d.mayAim(*w); err != nil {
			return err
		}
		w.UserID = d.userID // their permissions now bound the webhook
		if ids, given := in.MailboxIDs.Get(); given {
			if err := d.findMailboxes(ctx, tx.Reader(), sortedSet(ids)); err != nil {
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

// RotateWebhookSecret replaces the secret and returns the new one, which is not shown again. The
// former secret also signs deliveries for [FormerSecretLife]. It needs the permissions of
// [Desk.UpdateWebhook].
func (d *Desk) RotateWebhookSecret(ctx context.Context, id int64) (w Webhook, secret string, err error) {
	nothing := func(context.Context, Tx) error { return nil }
	w, err = d.changeWebhook(ctx, id, nothing, func(_ context.Context, _ Tx, w *Webhook) error {
		if err := d.mayAim(*w); err != nil {
			return err
		}
		former := w.SealedSecret
		var err error
		if secret, w.SealedSecret, err = d.newWebhookSecret(*w); err != nil {
			return err
		}
		w.SealedFormer, w.FormerUntil = former, d.svc.now().Add(FormerSecretLife)
		return nil
	})
	if err != nil {
		return Webhook{}, "", err
	}
	return w, secret, nil
}

// changeWebhook applies change to a webhook and writes it. It calls first before locking the
// webhook.
func (d *Desk) changeWebhook(ctx context.Context, id int64, first func(ctx context.Context, tx Tx) error, change func(ctx context.Context, tx Tx, w *Webhook) error) (Webhook, error) {
	begin, err := d.guard.Write(identity.WebhooksUpdate)
	if err != nil {
		return Webhook{}, err
	}
	var w Webhook
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		err := first(ctx, tx)
		if err != nil {
			return err
		}
		if w, err = tx.Webhooks().Lock(ctx, id); err != nil {
			return err
		}
		if err := d.mayHandle(w); err != nil {
			return err
		}
		if err := change(ctx, tx, &w); err != nil {
			return err
		}
		w.UpdatedAt = d.svc.now()
		if err := tx.Webhooks().Update(ctx, &w); err != nil {
			return err
		}
		return d.emit(ctx, tx, "webhook.updated", w.ID, 0)
	})
	if err != nil {
		return Webhook{}, err
	}
	return w.bare(), nil
}

// DeleteWebhook removes a webhook with its deliveries. It needs webhooks.delete.
func (d *Desk) DeleteWebhook(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.WebhooksDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		w, err := tx.Webhooks().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayHandle(w); err != nil {
			return err
		}
		if err := tx.Webhooks().Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "webhook.deleted", id, 0)
	})
}
