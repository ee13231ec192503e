package desk_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/desk"
)

// office is a desk with an owner and a collaborator, who may change nothing. A request with the header As is the
// collaborator's.
func office(t *testing.T) *bundle {
	t.Helper()
	var b *bundle
	var other identity.User
	b = newBundle(t, func(cfg *desk.Config) {
		cfg.Authenticate = func(r *http.Request) (helpdesk.Caller, error) {
			if r.Header.Get("As") != "" {
				return b.service.As(other.ID), nil
			}
			return b.service.As(b.owner.ID), nil
		}
	})
	var err error
	if other, err = b.service.Operator().CreateUser(t.Context(), identity.UserInput{Name: "Tomás", Email: "tomas@example.org", Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.Operator().AddMember(t.Context(), 1, other.ID, identity.RoleCollaborator); err != nil {
		t.Fatal(err)
	}
	return b
}

// Every form works, refuses members without the permission, and reports problems.
func TestSettingsForms(t *testing.T) {
	t.Parallel()
	page := storage.PageRequest{Limit: 100}
	for _, tt := range []struct {
		name, path string
		form       url.Values
		to         string // where a right form leads, below /settings
		bad        url.Values
		says       string // of a wrong form
		open       bool   // everybody may
		done       func(b *bundle) bool
	}{
		{"mailbox", "/mailboxes", url.Values{"email": {"orders@example.org"}, "type": {"FWD"}}, "/mailboxes/2",
			url.Values{"email": {"nonsense"}, "type": {"FWD"}}, "Enter a valid email address", false, func(b *bundle) bool {
				m, err := b.desk.Mailboxes().Get(b.Context(), 2)
				return err == nil && m.Name == "Orders"
			}},
		{"mailbox by IMAP", "/mailboxes", url.Values{"email": {"a@gmail.com"}, "type": {"IMAP"}, "password": {"geheim"}}, "/mailboxes/2",
			url.Values{"email": {"a@gmail.com"}, "type": {"IMAP"}}, "This is required", false, func(b *bundle) bool {
				m, err := b.desk.Mailboxes().Get(b.Context(), 2)
				return err == nil && m.Inbound.Host == "imap.gmail.com" && m.Inbound.Port == 993 && m.Inbound.HasPassword && !m.Inbound.ImportSince.IsZero()
			}},
		{"one mailbox", "/mailboxes/1", url.Values{"name": {"Help"}, "email": {"help@example.org"}, "from": {"Halden"}, "type": {"FWD"}, "hold": {"20"}}, "/mailboxes/1",
			url.Values{"name": {"Help"}, "email": {"nonsense"}, "type": {"FWD"}}, "Enter a valid email address", false, func(b *bundle) bool {
				m, err := b.desk.Mailboxes().Get(b.Context(), 1)
				a, failed := b.desk.Account().Get(b.Context())
				return err == nil && failed == nil && m.Name == "Help" && m.From == "Halden" && a.SendHold == 20*time.Second
			}},
		{
			"outgoing mail", "/mailboxes/1/outgoing", url.Values{
				"type": {"SMTP"}, "host": {"smtp.example.org"}, "port": {"465"}, "encryption": {"SSL"}, "username": {"support"}, "password": {"geheim"},
			}, "/mailboxes/1",
			url.Values{"type": {"SMTP"}, "host": {"smtp.example.org"}, "port": {"465"}, "encryption": {"SSL"}, "username": {"support"}}, "This is required", false, func(b *bundle) bool {
				m, err := b.desk.Mailboxes().Get(b.Context(), 1)
				return err == nil && m.Outbound.Host == "smtp.example.org" && m.Outbound.Port == 465 && m.Outbound.HasPassword && m.Outbound.ValidateCertificate
			},
		},
		{"domain", "/domains", url.Values{"domain": {"halden.dev"}}, "/domains", url.Values{"domain": {"com"}}, "Enter a domain", false, func(b *bundle) bool {
			all, err := b.desk.Domains().List(b.Context(), page)
			return err == nil && len(all.Items) == 1
		}},
		{"invitation", "/members", url.Values{"email": {"lise@example.org"}, "role": {"3"}, "mailbox": {"1"}}, "/members",
			url.Values{"email": {"maja@example.org"}, "role": {"3"}}, "is already a member", false, func(b *bundle) bool {
				all, err := b.desk.Members().Invitations(b.Context(), page)
				return err == nil && len(all.Items) == 1 && all.Items[0].RoleIDs[0] == 3 && all.Items[0].MailboxIDs[0] == 1
			}},
		{"member", "/members/2", url.Values{"role": {"3"}, "mailbox": {"1"}}, "/members/2", url.Values{}, "This is required", false, func(b *bundle) bool {
			m, err := b.desk.Members().Get(b.Context(), 2)
			return err == nil && m.RoleIDs[0] == 3 && len(m.MailboxIDs) == 1
		}},
		{"removal of a member", "/members/2/remove", url.Values{}, "/members", nil, "", false, func(b *bundle) bool {
			all, err := b.desk.Members().List(b.Context(), page)
			return err == nil && len(all.Items) == 1
		}},
		{"role", "/roles", url.Values{"name": {"Readers"}}, "/roles/6", url.Values{"name": {"owner"}}, "This name is already taken", false, func(b *bundle) bool {
			_, err := b.desk.Roles().Get(b.Context(), 6)
			return err == nil
		}},
		{"tag", "/tags", url.Values{"name": {"Refund"}}, "/tags", url.Values{"name": {""}}, "This is required", false, func(b *bundle) bool {
			all, err := b.desk.Tags().List(b.Context(), page)
			return err == nil && len(all.Items) == 1
		}},
		{"name", "/profile", url.Values{"name": {"Maya"}}, "/profile", url.Values{"name": {""}}, "This is required", true, func(b *bundle) bool {
			u, err := b.service.Operator().UserByEmail(b.Context(), "maja@example.org")
			return err == nil && u.Name == "Maya"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			if !tt.open {
				if got := b.post("/settings"+tt.path, tt.form, "As", "other"); got.status != http.StatusForbidden || tt.done(b) {
					t.Errorf("a member without the permission: %d", got.status)
				}
			}
			if tt.bad != nil {
				if got := b.post("/settings"+tt.path, tt.bad); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.says) {
					t.Errorf("a wrong form: %d, without %q", got.status, tt.says)
				}
			}
			got := b.post("/settings"+tt.path, tt.form)
			if got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings"+tt.to || !tt.done(b) {
				t.Errorf("%d %s, done: %t\n%s", got.status, got.location, tt.done(b), got.body)
			}
			if got.header.Get("Set-Cookie") == "" {
				t.Error("nothing is said")
			}
			if next := b.get("/settings" + tt.to); next.status != http.StatusOK || strings.Contains(next.body, "geheim") {
				t.Errorf("the page that follows: %d", next.status)
			}
		})
	}
}

