package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// bundle is a help desk in memory with one mailbox and a filer.
type bundle struct {
	t        testing.TB
	blobs    storage.Blobs
	svc      *helpdesk.Service
	desk     *helpdesk.Desk
	intake   *helpdesk.Intake
	outgoing *helpdesk.Outgoing
	mailbox  int64
	filer    *ingest.Filer
	filed    int
}

func newBundle(t testing.TB, blobs storage.Blobs, change ...func(*helpdesk.Config)) *bundle {
	t.Helper()
	ctx := t.Context()
	sealer := check(storage.NewSealer(make([]byte, 32)))(t)
	cfg := helpdesk.Config{
		IntakeDomain: "localhost",
		Store:        memstore.New(), Blobs: blobs, Sealer: sealer, SigningKey: make([]byte, 32),
		MailServers: ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true}),
	}
	for _, f := range change {
		f(&cfg)
	}
	svc := check(helpdesk.New(cfg))(t)
	user := check(svc.Operator().CreateUser(ctx, identity.UserInput{Email: "o@example.org"}))(t)
	account := check(svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, user.ID))(t)
	desk := check(svc.Desk(ctx, svc.As(user.ID), account.ID))(t)
	mailbox := check(desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")}))(t)
	return &bundle{
		t: t, blobs: blobs, svc: svc, desk: desk, intake: svc.Intake(), outgoing: svc.Outgoing(), mailbox: mailbox.ID,
		filer: check(ingest.NewFiler(ingest.FilerConfig{Intake: svc.Intake(), Limits: mail.Limits{Parts: 100}, Now: cfg.Now}))(t),
	}
}

func (b *bundle) take(raws ...string) {
	b.t.Helper()
	mails := make([]ledger.Raw, len(raws))
	for i, raw := range raws {
		mails[i].Raw = []byte(raw)
		subject, from := mail.Head(mails[i].Raw)
		mails[i].Head = ledger.Head{Subject: subject, From: from}
	}
	if err := b.intake.Take(b.t.Context(), b.desk.AccountID(), b.mailbox, "smtp", mails, nil); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) job() storage.ClaimedJob {
	return storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobFileMail, AccountID: b.desk.AccountID(), Subject: b.mailbox}}
}

