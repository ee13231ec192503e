package desk

import (
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type tokensView struct {
	Rows         []tokenRow
	Next, Action string
	Name, Secret string // the secret is only shown in the answer to the form
	Errors       map[string]string
	Assistants   string // endpoint for assistants; "" for none
}

type tokenRow struct{ Name, Made, Used, Until, May, Action string }

// The scopes of a token, as a part of its user's permissions.
const (
	tokenReads  = "read"
	tokenDrafts = "draft"
)

// drafting are the permissions of an assistant that drafts answers and articles but sends and publishes nothing.
var drafting = []identity.Permission{
	identity.ConversationsView, identity.CustomersView, identity.InteractionsCreate, identity.InteractionsView, identity.NotesCreate, identity.TagsView,
	identity.Permission(kb.ArticlesCreate), identity.Permission(kb.ArticlesUpdate), identity.Permission(kb.ArticlesView),
	identity.Permission(kb.CollectionsView), identity.Permission(kb.SitesView),
}

// scopes returns the permissions of a token with a limited scope; none means all of the user's.
func (v *visit) scopes(good string) ([]identity.Permission, error) {
	switch good {
	case "":
		return nil, nil
	case tokenDrafts:
		return drafting, nil
	case tokenReads:
		var views []identity.Permission
		for _, p := range v.Permissions() {
			if strings.HasSuffix(string(p), ".view") {
				views = append(views, p)
			}
		}
		return views, nil
	}
	return nil, fault.New(fault.Malformed, "There is no such kind of token.")
}

func (v *visit) tokensPage() error { return v.listTokens(tokensView{}, 0) }

func (v *visit) listTokens(view tokensView, status int) error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	page, err := admin.Tokens(v.ctx(), v.pageOf(50))
	if err != nil {
		return err
	}
	view.Action, view.Next, view.Errors = v.at("/settings/tokens"), v.older("/settings/tokens", page.Next), orEmpty(view.Errors)
	if v.h.cfg.AssistantURL != nil {
		view.Assistants = v.h.cfg.AssistantURL(v.AccountID())
	}
	for _, t := range page.Items {
		row := tokenRow{Name: t.Name, Made: v.words.T("created %s", v.when(t.CreatedAt)), Used: v.words.T("never used"), Action: v.at("/settings/tokens/" + itoa(t.ID) + "/delete")}
		if !t.LastUsedAt.IsZero() {
			row.Used = v.words.T("last used %s", v.when(t.LastUsedAt))
		}
		if !t.ExpiresAt.IsZero() {
			row.Until = v.words.T("until %s", v.when(t.ExpiresAt))
		}
		if len(t.Scopes) > 0 {
			row.May = v.words.N(len(t.Scopes), "%s permission|%s permissions")
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("tokens", v.words.T("Access tokens"), view, status)
}

// addToken answers with the secret, which is shown on no later page.
func (v *visit) addToken() error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	in := identity.TokenInput{Name: v.r.PostFormValue("name")}
	if days := v.field("days"); days > 0 && days <= 3650 {
		in.ExpiresAt = v.now.AddDate(0, 0, int(days))
	}
	if in.Scopes, err = v.scopes(v.r.PostFormValue("may")); err != nil {
		return err
	}
	_, secret, err := admin.CreateOwnToken(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.listTokens(tokensView{Name: in.Name, Errors: v.problems(err)}, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return v.listTokens(tokensView{Secret: secret}, 0)
}

func (v *visit) deleteToken() error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	return v.unless(admin.DeleteOwnToken(v.ctx(), v.number("id")), "tokens", v.words.T("Token deleted"))
}

type webhooksView struct {
	Rows      []webhookRow
	Action    string
	CanCreate bool
	URL       string
	Choice    eventChoice
	Errors    map[string]string
}

type webhookRow struct {
	URL, Events, Link string
	State             check
}

func (v *visit) webhooksPage() error {
	return v.listWebhooks("", []string{subscription.AllEvents}, nil, 0)
}

func (v *visit) listWebhooks(address string, events []string, problems map[string]string, status int) error {
	page, err := v.Webhooks().List(v.ctx(), storage.PageRequest{Limit: subscription.MaxWebhooks})
	if err != nil {
		return err
	}
	view := webhooksView{Action: v.at("/settings/webhooks"), CanCreate: v.may(identity.WebhooksCreate), URL: address, Choice: v.eventChoice(events), Errors: orEmpty(problems)}
	for _, w := range page.Items {
		view.Rows = append(view.Rows, webhookRow{URL: w.URL, Events: v.eventText(w.Events), Link: v.at("/settings/webhooks/" + itoa(w.ID)), State: v.webhookState(w)})
	}
	return v.settingsPage("webhooks", v.words.T("Webhooks"), view, status)
}

func (v *visit) eventText(events []string) string {
	if len(events) == 1 && events[0] == subscription.AllEvents {
		return v.words.T("All events")
	}
	return strings.Join(events, ", ")
}

func (v *visit) webhookState(h subscription.Webhook) check {
	w := v.words
	switch {
	case !h.IsActive && h.Reason == subscription.WebhookGone:
		return wrong(w.T("Off"), w.T("The receiver reported that it is permanently gone."), "")
	case !h.IsActive && h.Reason == subscription.WebhookFailing:
		return wrong(w.T("Off"), w.T("Too many deliveries failed in a row."), "")
	case !h.IsActive && h.Reason != "":
		return wrong(w.T("Off"), w.T("Its creator no longer has access to the data it sends."), "")
	case !h.IsActive:
		return waits(w.T("Off"), w.T("No events are sent."), "")
	case !h.FailingSince.IsZero():
		c := wrong(w.T("Failing"), w.T("since %s", v.when(h.FailingSince)), "")
		c.Class = "warn"
		return c
	}
	return good(w.T("On"), "", v.since(h.LastSuccessAt))
}

func eventTypes(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;\r\n\t", r) })
}

// addWebhook answers with the secret, which is shown on no later page.
func (v *visit) addWebhook() error {
	address, events := v.r.PostFormValue("url"), v.chosenEvents()
	h, secret, err := v.Webhooks().Create(v.ctx(), subscription.WebhookInput{URL: storage.Some(address), Events: storage.Some(events)})
	if fault.Is(err, fault.Invalid) {
		return v.listWebhooks(address, events, v.problems(err), http.StatusUnprocessableEntity)
	}
	if err != nil {
		return v.unless(err, "webhooks", "")
	}
	return v.showWebhook(h.ID, webhookView{Secret: secret}, 0)
}

type webhookView struct {
	URL, Action, List         string
	Choice                    eventChoice
	Active, CanUpdate, Delete bool
	State                     []check
	Secret                    string // only shown in the answer to the form
	Rows                      []deliveryRow
	Next                      string
	Errors                    map[string]string
}

type deliveryRow struct {
	Type, When, Tries, Said, Action string
	State                           check
}

func (v *visit) webhookPage() error { return v.showWebhook(v.number("id"), webhookView{}, 0) }

func (v *visit) showWebhook(id int64, view webhookView, status int) error {
	h, err := v.Webhooks().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	path := "/settings/webhooks/" + itoa(id)
	view.Action, view.List, view.Active, view.State = v.at(path), v.at("/settings/webhooks"), h.IsActive, []check{v.webhookState(h)}
	view.CanUpdate, view.Delete = v.may(identity.WebhooksUpdate), v.may(identity.WebhooksDelete)
	if view.Errors == nil {
		view.URL, view.Choice, view.Errors = h.URL, v.eventChoice(h.Events), map[string]string{}
	}
	page, err := v.Webhooks().Deliveries(v.ctx(), subscription.WebhookDeliveryFilter{WebhookID: id}, v.pageOf(25))
	if err != nil {
		return err
	}
	view.Next = v.older(path, page.Next)
	for _, d := range page.Items {
		view.Rows = append(view.Rows, v.deliveryRow(d, path))
	}
	return v.settingsPage("webhook", v.words.T("Webhook"), view, status)
}

func (v *visit) deliveryRow(d subscription.WebhookDelivery, path string) deliveryRow {
	w := v.words
	row := deliveryRow{Type: d.Type, When: v.when(d.CreatedAt), Tries: w.N(d.Attempts, "%s attempt|%s attempts"), Said: d.Problem, State: waits(w.T("Queued"), "", "")}
	if d.Status != 0 {
		row.Said = strings.TrimSpace("HTTP " + itoa(int64(d.Status)) + " " + d.Response)
	}
	switch d.State {
	case subscription.WebhookDelivered:
		row.State = good(w.T("Delivered"), "", "")
	case subscription.WebhookFailed:
		row.State = wrong(w.T("Failed"), "", "")
	}
	if d.State != subscription.WebhookPending || !d.NextAttemptAt.IsZero() {
		row.Action = v.at(path + "/again/" + itoa(d.ID))
	}
	return row
}

func (v *visit) saveWebhook() error {
	id := v.number("id")
	in := subscription.WebhookInput{
		URL: storage.Some(v.r.PostFormValue("url")), Events: storage.Some(v.chosenEvents()), IsActive: storage.Some(v.r.PostFormValue("active") != ""),
	}
	_, err := v.Webhooks().Update(v.ctx(), id, in)
	if fault.Is(err, fault.Invalid) {
		return v.showWebhook(id, webhookView{URL: v.r.PostFormValue("url"), Choice: v.eventChoice(v.chosenEvents()), Errors: v.problems(err)}, http.StatusUnprocessableEntity)
	}
	return v.unless(err, "webhooks/"+itoa(id), v.words.T("Saved"))
}

func (v *visit) rotateSecret() error {
	id := v.number("id")
	_, secret, err := v.Webhooks().RotateSecret(v.ctx(), id)
	if err != nil {
		return err
	}
	return v.showWebhook(id, webhookView{Secret: secret}, 0)
}

func (v *visit) deleteWebhook() error {
	return v.unless(v.Webhooks().Delete(v.ctx(), v.number("id")), "webhooks", v.words.T("Webhook deleted"))
}

func (v *visit) redeliver() error {
	id := v.number("id")
	_, err := v.Webhooks().Redeliver(v.ctx(), id, v.number("attempt"))
	return v.unless(err, "webhooks/"+itoa(id), v.words.T("Sending it again"))
}
