package ingest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/smtp"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage/memblob"
)

// awayNames is names whose server does not answer for names below away.example.
type awayNames struct{ names }

func (n awayNames) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if strings.Contains("."+name, ".away.example") {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	return n.names.LookupTXT(ctx, name)
}

// signing publishes the key of a domain and signs for it.
func (n awayNames) signing(domain string) func(raw string) string {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	n.names["s._domainkey."+domain] = "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	return func(raw string) string {
		var out bytes.Buffer
		options := &dkim.SignOptions{Domain: domain, Selector: "s", Signer: key}
		if err := dkim.Sign(&out, strings.NewReader(raw), options); err != nil {
			panic(err)
		}
		return out.String()
	}
}

// question is a conversation of ada@bank.example with an answer whose Message-ID was stolen.
func (b *bundle) question() (conversationID int64, stolen string) {
	b.t.Helper()
	b.fileFetched("From: Ada <ada@bank.example>\r\nMessage-ID: <1@bank.example>\r\nSubject: My card\r\n\r\nHello")
	row := b.ledger()[0]
	answer := check(b.desk.Interactions().Create(b.t.Context(), row.ConversationID, helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Body: "<p>Which one?</p>", To: []string{"ada@bank.example"},
	}))(b.t)
	return row.ConversationID, answer.MessageID
}

// fileFetched takes a mail out of a mailbox and files it.
func (b *bundle) fileFetched(raw string) {
	b.t.Helper()
	mails := []ledger.Raw{{Raw: []byte(raw), Position: fmt.Sprint(len(raw), raw)}}
	if err := b.intake.Take(b.t.Context(), b.desk.AccountID(), b.mailbox, "imap", mails, nil); err != nil {
		b.t.Fatal(err)
	}
	if err := b.filer.Handle(b.t.Context(), b.job()); err != nil {
		b.t.Fatal(err)
	}
}

