package bunstore_test

import (
	"context"
	"math"
	"runtime"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/testenv/spans"
)

// enqueuing is a small transaction.
func enqueuing(ctx context.Context, tx helpdesk.SystemTx) error {
	return tx.Within(helpdesk.Scope{}).Enqueue(ctx, storage.Job{Kind: "test", UniqueKey: "one"})
}

// Without a tracer a transaction allocates no more than if tracing did not exist.
func TestTracingOffAllocates(t *testing.T) { //nolint:paralleltest // it measures
	db := open(t, "sqlite::memory:", bunstore.Config{})
	allocated := func(run func() error) float64 { // testing.AllocsPerRun would drop the fraction, and 99.9 and 100 be one apart
		const runs = 25
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if err := run(); err != nil {
				t.Error(err)
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / runs
	}
	floor, off := math.Inf(1), math.Inf(1)
	for range 60 { // short ones, as the machine's other work adds some to most; the first ones fill the caches of statements and pools
		floor = min(floor, allocated(func() error { return bunstore.SystemTxWithoutHook(t.Context(), db, enqueuing) }))
		off = min(off, allocated(func() error { return db.InSystemTx(t.Context(), enqueuing) }))
	}
	if off > floor+0.5 { // others in this process allocate now and then; a transaction does whole ones
		t.Errorf("%v allocations with tracing off, %v without the hook", off, floor)
	}
}

// BenchmarkTracing compares a transaction without the hook, with tracing off, and with a tracer that only records.
func BenchmarkTracing(b *testing.B) {
	off, on := open(b, "sqlite::memory:", bunstore.Config{}), open(b, "sqlite::memory:", bunstore.Config{Tracer: new(spans.Recorder)})
	for _, c := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"no hook", func(ctx context.Context) error { return bunstore.SystemTxWithoutHook(ctx, off, enqueuing) }},
		{"off", func(ctx context.Context) error { return off.InSystemTx(ctx, enqueuing) }},
		{"on", func(ctx context.Context) error { return on.InSystemTx(ctx, enqueuing) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
