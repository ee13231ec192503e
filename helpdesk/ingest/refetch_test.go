package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// importOnce imports all mails, with a limit of bytes for each.
func (b *bundle) importOnce(limit int64, mailbox int64, mails int) {
	b.t.Helper()
	servers := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true, PollInterval: 50 * time.Millisecond, MaxMessage: limit})
	f := check(ingest.NewFetcher(ingest.FetcherConfig{Intake: b.intake, Servers: servers}))(b.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.Run(ctx)
	}()
	testenv.Eventually(b.t, fmt.Sprint(mails, " mails"), func() bool { return len(b.rows(mailbox)) >= mails })
	cancel()
	<-done
}

// rows lists the ledger of a mailbox, oldest first.
func (b *bundle) rows(mailbox int64) []ledger.Mail {
	b.t.Helper()
	own := *b
	own.mailbox = mailbox
	return own.ledger()
}

func (b *bundle) again() *ingest.Again {
	return check(ingest.NewAgain(ingest.AgainConfig{
		Intake: b.intake, Servers: ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true}), Backoff: time.Millisecond,
	}))(b.t)
}

// A mail that was too large is whole after a replay, and filed. A mail deleted in the meantime is reported.
func TestReplayFetchesAgain(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	for kind, addr := range map[ledger.InboundType]string{ledger.InboundIMAP: dovecot.Addr, ledger.InboundPOP3: dovecot.POP3Addr} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := newBundle(t, memblob.New())
			user := testenv.Name("again")
			large := letters("large", 1)[0] + strings.Repeat("More text.\r\n", 1000)
			maildir(t, dovecot, user, letters("small", 1)[0], large)
			id := b.fetched("again@example.org", inbound(t, kind, addr, user, dovecot.Password))
			b.importOnce(5000, id, 2)
			row := b.rows(id)[1]
			if row.State != ledger.Quarantined || !row.Partial || !strings.Contains(row.Reason, "too large") {
				t.Fatalf("the large mail: %+v", row)
			}
			job := storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: row.ID}}
			replayed := check(b.desk.InboundMails().Replay(ctx, id, row.ID))(t)
			if replayed.State != ledger.Quarantined || replayed.Reason != "it is being fetched again" {
				t.Errorf("replayed: %+v", replayed)
			}
			if err := b.again().Refetch(ctx, job); err != nil {
				t.Fatal(err)
			}
			row = b.rows(id)[1]
			raw := check(b.intake.Raw(ctx, b.desk.AccountID(), row))(t)
			if row.Partial || row.State != ledger.Received || string(raw) != large {
				t.Fatalf("fetched again: %+v, %d bytes", row, len(raw))
			}
			file := storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: id}}
			if err := b.filer.Handle(ctx, file); err != nil {
				t.Fatal(err)
			}
			if row = b.rows(id)[1]; row.State != ledger.Filed {
				t.Errorf("filed: %+v", row)
			}
			if err := b.again().Refetch(ctx, job); err != nil { // the job comes twice
				t.Fatal(err)
			}
			// Another server: the earlier mails are not available.
			in := inbound(t, kind, addr, testenv.Name("other"), dovecot.Password)
			err := b.intake.Take(ctx, b.desk.AccountID(), id, strings.ToLower(string(kind)), []ledger.Raw{{Position: "7:9:INBOX", Problem: "cut"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(b.desk.Mailboxes().Update(ctx, id, helpdesk.MailboxInput{Inbound: storage.Some(in)}))(t)
			job.Subject = b.rows(id)[2].ID
			if err := b.again().Refetch(ctx, job); err != nil {
				t.Fatal(err)
			}
			if row = b.rows(id)[2]; row.State != ledger.Quarantined || !row.Partial || !strings.Contains(row.Reason, "another server") {
				t.Errorf("of another server: %+v", row)
			}
		})
	}
}

