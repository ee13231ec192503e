package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

const (
	webhooksPath          = accountPath + "/webhooks"
	webhookPath           = webhooksPath + "/{webhook_id}"
	webhookDeliveriesPath = webhookPath + "/deliveries"
)

// webhook as the API shows it; its secret only once.
type webhook struct {
	ID              int64           `json:"id"`
	AccountID       int64           `json:"account_id"`
	URL             string          `json:"url" example:"https://app.example.org/helpdesk"`
	Events          []string        `json:"events" description:"Event types, or * alone." example:"[\"conversation.created\"]"`
	Mailboxes       []int64         `json:"mailboxes" description:"Ids of the mailboxes whose events are delivered, in addition to events of no mailbox. Empty: all."`
	IsActive        bool            `json:"is_active"`
	DisabledReason  *string         `json:"disabled_reason" enum:"gone,failing,orphaned" description:"Why it was switched off automatically: the receiver answered 410, ten deliveries in a row failed, or the member who last changed it has left the account or lost access to what it shows. More values may be added."`
	FailingSince    *transport.Time `json:"failing_since" description:"First failed attempt since the last success. Null if the last attempt succeeded."`
	Failures        int             `json:"failures" description:"Deliveries that failed for good since the last success."`
	LastSuccessAt   *transport.Time `json:"last_success_at" description:"Accurate to a minute."`
	FormerExpiresAt *transport.Time `json:"former_secret_expires_at" description:"Until when the previous secret also signs. Null if there is none."`
	UserID          *int64          `json:"user_id" description:"Who created it."`
	CreatedAt       transport.Time  `json:"created_at"`
	UpdatedAt       transport.Time  `json:"updated_at"`
	Secret          string          `json:"secret,omitempty" description:"Returned only on creation and by rotate-secret." example:"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"`
}

// Stable implements [Stabler]: deliveries are not changes that an editor could overwrite.
func (w webhook) Stable() any {
	w.FailingSince, w.Failures, w.LastSuccessAt, w.FormerExpiresAt = nil, 0, nil, nil
	return w
}

type webhookInput struct {
	URL       string   `json:"url" required:"true" description:"http or https, at most 2,000 bytes, without a username and password. Servers in private networks are refused unless the operator allows them." example:"https://app.example.org/helpdesk"`
	Events    []string `json:"events" required:"true" maxItems:"50" description:"Event types, such as conversation.created, or * alone."`
	Mailboxes []int64  `json:"mailboxes" maxItems:"1000" description:"Deliver only events of these mailboxes and of no mailbox. A member limited to some mailboxes must list some of them."`
	IsActive  *bool    `json:"is_active" description:"Default: true."`
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
	ID            int64           `json:"id"`
	WebhookID     int64           `json:"webhook_id"`
	MessageID     string          `json:"message_id" description:"The webhook-id of every attempt." example:"msg_7_1772600767891011"`
	EventID       string          `json:"event_id" description:"Id of the event in the list of events." example:"42"`
	EventType     string          `json:"event_type" example:"conversation.created"`
	State         string          `json:"state" enum:"pending,delivered,failed" description:"pending: not attempted yet, or to be retried. failed: retries exhausted."`
	Attempts      int             `json:"attempts" description:"Attempts since it was last requested."`
	Status        *int            `json:"status" description:"HTTP status of the last response. Null if there was none."`
	Problem       *string         `json:"problem" description:"Error of the last attempt."`
	Response      *string         `json:"response" description:"Start of the last response body, at most 1,024 characters."`
	NextAttemptAt *transport.Time `json:"next_attempt_at"`
	CreatedAt     transport.Time  `json:"created_at"`
	UpdatedAt     transport.Time  `json:"updated_at" description:"Time of the last attempt."`
}

type webhookDeliveryList struct {
	transport.Paging
	webhookID
	State string `query:"state" enum:"pending,delivered,failed" description:"Only those in this state."`
}

type webhookDeliveryID struct {
	webhookID
	DeliveryID int64 `path:"delivery_id"`
}

func (a *api) addWebhooks(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Webhooks", Summary: summary, Description: description}
	}
	create := op("createWebhook", http.MethodPost, webhooksPath, "Create a webhook",
		"From now on, every selected event is posted to its url as application/cloudevents+json: a CloudEvent as in the list of "+
			"events. It contains only ids; receivers fetch the resource with their own permissions. Requests are signed according to "+
			"Standard Webhooks: the header webhook-signature contains, for each secret, `v1,` and the base64 of HMAC-SHA256 over "+
			"`<webhook-id>.<webhook-timestamp>.<body>`; the key is the base64 after whsec_. Answer with a 2xx within 15 seconds; "+
			"redirects are not followed. Anything else is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 6 h and 8 "+
			"h, and then fails. A 410, or ten failed deliveries in a row, switches the webhook off. Events are delivered at least "+
			"once, in no guaranteed order: webhook-id stays the same on repeats, and event ids grow. Needs webhooks.create, and the "+
			"view permission of each area whose events it selects (for *, of all areas). 409 if the account already has 20.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, a.createWebhook)
	transport.HandlePage(t, a.desk, op("listWebhooks", http.MethodGet, webhooksPath, "List webhooks", "Oldest first. Needs webhooks.view."), a.listWebhooks)
	transport.Handle(t, a.desk, op("getWebhook", http.MethodGet, webhookPath, "Retrieve a webhook", "Needs webhooks.view."), a.getWebhook)
	transport.Handle(t, a.desk, op("updateWebhook", http.MethodPut, webhookPath, "Update a webhook",
		"Switching it off fails the pending deliveries. Switching it on starts with new events; failed deliveries can be "+
			"redelivered. Needs webhooks.update, and everything createWebhook needs for the result."), a.updateWebhook)
	transport.HandleEmpty(t, a.desk, slow(op("deleteWebhook", http.MethodDelete, webhookPath, "Delete a webhook", "Deletes it with its deliveries. Needs webhooks.delete.")), a.deleteWebhook)
	rotate := op("rotateWebhookSecret", http.MethodPost, webhookPath+"/rotate-secret", "Rotate a webhook's secret",
		"For 24 hours, requests carry a second signature with the previous secret. Needs the same as updateWebhook.")
	transport.Handle(t, a.desk, rotate, a.rotateWebhookSecret)
	transport.HandlePage(t, a.desk, op("listWebhookDeliveries", http.MethodGet, webhookDeliveriesPath, "List a webhook's deliveries",
		"Newest first. Events of mailboxes out of reach are omitted. Deliveries are kept for 30 days, at most 10,000, plus all "+
			"pending ones. Needs webhooks.view."), a.listWebhookDeliveries)
	transport.Handle(t, a.desk, op("redeliverWebhook", http.MethodPost, webhookDeliveriesPath+"/{delivery_id}/redeliver", "Redeliver an event",
		"Delivers it now, whatever its state, with the same webhook-id and the same retries as a new one. 409 if the webhook is "+
			"switched off or the delivery is being attempted right now. Needs webhooks.update."), a.redeliverWebhook)
}

