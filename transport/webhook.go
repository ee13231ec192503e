package transport

import (
	"context"
	"net/http"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

const (
	webhooksPath          = accountPath + "/webhooks"
	webhookPath           = webhooksPath + "/{webhook_id}"
	webhookDeliveriesPath = webhookPath + "/deliveries"
)

// webhook as the API shows it; its secret only once.
type webhook struct {
	ID              int64    `json:"id"`
	AccountID       int64    `json:"account_id"`
	URL             string   `json:"url" example:"https://app.example.org/helpdesk"`
	Events          []string `json:"events" description:"Types of events, or * alone." example:"[\"conversation.created\"]"`
	Mailboxes       []int64  `json:"mailboxes" description:"Ids of the mailboxes whose events are delivered, besides those of no mailbox. Empty: of all."`
	IsActive        bool     `json:"is_active"`
	DisabledReason  *string  `json:"disabled_reason" enum:"gone,failing,orphaned" description:"Why it was switched off by itself: the receiver answered 410, ten deliveries in a row were given up, or who made it or changed it last has left the account or may not see any more what it shows. More may be added."`
	FailingSince    *Time    `json:"failing_since" description:"The first try that failed since one succeeded; null when the last one did."`
	Failures        int      `json:"failures" description:"Deliveries that were given up since one succeeded."`
	LastSuccessAt   *Time    `json:"last_success_at" description:"Exact to a minute."`
	FormerExpiresAt *Time    `json:"former_secret_expires_at" description:"Until when the secret from before the last rotation signs too; null when there is none."`
	UserID          *int64   `json:"user_id" description:"Who made it."`
	CreatedAt       Time     `json:"created_at"`
	UpdatedAt       Time     `json:"updated_at"`
	Secret          string   `json:"secret,omitempty" description:"In the answers to its creation and to rotate-secret only." example:"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"`
}

// Stable implements [Stabler]: deliveries are no changes that an editor could overwrite.
func (w webhook) Stable() any {
	w.FailingSince, w.Failures, w.LastSuccessAt, w.FormerExpiresAt = nil, 0, nil, nil
	return w
}

type webhookInput struct {
	URL       string   `json:"url" required:"true" description:"http or https, at most 2,000 bytes, without a username and password. Servers in private networks are refused unless the operator allows them." example:"https://app.example.org/helpdesk"`
	Events    []string `json:"events" required:"true" maxItems:"50" description:"Types of events, such as conversation.created, or * alone."`
	Mailboxes []int64  `json:"mailboxes" maxItems:"1000" description:"Only events of these, and those of no mailbox. A member of some mailboxes has to name some of them."`
	IsActive  *bool    `json:"is_active" description:"Default true."`
}

type webhookUpdate struct {
	webhookID
	URL       storage.Opt[string]   `json:"url"`
	Events    storage.Opt[[]string] `json:"events" maxItems:"50"`
	Mailboxes storage.Opt[[]int64]  `json:"mailboxes" maxItems:"1000" description:"Null or empty: all."`
	IsActive  storage.Opt[bool]     `json:"is_active"`
}

type webhookID struct {
	WebhookID int64 `path:"webhook_id"`
}

// webhookDelivery as the API shows it.
type webhookDelivery struct {
	ID            int64   `json:"id"`
	WebhookID     int64   `json:"webhook_id"`
	MessageID     string  `json:"message_id" description:"The webhook-id of every try." example:"msg_7_1772600767891011"`
	EventID       string  `json:"event_id" description:"Id of the event in the list of events." example:"42"`
	EventType     string  `json:"event_type" example:"conversation.created"`
	State         string  `json:"state" enum:"pending,delivered,failed" description:"Pending: not tried yet, or to be tried again. Failed: given up."`
	Attempts      int     `json:"attempts" description:"Tries so far, since it was last asked for."`
	Status        *int    `json:"status" description:"HTTP status of the last answer; null when there was none."`
	Problem       *string `json:"problem" description:"What was wrong with the last try."`
	Response      *string `json:"response" description:"Beginning of the last answer's body, at most 1,024 characters."`
	NextAttemptAt *Time   `json:"next_attempt_at"`
	CreatedAt     Time    `json:"created_at"`
	UpdatedAt     Time    `json:"updated_at" description:"Of the last try."`
}

type webhookDeliveryList struct {
	Paging
	webhookID
	State string `query:"state" enum:"pending,delivered,failed" description:"Only those in this state."`
}

type webhookDeliveryID struct {
	webhookID
	DeliveryID int64 `path:"delivery_id"`
}

func (a *api) addWebhooks(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Webhooks", Summary: summary, Description: description}
	}
	create := op("createWebhook", http.MethodPost, webhooksPath, "Create a webhook",
		"Every event that it asks for is posted to its url from now on: a CloudEvent as in the list of events, as "+
			"application/cloudevents+json, which names the resource by its id; receivers fetch it with their own rights. Requests are "+
			"signed as Standard Webhooks has it: the header webhook-signature holds, for each secret, `v1,` and the base64 of "+
			"HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, whose key is the base64 after whsec_. Answer with a 2xx "+
			"within 15 seconds; redirects are not followed. Anything else is tried again after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, "+
			"2 h, 4 h, 6 h and 8 h, and then given up; 410 switches the webhook off, and so do ten deliveries in a row that were given up. "+
			"An event comes at least once, in no sure order: webhook-id is the same whenever it comes again, and ids of events grow. "+
			"Needs webhooks.create, and the view permission of each area whose events it asks for, of all areas for *. What the creator "+
			"loses later the webhook keeps. 409 when the account has 20 already.")
	create.Status = http.StatusCreated
	Handle(t, a.desk, create, a.createWebhook)
	HandlePage(t, a.desk, op("listWebhooks", http.MethodGet, webhooksPath, "List webhooks", "Oldest first. Needs webhooks.view."), a.listWebhooks)
	Handle(t, a.desk, op("getWebhook", http.MethodGet, webhookPath, "Retrieve a webhook", "Needs webhooks.view."), a.getWebhook)
	Handle(t, a.desk, op("updateWebhook", http.MethodPut, webhookPath, "Update a webhook",
		"Switched off, it gives up what waits; switched on, it begins with what happens from then on, and what was given up can be "+
			"redelivered. Needs webhooks.update, and of what becomes of it all that createWebhook needs."), a.updateWebhook)
	HandleEmpty(t, a.desk, op("deleteWebhook", http.MethodDelete, webhookPath, "Delete a webhook", "With its deliveries. Needs webhooks.delete."), a.deleteWebhook)
	rotate := op("rotateWebhookSecret", http.MethodPost, webhookPath+"/rotate-secret", "Give a webhook a new secret",
		"For 24 hours requests are signed with the former one too, as a second signature. Needs what updateWebhook does.")
	Handle(t, a.desk, rotate, a.rotateWebhookSecret)
	HandlePage(t, a.desk, op("listWebhookDeliveries", http.MethodGet, webhookDeliveriesPath, "List a webhook's deliveries",
		"Newest first. Those of events of mailboxes out of reach are left out. Kept are those of 30 days, at most 10,000, and all that "+
			"are pending. Needs webhooks.view."), a.listWebhookDeliveries)
	Handle(t, a.desk, op("redeliverWebhook", http.MethodPost, webhookDeliveriesPath+"/{delivery_id}/redeliver", "Deliver an event again",
		"Now, whatever became of it before, with the same webhook-id; if need be it is tried as often as a new one. 409 when the "+
			"webhook is switched off or the delivery is being tried at this moment. Needs webhooks.update."), a.redeliverWebhook)
}

