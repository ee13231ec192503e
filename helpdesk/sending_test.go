package helpdesk_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (b *bundle) hold(d time.Duration) {
	b.t.Helper()
	must(b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme", SendHold: storage.Some(d)}))(b.t)
}

func (b *bundle) deliveries(interactionID int64) []sending.Delivery {
	b.t.Helper()
	return must(b.desk.Interactions().Deliveries(b.ctx, []int64{interactionID}))(b.t)
}

// jobsDue counts the jobs to send that are due.
func (b *bundle) jobsDue() int {
	b.t.Helper()
	return len(must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobSendMail: 10}, b.clock.Now(), b.clock.Now()))(b.t))
}

func TestSendHoldBounds(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, hold := range []time.Duration{-time.Second, 601 * time.Second, 1500 * time.Millisecond} {
		_, err := b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme", SendHold: storage.Some(hold)})
		if diff := cmp.Diff(fault.Fields{"send_hold": {"must be 0 to 600 seconds"}}, fieldsOf(err)); diff != "" {
			t.Errorf("%v: %s", hold, diff)
		}
	}
	b.hold(600 * time.Second)
	if a := must(b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme"}))(t); a.SendHold != 10*time.Minute {
		t.Errorf("left out, the hold became %v", a.SendHold)
	}
}

// A held answer may be edited, is sent when its time has come and not before, and an edit does not make it wait anew.
func TestHold(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.hold(30 * time.Second)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{})
	sendAt := i.PostedAt.Add(30 * time.Second)
	if d := b.deliveries(i.ID)[0]; d.State != sending.Queued || !d.NextAttemptAt.Equal(sendAt) {
		t.Errorf("held: %+v", d)
	}
	b.clock.Add(29 * time.Second)
	must(b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{Body: storage.Some("Pull!"), To: storage.Some([]string{"new@example.com"})}))(t)
	if mail := begin(b, i.ID); len(mail.Due) != 0 || !mail.NextTry.Equal(sendAt) || b.jobsDue() != 0 {
		t.Errorf("too early: %+v", mail)
	}
	b.clock.Add(time.Second)
	if n := b.jobsDue(); n != 1 {
		t.Errorf("%d jobs are due", n)
	}
	if mail := begin(b, i.ID); len(mail.Due) != 1 || mail.Due[0].Address != "new@example.com" || mail.HTML != "Pull!" {
		t.Errorf("sent is %+v", mail)
	}
	_, err := b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{Body: storage.Some("Push!")})
	if !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("edited while it was sent: %v", err)
	}
}

func TestCancelSending(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.hold(30 * time.Second)
	id := b.receive(opening()).ConversationID
	waiting := b.conversation(id).AwaitingSince
	b.clock.Add(time.Minute)
	i := b.answer(id, helpdesk.InteractionInput{Cc: []string{"cc@example.com"}})
	draft := must(b.desk.Interactions().CancelSending(b.ctx, id, i.ID))(t)
	want := i
	want.Status, want.PostedByID, want.PostedAt, want.MessageID, want.References = helpdesk.StatusDraft, 0, time.Time{}, "", nil
	if diff := cmp.Diff(want, draft, cmpopts.IgnoreFields(helpdesk.Interaction{}, "UpdatedAt")); diff != "" {
		t.Error(diff)
	}
	if c := b.conversation(id); !c.AwaitingSince.Equal(waiting) || c.Preview != "It does not open." {
		t.Errorf("after the cancel: %+v", c)
	}
	if left := b.deliveries(i.ID); len(left) != 0 {
		t.Errorf("deliveries are left: %+v", left)
	}
	if _, err := b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a canceled mail is sent: %v", err)
	}
	if _, err := b.desk.Interactions().CancelSending(b.ctx, id, i.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("a draft was canceled: %v", err)
	}
	if diff := cmp.Diff([]string{"interaction.canceled"}, b.kinds("interaction.canceled")); diff != "" {
		t.Error(diff)
	}
	again := must(b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
	if again.MessageID == i.MessageID || again.MessageID == "" {
		t.Errorf("the Message-ID was %q and is %q", i.MessageID, again.MessageID)
	}
	b.clock.Add(30 * time.Second)
	if mail := begin(b, i.ID); len(mail.Due) != 2 {
		t.Errorf("posted again: %+v", mail)
	}
	if _, err := b.desk.Interactions().CancelSending(b.ctx, id, i.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("canceled while it was sent: %v", err)
	}
	for what, test := range map[string]struct{ conversation, interaction int64 }{
		"the customer's": {id, b.interactions(id)[0].ID}, "an unknown": {id, 999}, "another conversation's": {999, i.ID},
	} {
		_, cancel := b.desk.Interactions().CancelSending(b.ctx, test.conversation, test.interaction)
		_, retry := b.desk.Interactions().RetryDeliveries(b.ctx, test.conversation, test.interaction)
		kind := helpdesk.ErrNotFound
		if what == "the customer's" {
			kind = helpdesk.ErrConflict
		}
		if !errors.Is(cancel, kind) || !errors.Is(retry, kind) {
			t.Errorf("%s interaction: %v, %v", what, cancel, retry)
		}
	}
}