// registry returns the mail records of domains.
type registry struct {
	srv map[string]*net.SRV
	mx  map[string]string
}

func (r registry) LookupSRV(_ context.Context, _, _, name string) (string, []*net.SRV, error) {
	if s := r.srv[name]; s != nil {
		return "", []*net.SRV{s}, nil
	}
	return "", nil, &net.DNSError{IsNotFound: true}
}

func (r registry) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	if host := r.mx[name]; host != "" {
		return []*net.MX{{Host: host}}, nil
	}
	return nil, &net.DNSError{IsNotFound: true}
}

// A mailbox's server is found by its address.
func TestServerOfAddress(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) {
		cfg.Resolver = registry{
			srv: map[string]*net.SRV{"srv.example": {Target: "mail.srv.example.", Port: 1993}, "none.example": {Target: "."}},
			mx:  map[string]string{"google.example": "aspmx.l.google.com.", "own.example": "mx.own.example."},
		}
	})
	for i, tt := range []struct {
		email, host string
		port        int
	}{
		{"a@gmx.de", "imap.gmx.net", 993},
		{"a@srv.example", "mail.srv.example", 1993},
		{"a@none.example", "imap.none.example", 993},
		{"a@google.example", "imap.gmail.com", 993},
		{"a@own.example", "imap.own.example", 993},
	} {
		got := b.post("/settings/mailboxes", url.Values{"email": {tt.email}, "type": {"IMAP"}, "password": {"x"}})
		m, err := b.desk.Mailboxes().Get(t.Context(), int64(i+2))
		if got.status != http.StatusSeeOther || err != nil || m.Inbound.Host != tt.host || m.Inbound.Port != tt.port || m.Inbound.Username != tt.email {
			t.Errorf("%s: %d %v %+v", tt.email, got.status, err, m.Inbound)
		}
	}
}

