package helpdesk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// imapServers are mail servers whose connections work unless configured otherwise.
type imapServers struct{ failure error }

func (s *imapServers) Test(context.Context, ledger.FetchSource) error { return s.failure }

func (s *imapServers) List(context.Context, ledger.FetchSource, time.Time, func(context.Context, ledger.ServerMails) error) error {
	return nil
}

// fetched is a bundle whose mailbox is fetched from a server.
func fetched(t *testing.T, servers *imapServers) *bundle {
	t.Helper()
	b := newBundle(t, func(cfg *helpdesk.Config) { cfg.MailServers, cfg.IntakeDomain = servers, "in.desk.example" })
	b.mailbox = must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())}))(t)
	return b
}

func (b *bundle) replyAddress() helpdesk.ReplyAddress {
	b.t.Helper()
	return must(b.desk.Mailboxes().Get(b.ctx, b.mailbox.ID))(b.t).ReplyAddress
}

// The Reply-To of answers, and the envelope senders of their mails.
func TestReplyAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		domain string // of the intake
		in     helpdesk.MailboxInput
		want   helpdesk.ReplyAddress
		reply  string // "" is From
		path   string // "" is From
	}{
		"forwarded":                             {"in.desk.example", helpdesk.MailboxInput{}, helpdesk.ReplyIntake, "mb-+r-@in.desk.example", ""},
		"forwarded, of one organization":        {"in.example.org", helpdesk.MailboxInput{}, helpdesk.ReplyIntake, "mb-+r-@in.example.org", "mb-+b-@in.example.org"},
		"forwarded to this machine":             {"localhost", helpdesk.MailboxInput{}, helpdesk.ReplyIntake, "mb-+r-@localhost", ""},
		"forwarded, no intake is set up":        {"", helpdesk.MailboxInput{}, helpdesk.ReplyPlain, "", ""},
		"forwarded, without an address":         {"in.desk.example", helpdesk.MailboxInput{Email: storage.Some("")}, helpdesk.ReplyIntake, "mb-+r-@in.desk.example", "mb-+b-@in.desk.example"},
		"forwarded, plain":                      {"in.example.org", helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}, helpdesk.ReplyPlain, "", ""},
		"forwarded, tagged":                     {"in.example.org", helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}, helpdesk.ReplySubaddress, "support+r-@example.org", "support+b-@example.org"},
		"fetched":                               {"in.example.org", helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound())}, helpdesk.ReplyPlain, "", ""},
		"fetched, tagged":                       {"in.example.org", helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound()), ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}, helpdesk.ReplySubaddress, "support+r-@example.org", "support+b-@example.org"},
		"fetched, by the intake":                {"in.example.org", helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound()), ReplyAddress: storage.Some(helpdesk.ReplyIntake)}, helpdesk.ReplyIntake, "mb-+r-@in.example.org", "mb-+b-@in.example.org"},
		"fetched, by the intake of another one": {"in.desk.example", helpdesk.MailboxInput{Inbound: storage.Some(oauthInbound()), ReplyAddress: storage.Some(helpdesk.ReplyIntake)}, helpdesk.ReplyIntake, "mb-+r-@in.desk.example", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(cfg *helpdesk.Config) { cfg.IntakeDomain = test.domain })
			if m := must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, test.in))(t); m.ReplyAddress != test.want || b.replyAddress() != test.want {
				t.Errorf("reply_address is %q", m.ReplyAddress)
			}
			i := b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{Cc: []string{"carol@example.com"}})
			mail := begin(b, i.ID)
			if got := shape(mail.ReplyTo); got != test.reply {
				t.Errorf("replies are asked for to %s", mail.ReplyTo)
			}
			seen := map[string]bool{}
			for _, d := range mail.Due {
				path := mail.ReturnPaths[d.ID]
				if shape(path) != test.path || seen[path] && path != "" {
					t.Errorf("the envelope to %s comes from %q", d.Address, path)
				}
				seen[path] = true
			}
		})
	}
}

// shape returns a tagged address without its random parts.
func shape(address string) string {
	local, domain, found := strings.Cut(address, "@")
	if !found {
		return ""
	}
	base, detail, _ := strings.Cut(local, "+")
	if strings.HasPrefix(base, "mb-") {
		base = "mb-"
	}
	return base + "+" + detail[:min(2, len(detail))] + "@" + domain
}

func TestReplyAddressProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	if _, err := b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyAddress("tagged"))}); !errors.Is(err, helpdesk.ErrInvalid) {
		t.Errorf("an unknown one is %v", err)
	}
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}))(t)
	if got := must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Null[helpdesk.ReplyAddress]()}))(t).ReplyAddress; got != helpdesk.ReplyIntake {
		t.Errorf("after null it is %q", got)
	}
}