func (a *api) createWebhook(ctx context.Context, d *helpdesk.Desk, in webhookInput) (webhook, error) {
	input := subscription.WebhookInput{URL: storage.Some(in.URL), Events: storage.Some(in.Events), MailboxIDs: storage.Some(in.Mailboxes)}
	if in.IsActive != nil {
		input.IsActive = storage.Some(*in.IsActive)
	}
	w, secret, err := d.Webhooks().Create(ctx, input)
	out := showWebhook(d, w)
	out.Secret = secret
	return out, err
}

func (a *api) listWebhooks(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[webhook], error) {
	page, err := d.Webhooks().List(ctx, in.Request())
	return mapPage(page, func(w subscription.Webhook) webhook { return showWebhook(d, w) }), err
}

func (a *api) getWebhook(ctx context.Context, d *helpdesk.Desk, in webhookID) (webhook, error) {
	w, err := d.Webhooks().Get(ctx, in.WebhookID)
	return showWebhook(d, w), err
}

func (a *api) updateWebhook(ctx context.Context, d *helpdesk.Desk, in webhookUpdate) (webhook, error) {
	w, err := d.Webhooks().Update(ctx, in.WebhookID, subscription.WebhookInput{
		URL: in.URL, Events: in.Events, MailboxIDs: in.Mailboxes, IsActive: in.IsActive,
	})
	return showWebhook(d, w), err
}

func (a *api) deleteWebhook(ctx context.Context, d *helpdesk.Desk, in webhookID) error {
	return d.Webhooks().Delete(ctx, in.WebhookID)
}

func (a *api) rotateWebhookSecret(ctx context.Context, d *helpdesk.Desk, in webhookID) (webhook, error) {
	w, secret, err := d.Webhooks().RotateSecret(ctx, in.WebhookID)
	out := showWebhook(d, w)
	out.Secret = secret
	return out, err
}

func (a *api) listWebhookDeliveries(ctx context.Context, d *helpdesk.Desk, in webhookDeliveryList) (storage.Page[webhookDelivery], error) {
	filter := subscription.WebhookDeliveryFilter{WebhookID: in.WebhookID, State: subscription.WebhookState(in.State)}
	page, err := d.Webhooks().Deliveries(ctx, filter, in.Request())
	return mapPage(page, showWebhookDelivery), err
}

func (a *api) redeliverWebhook(ctx context.Context, d *helpdesk.Desk, in webhookDeliveryID) (webhookDelivery, error) {
	out, err := d.Webhooks().Redeliver(ctx, in.WebhookID, in.DeliveryID)
	return showWebhookDelivery(out), err
}

func showWebhook(d *helpdesk.Desk, w subscription.Webhook) webhook {
	return webhook{
		ID: w.ID, AccountID: d.AccountID(), URL: w.URL, Events: listed(w.Events), Mailboxes: listed(w.MailboxIDs), IsActive: w.IsActive,
		DisabledReason: textOrNull(string(w.Reason)), FailingSince: transport.TimePtr(&w.FailingSince), Failures: w.Failures,
		LastSuccessAt: transport.TimePtr(&w.LastSuccessAt), FormerExpiresAt: transport.TimePtr(&w.FormerUntil), UserID: idOrNull(w.UserID),
		CreatedAt: transport.Time(w.CreatedAt), UpdatedAt: transport.Time(w.UpdatedAt),
	}
}

func showWebhookDelivery(d subscription.WebhookDelivery) webhookDelivery {
	out := webhookDelivery{
		ID: d.ID, WebhookID: d.WebhookID, MessageID: d.MessageID(), EventID: strconv.FormatInt(d.Seq, 10), EventType: d.Type,
		State: string(d.State), Attempts: d.Attempts, Problem: textOrNull(d.Problem), Response: textOrNull(d.Response),
		NextAttemptAt: transport.TimePtr(&d.NextAttemptAt), CreatedAt: transport.Time(d.CreatedAt), UpdatedAt: transport.Time(d.UpdatedAt),
	}
	if d.Status != 0 {
		out.Status = &d.Status
	}
	return out
}