// ledger lists the rows in the order they were received.
func (b *bundle) ledger() []ledger.Mail {
	b.t.Helper()
	var all []ledger.Mail
	for cursor := ""; ; {
		page := check(b.desk.InboundMails().List(b.t.Context(), ledger.Filter{MailboxID: b.mailbox}, storage.PageRequest{Limit: 100, Cursor: cursor}))(b.t)
		all = append(all, page.Items...) // newest first
		if cursor = page.Next; cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

func TestFiling(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	first := "From: Ada <ada@example.com>\nMessage-ID: <1@example.com>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nHello."
	b.take(
		first,
		"From: ada@example.com\nIn-Reply-To: <1@example.com>\n\nAgain.",
		first,
		"From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n"+strings.Repeat("--b\n\nx\n", 200),
		"Subject: from nobody\n\nHello.",
		"",
		"From: MAILER-DAEMON\nTo: support@example.org\n\nThe last one.",
	)
	if err := b.filer.Handle(t.Context(), b.job()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range b.ledger() {
		got = append(got, fmt.Sprintf("%s in %d: %s", m.State, m.ConversationID, m.Reason))
	}
	want := []string{
		"filed in 1: ", "filed in 1: ", "ignored in 0: it is a double of mail 1", "quarantined in 0: more than 100 parts",
		"filed in 2: ", "quarantined in 0: the mail is empty", "filed in 3: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c := check(b.desk.Conversations().Get(t.Context(), 2))(t); c.CustomerEmail != ledger.UnknownSender {
		t.Errorf("a mail from nobody is from %q", c.CustomerEmail)
	}
	if c := check(b.desk.Conversations().Get(t.Context(), 1))(t); c.Subject != "Grüße" {
		t.Errorf("the subject is %q", c.Subject)
	}
}

// poisoned is a store that cannot take interactions with a certain text.
type poisoned struct{ helpdesk.Store }

type poisonedTx struct{ helpdesk.Tx }

func (s poisoned) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	return s.Store.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error { return fn(ctx, poisonedTx{tx}) })
}

func (tx poisonedTx) Interactions() storage.Rows[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return poisonedRows{tx.Tx.Interactions()}
}

type poisonedRows struct {
	storage.Rows[helpdesk.Interaction, helpdesk.InteractionFilter]
}

func (r poisonedRows) Insert(ctx context.Context, rows ...*helpdesk.Interaction) error {
	for _, i := range rows {
		switch i.Subject {
		case "poison":
			return fault.New(fault.Invalid, "It is poison.")
		case "panic":
			panic("poison")
		}
	}
	return r.Rows.Insert(ctx, rows...)
}

// Mails are filed together. One that cannot be is set aside, and all others are filed as if it were not there.
func TestFilingTogether(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]map[int]string{
		"all are good": {}, "the first": {0: "poison"}, "the last": {59: "poison"}, "several": {3: "poison", 4: "panic", 30: "poison", 41: "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = poisoned{cfg.Store} })
			const mails = 60 // more than are filed at once
			var want []string
			for i := range mails {
				subject, state := "good", "filed"
				if bad[i] != "" {
					subject, state = bad[i], "quarantined"
				}
				raw := fmt.Sprintf("From: a@example.com\nMessage-ID: <%d@example.com>\nSubject: %s\n", i, subject)
				if i%3 == 1 { // an answer to the one before
					raw += fmt.Sprintf("In-Reply-To: <%d@example.com>\n", i-1)
				}
				b.take(raw + "\nText.")
				want = append(want, state)
			}
			if err := b.filer.Handle(t.Context(), b.job()); err != nil {
				t.Fatal(err)
			}
			var got []string
			all := b.ledger()
			for i, m := range all {
				got = append(got, string(m.State))
				if i%3 == 1 && bad[i] == "" && bad[i-1] == "" && m.ConversationID != all[i-1].ConversationID {
					t.Errorf("mail %d is in conversation %d, and what it answers in %d", i, m.ConversationID, all[i-1].ConversationID)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// away is a blob store that cannot be reached for some time.
type away struct {
	storage.Blobs
	mu   sync.Mutex
	fail error
}

func (a *away) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return nil, a.fail
	}
	return a.Blobs.Get(ctx, key)
}

func TestFailuresOfAllMailsWait(t *testing.T) {
	t.Parallel()
	blobs := &away{Blobs: memblob.New(), fail: fault.Wrap(fault.Unavailable, "blobs", errors.New("no route"))}
	b := newBundle(t, blobs)
	b.take("From: ada@example.com\n\nHello.")
	if err := b.filer.Handle(t.Context(), b.job()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with the blobs away: %v", err)
	}
	if state := b.ledger()[0].State; state != ledger.Received {
		t.Errorf("the mail is %s", state)
	}
	blobs.fail = errors.New("this one blob is broken")
	check(0, b.filer.Handle(t.Context(), b.job()))(t)
	if m := b.ledger()[0]; m.State != ledger.Quarantined || m.Reason == "" {
		t.Errorf("the mail with a broken blob is %s: %s", m.State, m.Reason)
	}
	blobs.fail = nil
	check(b.desk.InboundMails().Replay(t.Context(), b.mailbox, b.ledger()[0].ID))(t)
	check(0, b.filer.Handle(t.Context(), b.job()))(t)
	if state := b.ledger()[0].State; state != ledger.Filed {
		t.Errorf("after the replay the mail is %s", state)
	}
}

// TestCrowd runs many jobs of one mailbox at once: every mail is filed once, in order.
func TestCrowd(t *testing.T) {
	t.Parallel()
	b := newBundle(t, memblob.New())
	const n = 100
	var wait sync.WaitGroup
	for i := range n {
		b.take(fmt.Sprintf("From: ada@example.com\nMessage-ID: <%d@example.com>\nIn-Reply-To: <%d@example.com>\n\nMail %d.", i, i-1, i))
		wait.Go(func() {
			if err := b.filer.Handle(context.Background(), b.job()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, m := range b.ledger() {
		if m.State != ledger.Filed || m.ConversationID != 1 {
			t.Fatalf("mail %d is %s in conversation %d: %s", m.ID, m.State, m.ConversationID, m.Reason)
		}
	}
}

// TestCorpus files real mails from many sources: none may be lost, and only one, with endless nesting, is quarantined.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := testenv.Corpus(t)
	b := newBundle(t, memblob.New())
	b.filer = check(ingest.NewFiler(ingest.FilerConfig{Intake: b.intake}))(t)
	total := 0
	err := filepath.WalkDir(corpus, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".eml" {
			return err
		}
		raw, err := os.ReadFile(path)
		total++
		b.take(string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.filer.Handle(t.Context(), b.job()); err != nil {
		t.Fatal(err)
	}
	states, reasons := map[ledger.State]int{}, map[string]int{}
	for _, m := range b.ledger() {
		states[m.State]++
		if m.State == ledger.Quarantined {
			reasons[m.Reason]++
		}
	}
	t.Logf("%d mails: %v; in quarantine: %v", total, states, reasons)
	if states[ledger.Received] > 0 || states[ledger.Filed] < total*9/10 {
		t.Errorf("%d mails became %v", total, states)
	}
	for reason := range reasons {
		if reason != "nested deeper than 50" || reasons[reason] != 1 {
			t.Errorf("in quarantine for another reason: %s", reason)
		}
	}
}

// TestMailboxTestsRevealNoInternals: whether a host inside exists, listens or speaks, the answer is the same.
func TestMailboxTestsRevealNoInternals(t *testing.T) {
	t.Parallel()
	host, open, err := net.SplitHostPort(testnet.Silent(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(open)
	if err != nil {
		t.Fatal(err)
	}
	servers := ingest.NewServers(ingest.ServersConfig{})
	for _, kind := range []ledger.InboundType{ledger.InboundIMAP, ledger.InboundPOP3} {
		answers := map[string]string{}
		for _, c := range []struct {
			host string
			port int
		}{{host, port}, {host, 1}, {"localhost", port}, {"127.0.0.77", 1}, {"10.255.255.1", 143}, {"nothing.invalid", 143}, {"fd00::1", 143}, {"169.254.169.254", 80}} {
			err := servers.Test(t.Context(), ledger.FetchSource{Password: "p", Inbound: ledger.Inbound{
				Type: kind, Host: c.host, Port: c.port, Username: "u", Encryption: mailserver.None,
			}})
			if err == nil {
				t.Fatal("connected")
			}
			answers[err.Error()] = c.host
		}
		if len(answers) != 1 {
			t.Errorf("%s: the answers differ: %q", kind, answers)
		}
	}
}

// A filer is the handler of the jobs that receiving mail leaves behind.
func ExampleFiler() {
	sealer, _ := storage.NewSealer(make([]byte, 32))
	svc, err := helpdesk.New(helpdesk.Config{
		Store: memstore.New(), Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32),
	})
	if err != nil {
		panic(err)
	}
	filer, err := ingest.NewFiler(ingest.FilerConfig{Intake: svc.Intake()})
	if err != nil {
		panic(err)
	}
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobFileMail, AccountID: 1, Subject: 1}}
	fmt.Println(filer.Handle(context.Background(), job)) // nothing waits
	// Output: <nil>
}
