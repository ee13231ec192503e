package outbound_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// own returns settings of a mailbox whose relay is the sink.
func (s *sink) own() sending.Relay {
	addr := s.listener.Addr().(*net.TCPAddr)
	return sending.Relay{AccountID: 1, MailboxID: 2, Password: "secret", Outbound: sending.Outbound{
		Type: sending.OutboundSMTP, Host: "127.0.0.1", Port: addr.Port, Username: "user", Encryption: mailserver.None, Auth: sending.OutboundPassword,
	}}
}

func (w *world) relays(tokens func(sending.Relay) outbound.TokenFunc) *outbound.Relays {
	relays := outbound.NewRelays(outbound.RelaysConfig{Tokens: tokens})
	w.t.Cleanup(func() { _ = relays.Close() })
	return relays
}

// The answers of a mailbox with a relay of its own leave by that; others by the server's. Its own relay is tried again when
// it is changed.
func TestOwnRelay(t *testing.T) {
	t.Parallel()
	w, first, second := newWorld(t), (&sink{auth: "PLAIN"}).start(t), (&sink{auth: "LOGIN"}).start(t)
	server, relays := &taken{}, w.relays(nil)
	sender := must[*outbound.Sender](t)(outbound.New(outbound.Config{Outgoing: w.svc.Outgoing(), Transport: server, Relays: relays, Now: w.clock}))
	set := func(s *sink, password string) {
		t.Helper()
		own := s.own().Outbound
		must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(context.Background(), w.box.ID, helpdesk.MailboxInput{Outbound: storage.Some(helpdesk.OutboundInput{
			Type: own.Type, Host: own.Host, Port: own.Port, Username: own.Username, Encryption: own.Encryption, Password: storage.Some(password),
		})}))
	}
	send := func() sending.Delivery {
		t.Helper()
		i := w.answer(helpdesk.InteractionInput{Body: "Hello."})
		_ = sender.Handle(context.Background(), storage.ClaimedJob{ID: i.ID, Job: storage.Job{AccountID: w.account, Subject: i.ID}})
		return w.deliveries(i)[0]
	}
	for _, step := range []struct {
		name                  string
		change                func()
		state                 sending.State
		server, first, second int
	}{
		{"the server's", func() {}, sending.Sent, 1, 0, 0},
		{"its own", func() { set(first, "secret") }, sending.Sent, 1, 1, 0},
		{"the same again", func() {}, sending.Sent, 1, 2, 0},
		{"another", func() { set(second, "secret") }, sending.Sent, 1, 2, 1},
		{"a wrong password", func() { set(second, "guess") }, sending.Deferred, 1, 2, 1},
		{"the server's again", func() {
			input := helpdesk.MailboxInput{}
			input.Outbound.SetNull()
			must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(context.Background(), w.box.ID, input))
		}, sending.Sent, 2, 2, 1},
	} {
		step.change()
		d := send()
		_, one, _ := first.seen()
		_, two, _ := second.seen()
		if d.State != step.state || len(server.mails) != step.server || len(one) != step.first || len(two) != step.second {
			t.Errorf("%s: %s %q; %d by the server, %d and %d by own relays", step.name, d.State, d.Response, len(server.mails), len(one), len(two))
		}
		if step.state == sending.Deferred && !strings.Contains(d.Response, "authenticate") {
			t.Errorf("%s: %q", step.name, d.Response)
		}
	}
}

