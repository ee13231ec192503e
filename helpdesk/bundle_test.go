package helpdesk_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bundle is a help desk in memory with an owner at work and one mailbox.
type bundle struct {
	pushes  *pushService
	t       *testing.T
	ctx     context.Context //nolint:containedctx // it is for one test
	store   *memstore.Store
	blobs   storage.Blobs
	svc     *helpdesk.Service
	owner   identity.User
	account identity.Account
	desk    *helpdesk.Desk
	mailbox helpdesk.Mailbox
	clock   *clock
	taken   int
	source  string // of the mails received; "" for SMTP
}

// clock is a time that moves when told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newBundle(t *testing.T, change ...func(*helpdesk.Config)) *bundle {
	t.Helper()
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{
		t: t, ctx: t.Context(), store: memstore.New(), blobs: memblob.New(),
		clock: &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}, pushes: &pushService{},
	}
	cfg := helpdesk.Config{Store: b.store, Blobs: b.blobs, Sealer: sealer, SigningKey: make([]byte, 32), IntakeDomain: "localhost", Now: b.clock.Now, Push: b.pushes}
	for _, f := range change {
		f(&cfg)
	}
	if !cfg.NoCredentialMails {
		cfg.Store = watchful{comparing{cfg.Store, t}, t}
	}
	b.svc, err = helpdesk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.svc.HashCheaply()
	operator := b.svc.Operator()
	b.owner = must(operator.CreateUser(b.ctx, identity.UserInput{Email: "owner@example.org", Name: "Olga Owner"}))(t)
	b.account = must(operator.CreateAccount(b.ctx, identity.AccountInput{Name: "Acme"}, b.owner.ID))(t)
	b.desk = must(b.svc.Desk(b.ctx, b.svc.As(b.owner.ID), b.account.ID))(t)
	b.mailbox = must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{
		Name: storage.Some("Support"), Email: storage.Some("support@example.org"),
	}))(t)
	t.Cleanup(b.checkLog)
	return b
}

// checkLog checks all events that a test has logged: each is visible to some permission, and has its resource and its
// conversation.
func (b *bundle) checkLog() {
	events, err := b.store.Events(context.Background(), b.account.ID, 0, 10000)
	if err != nil {
		b.t.Error(err)
	}
	for _, e := range events {
		var data struct{ ID int64 }
		if err := json.Unmarshal(e.Data, &data); err != nil || data.ID != e.Subject || e.Subject == 0 || e.Time.IsZero() {
			b.t.Errorf("event %+v has the data %s", e, e.Data)
		}
		area, _, _ := strings.Cut(e.Type, ".")
		inside := slices.Contains([]string{"conversation", "interaction", "attachment"}, area) || area == "rating" || helpdesk.SLAOutcomeEvent(e.Type)
		if !b.svc.KnownArea(e.Type) || inside != (e.ConversationID != 0) || inside && e.MailboxID == 0 {
			b.t.Errorf("event %s of conversation %d, mailbox %d: is its area announced, and was it emitted with emitIn?", e.Type, e.ConversationID, e.MailboxID)
		}
	}
}

// must returns the value of a call that may not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// member makes a user with a role in the account.
func (b *bundle) member(role string) *helpdesk.Desk {
	b.t.Helper()
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: role + strconv.FormatInt(b.clock.Now().UnixNano(), 10) + "@example.org"}))(b.t)
	b.clock.Add(time.Microsecond)
	must(b.svc.Operator().AddMember(b.ctx, b.account.ID, user.ID, role))(b.t)
	return must(b.svc.Desk(b.ctx, b.svc.As(user.ID), b.account.ID))(b.t)
}

// receive takes a mail into the ledger and files it.
func (b *bundle) receive(m ledger.Incoming) ledger.Mail {
	b.t.Helper()
	if m.Identity == nil {
		sum := sha256.Sum256([]byte(m.MessageID + m.FirstAuthor().Email + m.Subject + m.Text + m.HTML))
		m.Identity = sum[:]
	}
	intake := b.svc.Intake()
	b.taken++
	raw := []ledger.Raw{{Raw: []byte("mail " + strconv.Itoa(b.taken))}}
	if err := intake.Take(b.ctx, b.account.ID, b.mailbox.ID, cmp.Or(b.source, "smtp"), raw, nil); err != nil {
		b.t.Fatal(err)
	}
	waiting := must(intake.Waiting(b.ctx, b.account.ID, b.mailbox.ID, 0, 10))(b.t)
	if len(waiting) != 1 {
		b.t.Fatalf("%d mails wait, not 1", len(waiting))
	}
	return must(intake.File(b.ctx, b.account.ID, waiting[0].ID, m))(b.t)
}

// ada is the customer of most tests.
var ada = mailaddr.Address{Name: "Ada Lovelace", Email: "ada@example.com"}

// opening is the mail that begins most tests.
func opening() ledger.Incoming {
	return ledger.Incoming{
		Message: message.Message{
			MessageID: "1@example.com", From: []mailaddr.Address{ada}, To: []mailaddr.Address{{Email: "support@example.org"}},
			Subject: "The door is stuck", Text: "It does not open.",
		},
	}
}

func (b *bundle) conversation(id int64) helpdesk.Conversation {
	b.t.Helper()
	return must(b.desk.Conversations().Get(b.ctx, id))(b.t)
}

func (b *bundle) interactions(conversationID int64) []helpdesk.Interaction {
	b.t.Helper()
	return must(b.desk.Interactions().List(b.ctx, conversationID, storage.PageRequest{}))(b.t).Items
}

func (b *bundle) count() int {
	b.t.Helper()
	return len(must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(b.t).Items)
}

// answer posts a user interaction.
func (b *bundle) answer(conversationID int64, in helpdesk.InteractionInput) helpdesk.Interaction {
	b.t.Helper()
	in.Type = helpdesk.TypeUser
	if in.Body == "" {
		in.Body = "Have you tried to pull?"
	}
	return must(b.desk.Interactions().Create(b.ctx, conversationID, in))(b.t)
}
