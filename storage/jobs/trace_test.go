package jobs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv/spans"
)

// Each attempt is a trace of its own with a link to the trace that enqueued the job, even if that has ended long ago; jobs
// enqueued by a handler are linked to its attempt.
func TestJobsAreLinked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, tracer := memstore.New(), new(spans.Recorder)
		begin := func(ctx context.Context, name string, all ...storage.Job) error {
			ctx, span := tracer.Start(ctx, name, storage.SpanInternal)
			err := s.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
				return tx.Within(helpdesk.Scope{}).Enqueue(ctx, all...)
			})
			span.End(err)
			return err
		}
		tries := 0
		stop := start(t, jobs.Config{Jobs: s, Tracer: tracer, Backoff: func(int) time.Duration { return time.Hour }, Handlers: map[string]jobs.Handler{
			"first": {Func: func(ctx context.Context, _ storage.ClaimedJob) error {
				if tries++; tries == 1 {
					return errRefused
				}
				return begin(ctx, "in the handler", job("second", 1))
			}},
			"second": {Func: func(context.Context, storage.ClaimedJob) error { return nil }},
			"alone":  {Func: func(context.Context, storage.ClaimedJob) error { return nil }},
		}})
		enqueue(t, s, job("alone", 1))
		if err := begin(t.Context(), "request", job("first", 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		stop()
		want := map[spans.Span]int{
			{Name: "request"}:   1,
			{Name: "job alone"}: 1,
			{Name: "job first", Link: "request", Failed: true}: 1,
			{Name: "job first", Link: "request"}:               1,
			{Name: "in the handler", Within: "job first"}:      1,
			{Name: "job second", Link: "in the handler"}:       1,
		}
		got := map[spans.Span]int{}
		for _, span := range tracer.Ended() {
			got[span]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Without a tracer, asking which trace a job belongs to allocates nothing.
func TestNoTraceNoAllocation(t *testing.T) { //nolint:paralleltest // it measures
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
	defer cancel()
	if n := testing.AllocsPerRun(1000, func() {
		if storage.Traceparent(ctx) != "" {
			t.Error("a trace")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