// Saving a mailbox leaves a connection that the form does not change as it is, and so its access tokens.
func TestSavingKeepsTheConnection(t *testing.T) {
	t.Parallel()
	b := office(t)
	m, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Email: storage.Some("o@example.org"), Inbound: storage.Some(helpdesk.InboundInput{
		Type: ledger.InboundIMAP, Host: "imap.example.org", Port: 993, Username: "o", Encryption: mailserver.TLS, ValidateCertificate: storage.Some(true),
		Folders: []string{"INBOX", "Web"}, Auth: ledger.AuthOAuth2,
		OAuth: helpdesk.OAuthInput{ClientID: "id", TokenURL: "https://id.example.org/token", RefreshToken: storage.Some("geheim")},
	})})
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"name": {"Orders"}, "email": {"o@example.org"}, "type": {"IMAP"}, "host": {"imap.example.org"}, "port": {"993"}, "encryption": {"SSL"}, "username": {"o"}, "folders": {"INBOX\r\nWeb"},
	}
	for _, port := range []string{"993", "1993"} {
		form.Set("port", port)
		if got := b.post("/settings/mailboxes/2", form); got.status != http.StatusSeeOther {
			t.Fatalf("%d %s", got.status, got.body)
		}
		now, err := b.desk.Mailboxes().Get(t.Context(), m.ID)
		if err != nil || now.Inbound.Auth != ledger.AuthOAuth2 || !now.Inbound.OAuth.HasRefreshToken || len(now.Inbound.Folders) != 2 || strconv.Itoa(now.Inbound.Port) != port {
			t.Errorf("%+v %v", now.Inbound, err)
		}
	}
}

func TestSettingsChangesOfOne(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	tag, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Old"})
	if err != nil {
		t.Fatal(err)
	}
	role, err := b.desk.Roles().Create(ctx, identity.RoleInput{Name: "Readers"})
	if err != nil {
		t.Fatal(err)
	}
	see := func(path string, form url.Values, to string) {
		t.Helper()
		if got := b.post("/settings"+path, form); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings"+to {
			t.Errorf("%s: %d %s", path, got.status, got.location)
		}
	}
	see("/tags/1", url.Values{"name": {"New"}, "color": {"#112233"}}, "/tags")
	if now, err := b.desk.Tags().Get(ctx, tag.ID); err != nil || now.Name != "New" || now.Color != "#112233" {
		t.Error(now, err)
	}
	see("/tags/1/delete", nil, "/tags")
	see("/roles/6", url.Values{"name": {"Readers"}, "permission": {"tags.view", "accounts.view"}}, "/roles/6")
	if now, err := b.desk.Roles().Get(ctx, role.ID); err != nil || len(now.Permissions) != 2 {
		t.Error(now, err)
	}
	see("/roles/6", url.Values{"name": {"Readers"}, "permission": {"tags.*", "tags.view", "accounts.view"}}, "/roles/6")
	if now, err := b.desk.Roles().Get(ctx, role.ID); err != nil || len(now.Permissions) != 5 {
		t.Error("all of the tags:", now, err)
	}
	see("/roles/6/delete", nil, "/roles")
	see("/roles/1/delete", nil, "/roles/1")     // a built-in one: the page explains why
	see("/members/1/remove", nil, "/members/1") // so is the last owner
	b.asks("ada@example.net", "Door", "It is stuck")
	see("/mailboxes/1/delete", nil, "/mailboxes/1") // it has a conversation
	if got := b.post("/settings/roles/1/delete", nil, "As", "other"); got.status != http.StatusForbidden {
		t.Error(got.status)
	}
}

