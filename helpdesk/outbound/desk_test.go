package outbound_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// counter is a source of random bytes that repeats itself in every run.
type counter struct{ n byte }

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		c.n++
		b[i] = c.n
	}
	return len(b), nil
}

// awayStore is a store whose writes fail as often as told.
type awayStore struct {
	*memstore.Store
	mu       sync.Mutex
	failures int
	after    int // writes that work before
}

func (s *awayStore) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	s.mu.Lock()
	fails := s.after <= 0 && s.failures > 0
	if fails {
		s.failures--
	}
	s.after--
	s.mu.Unlock()
	if fails {
		return fault.New(fault.Unavailable, "away")
	}
	return s.Store.InTx(ctx, scope, fn)
}

// awayBlobs cannot be reached when told so.
type awayBlobs struct {
	storage.Blobs
	err error
}

func (b *awayBlobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Blobs.Get(ctx, key)
}

type world struct {
	t     testing.TB
	store *awayStore
	blobs *awayBlobs
	svc   *helpdesk.Service
	desk  *helpdesk.Desk
	box   helpdesk.Mailbox

	user, account int64
	// subject of the conversations of answer
	subject string
	log     bytes.Buffer

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{
		t: t, store: &awayStore{Store: memstore.New()}, blobs: &awayBlobs{Blobs: memblob.New()},
		subject: "Größe", now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	w.configure(func(*helpdesk.Config) {})
	user := must[identity.User](t)(w.svc.Operator().CreateUser(ctx, identity.UserInput{Email: "ann@example.org", Name: "Ann Agent"}))
	account := must[identity.Account](t)(w.svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "A"}, user.ID))
	w.user, w.account = user.ID, account.ID
	w.desk = must[*helpdesk.Desk](t)(w.svc.Desk(ctx, w.svc.As(user.ID), account.ID))
	w.box = must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{
		Name: storage.Some("Support"), Email: storage.Some("support@example.org"), From: storage.Some("{{agent.name}}, {{mailbox.name}}"),
	}))
	return w
}

// configure makes the service with other settings over the same data.
func (w *world) configure(change func(*helpdesk.Config)) {
	w.t.Helper()
	key := bytes.Repeat([]byte("k"), 32)
	cfg := helpdesk.Config{
		Store: w.store, Blobs: w.blobs, Sealer: must[storage.Sealer](w.t)(storage.NewSealer(key)),
		SigningKey: key, IntakeDomain: "in.example", Rand: &counter{}, Now: w.clock,
	}
	change(&cfg)
	w.svc = must[*helpdesk.Service](w.t)(helpdesk.New(cfg))
	if w.user != 0 {
		w.desk = must[*helpdesk.Desk](w.t)(w.svc.Desk(context.Background(), w.svc.As(w.user), w.account))
	}
}

// answer makes a conversation with one answer and returns it.
func (w *world) answer(in helpdesk.InteractionInput) helpdesk.Interaction {
	w.t.Helper()
	in.Type = helpdesk.TypeUser
	c := must[helpdesk.Conversation](w.t)(w.desk.Conversations().Create(context.Background(), helpdesk.ConversationInput{
		Channel: "email", To: "Carl Customer <carl@example.com>", Subject: w.subject, Interactions: []helpdesk.InteractionInput{in},
	}))
	page := must[storage.Page[helpdesk.Interaction]](w.t)(w.desk.Interactions().List(context.Background(), c.ID, storage.PageRequest{}))
	return page.Items[0]
}

func (w *world) attach(i helpdesk.Interaction, name, content string, inline bool) helpdesk.Attachment {
	w.t.Helper()
	return must[helpdesk.Attachment](w.t)(w.desk.Attachments().Create(context.Background(), i.ConversationID, i.ID, helpdesk.Upload{
		Filename: name, IsInline: inline, Content: strings.NewReader(content),
	}))
}

func (w *world) deliveries(i helpdesk.Interaction) []sending.Delivery {
	w.t.Helper()
	return must[[]sending.Delivery](w.t)(w.desk.Interactions().Deliveries(context.Background(), []int64{i.ID}))
}

func (w *world) sender(transport outbound.Transport) *outbound.Sender {
	w.t.Helper()
	return must[*outbound.Sender](w.t)(outbound.New(outbound.Config{
		Outgoing: w.svc.Outgoing(), Transport: transport, Now: w.clock, Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	}))
}

// handle does the one job that is due now, as the runner would.
func (w *world) handle(s *outbound.Sender) error {
	w.t.Helper()
	now := w.clock()
	claimed := must[[]storage.ClaimedJob](w.t)(w.store.Claim(context.Background(), map[string]int{helpdesk.JobSendMail: 10}, now, now.Add(time.Minute)))
	if len(claimed) != 1 {
		w.t.Fatalf("%d jobs are due", len(claimed))
	}
	defer func() {
		if log := w.log.String(); strings.Contains(log, "@") {
			w.t.Errorf("the log has an address:\n%s", log)
		}
	}()
	err := s.Handle(context.Background(), claimed[0])
	if err == nil {
		if err := w.store.Finish(context.Background(), claimed[0]); err != nil {
			w.t.Fatal(err)
		}
		return nil
	}
	if err := w.store.Retry(context.Background(), claimed[0], w.clock(), "again"); err != nil {
		w.t.Fatal(err)
	}
	return err
}

// waits reports whether an error only sets the time of the next attempt.
func waits(err error) bool {
	return err != nil && strings.Contains(err.Error(), "recipients wait for another try")
}

// taken is a transport that keeps mails and answers as told.
type taken struct {
	mails   []string
	from    []string
	to      [][]string
	results func(to []string) ([]outbound.Result, error)
}

func (s *taken) Send(_ context.Context, from string, to []string, m *outbound.Mail) ([]outbound.Result, error) {
	var b strings.Builder
	if n, err := m.WriteTo(&b); err != nil || n != m.Size || n != int64(b.Len()) {
		return nil, errors.Join(errors.New("the mail is not what was announced"), err)
	}
	s.mails, s.from, s.to = append(s.mails, b.String()), append(s.from, from), append(s.to, to)
	if s.results != nil {
		return s.results(to)
	}
	results := make([]outbound.Result, len(to))
	for i := range results {
		results[i] = outbound.Result{State: sending.Sent, Code: 250, EnhancedCode: "2.0.0", Response: "ok"}
	}
	return results, nil
}

func parse(t testing.TB, raw string) *mail.Message {
	t.Helper()
	m := must[*mail.Message](t)(mail.Parse([]byte(raw), mail.Limits{}))
	if len(m.Warnings) > 0 {
		t.Errorf("warnings: %q", m.Warnings)
	}
	return m
}
