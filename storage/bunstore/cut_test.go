package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/storage/testnet"
)

// slow is a database behind a slow network, so that a random end often hits a statement or a commit in transit.
func slow(t *testing.T, dsn string, delay time.Duration) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("not a URL")
	}
	target := u.Host
	u.Host = testnet.Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		pass := func(to, from net.Conn) {
			defer func() { _ = to.Close() }()
			b := make([]byte, 64<<10)
			for {
				n, err := from.Read(b)
				time.Sleep(delay)
				if _, werr := to.Write(b[:n]); err != nil || werr != nil {
					return
				}
			}
		}
		var both sync.WaitGroup
		both.Go(func() { pass(server, client) })
		both.Go(func() { pass(client, server) })
		both.Wait()
	})
	return u.String()
}

// TestUploadsCutAtRandom cancels upload requests at random moments: every row still has its file.
func TestUploadsCutAtRandom(t *testing.T) {
	t.Parallel()
	const uploads = 1000 // of each kind
	dsn := testenv.Postgres(t)
	d := newUploader(t, open(t, slow(t, dsn, time.Millisecond), bunstore.Config{MaxConns: 40}))
	for name, upload := range map[string]func(context.Context) error{"attachments": d.attach, "site files": d.file, "mails": d.take} {
		var wait sync.WaitGroup
		var mu sync.Mutex
		outcomes := map[string]int{}
		const workers = 16
		var typical atomic.Int64 // duration of an uncanceled upload, under the load of the others
		typical.Store(int64(100 * time.Millisecond))
		slots := make(chan struct{}, workers)
		for n := range uploads {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithCancel(t.Context())
				limit := time.Duration(rand.Int64N(2 * typical.Load()))
				if n < 2*workers || n%10 == 0 {
					limit = time.Minute
				}
				timer := time.AfterFunc(limit, cancel)
				begin := time.Now()
				err := upload(ctx)
				timer.Stop()
				if err == nil {
					typical.Store((3*typical.Load() + int64(time.Since(begin))) / 4)
				}
				cancel()
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					outcomes["done"]++
				case !fault.Certain(err):
					outcomes["unknown"]++
				case errors.Is(err, context.Canceled):
					outcomes["canceled"]++
				default:
					outcomes["failed: "+err.Error()]++
				}
			})
		}
		wait.Wait()
		t.Log(name, outcomes)
		if outcomes["done"] == 0 || outcomes["canceled"] == 0 {
			t.Errorf("%s were not cut at random: %v", name, outcomes)
		}
	}
	d.check(t, dsn)
}