// Recipients belong to one job at a time: a retry by hand while a job is at work sends nothing twice.
func TestRecipientsOfAJob(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	i := b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{})
	take := func(job int64) helpdesk.OutgoingMail {
		t.Helper()
		return must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, job))(t)
	}
	mail := take(1)
	if other := take(2); len(other.Due) != 0 || !other.NextTry.Equal(b.clock.Now().Add(30*time.Minute)) {
		t.Errorf("another job got %+v", other)
	}
	if same := take(1); len(same.Due) != 1 {
		t.Error("the job that was interrupted gets nothing")
	}
	if _, err := b.desk.Interactions().RetryDeliveries(b.ctx, i.ConversationID, i.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("retried while it is tried: %v", err)
	}
	report(b, mail, sending.Deferred)
	must(b.desk.Interactions().RetryDeliveries(b.ctx, i.ConversationID, i.ID))(t)
	if other := take(2); len(other.Due) != 1 {
		t.Error("after the report another job gets nothing")
	}
	b.clock.Add(31 * time.Minute)
	if third := take(3); len(third.Due) != 1 {
		t.Error("a job that never reports keeps its recipients")
	}
}

func TestRetryDeliveries(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{To: []string{"sent@example.com", "deferred@example.com", "failed@example.com"}})
	b.jobsDue()
	mail := begin(b, i.ID)
	var outcomes []helpdesk.Outcome
	for n, state := range []sending.State{sending.Sent, sending.Deferred, sending.Failed} {
		outcomes = append(outcomes, helpdesk.Outcome{DeliveryID: mail.Due[n].ID, State: state, Code: 400, Response: "no"})
	}
	must(b.svc.Outgoing().Report(b.ctx, b.account.ID, i.ID, outcomes))(t)
	b.clock.Add(time.Second)
	collaborator := b.member(identity.RoleCollaborator)
	if _, err := collaborator.Interactions().RetryDeliveries(b.ctx, id, i.ID); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a collaborator sends: %v", err)
	}
	all := must(b.desk.Interactions().RetryDeliveries(b.ctx, id, i.ID))(t)
	var states []sending.State
	for _, d := range all {
		states = append(states, d.State)
	}
	want := []sending.State{sending.Sent, sending.Queued, sending.Queued}
	if diff := cmp.Diff(want, states); diff != "" || b.jobsDue() == 0 {
		t.Error(diff)
	}
	again := begin(b, i.ID)
	if len(again.Due) != 2 || again.MessageID != mail.MessageID || again.Due[0].Response != "no" {
		t.Errorf("the retry sends %+v", again)
	}
	report(b, again, sending.Sent)
	if _, err := b.desk.Interactions().RetryDeliveries(b.ctx, id, i.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("nobody is left: %v", err)
	}
}

