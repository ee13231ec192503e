package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// counted is a store that counts its transactions.
type counted struct {
	helpdesk.Store
	n atomic.Int64
}

func (c *counted) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	c.n.Add(1)
	return c.Store.InTx(ctx, scope, fn)
}

// Mails are filed together unless a process may have died at one: neither failures nor outages nor many attempts make a job
// slow.
func TestFilingOneByOne(t *testing.T) {
	t.Parallel()
	const mails = 20
	for name, c := range map[string]struct {
		job      storage.ClaimedJob
		together bool
	}{
		"first attempt":     {storage.ClaimedJob{Attempt: 1}, true},
		"after a failure":   {storage.ClaimedJob{Attempt: 2, Failed: 1}, true},
		"after an outage":   {storage.ClaimedJob{Attempt: 2, Away: 1}, true},
		"after many plans":  {storage.ClaimedJob{Attempt: 40}, true},
		"after a death":     {storage.ClaimedJob{Attempt: 2, Lost: 1}, false},
		"death and failure": {storage.ClaimedJob{Attempt: 3, Failed: 1, Lost: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &counted{Store: memstore.New()}
			b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = store })
			b.take(letters("mail", mails)...)
			c.job.Job = b.job().Job
			before := store.n.Load()
			if err := b.filer.Handle(t.Context(), c.job); err != nil {
				t.Fatal(err)
			}
			if n := store.n.Load() - before; (n < mails/2) != c.together {
				t.Errorf("%d transactions for %d mails", n, mails)
			}
		})
	}
}

// tiring are blobs of which some take too long to read once.
type tiring struct {
	storage.Blobs
	every int64
	reads atomic.Int64
}

func (b *tiring) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if b.reads.Add(1)%b.every == 0 {
		return nil, context.DeadlineExceeded
	}
	return b.Blobs.Get(ctx, key)
}

// A job that files some mails and then fails comes back soon, however often it does so, and if it never came to the end of a
// batch.
func TestFilingInPieces(t *testing.T) {
	t.Parallel()
	for every, failures := range map[int64]int{25: 6, 10: 16, 2: 149} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { inPieces(t, every, failures) })
		})
	}
}

func inPieces(t *testing.T, every int64, failures int) {
	t.Helper()
	store := memstore.New()
	b := newBundle(t, &tiring{Blobs: memblob.New(), every: every}, func(cfg *helpdesk.Config) { cfg.Store = store })
	b.take(letters("mail", 150)...)
	var failed []int
	runner, err := jobs.New(jobs.Config{
		Jobs: store, Handlers: map[string]jobs.Handler{helpdesk.JobFileMail: {Func: b.filer.Handle}},
		Backoff: func(n int) time.Duration { failed = append(failed, n); return time.Second << n },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()
	time.Sleep(10 * time.Minute)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, m := range b.ledger() {
		if m.State != ledger.Filed {
			t.Fatalf("mail %d is %s: %s", m.ID, m.State, m.Reason)
		}
	}
	if diff := cmp.Diff(slices.Repeat([]int{1}, failures), failed); diff != "" {
		t.Error("failures that counted:", diff)
	}
}

// flapping is a store in which transactions fail: each in turn as outcomes define, nil for success, and all later ones like
// the last.
type flapping struct {
	helpdesk.Store
	outcomes []error
}

func (f *flapping) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	var outcome error
	if len(f.outcomes) > 0 {
		outcome = f.outcomes[0]
	}
	if len(f.outcomes) > 1 {
		f.outcomes = f.outcomes[1:]
	}
	if outcome != nil && fault.Certain(outcome) {
		return outcome
	}
	return errors.Join(f.Store.InTx(ctx, scope, fn), outcome) // unknown to the caller: it was done
}

// A database that goes away again and again while a mail is filed alone is no death at that mail.
func TestOutagesAreNoDeaths(t *testing.T) {
	t.Parallel()
	away, unknown := fault.New(fault.Unavailable, "away"), fault.New(fault.OutcomeUnknown, "who knows")
	for name, outcomes := range map[string][]error{
		"away before":                     {away},
		"away while it is filed":          {nil, away},
		"the beginning is not known":      {unknown, away},
		"the end is not known":            {nil, away, unknown},
		"away while it is filed and back": {nil, away, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &flapping{Store: memstore.New()}
			b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = store })
			b.take(letters("mail", 1)...)
			job := b.job()
			job.Lost = 1
			for range 10 {
				store.outcomes = slices.Clone(outcomes)
				if err := b.filer.Handle(t.Context(), job); err == nil {
					t.Fatal("it was filed")
				}
				store.outcomes = nil
				if d := b.ledger()[0].Deaths; d > 1 {
					t.Fatalf("%d deaths", d)
				}
			}
			if err := b.filer.Handle(t.Context(), job); err != nil || b.ledger()[0].State != ledger.Filed {
				t.Errorf("in the end: %v, %+v", err, b.ledger()[0])
			}
		})
	}
}

// A backfill that fails after it has brought some mails goes on soon, and is not given up for it.
func TestBackfillInPieces(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	queue := memstore.New()
	store := &flapping{Store: queue}
	b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = store })
	user := testenv.Name("pieces")
	maildir(t, dovecot, user, letters("old", 320)...) // in four pieces
	id := b.fetched("pieces@example.org", inbound(t, ledger.InboundIMAP, dovecot.Addr, user, dovecot.Password))
	if err := b.desk.Mailboxes().Backfill(t.Context(), id, time.Now().AddDate(0, 0, -1)); err != nil {
		t.Fatal(err)
	}
	store.outcomes = []error{nil, context.DeadlineExceeded, nil, context.DeadlineExceeded, nil, context.DeadlineExceeded, nil}
	var failed []int
	runner := check(jobs.New(jobs.Config{
		Jobs: queue, Handlers: map[string]jobs.Handler{helpdesk.JobBackfill: {Func: b.again().Backfill, MaxAttempts: 2}}, Poll: time.Millisecond,
		Backoff: func(n int) time.Duration { failed = append(failed, n); return time.Millisecond },
	}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- runner.Run(ctx) }()
	testenv.Eventually(t, "all are there", func() bool { return len(b.rows(id)) == 320 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]int{1, 1, 1}, failed); diff != "" {
		t.Error("failures that counted:", diff)
	}
}