// TestUploadsOnCutConnections resets the database connections at random moments during uploads.
func TestUploadsOnCutConnections(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	proxy, through := testnet.ProxyTo(t, slow(t, dsn, time.Millisecond))
	d := newUploader(t, open(t, through, bunstore.Config{MaxConns: 20}))
	done := make(chan struct{})
	var cutter, wait sync.WaitGroup
	cutter.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond):
				proxy.Cut()
			}
		}
	})
	var mu sync.Mutex
	outcomes := map[string]int{}
	for range 8 {
		wait.Go(func() {
			for n := range 120 {
				err := []func(context.Context) error{d.attach, d.file, d.take}[n%3](t.Context())
				mu.Lock()
				switch {
				case err == nil:
					outcomes["done"]++
				case !fault.Certain(err):
					outcomes["unknown"]++
				default:
					outcomes[fault.Of(err).String()]++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	close(done)
	cutter.Wait()
	t.Log(outcomes)
	if outcomes["done"] == 0 || outcomes["internal"] > 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	time.Sleep(200 * time.Millisecond) // the last statements are committed or lost by then
	d.check(t, dsn)
}

// uploader uploads files of all kinds.
type uploader struct {
	db      *bunstore.DB
	blobs   *memblob.Blobs
	desk    *helpdesk.Desk
	editor  *kb.Editor
	intake  *helpdesk.Intake
	account int64
	mailbox int64
	conv    helpdesk.Conversation
	note    helpdesk.Interaction
}

func newUploader(t *testing.T, db *bunstore.DB) *uploader {
	t.Helper()
	ctx := t.Context()
	d := &uploader{db: db, blobs: memblob.New()}
	sealer, err := storage.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	svc, err := helpdesk.New(helpdesk.Config{Domains: []storage.Domain{kb.Domain()}, Store: db, Blobs: d.blobs, Sealer: sealer, SigningKey: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	d.desk = firstDesk(t, svc)
	mailbox, err := d.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
	if err != nil {
		t.Fatal(err)
	}
	d.intake, d.account, d.mailbox = svc.Intake(), d.desk.AccountID(), mailbox.ID
	d.conv, err = d.desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ann@example.com", Subject: "Door",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeNote, Body: "A note."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := d.desk.Interactions().List(ctx, d.conv.ID, storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	d.note = notes.Items[0]
	site := kb.Site{Name: "Help", HostKey: kb.SharedHost, Path: "help", Visibility: kb.Public}
	if err := db.KB().InTx(ctx, kb.Scope{AccountID: d.account}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &site) }); err != nil {
		t.Fatal(err)
	}
	pages, err := kb.New(kb.Config{
		Store: db.KB(), Blobs: d.blobs,
		Membership: func(context.Context, kb.Caller, int64) (kb.Membership, error) { return kb.Membership{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.editor, err = pages.Operator(ctx, site.ID); err != nil {
		t.Fatal(err)
	}
	return d
}

// check looks for the file of every row.
func (d *uploader) check(t *testing.T, dsn string) {
	t.Helper()
	rows, err := plainPostgres(t, dsn).QueryContext(t.Context(), `SELECT blob_key FROM hw_attachments
		UNION ALL SELECT raw_key FROM hw_inbound_mails UNION ALL SELECT blob_key FROM hw_site_files`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	n, lost := 0, 0
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		n++
		if _, err := d.blobs.Stat(t.Context(), key); err != nil {
			lost++
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows, %d of them without a file", n, lost)
	if n == 0 || lost > 0 {
		t.Errorf("%d of %d rows have no file", lost, n)
	}
}

func (d *uploader) attach(ctx context.Context) error {
	_, err := d.desk.Attachments().Create(ctx, d.conv.ID, d.note.ID, helpdesk.Upload{Filename: "a.txt", Content: strings.NewReader("text")})
	return err
}

func (d *uploader) file(ctx context.Context) error {
	_, err := d.editor.CreateFile(ctx, kb.FileUpload{Filename: "a.txt", Content: strings.NewReader("text")})
	return err
}

func (d *uploader) take(ctx context.Context) error {
	raw := []ledger.Raw{{Raw: fmt.Appendf(nil, "Subject: %d\r\n\r\n", rand.Int64())}}
	return d.intake.Take(ctx, d.account, d.mailbox, "smtp", raw, nil)
}

// Connections that were cut while they were idle fail no transaction, however many there are.
func TestCutWhileIdle(t *testing.T) {
	t.Parallel()
	proxy, through := testnet.ProxyTo(t, testenv.Postgres(t))
	const conns = 12
	db := open(t, through, bunstore.Config{MaxConns: conns})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	account, err := newAccount(t.Context(), db, "Acme")
	if err != nil {
		t.Fatal(err)
	}
	scope := helpdesk.Scope{AccountID: account.ID}
	useAll := func() {
		var all sync.WaitGroup
		var inside atomic.Int32
		everyone := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		for range conns {
			all.Go(func() {
				err := db.InTx(ctx, scope, func(ctx context.Context, tx helpdesk.Tx) error {
					if _, err := tx.Account(ctx); err != nil {
						return err
					}
					if inside.Add(1) == conns {
						close(everyone) // has a connection
					}
					select {
					case <-everyone:
					case <-ctx.Done():
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					cancel()
				}
			})
		}
		all.Wait()
		cancel()
	}
	for range 3 {
		useAll()
		useAll() // a connection is asked before it is used again for the first time
		if t.Failed() {
			return
		}
		proxy.Cut()
		err := db.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { // it may get one lost connection after the other
			_, err := tx.Account(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
