// Package gather collects small observations, such as views of articles and uses of tokens, and writes them later in batches,
// so that those who make them do not wait for a write. What a killed process had not yet written is lost.
package gather

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	interval = 2 * time.Second  // between writes by Run
	overdue  = 30 * time.Second // without Run, the age at which whoever adds an observation writes them all
	many     = 1000             // the same by number
	most     = 100_000          // further keys are dropped
	perBatch = 200
	lastTime = 5 * time.Second // for the write at the end of Run
)

// Config says what is gathered. All fields are required.
type Config[K comparable, V any] struct {
	Name string // of what is gathered, in the plural, for the log
	// Merge combines two observations of a key, in any order.
	Merge func(key K, a, b V) V
	// Compare orders keys. Batches are written in this order, so that transactions do not deadlock.
	Compare func(a, b K) int
	// Together reports whether two neighbours may be in one batch.
	Together func(a, b K) bool
	// Write writes a batch of at most 200 in one transaction. It succeeds for rows that are gone.
	Write  func(ctx context.Context, batch []Entry[K, V]) error
	Now    func() time.Time
	Logger *slog.Logger
}

// Entry is an observation.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
}

// Gatherer gathers observations. Its methods may be called concurrently.
type Gatherer[K comparable, V any] struct {
	cfg Config[K, V]

	mu    sync.Mutex
	found map[K]V
	since time.Time // time of the first one

	running atomic.Int32
	writing sync.Mutex // one at a time
}

// New returns an empty Gatherer.
func New[K comparable, V any](cfg Config[K, V]) *Gatherer[K, V] {
	return &Gatherer[K, V]{cfg: cfg, found: map[K]V{}}
}

// Add adds an observation. While Run does not run, it writes all observations when they are overdue, every half minute or
// thousand; a failure is logged.
func (g *Gatherer[K, V]) Add(ctx context.Context, key K, value V) {
	if !g.add(key, value) || !g.writing.TryLock() {
		return
	}
	defer g.writing.Unlock()
	if err := g.write(ctx); err != nil {
		g.later(ctx, err)
	}
}

func (g *Gatherer[K, V]) add(key K, value V) (isOverdue bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.merge(key, value)
	return g.running.Load() == 0 && (len(g.found) >= many || g.cfg.Now().Sub(g.since) >= overdue)
}

// merge adds an observation under the lock.
func (g *Gatherer[K, V]) merge(key K, value V) {
	if len(g.found) == 0 {
		g.since = g.cfg.Now()
	}
	old, known := g.found[key]
	switch {
	case known:
		g.found[key] = g.cfg.Merge(key, old, value)
	case len(g.found) < most:
		g.found[key] = value
	}
}

// Run writes the observations every two seconds until ctx ends, and the remaining ones then. It returns the error of that last
// write.
func (g *Gatherer[K, V]) Run(ctx context.Context) error {
	g.running.Add(1)
	defer g.running.Add(-1)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
			defer cancel()
			return g.Flush(last)
		case <-tick.C:
			if err := g.Flush(ctx); err != nil && ctx.Err() == nil {
				g.later(ctx, err)
			}
		}
	}
}

// Flush writes all observations. Those of a batch that failed for now, such as while the database is unreachable, are kept,
// and the error is returned. Those that can never be written are dropped and logged. Those of which it is unknown whether they
// were written are dropped, since nothing may be counted twice.
func (g *Gatherer[K, V]) Flush(ctx context.Context) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	return g.write(ctx)
}

func (g *Gatherer[K, V]) write(ctx context.Context) error {
	var failed error
	for _, batch := range g.batches() {
		err := failed // if the database is unreachable, try only once
		if err == nil {
			err = g.cfg.Write(ctx, batch)
		}
		switch {
		case err == nil, !fault.Certain(err):
		case fault.Passes(err) || ctx.Err() != nil:
			failed = err
			g.putBack(batch)
		default:
			g.cfg.Logger.ErrorContext(ctx, g.cfg.Name+" were lost", "number", len(batch), "error", err)
		}
	}
	return failed
}

// batches takes all observations, in the order in which they are written.
func (g *Gatherer[K, V]) batches() (all [][]Entry[K, V]) {
	g.mu.Lock()
	found := g.found
	g.found = map[K]V{}
	g.mu.Unlock()
	entries := make([]Entry[K, V], 0, len(found))
	for key, value := range found {
		entries = append(entries, Entry[K, V]{key, value})
	}
	slices.SortFunc(entries, func(a, b Entry[K, V]) int { return g.cfg.Compare(a.Key, b.Key) })
	for start, i := 0, 1; i <= len(entries); i++ {
		if i == len(entries) || i-start == perBatch || !g.cfg.Together(entries[i-1].Key, entries[i].Key) {
			all = append(all, entries[start:i])
			start = i
		}
	}
	return all
}

// putBack adds a batch to what was observed since.
func (g *Gatherer[K, V]) putBack(batch []Entry[K, V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range batch {
		g.merge(e.Key, e.Value)
	}
}

func (g *Gatherer[K, V]) later(ctx context.Context, err error) {
	g.cfg.Logger.WarnContext(ctx, g.cfg.Name+" are written later", "error", err)
}