// probe tests the mailbox and returns the probe sent; "" if there is none.
func (b *bundle) probe() (sending.SystemMail, ledger.TaggedAddress) {
	b.t.Helper()
	test := must(b.desk.Mailboxes().Test(b.ctx, b.mailbox.ID))(b.t)
	now := b.clock.Now()
	jobs := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobProbe: 10}, now, now.Add(24*time.Hour)))(b.t)
	switch len(jobs) {
	case 0:
		return sending.SystemMail{}, test.Tagged
	case 1:
		return must(b.svc.Outgoing().SystemMail(b.ctx, jobs[0], sending.MailLinks{}))(b.t), test.Tagged
	}
	b.t.Fatalf("%d probes", len(jobs))
	return sending.SystemMail{}, test.Tagged
}

// arriving is a probe as the mailbox gets it.
func arriving(p sending.SystemMail) ledger.Incoming {
	return ledger.Incoming{
		Message: message.Message{
			MessageID: p.MessageID, From: []mailaddr.Address{p.From}, To: []mailaddr.Address{p.To}, Subject: "Test", Text: "Test", AutoSubmitted: true,
		}, Relayed: true,
	}
}

func (b *bundle) tagged() ledger.TaggedAddress {
	b.t.Helper()
	return must(b.desk.Mailboxes().TaggedAddress(b.ctx, b.mailbox.ID))(b.t)
}

// A probe shows whether tagged addresses work, once and invisibly; every outcome is reported.
func TestProbe(t *testing.T) {
	t.Parallel()
	refusal := func(b *bundle, p sending.SystemMail, ids []string, reported string) ledger.Incoming {
		m := reportOf("x", bounced(reported, "5.1.1", "User unknown in virtual mailbox table"))
		m.Report.MessageIDs = ids
		return m
	}
	for name, test := range map[string]struct {
		happens func(b *bundle, p sending.SystemMail)
		state   ledger.ProbeState
		want    helpdesk.ReplyAddress
		text    string
	}{
		"it arrives": {func(b *bundle, p sending.SystemMail) { b.ignored(arriving(p), "our own test") }, ledger.ProbeArrived, helpdesk.ReplySubaddress, "has arrived"},
		"under another Message-ID": {func(b *bundle, p sending.SystemMail) {
			m := arriving(p)
			m.MessageID, m.To, m.DeliveredTo = "relay@ses.example", nil, []mailaddr.Address{{Email: strings.ToUpper(p.To.Email)}}
			b.ignored(m, "our own test")
		}, ledger.ProbeArrived, helpdesk.ReplySubaddress, "has arrived"},
		"twice": {func(b *bundle, p sending.SystemMail) {
			b.ignored(arriving(p), "our own test")
			b.ignored(arriving(p), "our own test")
		}, ledger.ProbeArrived, helpdesk.ReplySubaddress, "has arrived"},
		"late": {func(b *bundle, p sending.SystemMail) {
			b.clock.Add(time.Hour)
			if state := b.tagged().State; state != ledger.ProbeMissing {
				b.t.Errorf("after an hour it is %s", state)
			}
			b.ignored(arriving(p), "our own test")
		}, ledger.ProbeArrived, helpdesk.ReplySubaddress, "has arrived"},
		"only the copy of who sent it is there": {func(b *bundle, p sending.SystemMail) {
			m := arriving(p)
			m.Relayed = false
			b.ignored(m, "our own test")
		}, ledger.ProbePending, helpdesk.ReplyPlain, "is on its way"},
		"it does not arrive": {func(b *bundle, _ sending.SystemMail) { b.clock.Add(16 * time.Minute) }, ledger.ProbeMissing, helpdesk.ReplyPlain, "within 15 minutes"},
		"the relay refuses it": {func(b *bundle, p sending.SystemMail) {
			b.probeOutcome(p, sending.Failed, "5.1.1", "Recipient address rejected")
		}, ledger.ProbeRefused, helpdesk.ReplyPlain, "5.1.1 Recipient address rejected"},
		"the relay is away": {func(b *bundle, p sending.SystemMail) {
			b.probeOutcome(p, sending.Deferred, "", "The mail relay cannot be used.")
			b.clock.Add(16 * time.Minute)
		}, ledger.ProbeMissing, helpdesk.ReplyPlain, "The mail relay cannot be used."},
		"it comes back": {func(b *bundle, p sending.SystemMail) {
			b.ignored(refusal(b, p, []string{p.MessageID}, "someone@example.org"), "reports on our own test")
		}, ledger.ProbeRefused, helpdesk.ReplyPlain, "5.1.1 User unknown"},
		"it comes back and is not named": {func(b *bundle, p sending.SystemMail) {
			b.ignored(refusal(b, p, nil, p.To.Email), "reports on our own test")
		},
			ledger.ProbeRefused, helpdesk.ReplyPlain, "5.1.1 User unknown"},
		"a program answers it": {func(b *bundle, p sending.SystemMail) {
			b.ignored(ledger.Incoming{Message: message.Message{MessageID: "v", From: []mailaddr.Address{p.From}, InReplyTo: []string{p.MessageID}, Text: "Away.", AutoSubmitted: true}}, "automatic answer to our own test")
		}, ledger.ProbePending, helpdesk.ReplyPlain, "is on its way"},
		"somebody else writes there": {func(b *bundle, p sending.SystemMail) {
			m := arriving(p)
			m.From, m.MessageID = []mailaddr.Address{ada}, "1@example.com"
			if row := b.receive(m); row.State != ledger.Filed {
				b.t.Errorf("it is %+v", row)
			}
		}, ledger.ProbePending, helpdesk.ReplyPlain, "is on its way"},
		"the address changes meanwhile": {func(b *bundle, p sending.SystemMail) {
			must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Email: storage.Some("help@example.org")}))(b.t)
			b.ignored(arriving(p), "our own test")
		}, ledger.ProbeNone, helpdesk.ReplyPlain, "was not tried yet"},
		"and is changed afterwards": {func(b *bundle, p sending.SystemMail) {
			b.ignored(arriving(p), "our own test")
			must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Email: storage.Some("help@example.org")}))(b.t)
		}, ledger.ProbeNone, helpdesk.ReplyPlain, "was not tried yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fetched(t, &imapServers{})
			if got := b.replyAddress(); got != helpdesk.ReplyPlain {
				t.Fatalf("before, reply_address is %q", got)
			}
			p, tagged := b.probe()
			if tagged.State != ledger.ProbePending || tagged.Address != p.To.Email || shape(p.To.Email) != "support+p-@example.org" || p.From.Email != "support@example.org" {
				t.Fatalf("sent is %+v, told %+v", p, tagged)
			}
			before := b.count()
			test.happens(b, p)
			if name == "somebody else writes there" {
				before++
			}
			tagged = b.tagged()
			if tagged.State != test.state || !strings.Contains(tagged.Text, test.text) || b.replyAddress() != test.want || b.count() != before {
				t.Errorf("it is %+v, reply_address %q, with %d conversations", tagged, b.replyAddress(), b.count())
			}
		})
	}
}

