package helpdesk_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// quarantine takes a mail that cannot be filed.
func (b *bundle) quarantine(mail ledger.Raw, reason string) ledger.Mail {
	b.t.Helper()
	intake := b.svc.Intake()
	if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, "imap", []ledger.Raw{mail}, nil); err != nil {
		b.t.Fatal(err)
	}
	row := b.ledger()[0]
	if mail.Problem == "" {
		if err := intake.Quarantine(b.ctx, b.account.ID, row.ID, reason); err != nil {
			b.t.Fatal(err)
		}
	}
	return b.mail(row.ID)
}

// ledger lists the rows of the mailbox in some states, newest first.
func (b *bundle) ledger(states ...ledger.State) []ledger.Mail {
	b.t.Helper()
	filter := ledger.Filter{MailboxID: b.mailbox.ID, States: states}
	return must(b.desk.InboundMails().List(b.ctx, filter, storage.PageRequest{Limit: 100}))(b.t).Items
}

func (b *bundle) mail(id int64) ledger.Mail {
	b.t.Helper()
	return must(b.desk.InboundMails().Get(b.ctx, b.mailbox.ID, id))(b.t)
}

// jobs takes the jobs of a kind out of the queue.
func (b *bundle) jobs(kind string) []storage.ClaimedJob {
	b.t.Helper()
	claimed := must(b.store.Claim(b.ctx, map[string]int{kind: 1000}, b.clock.Now(), b.clock.Now().Add(time.Hour)))(b.t)
	if err := b.store.Finish(b.ctx, claimed...); err != nil {
		b.t.Fatal(err)
	}
	return claimed
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	row := b.quarantine(ledger.Raw{Raw: []byte("1")}, "nested deeper than 50")
	b.clock.Add(time.Minute)
	ignored := must(b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, "  spam\r\nfrom the provider "))(t)
	want := row
	want.State, want.UserID, want.Note, want.UpdatedAt = ledger.Ignored, b.owner.ID, "spam  from the provider", b.clock.Now()
	if diff := cmp.Diff([]ledger.Mail{want, want}, []ledger.Mail{ignored, b.mail(row.ID)}); diff != "" {
		t.Error(diff)
	}
	b.clock.Add(time.Minute)
	if again := must(b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, "Again."))(t); !cmp.Equal(want, again) {
		t.Errorf("ignored twice: %s", cmp.Diff(want, again))
	}
	if len(b.ledger(ledger.Quarantined)) != 0 || len(b.ledger(ledger.Ignored)) != 1 {
		t.Error("it is not listed among those that are ignored, or still among the failures")
	}
	if got := must(b.desk.InboundMails().Counts(b.ctx, b.mailbox.ID))(t); got != (ledger.Counts{Ignored: 1}) {
		t.Errorf("counts: %+v", got)
	}
	back := must(b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID))(t)
	if back.State != ledger.Received || back.Note != "" || back.UserID != 0 || back.Reason != "" {
		t.Errorf("taken back: %+v", back)
	}
	if again := must(b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID))(t); !cmp.Equal(back, again) || len(b.jobs(helpdesk.JobFileMail)) != 2 {
		t.Errorf("replayed twice: %s", cmp.Diff(back, again)) // the first of the jobs is of taking the mail
	}
	if _, err := b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, ""); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("ignoring what waits: %v", err)
	}
	filed := must(b.svc.Intake().File(b.ctx, b.account.ID, row.ID, withIdentity(opening())))(t)
	if _, err := b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, ""); filed.State != ledger.Filed || !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("ignoring what is %s: %v", filed.State, err)
	}
	if got := fieldsOf(second(b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, strings.Repeat("x", 501)))); len(got["note"]) != 1 {
		t.Errorf("a note that is too long: %v", got)
	}
	for _, ids := range [][2]int64{{b.mailbox.ID, 999}, {999, row.ID}} {
		if _, err := b.desk.InboundMails().Ignore(b.ctx, ids[0], ids[1], ""); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%v: %v", ids, err)
		}
	}
}

func withIdentity(m ledger.Incoming) ledger.Incoming {
	m.Identity = []byte(m.MessageID)
	return m
}

