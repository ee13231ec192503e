package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/transport/server"
)

// world is a filled database with everything that works on it.
type world struct {
	cfg   Config
	kind  string // of the database
	store *bunstore.DB
	plain *sql.DB // the same database
	blobs *fileblob.Blobs
	clock *clock
	sink  *sink
	srv   *server.Server
	filer *ingest.Filer

	at    place // the measured account
	site  siteOf
	lots  int          // how often each original conversation exists
	sent  atomic.Int64 // mails passed to the help desk
	mails atomic.Int64 // mails generated
	ended func() error
}

// place is an account with its members.
type place struct {
	id      int64
	desk    *helpdesk.Desk
	members []int64
	tokens  []string
	mailbox helpdesk.Mailbox
	tags    []int64
	view    int64
}

// siteOf is a help centre.
type siteOf struct {
	site      kb.Site
	file      kb.File
	first     int64 // article
	originals int   // of articles
	stride    int64 // between the ids of an article and its next copy
}

// clock returns times in the past while the originals are created.
type clock struct{ back atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(-time.Duration(c.back.Load())) }

// newWorld creates and fills a database.
func newWorld(ctx context.Context, cfg Config, kind, name string, create func(name string) (address, error)) (w *world, err error) {
	at, err := create(name)
	if err != nil {
		return nil, err
	}
	w = &world{cfg: cfg, kind: kind, clock: &clock{}, ended: at.drop}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := w.open(ctx, at, filepath.Join(cfg.Dir, name+" "+kind)); err != nil {
		return w, err
	}
	return w, w.fill(ctx)
}

// before registers a function to run when the world ends, before those registered earlier.
func (w *world) before(do func() error) {
	then := w.ended
	w.ended = func() error { return errors.Join(do(), then()) }
}

func (w *world) close() error { return w.ended() }

func (w *world) open(ctx context.Context, at address, dir string) (err error) {
	if w.store, err = both.Open(ctx, at.url, bunstore.Config{}); err != nil {
		return err
	}
	w.before(w.store.Close)
	if err := w.store.Migrate(ctx); err != nil {
		return err
	}
	if w.plain, err = sql.Open(at.driver, at.dsn); err != nil {
		return err
	}
	w.before(w.plain.Close)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if w.blobs, err = fileblob.Open(dir); err != nil {
		return err
	}
	w.before(w.blobs.Close)
	if w.sink, err = newSink(); err != nil {
		return err
	}
	w.before(w.sink.close)
	return w.serve()
}

// serve makes a server. A server runs only once, so a new one is made after the filling.
func (w *world) serve() error {
	relay, err := outbound.NewRelay(outbound.RelayConfig{Host: "127.0.0.1", Port: w.sink.port(), Encryption: mailserver.None})
	if err != nil {
		return err
	}
	w.srv, err = server.New(server.Config{
		Store: w.store, Blobs: w.blobs, Keys: [][]byte{bytes.Repeat([]byte{7}, 32)}, Relay: relay, Now: w.clock.now,
		RateLimit: -1, PublicRateLimit: -1, BaseURL: "http://desk.example.org",
		Desk:    helpdesk.Config{MaxMailPerAddress: -1},
		Sending: outbound.Config{KeepDir: filepath.Join(w.cfg.Dir, "results")},
	})
	if err != nil {
		return err
	}
	w.filer, err = ingest.NewFiler(ingest.FilerConfig{Intake: w.srv.Service().Intake(), Now: w.clock.now})
	return err
}

// running calls a function while the server runs.
func (w *world) running(ctx context.Context, do func(ctx context.Context) error) error {
	if err := w.serve(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	srv := w.srv
	go func() {
		ended <- srv.Run(ctx)
		cancel() // do not wait for a server that cannot run
	}()
	err := w.waitForJobs(ctx) // jobs of earlier measurements must not run meanwhile
	if err == nil {
		err = do(ctx)
	}
	cancel()
	return errors.Join(<-ended, err)
}

// file stores and files mails, as a source of mail does.
func (w *world) file(ctx context.Context, at place, mails [][]byte) error {
	taken := make([]ledger.Raw, len(mails))
	for i, raw := range mails {
		taken[i] = ledger.Raw{Position: fmt.Sprintf("INBOX/1/%d", w.sent.Add(1)), Raw: raw, DeliveredAt: w.clock.now()}
	}
	if err := w.srv.Service().Intake().Take(ctx, at.id, at.mailbox.ID, "imap", taken, nil); err != nil {
		return err
	}
	return w.filer.Handle(ctx, storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobFileMail, AccountID: at.id, Subject: at.mailbox.ID}})
}

// answer records the response of a handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// SetWriteDeadline is what connections have: to find none would cost more than to set it.
func (*answer) SetWriteDeadline(time.Time) error { return nil }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// ask sends a request to a handler, and returns the length of the answer.
func ask(ctx context.Context, h http.Handler, target, token string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	req.RequestURI, req.RemoteAddr = req.URL.RequestURI(), "127.0.0.1:9"
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(a, req)
	if a.status != http.StatusOK || a.body.Len() == 0 {
		return nil, fmt.Errorf("%s was answered with %d: %.300s", target, a.status, a.body.Bytes())
	}
	return a, nil
}

// api sends a request about the measured account to the API.
func (w *world) api(ctx context.Context, path string) error {
	_, err := ask(ctx, w.srv.Handler(), fmt.Sprintf("http://desk.example.org%s/accounts/%d%s", server.APIBase, w.at.id, path), w.at.tokens[0])
	return err
}
