package helpdesk_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// mailProvider is a provider of mailboxes that grants the same to everybody.
func mailProvider(grant mailserver.Grant) mailserver.Provider {
	return mailserver.Provider{
		Key: "post", Name: "Post", ClientID: "client", ClientSecret: "operator's secret", TokenURL: "https://id.example.org/token", Scope: "mail",
		Inbound:  mailserver.Address{Host: "imap.example.org", Port: 993, Encryption: mailserver.TLS},
		Outbound: mailserver.Address{Host: "smtp.example.org", Port: 587, Encryption: mailserver.STARTTLS},
		Begin: func(login string) (string, []byte, error) {
			return "https://id.example.org/auth?login=" + login, []byte("s"), nil
		},
		Finish: func(_ context.Context, secret []byte, _ url.Values) (mailserver.Grant, error) {
			if string(secret) != "s" {
				return mailserver.Grant{}, errors.New("another secret")
			}
			return grant, nil
		},
	}
}

// A mailbox that was signed in is fetched with the operator's current client secret, keeps its folders when it is signed in
// again and a relay of its own that is another's, and gives no secret away.
func TestMailboxSignIn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.with(func(cfg *helpdesk.Config) {
		cfg.MailProviders = []mailserver.Provider{mailProvider(mailserver.Grant{Email: "Support@example.org", RefreshToken: "granted"})}
	})
	c, d := b.svc.As(b.owner.ID), b.desk
	m := b.mailbox
	sign := func(in helpdesk.MailSignIn) (helpdesk.MailSignedIn, error) {
		t.Helper()
		in.Provider, in.Next = "post", "there"
		start := must(d.Mailboxes().BeginSignIn(b.ctx, in))(t)
		if len(start.Kept) > 3000 || strings.Contains(start.Kept, "there") {
			t.Errorf("%q is kept", start.Kept)
		}
		return b.svc.FinishMailSignIn(b.ctx, c, "post", start.Kept, nil)
	}
	got := must(sign(helpdesk.MailSignIn{MailboxID: m.ID}))(t)
	in, out := got.Mailbox.Inbound, got.Mailbox.Outbound
	if got.Next != "there" || in.Host != "imap.example.org" || in.Auth != ledger.AuthOAuth2 || in.Username != "Support@example.org" || len(in.OAuth.SealedSecrets) > 0 ||
		out.Host != "smtp.example.org" || out.Auth != sending.OutboundOAuth2 || out.Username != in.Username {
		t.Errorf("%+v", got)
	}
	source := must(b.svc.Intake().Sources(b.ctx))(t)[0]
	if source.ClientSecret != "operator's secret" || source.RefreshToken != "granted" {
		t.Errorf("%+v", source)
	}
	if got := must(b.svc.Intake().RefreshToken(b.ctx, d.AccountID(), m.ID))(t); got != "granted" {
		t.Errorf("%q is stored", got)
	}
	for _, p := range b.svc.MailProviders() {
		if p.ClientSecret != "" {
			t.Error("the client's secret is given away")
		}
	}

	settings := helpdesk.InboundInput{
		Type: in.Type, Host: in.Host, Port: in.Port, Username: in.Username, Encryption: in.Encryption, ValidateCertificate: storage.Some(true), Folders: []string{"Desk"},
		Auth: in.Auth, OAuth: helpdesk.OAuthInput{ClientID: in.OAuth.ClientID, TokenURL: in.OAuth.TokenURL, Scope: in.OAuth.Scope},
	}
	relay := helpdesk.OutboundInput{Type: sending.OutboundSMTP, Host: "relay.example.net", Port: 25, Encryption: mailserver.TLS, Auth: sending.OutboundNone}
	must(d.Mailboxes().Update(b.ctx, m.ID, helpdesk.MailboxInput{Inbound: storage.Some(settings), Outbound: storage.Some(relay)}))(t)
	again := must(sign(helpdesk.MailSignIn{MailboxID: m.ID}))(t).Mailbox
	if len(again.Inbound.Folders) != 1 || again.Inbound.Epoch != in.Epoch || again.Outbound.Host != "relay.example.net" {
		t.Errorf("%+v", again)
	}

	other := must(d.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
	if got, err := sign(helpdesk.MailSignIn{MailboxID: other.ID}); faultCode(err) != mailserver.SignInOther || got.Signed != "Support@example.org" {
		t.Errorf("%+v, %v", got, err)
	}
	start := must(d.Mailboxes().BeginSignIn(b.ctx, helpdesk.MailSignIn{Provider: "post", MailboxID: m.ID}))(t)
	if _, err := b.svc.FinishMailSignIn(b.ctx, b.svc.As(c.UserID()+1), "post", start.Kept, nil); faultCode(err) != mailserver.SignInExpired {
		t.Errorf("another user: %v", err)
	}
	b.clock.Add(11 * time.Minute)
	if _, err := b.svc.FinishMailSignIn(b.ctx, c, "post", start.Kept, nil); faultCode(err) != mailserver.SignInExpired {
		t.Errorf("too late: %v", err)
	}
}