// Ignoring an incomplete mail and undoing that fetches the whole mail.
func TestReplayOfIgnoredPart(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	row := b.quarantine(ledger.Raw{Position: "7:1:INBOX", Raw: []byte("From: a"), Problem: "cut three times"}, "")
	must(b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, row.ID, ""))(t)
	back := must(b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID))(t)
	if back.State != ledger.Quarantined || back.Reason != "it is being fetched again" || !back.Partial {
		t.Errorf("replayed: %+v", back)
	}
	must(b.desk.InboundMails().Replay(b.ctx, b.mailbox.ID, row.ID))(t)
	if jobs := b.jobs(helpdesk.JobRefetchMail); len(jobs) != 1 || jobs[0].Subject != row.ID {
		t.Errorf("fetched again by %+v", jobs)
	}
	if err := b.svc.Intake().Refetched(b.ctx, b.account.ID, row.ID, ledger.Raw{Raw: []byte("From: ada@example.com\n\nWhole.")}); err != nil {
		t.Fatal(err)
	}
	if got := b.mail(row.ID); got.State != ledger.Received || got.Partial {
		t.Errorf("fetched again: %+v", got)
	}
}

// All mails quarantined at the time of the request are replayed, once; those that fail again return with their new reason.
func TestReplayMailbox(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const n = 230 // some batches
	for i := range n {
		b.quarantine(ledger.Raw{Raw: fmt.Appendf(nil, "mail %d", i)}, "a bug")
	}
	part := b.quarantine(ledger.Raw{Position: "7:1:INBOX", Problem: "too large"}, "")
	ignored := b.quarantine(ledger.Raw{Raw: []byte("ignored")}, "a bug")
	must(b.desk.InboundMails().Ignore(b.ctx, b.mailbox.ID, ignored.ID, ""))(t)
	b.jobs(helpdesk.JobFileMail)
	b.clock.Add(time.Minute)
	for range 2 { // whoever presses twice
		if got := must(b.desk.InboundMails().ReplayAll(b.ctx, b.mailbox.ID))(t); got != n+1 {
			t.Errorf("%d mails are to be replayed, want %d", got, n+1)
		}
	}
	b.clock.Add(time.Minute)
	late := b.quarantine(ledger.Raw{Raw: []byte("late")}, "a bug")
	orders := b.jobs(helpdesk.JobReplayMail)
	if len(orders) != 2 {
		t.Fatalf("%d jobs", len(orders))
	}
	var both sync.WaitGroup
	for _, order := range orders {
		both.Go(func() {
			if err := b.svc.Jobs().ReplayMails(b.ctx, order); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	want := ledger.Counts{Received: n, Quarantined: 2, Ignored: 1}
	if got := must(b.desk.InboundMails().Counts(b.ctx, b.mailbox.ID))(t); got != want {
		t.Errorf("afterwards: %+v, want %+v", got, want)
	}
	if b.mail(late.ID).State != ledger.Quarantined || b.mail(ignored.ID).State != ledger.Ignored {
		t.Error("a mail that nobody asked for was replayed")
	}
	if jobs := b.jobs(helpdesk.JobRefetchMail); len(jobs) != 1 || jobs[0].Subject != part.ID {
		t.Errorf("to be fetched again: %+v", jobs)
	}
	if jobs := b.jobs(helpdesk.JobFileMail); len(jobs) == 0 || jobs[0].Subject != b.mailbox.ID {
		t.Errorf("to be filed: %+v", jobs)
	}
	replayed := map[int64]int{}
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 10000))(t) {
		if e.Type == "mail.replayed" && e.ActorID == b.owner.ID {
			replayed[e.Subject]++
		}
	}
	if len(replayed) != n || replayed[1] != 1 {
		t.Errorf("%d mails were replayed, the first %d times", len(replayed), replayed[1])
	}
	// One of them is poisoned.
	if err := b.svc.Intake().Quarantine(b.ctx, b.account.ID, 1, "another bug"); err != nil {
		t.Fatal(err)
	}
	if err := b.svc.Jobs().ReplayMails(b.ctx, orders[0]); err != nil { // the job comes again
		t.Fatal(err)
	}
	if got := b.mail(1); got.State != ledger.Quarantined || got.Reason != "another bug" {
		t.Errorf("the poisoned mail: %+v", got)
	}
	if _, err := b.desk.InboundMails().ReplayAll(b.ctx, 999); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("of no mailbox: %v", err)
	}
}

func TestReplayOfNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	if n := must(b.desk.InboundMails().ReplayAll(b.ctx, b.mailbox.ID))(t); n != 0 || len(b.jobs(helpdesk.JobReplayMail)) != 0 {
		t.Errorf("%d mails are replayed in an empty mailbox", n)
	}
}