func TestSuppressions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for input, problem := range map[string]string{"": "is required", "nobody": "is not an email address"} {
		_, err := b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: input})
		if diff := cmp.Diff(fault.Fields{"email": {problem}}, fieldsOf(err)); diff != "" {
			t.Error(diff)
		}
	}
	s := must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "ADA@example.com", Detail: "asked\nfor it"}))(t)
	if _, err := b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "ada@EXAMPLE.com"}); fieldsOf(err)["email"] == nil {
		t.Errorf("suppressed twice: %v", err)
	}
	if shown := must(b.desk.Suppressions().Get(b.ctx, s.ID))(t); shown.UserID != b.owner.ID || shown.Reason != sending.SuppressedManual || shown.Detail != "asked for it" {
		t.Errorf("the suppression is %+v", shown)
	}
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{Cc: []string{"charles@example.com"}})
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	mail := begin(b, i.ID)
	if len(mail.Due) != 1 || mail.Due[0].Address != "charles@example.com" {
		t.Errorf("due are %+v", mail.Due)
	}
	d := b.deliveries(i.ID)[0]
	if d.State != sending.Suppressed || d.Attempts != 0 || !strings.Contains(d.Response, "asked for it") {
		t.Errorf("the delivery is %+v", d)
	}
	if b.conversation(id).Status != helpdesk.StatusPosted {
		t.Error("nobody is told that the mail was not sent")
	}
	report(b, mail, sending.Sent)
	if err := b.desk.Suppressions().Lift(b.ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	must(b.desk.Interactions().RetryDeliveries(b.ctx, id, i.ID))(t)
	if mail := begin(b, i.ID); len(mail.Due) != 1 || mail.Due[0].Address != "ada@example.com" {
		t.Errorf("after lifting, due are %+v", mail.Due)
	}
	if diff := cmp.Diff([]string{"suppression.created", "suppression.deleted"}, b.kinds("suppression.")); diff != "" {
		t.Error(diff)
	}
	if left := must(b.desk.Suppressions().List(b.ctx, storage.PageRequest{}))(t).Items; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// Mail waits if the address has received too much within an hour.
func TestOutgoingBudget(t *testing.T) {
	t.Parallel()
	b := newBundle(t).with(func(cfg *helpdesk.Config) { cfg.MaxMailPerAddress = 2 })
	id := b.receive(opening()).ConversationID
	for range 2 {
		report(b, begin(b, b.answer(id, helpdesk.InteractionInput{}).ID), sending.Sent)
	}
	third := b.answer(id, helpdesk.InteractionInput{Cc: []string{"other@example.com"}})
	mail := begin(b, third.ID)
	if len(mail.Due) != 1 || mail.Due[0].Address != "other@example.com" || mail.NextTry.IsZero() {
		t.Errorf("due are %+v", mail)
	}
	if d := b.deliveries(third.ID)[0]; d.State != sending.Deferred || !strings.Contains(d.Response, "too many") {
		t.Errorf("the delivery is %+v", d)
	}
	b.clock.Add(61 * time.Minute)
	if mail := begin(b, third.ID); !slices.ContainsFunc(mail.Due, func(d sending.Delivery) bool { return d.Address == "ada@example.com" }) {
		t.Error("after an hour it still waits")
	}
}

// verified is a domain whose records of some hosts were seen in DNS.
func (b *bundle) verified(name string, published func(sending.DNSRecord) bool) sending.Domain {
	b.t.Helper()
	b.with(func(cfg *helpdesk.Config) {
		cfg.DNS = func(_ context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
			results := make([]sending.DNSResult, len(records))
			for n, r := range records {
				results[n].Verified = published(r)
			}
			return results, nil
		}
	})
	d := must(b.desk.Domains().Create(b.ctx, name))(b.t)
	return must(b.desk.Domains().Verify(b.ctx, d.ID))(b.t)
}

// Mail is signed with the published keys of the nearest domain.
func TestSigners(t *testing.T) {
	t.Parallel()
	any := func(sending.DNSRecord) bool { return true }
	for name, test := range map[string]struct {
		domain    string
		published func(sending.DNSRecord) bool
		want      []string // kinds of keys
	}{
		"both":           {"example.org", any, []string{"rsa", "ed25519"}},
		"RSA only":       {"example.org", func(r sending.DNSRecord) bool { return !strings.Contains(r.Hostname, "-ed.") }, []string{"rsa"}},
		"nothing":        {"example.org", func(sending.DNSRecord) bool { return false }, nil},
		"SPF only":       {"example.org", func(r sending.DNSRecord) bool { return r.Label == sending.LabelSPF }, nil},
		"another domain": {"example.com", any, nil},
		"one below":      {"mail.example.org", any, nil},
		"a look-alike":   {"ample.org", any, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			d := b.verified(test.domain, test.published)
			mail := begin(b, b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{}).ID)
			var got []string
			for _, k := range mail.DKIM {
				kind, public := "rsa", crypto.PublicKey(nil)
				switch key := k.Key.(type) {
				case *rsa.PrivateKey:
					public = key.Public()
				case ed25519.PrivateKey:
					kind, public = "ed25519", key.Public()
				}
				got = append(got, kind)
				if kind == "ed25519" && !strings.Contains(d.Records[3].Value, base64.StdEncoding.EncodeToString(public.(ed25519.PublicKey))) {
					t.Error("another key than the published one")
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a domain above", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.verified("example.org", any)
		must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Email: storage.Some("help@desk.Example.org")}))(t)
		mail := begin(b, b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{}).ID)
		if len(mail.DKIM) != 2 || mail.DKIM[0].Domain != "example.org" {
			t.Errorf("signed with %v", mail.DKIM)
		}
	})
	t.Run("a key that does not open", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.verified("example.org", any)
		var log bytes.Buffer
		b.with(func(cfg *helpdesk.Config) {
			cfg.Sealer = must(storage.NewSealer(bytes.Repeat([]byte{7}, 32)))(t)
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		mail := begin(b, b.answer(b.receive(opening()).ConversationID, helpdesk.InteractionInput{}).ID)
		if len(mail.Due) != 1 || len(mail.DKIM) != 0 || !strings.Contains(log.String(), "DKIM") {
			t.Errorf("the mail is lost or nobody is told: %+v %s", mail, log.String())
		}
	})
}