// Mail that finds the relay of its mailbox busy is not attempted and keeps no worker: its job comes again.
func TestBusyOwnRelay(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), (&sink{answer: answers("MAIL", silent)}).start(t)
	own := s.own().Outbound
	must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(context.Background(), w.box.ID, helpdesk.MailboxInput{Outbound: storage.Some(helpdesk.OutboundInput{
		Type: own.Type, Host: own.Host, Port: own.Port, Encryption: own.Encryption, Auth: sending.OutboundNone,
	})}))
	relays := outbound.NewRelays(outbound.RelaysConfig{Relay: outbound.RelayConfig{MaxSending: 1, MaxWait: 10 * time.Millisecond}})
	t.Cleanup(func() { _ = relays.Close() })
	sender := must[*outbound.Sender](t)(outbound.New(outbound.Config{Outgoing: w.svc.Outgoing(), Transport: &taken{}, Relays: relays, Now: w.clock}))
	handle := func(ctx context.Context, i helpdesk.Interaction) error {
		return sender.Handle(ctx, storage.ClaimedJob{ID: i.ID, Job: storage.Job{AccountID: w.account, Subject: i.ID}})
	}
	first, second := w.answer(helpdesk.InteractionInput{Body: "First."}), w.answer(helpdesk.InteractionInput{Body: "Second."})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- handle(ctx, first) }()
	for range 1000 { // until the first has the relay
		if commands, _, _ := s.seen(); slices.ContainsFunc(commands, func(line string) bool { return strings.HasPrefix(line, "MAIL") }) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	err := handle(t.Context(), second)
	if d := w.deliveries(second)[0]; !errors.Is(err, outbound.ErrBusy) || d.State != sending.Queued || d.Attempts != 0 {
		t.Errorf("%v: %+v", err, d)
	}
	cancel()
	<-ended
}

// A program that does not connect to mailboxes' relays does not send their mail by its own.
func TestNoOwnRelays(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t), &taken{}
	must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(context.Background(), w.box.ID, helpdesk.MailboxInput{Outbound: storage.Some(helpdesk.OutboundInput{
		Type: sending.OutboundSMTP, Host: "smtp.example.org", Port: 465, Encryption: mailserver.TLS, Auth: sending.OutboundNone,
	})}))
	i := w.answer(helpdesk.InteractionInput{Body: "Hello."})
	if err := w.handle(w.sender(server)); err == nil {
		t.Error("the job is done")
	}
	if d := w.deliveries(i)[0]; d.State != sending.Deferred || len(server.mails) != 0 {
		t.Errorf("%+v", d)
	}
}

// A test connects, signs in and names the sender, but sends nothing. Rejected credentials are told apart from other failures.
func TestRelaysTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sink    *sink
		change  func(*sending.Relay)
		failure string // the step
		reauth  bool
	}{
		"password": {sink: &sink{auth: "PLAIN"}},
		"no authentication": {change: func(r *sending.Relay) {
			r.Outbound.Auth, r.Outbound.Username, r.Password = sending.OutboundNone, "", ""
		}},
		"wrong password":       {sink: &sink{auth: "PLAIN"}, change: func(r *sending.Relay) { r.Password = "guess" }, failure: "authenticate", reauth: true},
		"busy":                 {sink: &sink{auth: "PLAIN", answer: answers("AUTH", "454 4.7.0 later")}, failure: "authenticate"},
		"no authentication in": {failure: "authenticate"},
		"another's address":    {sink: &sink{auth: "PLAIN", answer: answers("MAIL", "550 5.7.60 not yours")}, failure: "sender"},
		"no greeting":          {sink: &sink{answer: answers("", "554 5.7.1 go away")}, failure: "greeting"},
		"no such port":         {change: func(r *sending.Relay) { r.Outbound.Port = 1 }, failure: "connect"},
		"STARTTLS":             {change: func(r *sending.Relay) { r.Outbound.Encryption = mailserver.STARTTLS }, failure: "STARTTLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorld(t), cmp.Or(c.sink, &sink{}).start(t)
			own := s.own()
			if c.change != nil {
				c.change(&own)
			}
			err := w.relays(nil).Test(t.Context(), own, "support@example.org")
			failed, _ := errors.AsType[*outbound.RelayError](err)
			if (err != nil) != (c.failure != "") || failed != nil && failed.Step != c.failure || errors.Is(err, ledger.ErrReauth) != c.reauth {
				t.Errorf("%v", err)
			}
			if _, mails, _ := s.seen(); len(mails) > 0 {
				t.Error("a mail was sent")
			}
		})
	}
}

// answers returns the reply to commands with a verb.
func answers(verb, reply string) func(string) string {
	return func(line string) string {
		if got, _, _ := strings.Cut(line, " "); got == verb {
			return reply
		}
		return ""
	}
}

