package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv/browser"
	"github.com/helpwright/helpwright/storage/testenv/openid"
	"github.com/helpwright/helpwright/transport/server"
)

// TestSignInInBrowser has somebody become a member by signing in at an identity provider, add a passkey, and sign in with
// that.
func TestSignInInBrowser(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	base := "http://localhost:" + port
	set := &Settings{BaseURL: base, OIDCClientID: openid.ClientID, OIDCClientSecret: openid.ClientSecret, OIDCName: "Work ID", OIDCDomains: []string{"example.org"}, OIDCSecondFactor: "never"}
	at := openid.Start(t, set.openIDRedirect())
	set.OIDCIssuer = at.Issuer
	at.SignIn(openid.Person{Subject: "1", Email: "ada@example.org", Verified: true, Name: "Ada Lovelace"})
	s := &session{settings: set, ctx: t.Context()}
	cfg := server.Config{Store: memstore.New(), Blobs: memblob.New(), Keys: [][]byte{make([]byte, 32)}, BaseURL: base}
	if cfg.Desk.Providers, err = s.identityProviders(); err != nil {
		t.Fatal(err)
	}
	if cfg.Desk.Passkeys, err = set.passkeys(); err != nil || cfg.Desk.Passkeys == nil {
		t.Fatal("no passkeys", err)
	}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	serving := &http.Server{Handler: srv.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = serving.Serve(l) }()
	t.Cleanup(func() { _ = serving.Close() })
	joinsByDomain(t, srv.Service())

	check := newPageChecker(t)
	tab := browser.Start(t).Tab(t, browser.View{})
	tab.HoldPasskeys()
	show := func(name string) { eachView(t, tab, check, name) }
	tab.Open(base + "/desk/sign-in")
	tab.Wait("form[data-passkey] button")
	show("sign-in-passkey")
	if status := tab.Follow(".door a[href*='/sign-in/with/']"); status != http.StatusOK || !strings.Contains(tab.Location(), "/desk/a/1/") {
		t.Fatalf("back from the provider with status %d at %s: %s", status, tab.Location(), tab.Text("main"))
	}

	tab.Open(base + "/desk/passkeys")
	tab.Wait("form[data-passkey] button")
	tab.Fill("form[data-passkey] [name=name]", "My laptop")
	tab.Follow("form[data-passkey] button")
	if said := tab.Text(".door section"); !strings.Contains(said, "My laptop") {
		t.Fatalf("the passkeys: %s", said)
	}
	tab.Click("form[data-passkey] button")
	tab.Wait("form[data-passkey] [data-said]:not([hidden])")
	show("passkeys")
	if said := tab.Text("form[data-passkey] [data-said]"); !strings.Contains(said, "This device already has a passkey for you") {
		t.Errorf("a second passkey on the device: %s", said)
	}

	// Names are people's: long ones, and ones that are written from right to left.
	tab.Open(base + "/desk/passkeys")
	tab.Click(".thing details:first-of-type summary")
	tab.Fill(".thing [name=name]", "\u202eמפתח "+strings.Repeat("Schlüsselbundbeschriftung", 3)+" جهاز")
	show("passkeys-renaming")
	tab.Follow(".thing form[action$='/1'] button")
	if said := tab.Text(".thing"); !strings.Contains(said, "מפתח Schlüssel") {
		t.Errorf("renamed: %s", said)
	}
	show("passkeys-long")
	desk, err := srv.Service().Desk(t.Context(), srv.Service().As(1), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", RequireSecondFactor: storage.Some(true)}); err != nil {
		t.Fatal(err)
	}
	tab.Open(base + "/desk/second-factor")
	tab.Wait("form[data-passkey] button")
	show("second-factor-passkey")

	browser.Eval[any](tab, "fetch('/desk/sign-out', { method: 'POST' })")
	tab.Open(base + "/desk/sign-in?next=/desk/a/1/settings/profile")
	tab.Wait("form[data-passkey] button")
	if status := tab.Follow("form[data-passkey] button"); status != http.StatusOK || tab.Location() != base+"/desk/a/1/settings/profile" {
		t.Fatalf("signed in with status %d at %s: %s", status, tab.Location(), tab.Text("main"))
	}

	// At another name of the server the passkeys do not work, and nothing offers them.
	tab.Open("http://" + l.Addr().String() + "/desk/sign-in")
	if browser.Eval[bool](tab, "document.querySelector('form[data-passkey]').checkVisibility()") {
		t.Error("passkeys are offered at another address")
	}
	check.valid()
}

// joinsByDomain makes an account that people with an address at example.org join.
func joinsByDomain(t *testing.T, svc *helpdesk.Service) {
	t.Helper()
	owner, err := svc.Operator().CreateUser(t.Context(), identity.UserInput{Email: "owner@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	account, err := svc.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Halden"}, owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	desk, err := svc.Desk(t.Context(), svc.As(owner.ID), account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")}); err != nil {
		t.Fatal(err)
	}
	roles, err := desk.Roles().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles {
		if r.Key != identity.RoleAgent {
			continue
		}
		if _, err := desk.JoinRules().Create(t.Context(), identity.JoinRuleInput{Domain: "example.org", RoleIDs: []int64{r.ID}}); err != nil {
			t.Fatal(err)
		}
	}
}