// Skipped mails are reported, and imported by a backfill; imported mails are not duplicated.
func TestReconcileAndBackfill(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	user := testenv.Name("backfill")
	maildir(t, dovecot, user, letters("old", 7)...)
	in := inbound(t, ledger.InboundIMAP, dovecot.Addr, user, dovecot.Password)
	in.Folders = []string{"INBOX"}
	id := b.fetched("backfill@example.org", in)
	// The cursor has passed five mails, only one of which is in the ledger.
	list := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true})
	source := check(b.intake.Source(ctx, b.desk.AccountID(), id))(t)
	var mails ledger.ServerMails
	err := list.List(ctx, source, time.Time{}, func(_ context.Context, some ledger.ServerMails) error {
		mails = some
		return nil
	})
	if err != nil || len(mails.Positions) != 7 {
		t.Fatalf("%+v, %v", mails, err)
	}
	raws := letters("old", 7)
	mishap := []ledger.Raw{{Position: mails.Positions[1], Raw: []byte(raws[1])}, {Position: strings.Replace(mails.Positions[1], ":2:", ":999:", 1), Raw: []byte(letters("gone", 1)[0])}}
	cursor := ledger.FolderCursor{Folder: "INBOX", Cursor: mails.At[4]}
	if err := b.intake.Take(ctx, b.desk.AccountID(), id, "imap", mishap, &cursor); err != nil {
		t.Fatal(err)
	}
	if err := b.intake.Take(ctx, b.desk.AccountID(), id, "smtp", []ledger.Raw{{Raw: []byte(raws[0])}}, nil); err != nil {
		t.Fatal(err)
	}
	got := check(b.desk.Mailboxes().Reconcile(ctx, id))(t)
	want := ledger.Reconciliation{Elsewhere: 1, Folders: []ledger.ReconciledFolder{{
		Name: "INBOX", OnServer: 7, InLedger: 2, Waiting: 2, Missing: 4,
		MissingPositions: []string{mails.Positions[0], mails.Positions[2], mails.Positions[3], mails.Positions[4]},
		Gone:             1, GoneIDs: []int64{2},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	since := time.Now().AddDate(0, 0, -1)
	if err := b.desk.Mailboxes().Backfill(ctx, id, since); err != nil {
		t.Fatal(err)
	}
	payload := check(json.Marshal(ledger.Backfill{Since: since}))(t)
	job := storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: id, Payload: payload}}
	for range 2 {
		if err := b.again().Backfill(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	if got := check(b.intake.Cursor(ctx, b.desk.AccountID(), id, "INBOX"))(t); got != cursor.Cursor {
		t.Errorf("the cursor is %+v, want %+v", got, cursor.Cursor)
	}
	file := storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: id}}
	if err := b.filer.Handle(ctx, file); err != nil {
		t.Fatal(err)
	}
	states := map[ledger.State]int{}
	for _, row := range b.rows(id) {
		states[row.State]++
	}
	// Seven mails, the deleted one, and a duplicate that also arrived by SMTP.
	if diff := cmp.Diff(map[ledger.State]int{ledger.Filed: 8, ledger.Ignored: 1}, states); diff != "" {
		t.Error(diff)
	}
	if r := check(b.desk.Mailboxes().Reconcile(ctx, id))(t); r.Folders[0].Missing+r.Folders[0].Waiting != 0 || r.Folders[0].InLedger != 8 {
		t.Errorf("afterwards: %+v", r)
	}
}

func TestReconcilePOP3AndRefusals(t *testing.T) {
	t.Parallel()
	dovecot := testenv.POP3(t)
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	user := testenv.Name("reconcile")
	maildir(t, dovecot, user, letters("pop3", 3)...)
	id := b.fetched("pop3@example.org", inbound(t, ledger.InboundPOP3, dovecot.POP3Addr, user, dovecot.Password))
	b.importOnce(0, id, 3)
	maildir(t, dovecot, user, letters("late", 2)...)
	got := check(b.desk.Mailboxes().Reconcile(ctx, id))(t)
	if diff := cmp.Diff(ledger.Reconciliation{Folders: []ledger.ReconciledFolder{{OnServer: 5, InLedger: 3, Waiting: 2}}}, got); diff != "" {
		t.Error(diff)
	}
	if err := b.desk.Mailboxes().Backfill(ctx, id, time.Now().Add(-time.Hour)); !fault.Is(err, fault.Conflict) {
		t.Errorf("Backfill by POP3: %v, want a conflict", err)
	}
	if _, err := b.desk.Mailboxes().Reconcile(ctx, b.mailbox); !fault.Is(err, fault.Conflict) {
		t.Errorf("of a mailbox that is forwarded to: %v, want a conflict", err)
	}
	wrong := b.fetched("wrong@example.org", inbound(t, ledger.InboundIMAP, dovecot.Addr, user, "wrong"))
	if _, err := b.desk.Mailboxes().Reconcile(ctx, wrong); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "AUTHENTICATIONFAILED") {
		t.Errorf("with a wrong password: %v", err)
	}
	for _, since := range []time.Time{{}, time.Now().Add(time.Hour)} {
		if err := b.desk.Mailboxes().Backfill(ctx, wrong, since); !fault.Is(err, fault.Invalid) {
			t.Errorf("since %v: %v, want invalid", since, err)
		}
	}
}

func refetchJob(b *bundle, row ledger.Mail) storage.ClaimedJob {
	return storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: row.ID}}
}