// Access tokens are given by the mechanism that the relay offers, and a rejected one is replaced once.
func TestRelaysTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		auth, want string // the mechanisms offered, and what is sent
		good       string // the token that is accepted
		asked      []bool // whether a new token was asked for
		reauth     bool   // the test fails for the credentials
	}{
		"XOAUTH2":     {auth: "LOGIN PLAIN XOAUTH2", good: "one", want: "user=user\x01auth=Bearer one\x01\x01", asked: []bool{false}},
		"OAUTHBEARER": {auth: "XOAUTH2 OAUTHBEARER", good: "one", want: "n,a=user,\x01host=127.0.0.1\x01port=PORT\x01auth=Bearer one\x01\x01", asked: []bool{false}},
		"expired":     {auth: "XOAUTH2", good: "two", want: "user=user\x01auth=Bearer two\x01\x01", asked: []bool{false, true}},
		"no grant":    {auth: "XOAUTH2", good: "three", want: "user=user\x01auth=Bearer two\x01\x01", asked: []bool{false, true}, reauth: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last atomic.Value
			s := &sink{auth: c.auth}
			s.answer = func(line string) string {
				fields := strings.Fields(line)
				if len(fields) < 3 || fields[0] != "AUTH" {
					return ""
				}
				given, _ := base64.StdEncoding.DecodeString(fields[2])
				last.Store(string(given))
				if strings.Contains(string(given), "Bearer "+c.good+"\x01") {
					return "235 2.7.0 welcome"
				}
				return ""
			}
			s.start(t)
			own := s.own()
			own.Outbound.Auth, own.Password = sending.OutboundOAuth2, ""
			var asked []bool
			tokens := func(sending.Relay) outbound.TokenFunc {
				return func(_ context.Context, renew bool) (string, error) {
					asked = append(asked, renew)
					return map[bool]string{false: "one", true: "two"}[renew], nil
				}
			}
			err := newWorld(t).relays(tokens).Test(t.Context(), own, "support@example.org")
			want := strings.Replace(c.want, "PORT", decimal(int64(own.Outbound.Port)), 1)
			if got := last.Load(); got != want || !slices.Equal(asked, c.asked) || errors.Is(err, ledger.ErrReauth) != c.reauth || (err != nil) != c.reauth {
				t.Errorf("%q, asked %v: %v", got, asked, err)
			}
		})
	}
}

// What a mailbox's own relay needs is said field by field, and its password is never sent elsewhere nor returned.
func TestOutboundInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := helpdesk.OutboundInput{
		Type: sending.OutboundSMTP, Host: "smtp.example.org", Port: 465, Username: "support@example.org", Encryption: mailserver.TLS,
		Password: storage.Some("secret"),
	}
	set := func(in helpdesk.OutboundInput) (helpdesk.Mailbox, error) {
		return w.desk.Mailboxes().Update(context.Background(), w.box.ID, helpdesk.MailboxInput{Outbound: storage.Some(in)})
	}
	kept := good
	kept.Password = storage.Opt[string]{}
	if _, err := set(kept); err == nil {
		t.Error("no password")
	}
	m, err := set(good)
	if err != nil || !m.Outbound.HasPassword || m.Outbound.SealedPassword != nil || !m.Outbound.ValidateCertificate || m.Outbound.Auth != sending.OutboundPassword {
		t.Fatalf("%+v, %v", m.Outbound, err)
	}
	for name, change := range map[string]func(*helpdesk.OutboundInput){
		"host":       func(in *helpdesk.OutboundInput) { in.Host = "smtp.example.com" },
		"username":   func(in *helpdesk.OutboundInput) { in.Username = "other" },
		"empty host": func(in *helpdesk.OutboundInput) { in.Host = "" },
		"port":       func(in *helpdesk.OutboundInput) { in.Port = 65536 },
		"encryption": func(in *helpdesk.OutboundInput) { in.Encryption = "" },
		"type":       func(in *helpdesk.OutboundInput) { in.Type = "" },
		"auth":       func(in *helpdesk.OutboundInput) { in.Auth = "GUESS" },
		"oauth":      func(in *helpdesk.OutboundInput) { in.Auth = sending.OutboundOAuth2 },
	} {
		in := kept
		change(&in)
		if _, err := set(in); !errors.Is(err, helpdesk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err = set(kept); err != nil || !m.Outbound.HasPassword {
		t.Errorf("the password is not kept: %v", err)
	}
	test, err := w.desk.Mailboxes().TestOutbound(context.Background(), w.box.ID)
	if err == nil {
		t.Errorf("tested without relays: %+v", test)
	}
}