// A flood from one sender is filed completely, but reopens nothing and leaves no conversation waiting; old mail, as in an
// import, is not a flood. Only for fetched mail does the date count.
func TestIncomingBudget(t *testing.T) {
	t.Parallel()
	b := newBundle(t).with(func(cfg *helpdesk.Config) { cfg.MaxMailPerAddress = 2 })
	mail := func(id string, date time.Time, answers ...string) ledger.Mail {
		m := opening()
		m.MessageID, m.Date, m.InReplyTo = id, date, answers
		return b.receive(m)
	}
	first := mail("1@x", b.clock.Now())
	mail("2@x", b.clock.Now())
	must(b.desk.Conversations().Update(b.ctx, first.ConversationID, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	for what, test := range map[string]struct {
		row  ledger.Mail
		want helpdesk.Status
	}{
		"a new one": {mail("3@x", time.Time{}), helpdesk.StatusClosed},
		"an answer": {mail("4@x", b.clock.Now(), "1@x"), helpdesk.StatusClosed},
		"an old one": {func() ledger.Mail {
			b.source = "imap"
			defer func() { b.source = "" }()
			return mail("5@x", b.clock.Now().AddDate(-1, 0, 0))
		}(), helpdesk.StatusPosted},
		"one that says it is old": {mail("7@x", b.clock.Now().AddDate(-1, 0, 0)), helpdesk.StatusClosed},
		"an answer that says so":  {mail("8@x", b.clock.Now().AddDate(-1, 0, 0), "1@x"), helpdesk.StatusClosed},
	} {
		c := b.conversation(test.row.ConversationID)
		if test.row.State != ledger.Filed || c.Status != test.want || (test.row.Reason == "") != (what == "an old one") {
			t.Errorf("%s: %+v in %+v", what, test.row, c)
		}
		if what == "a new one" && !c.AwaitingSince.IsZero() {
			t.Error("the customer waits")
		}
	}
	b.clock.Add(61 * time.Minute)
	if c := b.conversation(mail("6@x", b.clock.Now(), "1@x").ConversationID); c.Status != helpdesk.StatusPosted {
		t.Errorf("an hour later the conversation is %s", c.Status)
	}
}