func (a *api) createWebhook(ctx context.Context, d *helpdesk.Desk, in webhookInput) (webhook, error) {
	input := helpdesk.WebhookInput{URL: storage.Some(in.URL), Events: storage.Some(in.Events), MailboxIDs: storage.Some(in.Mailboxes)}
	if in.IsActive != nil {
		input.IsActive = storage.Some(*in.IsActive)
	}
	w, secret, err := d.CreateWebhook(ctx, input)
	out := showWebhook(d, w)
	out.Secret = secret
	return out, err
}

func (a *api) listWebhooks(ctx context.Context, d *helpdesk.Desk, in Paging) (storage.Page[webhook], error) {
	page, err := d.Webhooks(ctx, in.Request())
	return mapPage(page, func(w helpdesk.Webhook) webhook { return showWebhook(d, w) }), err
}

func (a *api) getWebhook(ctx context.Context, d *helpdesk.Desk, in webhookID) (webhook, error) {
	w, err := d.Webhook(ctx, in.WebhookID)
	return showWebhook(d, w), err
}

func (a *api) updateWebhook(ctx context.Context, d *helpdesk.Desk, in webhookUpdate) (webhook, error) {
	w, err := d.UpdateWebhook(ctx, in.WebhookID, helpdesk.WebhookInput{
		URL: in.URL, Events: in.Events, MailboxIDs: in.Mailboxes, IsActive: in.IsActive,
	})
	return showWebhook(d, w), err
}