// ignored receives a mail that is not for people.
func (b *bundle) ignored(m ledger.Incoming, reason string) {
	b.t.Helper()
	if row := b.receive(m); row.State != ledger.Ignored || !strings.Contains(row.Reason, reason) {
		b.t.Errorf("the mail is %s: %s", row.State, row.Reason)
	}
}

func (b *bundle) probeOutcome(p sending.SystemMail, state sending.State, code, response string) {
	b.t.Helper()
	out := helpdesk.Outcome{State: state, EnhancedCode: code, Response: response}
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobProbe, AccountID: b.account.ID, Subject: b.mailbox.ID}}
	if err := b.svc.Outgoing().ReportSystemMail(b.ctx, job, p, out); err != nil {
		b.t.Fatal(err)
	}
}

// Consecutive tests send one probe; a result is valid until another replaces it.
func TestProbesAreNotDoubled(t *testing.T) {
	t.Parallel()
	servers := &imapServers{}
	b := fetched(t, servers)
	first, _ := b.probe()
	for range 3 {
		b.clock.Add(time.Minute)
		if again, tagged := b.probe(); again.MessageID != "" || tagged.State != ledger.ProbePending || tagged.Address != first.To.Email {
			t.Errorf("another probe: %+v, %+v", again, tagged)
		}
	}
	b.ignored(arriving(first), "our own test")
	b.clock.Add(time.Second)
	if again, tagged := b.probe(); again.MessageID == "" || tagged.State != ledger.ProbePending || b.replyAddress() != helpdesk.ReplySubaddress {
		t.Errorf("a test later sends %+v and is %+v, reply_address %q", again, tagged, b.replyAddress())
	}
	b.ignored(arriving(first), "our own test") // of no meaning any more
	if state := b.tagged().State; state != ledger.ProbePending {
		t.Errorf("after an old probe it is %s", state)
	}
	b.clock.Add(20 * time.Minute)
	if got := b.replyAddress(); got != helpdesk.ReplyPlain {
		t.Errorf("when the next is lost reply_address is %q", got)
	}
	servers.failure = errors.New("connect: refused")
	if none, tagged := b.probe(); none.MessageID != "" || tagged.State != ledger.ProbeMissing {
		t.Errorf("without a connection %+v is sent, %+v", none, tagged)
	}
	servers.failure = nil
	for choice, want := range map[helpdesk.ReplyAddress]string{helpdesk.ReplyPlain: "reply_address is plain", helpdesk.ReplyIntake: "reply_address is intake"} {
		b = fetched(t, servers)
		must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(choice)}))(t)
		if none, tagged := b.probe(); none.MessageID != "" || tagged.State != ledger.ProbeNone || !strings.Contains(tagged.Text, want) {
			t.Errorf("with %s %+v is sent, %+v", choice, none, tagged)
		}
	}
}

// The same probe is not evidence in another mailbox, nor in another account.
func TestProbeElsewhere(t *testing.T) {
	t.Parallel()
	b := fetched(t, &imapServers{})
	p, _ := b.probe()
	own := b.mailbox
	b.mailbox = must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
	b.ignored(arriving(p), "our own test")
	b.mailbox = own
	if diff := cmp.Diff(ledger.ProbePending, b.tagged().State); diff != "" {
		t.Error(diff)
	}
}