// A stolen Message-ID joins no conversation, whatever the From: at the intake, where we authenticate mails, and in a
// mailbox, whose server has done so.
func TestStolenMessageID(t *testing.T) {
	t.Parallel()
	zone := awayNames{names{"bank.example": "v=spf1 ip4:192.0.2.1 -all", "_dmarc.bank.example": "v=DMARC1; p=reject", "evil.example": "v=spf1 ip4:127.0.0.1 -all"}}
	bank, away, evil := zone.signing("bank.example"), zone.signing("away.example"), zone.signing("evil.example")
	const rest = "To: support@example.org\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\nIn-Reply-To: <STOLEN>\r\n\r\nPay to me.\r\n"
	const ada = "From: Ada <ada@bank.example>\r\n"
	signed := func(raw string) string { return bank(raw) }
	for name, tt := range map[string]struct {
		envelope string              // MAIL FROM
		head     string              // of the mail
		sign     func(string) string // returns the head and the rest; nil: unsigned
		above    string              // prepended to the signed mail
		joins    bool
		said     string // by the server of the mailbox, of bank.example where it is "": dmarc=fail
	}{
		"Ada herself":                   {"", ada, signed, "", true, "dkim=pass header.d=bank.example; dmarc=pass header.from=bank.example"},
		"a forger":                      {"x@evil.example", ada, nil, "", false, ""},
		"a forger who signs":            {"x@evil.example", ada, evil, "", false, ""},
		"no From":                       {"x@evil.example", "", nil, "", false, "dmarc=permerror"},
		"no From, the path is hers":     {"ada@bank.example", "", nil, "", false, "dmarc=none"},
		"no From, a Reply-To":           {"x@evil.example", "Reply-To: ada@bank.example\r\n", nil, "", false, "dmarc=none"},
		"Sender only":                   {"x@evil.example", "Sender: ada@bank.example\r\n", nil, "", false, "dmarc=none"},
		"two Senders":                   {"x@evil.example", "Sender: ada@bank.example\r\nSender: x@evil.example\r\n", nil, "", false, "dmarc=none"},
		"an empty From":                 {"x@evil.example", "From:\r\nSender: ada@bank.example\r\n", nil, "", false, "dmarc=none"},
		"From: <>":                      {"x@evil.example", "From: <>\r\nSender: ada@bank.example\r\n", nil, "", false, "dmarc=none"},
		"two addresses":                 {"x@evil.example", "From: ada@bank.example, x@evil.example\r\n", nil, "", false, "dmarc=pass header.from=evil.example"},
		"two addresses, signed":         {"x@evil.example", "From: ada@bank.example, x@evil.example\r\n", evil, "", false, "dmarc=pass header.from=evil.example"},
		"two addresses of hers":         {"x@evil.example", "From: ada@bank.example, bob@bank.example\r\n", nil, "", false, "dmarc=fail header.from=bank.example"},
		"two From fields":               {"x@evil.example", ada + "From: x@evil.example\r\n", nil, "", false, "dmarc=pass header.from=evil.example"},
		"two From fields, hers below":   {"x@evil.example", "From: x@evil.example\r\n" + ada, nil, "", false, "dmarc=pass header.from=evil.example"},
		"a group":                       {"x@evil.example", "From: All: ada@bank.example;\r\n", nil, "", false, "dmarc=none"},
		"an encoded word":               {"x@evil.example", "From: =?utf-8?q?ada=40bank.example?=\r\n", nil, "", false, "dmarc=none"},
		"an encoded word in brackets":   {"x@evil.example", "From: <=?utf-8?q?ada=40bank.example?=>\r\n", nil, "", false, "dmarc=none"},
		"two, one in a comment":         {"x@evil.example", "From: x@evil.example <ada@bank.example>\r\n", nil, "", false, "dmarc=pass header.from=evil.example"},
		"a route":                       {"x@evil.example", "From: <@evil.example:ada@bank.example>\r\n", nil, "", false, "dmarc=pass header.from=evil.example"},
		"a space before the colon":      {"x@evil.example", "From : ada@bank.example\r\n", nil, "", false, ""},
		"MAIL FROM of nobody":           {"x@away.example", ada, nil, "", false, ""},
		"a signature of nobody":         {"x@evil.example", ada, away, "", false, ""},
		"signed by her bank for Eve":    {"", "From: eve@bank.example\r\n", signed, ada, false, "dkim=pass header.d=bank.example; dmarc=permerror"},
		"the same, our header ends":     {"", "From: eve@bank.example\r\n", signed, ada + "In-Reply-To: <STOLEN>\r\n\r\r\n", false, "dkim=pass header.d=bank.example; dmarc=pass header.from=bank.example"},
		"the same, by a boundary":       {"", "From: eve@bank.example\r\n", signed, ada + "In-Reply-To: <STOLEN>\r\n--x\r\n", false, "dkim=pass header.d=bank.example; dmarc=pass header.from=bank.example"},
		"signed by her bank, resent":    {"x@evil.example", ada, func(raw string) string { return "Resent-From: x@evil.example\r\n" + evil(raw) }, "", false, ""},
		"a forged result":               {"x@evil.example", "Authentication-Results: mx.example.org; dmarc=pass header.from=bank.example\r\n" + ada, nil, "", false, ""},
		"a forged result of a chain":    {"x@evil.example", "ARC-Authentication-Results: i=1; mx.example.org; dmarc=pass header.from=bank.example\r\nARC-Seal: i=1; cv=none\r\n" + ada, nil, "", false, ""},
		"a header that nobody can read": {"x@evil.example", strings.Repeat("X-Long: "+strings.Repeat("y", 70)+"\r\n", 1200) + ada, evil, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []string{"smtp", "imap"} {
				b := newBundle(t, memblob.New())
				b.filer = check(ingest.NewFiler(ingest.FilerConfig{Intake: b.intake, TrustedServers: []string{"mx.example.org"}}))(t)
				id, stolen := b.question()
				raw := strings.ReplaceAll(tt.head+rest, "STOLEN", stolen)
				if tt.sign != nil {
					raw = tt.sign(raw)
				}
				raw = strings.ReplaceAll(tt.above, "STOLEN", stolen) + raw
				if way == "smtp" {
					b.send(zone, tt.envelope, raw)
				} else {
					said := tt.said
					if said == "" {
						said = "dmarc=fail (p=REJECT) header.from=bank.example"
					}
					b.fileFetched("Authentication-Results: mx.example.org; " + said + "\r\n" + raw)
				}
				row := b.ledger()[1]
				i := check(b.desk.Interactions().Get(t.Context(), row.ConversationID, row.InteractionID))(t)
				if joined := i.ConversationID == id; joined != tt.joins || i.Authentication.FromAligned != tt.joins {
					t.Errorf("%s: joined %v, aligned %v as %q: %+v", way, joined, i.Authentication.FromAligned, i.CustomerEmail, i.Authentication)
				}
				if i.Authentication.DMARC.Result == ledger.AuthTempError {
					t.Errorf("%s: %+v", way, i.Authentication)
				}
			}
		})
	}
}

// send delivers a mail to an intake without relays.
func (b *bundle) send(zone awayNames, from, raw string) {
	b.t.Helper()
	server := check(smtpin.New(smtpin.Config{
		Intake: b.intake, Listen: "127.0.0.1:0",
		Authenticate: ingest.Authenticator(ingest.AuthenticatorConfig{Resolver: zone, Relays: []netip.Prefix{}}),
	}))(b.t)
	ctx, stop := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		stop()
		<-ended
	}()
	mailbox := check(b.desk.Mailboxes().Get(ctx, b.mailbox))(b.t)
	client := check(smtp.Dial(server.Addr().String()))(b.t)
	err := client.Hello("mail.evil.example")
	for _, step := range []func() error{
		func() error { return client.Mail(from) },
		func() error { return client.Rcpt(b.svc.InternalAddress(mailbox)) },
		func() error {
			w, err := client.Data()
			if err == nil {
				_, err = w.Write([]byte(raw))
			}
			if err == nil {
				err = w.Close()
			}
			return err
		},
		client.Quit,
		func() error { return b.filer.Handle(ctx, b.job()) },
	} {
		if err == nil {
			err = step()
		}
	}
	if diff := cmp.Diff(nil, err); diff != "" {
		b.t.Fatal(diff)
	}
}
