package helpdesk_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// oauthInbound is a connection that signs in with access tokens.
func oauthInbound() helpdesk.InboundInput {
	return helpdesk.InboundInput{
		Type: ledger.InboundIMAP, Host: "imap.example.org", Port: 993, Username: "u", Encryption: mailserver.TLS,
		ValidateCertificate: storage.Some(true), Auth: ledger.AuthOAuth2,
		OAuth: helpdesk.OAuthInput{
			ClientID: "client", TokenURL: "https://login.example.org/token", Scope: "mail",
			ClientSecret: storage.Some("secret"), RefreshToken: storage.Some("refresh"),
		},
	}
}

func TestConnectionProblems(t *testing.T) {
	t.Parallel()
	field := func(name string) string { return "connection[inbound][" + name + "]" }
	tests := []struct {
		name   string
		change func(*helpdesk.InboundInput)
		want   []string // fields with a problem
	}{
		{"none", func(*helpdesk.InboundInput) {}, nil},
		{"a token endpoint on this machine", func(in *helpdesk.InboundInput) { in.OAuth.TokenURL = "http://127.0.0.1:8/t" }, nil},
		{"a token endpoint in the clear", func(in *helpdesk.InboundInput) { in.OAuth.TokenURL = "http://login.example.org/" }, []string{"oauth][token_url"}},
		{"a token endpoint with a password", func(in *helpdesk.InboundInput) { in.OAuth.TokenURL = "https://a:b@login.example.org/" }, []string{"oauth][token_url"}},
		{"nothing of a client", func(in *helpdesk.InboundInput) { in.OAuth = helpdesk.OAuthInput{} },
			[]string{"oauth][client_id", "oauth][refresh_token", "oauth][token_url"}},
		{"another way to sign in", func(in *helpdesk.InboundInput) { in.Auth = "CRAM" }, []string{"auth"}},
		{"a password is wanted", func(in *helpdesk.InboundInput) { in.Auth = ledger.AuthPassword }, []string{"password"}},
		{"no way to sign in means a password", func(in *helpdesk.InboundInput) { in.Auth = "" }, []string{"password"}},
		{"POP3 has no dates", func(in *helpdesk.InboundInput) {
			in.Type, in.ImportSince = ledger.InboundPOP3, storage.Some(time.Now())
		}, []string{"import_since"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			in := oauthInbound()
			test.change(&in)
			_, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Inbound: storage.Some(in)})
			var got, want []string
			var f *fault.Error
			if errors.As(err, &f) {
				for name := range f.Fields {
					got = append(got, name)
				}
			}
			for _, name := range test.want {
				want = append(want, field(name))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

// Secrets stay when they are left out, but never go to another server, user or client.
func TestSecretsOfAConnection(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*helpdesk.InboundInput)
		want   string // client secret and refresh token; "" is a refusal
		epoch  int
	}{
		{"nothing", func(*helpdesk.InboundInput) {}, "secret refresh", 0},
		{"the way to sign in left out", func(in *helpdesk.InboundInput) { in.Auth = "" }, "secret refresh", 0},
		{"another scope", func(in *helpdesk.InboundInput) { in.OAuth.Scope = "x" }, "secret refresh", 0},
		{"another client secret", func(in *helpdesk.InboundInput) { in.OAuth.ClientSecret = storage.Some("s2") }, "s2 refresh", 0},
		{"no client secret", func(in *helpdesk.InboundInput) { in.OAuth.ClientSecret = storage.Some("") }, " refresh", 0},
		{"another refresh token", func(in *helpdesk.InboundInput) { in.OAuth.RefreshToken = storage.Some("r2") }, "secret r2", 0},
		{"another token endpoint", func(in *helpdesk.InboundInput) { in.OAuth.TokenURL = "https://evil.example/" }, "", 0},
		{"another client", func(in *helpdesk.InboundInput) { in.OAuth.ClientID = "c2" }, "", 0},
		{"another host", func(in *helpdesk.InboundInput) { in.Host = "evil.example" }, "", 0},
		{"another user", func(in *helpdesk.InboundInput) { in.Username = "u2" }, "", 0},
		{"another host with a token", func(in *helpdesk.InboundInput) {
			in.Host, in.OAuth.RefreshToken = "other.example", storage.Some("r2")
		}, " r2", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			ctx := t.Context()
			m, err := b.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())})
			if err != nil {
				t.Fatal(err)
			}
			in := oauthInbound()
			in.OAuth.ClientSecret, in.OAuth.RefreshToken = storage.Opt[string]{}, storage.Opt[string]{}
			test.change(&in)
			_, err = b.desk.Mailboxes().Update(ctx, m.ID, helpdesk.MailboxInput{Inbound: storage.Some(in)})
			if fault.Is(err, fault.Invalid) != (test.want == "") {
				t.Fatalf("update: %v", err)
			}
			if test.want == "" {
				return
			}
			sources, err := b.svc.Intake().Sources(ctx)
			if err != nil || len(sources) != 1 {
				t.Fatalf("%+v, %v", sources, err)
			}
			if got := sources[0].ClientSecret + " " + sources[0].RefreshToken; got != test.want || sources[0].Inbound.Epoch != test.epoch {
				t.Errorf("got %q in epoch %d, want %q in %d", got, sources[0].Inbound.Epoch, test.want, test.epoch)
			}
		})
	}
}

// A mailbox that was forwarded to for a while has nothing in common with its server of before.
func TestEpochOutlastsForwarding(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())})
	if err != nil {
		t.Fatal(err)
	}
	var epochs []string
	for _, in := range []helpdesk.InboundInput{{Type: ledger.InboundForward}, oauthInbound(), oauthInbound()} {
		if m, err = b.desk.Mailboxes().Update(t.Context(), m.ID, helpdesk.MailboxInput{Inbound: storage.Some(in)}); err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, fmt.Sprint(m.Inbound.Type, m.Inbound.Epoch))
	}
	if diff := cmp.Diff([]string{"FWD1", "IMAP1", "IMAP1"}, epochs); diff != "" {
		t.Error(diff)
	}
}
