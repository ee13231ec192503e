package desk_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Signatures are set on two pages, shown above "Send", and folded in the thread.
func TestSignatureForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	for name, tt := range map[string]struct {
		path, back string
		form       url.Values
	}{
		"own":     {"/settings/signature", "/settings/profile", url.Values{"rich": {"1"}, "html": {"<p>Kind <b>regards</b>, {{agent.name}}</p>"}}},
		"mailbox": {"/settings/mailboxes/1/signature", "/settings/mailboxes/1", url.Values{"body": {"Acme & Co"}, "quotes": {"all"}}},
	} {
		if got := b.post(tt.path, tt.form); got.status != http.StatusSeeOther || got.location != "/desk/a/1"+tt.back {
			t.Errorf("%s: %d %s", name, got.status, got.location)
		}
	}
	was, err := b.desk.Signatures().Get(ctx)
	if err != nil || !strings.Contains(was, "<b>regards</b>") {
		t.Fatalf("%q, %v", was, err)
	}
	b.post("/settings/signature", url.Values{"body": {"Kind regards, {{agent.name}}\r\n"}})
	if got, _ := b.desk.Signatures().Get(ctx); got != was {
		t.Errorf("a text that stays loses its formatting without scripts: %q", got)
	}
	m, err := b.desk.Mailboxes().Get(ctx, 1)
	if err != nil || m.Signature != "Acme &amp; Co" || m.Quotes != helpdesk.QuoteAll {
		t.Errorf("%q, %q, %v", m.Signature, m.Quotes, err)
	}
	for path, body := range map[string]string{"/settings/signature": "{{customer.iban}}", "/settings/mailboxes/1/signature": "Keep me {{customer.iban}}"} {
		if got := b.post(path, url.Values{"body": {body}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, body) || !strings.Contains(got.body, "unknown placeholder") {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := b.post("/settings/mailboxes/1/signature", url.Values{"body": {"x"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("the mailbox's by who may not: %d", got.status)
	}
	if _, err := b.desk.Mailboxes().Update(ctx, 1, helpdesk.MailboxInput{Signature: storage.Some(`<img src="https://tracker.example/logo.png" alt="Logo"> Acme`)}); err != nil {
		t.Fatal(err)
	}
	c := b.asks("ada@example.com", "Door", "It is stuck.")
	if _, err := b.desk.Interactions().Create(ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "<p>Pull.</p>"}); err != nil {
		t.Fatal(err)
	}
	page := b.get("/c/" + strconv.FormatInt(c.ID, 10)).body
	if strings.Count(page, "<b>regards</b>") != 2 || strings.Contains(page, "tracker.example") || !strings.Contains(page, `alt="Logo"`) {
		t.Errorf("the conversation does not show the signature above Send and in the thread, or asks elsewhere: %d", strings.Count(page, "<b>regards</b>"))
	}
}
