package ingest_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
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

// Mails are filed together unless a process may have died at one: neither failures nor outages nor many attempts make a
// job slow.
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

// tiring are blobs of which one read of some takes too long.
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

// A job that files some mails and then fails comes back soon, however often it does so, and if it never came to the end
// of a batch.
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
		if m.State != helpdesk.InboundFiled {
			t.Fatalf("mail %d is %s: %s", m.ID, m.State, m.Reason)
		}
	}
	if diff := cmp.Diff(slices.Repeat([]int{1}, failures), failed); diff != "" {
		t.Error("failures that counted:", diff)
	}
}