// A mail that could not be imported is retried, set aside with a note, and read in its original form.
func TestLedgerForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx, page := t.Context(), storage.PageRequest{Limit: 10}
	broken := ledger.Raw{Raw: []byte("Subject: <b>Broken\r\n\r\nHello\r\n"), Problem: "it is larger than 50 MB", Head: ledger.Head{Subject: "<b>Broken"}}
	if err := b.service.Intake().Take(ctx, 1, b.box.ID, "smtp", []ledger.Raw{broken, broken}, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/settings/ledger"); !strings.Contains(got.body, "it is larger than 50 MB") || strings.Contains(got.body, "<b>Broken") {
		t.Errorf("%s", got.body)
	}
	if got := b.get("/settings/ledger/1/1/raw"); got.body != string(broken.Raw) || got.header.Get("Content-Type") != "message/rfc822" ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %q %v", got.status, got.body, got.header)
	}
	for _, path := range []string{"/1/1/replay", "/1/1/ignore", "/1/1/raw"} {
		do := b.post
		if strings.HasSuffix(path, "raw") {
			do = func(path string, _ url.Values, header ...string) answer { return b.get(path, header...) }
		}
		if got := do("/settings/ledger"+path, nil, "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("%s by who may not: %d", path, got.status)
		}
		if got := do("/settings/ledger/7"+path[2:], nil); got.status != http.StatusNotFound {
			t.Errorf("%s of another mailbox: %d", path, got.status)
		}
	}
	b.post("/settings/ledger/1/1/ignore", url.Values{"note": {strings.Repeat("x", 600)}})
	if m, err := b.desk.InboundMails().Get(ctx, 1, 1); err != nil || m.State != ledger.Quarantined {
		t.Error("a note that is too long:", m.State, err)
	}
	if got := b.post("/settings/ledger/1/1/ignore", url.Values{"note": {"Advertising"}}); got.location != "/desk/a/1/settings/ledger" {
		t.Error(got.status, got.location)
	}
	if m, err := b.desk.InboundMails().Get(ctx, 1, 1); err != nil || m.State != ledger.Ignored || m.Note != "Advertising" {
		t.Error(m, err)
	}
	if got := b.get("/health"); !strings.Contains(got.body, "1 email could not be imported") {
		t.Error("health does not tell")
	}
	b.post("/settings/ledger/1/2/replay", nil)
	left, err := b.desk.InboundMails().List(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Received}}, page)
	if err != nil || len(left.Items)+refetched(b) != 1 {
		t.Error(left.Items, err)
	}
}

// refetched counts the mails to be fetched again.
func refetched(b *bundle) int {
	b.Helper()
	all, err := b.desk.InboundMails().List(b.Context(), ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Quarantined}}, storage.PageRequest{Limit: 10})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, m := range all.Items {
		if m.Partial && m.Reason != "it is larger than 50 MB" {
			n++
		}
	}
	return n
}

func TestWebhookForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	h, _, err := b.desk.Webhooks().Create(ctx, subscription.WebhookInput{URL: storage.Some("https://example.net/a"), Events: storage.Some([]string{"*"})})
	if err != nil {
		t.Fatal(err)
	}
	path := "/settings/webhooks/1"
	for _, act := range []string{"", "/secret", "/delete", "/again/1"} {
		if got := b.post(path+act, url.Values{"url": {"https://example.net/b"}, "events": {"*"}}, "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("%q by who may not: %d", act, got.status)
		}
	}
	if got := b.post(path, url.Values{"url": {"nonsense"}, "events": {"*"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Enter a URL that begins with http:// or https://") {
		t.Errorf("%d", got.status)
	}
	if got := b.post(path, url.Values{"url": {"https://example.net/b"}, "events": {"tag.created, tag.deleted"}}); got.location != "/desk/a/1"+path {
		t.Errorf("%d %s", got.status, got.location)
	}
	if now, err := b.desk.Webhooks().Get(ctx, h.ID); err != nil || now.URL != "https://example.net/b" || len(now.Events) != 2 || now.IsActive {
		t.Error(now, err)
	}
	b.post(path, url.Values{"url": {"https://example.net/b"}, "events": {"tag.*", "team.created"}})
	if now, err := b.desk.Webhooks().Get(ctx, h.ID); err != nil || !slices.Equal(now.Events, []string{"tag.created", "tag.deleted", "tag.updated", "team.created"}) {
		t.Error(now.Events, err)
	}
	if got := b.post(path+"/secret", nil); got.status != http.StatusOK || !strings.Contains(got.body, "whsec_") {
		t.Errorf("%d", got.status)
	}
	if got := b.post(path+"/again/1", nil); got.status != http.StatusNotFound {
		t.Errorf("a delivery that is not there: %d", got.status)
	}
	if got := b.post(path+"/delete", nil); got.location != "/desk/a/1/settings/webhooks" {
		t.Errorf("%d %s", got.status, got.location)
	}
	if _, err := b.desk.Webhooks().Get(ctx, h.ID); err == nil {
		t.Error("it is still there")
	}
}

// A secret is in the answer to the form that made it, and on no other page.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, list string
		form             url.Values
		secret           *regexp.Regexp
		bad              url.Values
	}{
		{"token", "/tokens", "/tokens", url.Values{"name": {"Import"}, "days": {"30"}}, regexp.MustCompile(`hwp_[A-Z2-7]+`), url.Values{"name": {""}}},
		{"webhook", "/webhooks", "/webhooks/1", url.Values{"url": {"https://example.net/hook"}, "events": {"*"}}, regexp.MustCompile(`whsec_[^"]+`), url.Values{"url": {"nonsense"}, "events": {"*"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			if got := b.post("/settings"+tt.path, tt.bad); got.status != http.StatusUnprocessableEntity {
				t.Errorf("a wrong form: %d", got.status)
			}
			got := b.post("/settings"+tt.path, tt.form)
			if got.status != http.StatusOK || !tt.secret.MatchString(got.body) || got.header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if next := b.get("/settings" + tt.list); next.status != http.StatusOK || tt.secret.MatchString(next.body) {
				t.Errorf("a later page: %d", next.status)
			}
		})
	}
}

