package smtpin_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

const domain = "in.example"

// flakyStore can be away.
type flakyStore struct {
	*memstore.Store
	lookups, writes atomic.Bool   // away for
	hold            chan struct{} // when set, writes wait for it
}

func (s *flakyStore) MailboxByLocal(ctx context.Context, local string) (helpdesk.Mailbox, error) {
	if s.lookups.Load() {
		return helpdesk.Mailbox{}, fault.New(fault.Unavailable, "away")
	}
	return s.Store.MailboxByLocal(ctx, local)
}

func (s *flakyStore) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	if s.writes.Load() {
		return fault.New(fault.Unavailable, "away")
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.InTx(ctx, scope, fn)
}

// world is a help desk with two accounts, and the server's log.
type world struct {
	store *flakyStore
	svc   *helpdesk.Service
	desks []*helpdesk.Desk
	boxes []helpdesk.Mailbox // two of the first account, one of the second
	log   *testenv.Output
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{store: &flakyStore{Store: memstore.New()}, log: &testenv.Output{}}
	key := bytes.Repeat([]byte("k"), 32)
	w.svc = must[*helpdesk.Service](t)(helpdesk.New(helpdesk.Config{
		Store: w.store, Blobs: memblob.New(), Sealer: must[storage.Sealer](t)(storage.NewSealer(key)),
		SigningKey: key, IntakeDomain: domain,
	}))
	user := must[identity.User](t)(w.svc.Operator().CreateUser(ctx, identity.UserInput{Email: "agent@example.org"}))
	for _, boxes := range []int{2, 1} {
		account := must[identity.Account](t)(w.svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "A"}, user.ID))
		desk := must[*helpdesk.Desk](t)(w.svc.Desk(ctx, w.svc.As(user.ID), account.ID))
		w.desks = append(w.desks, desk)
		for n := range boxes {
			in := helpdesk.MailboxInput{Email: storage.Some(fmt.Sprintf("box%d@example.org", n))}
			w.boxes = append(w.boxes, must[helpdesk.Mailbox](t)(desk.Mailboxes().Create(ctx, in)))
		}
	}
	return w
}

func (w *world) address(box int) string { return w.svc.InternalAddress(w.boxes[box]) }

// raws returns the raw mails of a mailbox, oldest first.
func (w *world) raws(t testing.TB, box int) []string {
	t.Helper()
	ctx := context.Background()
	desk := w.desks[0]
	if box == 2 {
		desk = w.desks[1]
	}
	page := must[storage.Page[ledger.Mail]](t)(desk.InboundMails().List(ctx, ledger.Filter{MailboxID: w.boxes[box].ID}, storage.PageRequest{}))
	var raws []string
	for _, m := range page.Items {
		blob := must[io.ReadCloser](t)(desk.InboundMails().Open(ctx, m.MailboxID, m.ID))
		raws = append([]string{string(must[[]byte](t)(io.ReadAll(blob)))}, raws...)
		blob.Close()
		if m.Source != "smtp" && m.Source != "lmtp" || m.Position != "" {
			t.Errorf("source %q, position %q", m.Source, m.Position)
		}
	}
	return raws
}

// start runs a server until the test ends, or the returned function ends it.
func (w *world) start(t testing.TB, cfg smtpin.Config) (addr string, stop func()) {
	t.Helper()
	cfg.Intake, cfg.Domain = w.svc.Intake(), "mx.example"
	if cfg.Listener == nil && cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	cfg.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	cfg.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	server := must[*smtpin.Server](t)(smtpin.New(cfg))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(testenv.Patience):
				t.Error("Run does not end")
			}
			if log := w.log.String(); strings.Contains(log, "@") || strings.Contains(log, "panic") {
				t.Errorf("the log has an address or a panic:\n%s", log)
			}
		})
	}
	t.Cleanup(stop)
	return server.Addr().String(), stop
}

// client speaks to the server line by line.
type client struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	lmtp bool
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	conn := must[net.Conn](t)(net.Dial("tcp", addr))
	t.Cleanup(func() { conn.Close() })
	c := newClient(t, conn)
	c.expect("220 mx.example ESMTP")
	return c
}

// eachProtocol runs a test for both SMTP and LMTP.
func eachProtocol(t *testing.T, test func(t *testing.T, lmtp bool)) {
	t.Helper()
	for name, lmtp := range map[string]bool{"SMTP": false, "LMTP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, lmtp)
		})
	}
}

func dialProtocol(t testing.TB, addr string, speaksLMTP bool) *client {
	t.Helper()
	if speaksLMTP {
		return lmtp(t, "tcp", addr)
	}
	return dial(t, addr)
}

func newClient(t testing.TB, conn net.Conn) *client {
	return &client{t: t, conn: conn, r: bufio.NewReader(conn)}
}

func (c *client) write(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, s); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer of any number of lines.
func (c *client) answer() string {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	var all strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return all.String() + "<" + err.Error() + ">"
		}
		all.WriteString(line)
		if len(line) < 4 || line[3] != '-' {
			return strings.TrimSuffix(all.String(), "\r\n")
		}
	}
}

func (c *client) expect(prefix string) {
	c.t.Helper()
	if got := c.answer(); !strings.HasPrefix(got, prefix) {
		c.t.Fatalf("answer %q, want %q", got, prefix)
	}
}

func (c *client) do(line, prefix string) {
	c.t.Helper()
	c.write(line + "\r\n")
	if got := c.answer(); !strings.HasPrefix(got, prefix) {
		c.t.Fatalf("%s: answer %q, want %q", line, got, prefix)
	}
}

// closed makes sure that the server ended the connection.
func (c *client) closed() {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if rest, err := io.ReadAll(c.r); len(rest) > 0 || errors.Is(err, context.DeadlineExceeded) {
		c.t.Fatalf("the connection goes on: %q, %v", rest, err)
	}
}

// begin sends everything before the data of a mail.
func (c *client) begin(to ...string) {
	c.t.Helper()
	hello := "EHLO"
	if c.lmtp {
		hello = "LHLO"
	}
	c.do(hello+" client.example", "250-mx.example")
	c.do("MAIL FROM:<sender@example.net>", "250")
	for _, address := range to {
		c.do("RCPT TO:<"+address+">", "250")
	}
}

func (c *client) send(data, want string, to ...string) {
	c.t.Helper()
	c.begin(to...)
	c.do("DATA", "354")
	c.write(data)
	c.expect(want)
}