func (a *api) deleteWebhook(ctx context.Context, d *helpdesk.Desk, in webhookID) error {
	return d.DeleteWebhook(ctx, in.WebhookID)
}

func (a *api) rotateWebhookSecret(ctx context.Context, d *helpdesk.Desk, in webhookID) (webhook, error) {
	w, secret, err := d.RotateWebhookSecret(ctx, in.WebhookID)
	out := showWebhook(d, w)
	out.Secret = secret
	return out, err
}

func (a *api) listWebhookDeliveries(ctx context.Context, d *helpdesk.Desk, in webhookDeliveryList) (storage.Page[webhookDelivery], error) {
	filter := helpdesk.WebhookDeliveryFilter{WebhookID: in.WebhookID, State: helpdesk.WebhookState(in.State)}
	page, err := d.WebhookDeliveries(ctx, filter, in.Request())
	return mapPage(page, showWebhookDelivery), err
}

func (a *api) redeliverWebhook(ctx context.Context, d *helpdesk.Desk, in webhookDeliveryID) (webhookDelivery, error) {
	out, err := d.RedeliverWebhook(ctx, in.WebhookID, in.DeliveryID)
	return showWebhookDelivery(out), err
}

func showWebhook(d *helpdesk.Desk, w helpdesk.Webhook) webhook {
	return webhook{
		ID: w.ID, AccountID: d.AccountID(), URL: w.URL, Events: listed(w.Events), Mailboxes: listed(w.MailboxIDs), IsActive: w.IsActive,
		DisabledReason: textOrNull(string(w.Reason)), FailingSince: TimePtr(&w.FailingSince), Failures: w.Failures,
		LastSuccessAt: TimePtr(&w.LastSuccessAt), FormerExpiresAt: TimePtr(&w.FormerUntil), UserID: idOrNull(w.UserID),
		CreatedAt: Time(w.CreatedAt), UpdatedAt: Time(w.UpdatedAt),
	}
}

func showWebhookDelivery(d helpdesk.WebhookDelivery) webhookDelivery {
	out := webhookDelivery{
		ID: d.ID, WebhookID: d.WebhookID, MessageID: d.MessageID(), EventID: strconv.FormatInt(d.Seq, 10), EventType: d.Type,
		State: string(d.State), Attempts: d.Attempts, Problem: textOrNull(d.Problem), Response: textOrNull(d.Response),
		NextAttemptAt: TimePtr(&d.NextAttemptAt), CreatedAt: Time(d.CreatedAt), UpdatedAt: Time(d.UpdatedAt),
	}
	if d.Status != 0 {
		out.Status = &d.Status
	}
	return out
}