func TestSettingsPages(t *testing.T) {
	t.Parallel()
	b := office(t)
	if _, err := b.desk.Domains().Create(t.Context(), "example.org"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, says string
		status     int    // for the collaborator
		denied     string // the text that they read instead
	}{
		{"/settings/mailboxes", "Support", 200, ""},
		{"/settings/mailboxes/1", "_dmarc.example.org", 200, ""},
		{"/settings/domains", "v=DMARC1", 403, "Ask an admin: Maja Lindqvist."},
		{"/settings/ledger", "All mail was imported", 403, "You cannot see this: Unreadable mail"},
		{"/settings/members", "tomas@example.org", 200, ""},
		{"/settings/members/2", "Collaborator", 200, ""},
		{"/settings/roles", "Built in", 200, ""},
		{"/settings/roles/1", "conversations", 200, ""},
		{"/settings/tags", "No tags yet.", 200, ""},
		{"/settings/webhooks", "Add a webhook", 403, "You cannot see this: Webhooks"},
		{"/settings/tokens", "No access tokens yet.", 200, ""},
		{"/settings/audit", "mailbox.created", 403, "You cannot see this: Audit log"},
		{"/settings/profile", "Maja Lindqvist", 200, ""},
		{"/settings/profile", "Deutsch", 200, ""},
		{"/health", "Oldest waiting", 403, "Ask an admin"},
	} {
		if got := b.get(tt.path); got.status != http.StatusOK || !strings.Contains(got.body, tt.says) || strings.Contains(got.body, "style=") {
			t.Errorf("%s: %d, without %q", tt.path, got.status, tt.says)
		}
		if got := b.get(tt.path, "As", "other"); got.status != tt.status || !strings.Contains(got.body, tt.denied) {
			t.Errorf("%s for a collaborator: %d, without %q", tt.path, got.status, tt.denied)
		}
	}
	if got := b.post("/settings/preferences", url.Values{"language": {"de"}}); !strings.Contains(strings.Join(got.header.Values("Set-Cookie"), "\n"), "desk_language=de") {
		t.Error(got.header)
	}
	if got := b.get("/settings/tags"); !strings.Contains(got.body, "Es gibt noch keinen Tag.") {
		t.Error("it is not German")
	}
}

// The audit log has the address of a change.
func TestAuditNotesTheAddress(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) {
		cfg.Addr = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.7") }
	})
	b.post("/settings/roles", url.Values{"name": {"Readers"}})
	b.post("/settings/tokens", url.Values{"name": {"Import"}})
	log, err := b.desk.Account().AuditLog(t.Context(), helpdesk.AuditFilter{}, storage.PageRequest{Limit: 2})
	if err != nil || len(log.Items) != 2 {
		t.Fatal(log, err)
	}
	for _, e := range log.Items {
		if e.Address != "192.0.2.7" {
			t.Errorf("%s from %q", e.Action, e.Address)
		}
	}
}

// A token has all permissions of its user, or those of an assistant, or only reads.
func TestTokenScopes(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) {
		cfg.AssistantURL = func(account int64) string { return fmt.Sprintf("https://desk.example/assist/%d", account) }
	})
	for may, want := range map[string]struct {
		reads, drafts, sends, removes bool
		says                          string
	}{
		"":      {true, true, true, true, "until"},
		"draft": {true, true, false, false, "11 permissions"},
		"read":  {true, false, false, false, "permissions"},
	} {
		made := b.post("/settings/tokens", url.Values{"name": {"For " + may}, "days": {"30"}, "may": {may}})
		secret := regexp.MustCompile(`<input readonly value="([^"]+)" aria-label="Secret"`).FindStringSubmatch(made.body)
		if secret == nil || !strings.Contains(made.body, want.says) || !strings.Contains(made.body, "https://desk.example/assist/1") {
			t.Fatalf("%q: %.2000s", may, made.body)
		}
		caller, err := b.service.Authenticate(t.Context(), secret[1])
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.service.Desk(t.Context(), caller, b.desk.AccountID())
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{d.Holds(identity.ConversationsView), d.Holds(identity.InteractionsCreate), d.Holds(identity.InteractionsUpdate), d.Holds(identity.ConversationsDelete)}
		if diff := cmp.Diff([]bool{want.reads, want.drafts, want.sends, want.removes}, got); diff != "" {
			t.Errorf("%q: %s", may, diff)
		}
	}
	if got := b.post("/settings/tokens", url.Values{"name": {"x"}, "may": {"everything"}}); got.status != http.StatusBadRequest {
		t.Errorf("status %d", got.status)
	}
}

// The health page shows real figures of the desk.
func TestHealthFigures(t *testing.T) {
	t.Parallel()
	b := office(t)
	if got := b.get("/health"); !strings.Contains(got.body, "Nobody") || !strings.Contains(got.body, "All good. Mail is flowing.") {
		t.Error(got.body)
	}
	b.asks("ada@example.net", "The door is stuck", "It does not open")
	got := b.get("/health")
	for _, text := range []string{"The door is stuck", "of 1 open", "<svg", "Show numbers", "Waiting for its first email"} {
		if !strings.Contains(got.body, text) {
			t.Errorf("%q is not there", text)
		}
	}
}

// The set-up of an account without a name.
func TestSetUpSteps(t *testing.T) {
	t.Parallel()
	b := office(t)
	for _, path := range []string{"/setup/team", "/setup/mailbox", "/setup/colleagues"} {
		if got := b.get(path); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := b.post("/setup/team", url.Values{"name": {""}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "This is required") {
		t.Errorf("%d", got.status)
	}
	if got := b.post("/setup/team", url.Values{"name": {"Alder"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("%d", got.status)
	}
	if got := b.post("/setup/team", url.Values{"name": {"Alder"}}); got.location != "/desk/a/1/setup/mailbox" {
		t.Errorf("%d %s", got.status, got.location)
	}
	if a, err := b.desk.Account().Get(t.Context()); err != nil || a.Name != "Alder" || a.SendHold != 10*time.Second {
		t.Error(a, err)
	}
	got := b.post("/setup/colleagues", url.Values{"addresses": {"a@example.org, nonsense"}, "role": {"3"}})
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "nonsense: Enter a valid email address") || !strings.Contains(got.body, "Invited 1 person") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.post("/setup/colleagues", url.Values{"addresses": {"b@example.org"}, "role": {"3"}}); got.location != "/desk/a/1/" {
		t.Errorf("%d %s", got.status, got.location)
	}
}

// A member who signs in here changes the password; if the application signs users in, no one can.
func TestPasswordForm(t *testing.T) {
	t.Parallel()
	if got := office(t).post("/settings/password", url.Values{"password": {"another horse"}}); got.status != http.StatusNotFound {
		t.Error(got.status)
	}
	b := newBundle(t, func(cfg *desk.Config) { cfg.Authenticate = nil })
	session, err := b.service.SignIn().StartSession(t.Context(), b.service.As(b.owner.ID), "")
	if err != nil {
		t.Fatal(err)
	}
	cookie := "helpwright_session=" + session.Secret
	for _, tt := range []struct {
		name, current, password, says string
		status                        int
	}{
		{"nothing", "correct horse", "", "Use at least 8 characters", 422},
		{"short", "correct horse", "short", "Use at least 8 characters", 422},
		{"another one's", "wrong", "another horse", "Incorrect", 422},
		{"right", "correct horse", "another horse", "", 303},
	} {
		got := b.post("/settings/password", url.Values{"current_password": {tt.current}, "password": {tt.password}}, "Cookie", cookie)
		if got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d %s", tt.name, got.status, got.body)
		}
	}
	if _, err := b.service.SignIn().WithPassword(t.Context(), "maja@example.org", "another horse"); err != nil {
		t.Error(err)
	}
}
