package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/memstore"
)

var errRefused = errors.New("refused")

// enqueue commits jobs.
func enqueue(t testing.TB, s *memstore.Store, all ...storage.Job) {
	t.Helper()
	err := s.InSystemTx(context.Background(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.Within(helpdesk.Scope{}).Enqueue(ctx, all...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func job(kind string, subject int64) storage.Job { return storage.Job{Kind: kind, Subject: subject} }

// start runs a runner in the background and returns a function that stops it.
func start(t testing.TB, cfg jobs.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	runner, err := jobs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// left counts the jobs in the queue, claimed or not.
func left(t testing.TB, s storage.Jobs, kinds ...string) int {
	t.Helper()
	far := time.Now().AddDate(100, 0, 0)
	most := map[string]int{}
	for _, kind := range kinds {
		most[kind] = 10000
	}
	all, err := s.Claim(context.Background(), most, far, far.Add(1))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestRunsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var done atomic.Int64
		enqueue(t, s, job("a", 1), job("b", 2), job("unknown", 3))
		stop := start(t, jobs.Config{Jobs: s, Poll: time.Hour, Handlers: map[string]jobs.Handler{
			"a": {Func: func(_ context.Context, j storage.ClaimedJob) error { done.Add(j.Subject); return nil }},
			"b": {Func: func(_ context.Context, j storage.ClaimedJob) error { done.Add(100 * j.Subject); return nil }},
		}})
		synctest.Wait()
		enqueue(t, s, job("a", 4)) // the queue wakes the runner long before the next poll
		synctest.Wait()
		if done.Load() != 205 {
			t.Errorf("ran %d, want 205", done.Load())
		}
		stop()
		if n := left(t, s, "a", "b"); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
		if n := left(t, s, "unknown"); n != 1 {
			t.Error("a job of an unknown kind was touched")
		}
	})
}

// A queue that never wakes is polled.
func TestPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var ran time.Time
		stop := start(t, jobs.Config{Jobs: s, Handlers: map[string]jobs.Handler{
			"a": {Func: func(context.Context, storage.ClaimedJob) error { ran = time.Now(); return nil }},
		}})
		begin := time.Now()
		synctest.Wait()
		j := job("a", 1)
		j.RunAt = begin.Add(10*time.Second + time.Millisecond)
		enqueue(t, s, j)
		time.Sleep(time.Minute)
		stop()
		if wait := ran.Sub(begin); wait < 10*time.Second || wait > 11*time.Second+time.Millisecond {
			t.Errorf("ran after %v, want at most a second after 10 s", wait)
		}
	})
}

func TestRetriesAndBuries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		begin := time.Now()
		var mu sync.Mutex
		runs := map[string][]string{}
		handler := func(max int, err func(j storage.ClaimedJob) error) jobs.Handler {
			return jobs.Handler{MaxAttempts: max, Func: func(_ context.Context, j storage.ClaimedJob) error {
				mu.Lock()
				runs[j.Kind] = append(runs[j.Kind], fmt.Sprint(j.Attempt, " ", time.Since(begin).Round(time.Second)))
				mu.Unlock()
				return err(j)
			}}
		}
		stop := start(t, jobs.Config{Jobs: s, Backoff: func(attempt int) time.Duration { return time.Duration(attempt) * 10 * time.Second },
			Handlers: map[string]jobs.Handler{
				"fails": handler(3, func(storage.ClaimedJob) error { return errors.New("refused \x00\xff" + strings.Repeat("ü", 400)) }),
				"panic": handler(2, func(storage.ClaimedJob) error { panic("boom") }),
				"later": handler(2, func(j storage.ClaimedJob) error {
					if j.Attempt < 4 {
						return fmt.Errorf("wrapped: %w", jobs.RetryAt(begin.Add(time.Duration(j.Attempt)*time.Hour), errRefused))
					}
					return nil
				}),
				"bury":  handler(9, func(storage.ClaimedJob) error { return jobs.Fail(errRefused) }),
				"empty": handler(9, func(storage.ClaimedJob) error { return jobs.Fail(nil) }),
			}})
		enqueue(t, s, job("fails", 1), job("panic", 2), job("later", 3), job("bury", 4), job("empty", 5))
		time.Sleep(5 * time.Hour)
		stop()
		want := map[string][]string{
			"fails": {"1 0s", "2 10s", "3 30s"}, "panic": {"1 0s", "2 10s"}, "bury": {"1 0s"}, "empty": {"1 0s"},
			"later": {"1 0s", "2 1h0m0s", "3 2h0m0s", "4 3h0m0s"},
		}
		if diff := cmp.Diff(want, runs); diff != "" {
			t.Error(diff)
		}
		buried, err := s.FailedJobs(t.Context(), storage.Seek{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]string{}
		for _, j := range buried {
			reasons[j.Kind] = j.Reason
		}
		if len(reasons["fails"]) > 500 || !strings.HasPrefix(reasons["fails"], "refused \uFFFDü") {
			t.Errorf("reason %q", reasons["fails"])
		}
		delete(reasons, "fails")
		if diff := cmp.Diff(map[string]string{"panic": "panic: boom", "bury": "refused", "empty": "no reason given"}, reasons); diff != "" {
			t.Error(diff)
		}
	})
}

// A kind whose handlers all hang does not delay another, and runs no more handlers than it has workers.
func TestKindsDoNotStarveEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var slow, most, quick atomic.Int64
		release := make(chan struct{})
		var all []storage.Job
		for n := range int64(20) {
			all = append(all, job("slow", n))
		}
		enqueue(t, s, append(all, job("quick", 1), job("quick", 2))...)
		stop := start(t, jobs.Config{Jobs: s, Handlers: map[string]jobs.Handler{
			"slow": {Workers: 3, Func: func(context.Context, storage.ClaimedJob) error {
				now := slow.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				<-release
				slow.Add(-1)
				return nil
			}},
			"quick": {Func: func(context.Context, storage.ClaimedJob) error { quick.Add(1); return nil }},
		}})
		synctest.Wait()
		if quick.Load() != 2 || slow.Load() != 3 {
			t.Errorf("%d quick ones ran while %d slow ones hang", quick.Load(), slow.Load())
		}
		close(release)
		synctest.Wait() // no time passes: free workers continue at once
		stop()
		if n := left(t, s, "slow", "quick"); n != 0 || most.Load() != 3 {
			t.Errorf("%d are left, %d ran at the same time", n, most.Load())
		}
	})
}

// The lease of a slow handler is extended. When the job was taken over anyway, its context ends and its result is dropped.
func TestLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var attempts []int
		var interrupted error
		enqueue(t, s, job("long", 1), job("stolen", 2))
		stop := start(t, jobs.Config{Jobs: s, Handlers: map[string]jobs.Handler{
			"long": {Func: func(_ context.Context, j storage.ClaimedJob) error {
				attempts = append(attempts, j.Attempt)
				time.Sleep(time.Hour)
				return nil
			}},
			"stolen": {Func: func(ctx context.Context, j storage.ClaimedJob) error {
				far := time.Now().AddDate(1, 0, 0)
				if got, err := s.Claim(ctx, map[string]int{"stolen": 1}, far, far.Add(time.Hour)); err != nil || len(got) != 1 {
					t.Errorf("not stolen: %v %v", got, err)
				}
				<-ctx.Done()
				interrupted = ctx.Err()
				return nil
			}},
		}})
		time.Sleep(2 * time.Hour)
		stop()
		if !slices.Equal(attempts, []int{1}) {
			t.Errorf("attempts %v, want one", attempts)
		}
		if interrupted == nil {
			t.Error("the handler of a stolen job was not interrupted")
		}
		if n := left(t, s, "long", "stolen"); n != 1 {
			t.Errorf("%d jobs are left, want the stolen one", n)
		}
	})
}

// Handlers may finish within the drain time; the others are left to their leases.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		enqueue(t, s, job("sleeps", 7), job("sleeps", 60), job("stubborn", 20))
		sleep := func(ctx context.Context, j storage.ClaimedJob) error {
			select {
			case <-time.After(time.Duration(j.Subject) * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		stop := start(t, jobs.Config{Jobs: s, Handlers: map[string]jobs.Handler{
			"sleeps":   {Func: sleep},
			"stubborn": {Func: func(_ context.Context, j storage.ClaimedJob) error { return sleep(context.Background(), j) }},
		}})
		synctest.Wait()
		begin := time.Now()
		enqueued := make(chan struct{})
		go func() {
			time.Sleep(time.Second)
			enqueue(t, s, job("sleeps", 0)) // after the end: no worker takes it
			close(enqueued)
		}()
		stop()
		<-enqueued
		if took := time.Since(begin); took != 20*time.Second {
			t.Errorf("stopped after %v, want when the last handler ended", took)
		}
		if n := left(t, s, "stubborn"); n != 0 {
			t.Error("what was done in the end was not finished")
		}
		if n := left(t, s, "sleeps"); n != 2 {
			t.Errorf("%d jobs are left, want the long one and the late one", n)
		}
		if all, _ := s.FailedJobs(t.Context(), storage.Seek{Limit: 9}); len(all) != 0 {
			t.Errorf("buried: %v", all)
		}
	})
}

// flaky is a queue that is unreachable for a while.
type flaky struct {
	storage.Jobs
	until atomic.Int64 // in nanoseconds since 1970
	kind  fault.Kind
	calls atomic.Int64
}

// leave makes the queue unreachable for some time.
func (f *flaky) leave(d time.Duration) { f.until.Store(time.Now().Add(d).UnixNano()) }

func (f *flaky) away() error {
	f.calls.Add(1)
	if time.Now().UnixNano() < f.until.Load() {
		return fault.New(f.kind, "away")
	}
	return nil
}

func (f *flaky) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	if err := f.away(); err != nil {
		return nil, err
	}
	return f.Jobs.Claim(ctx, most, now, lease)
}

func (f *flaky) Finish(ctx context.Context, all ...storage.ClaimedJob) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.Jobs.Finish(ctx, all...)
}

func TestQueueIsAway(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault.Kind{fault.Unavailable, fault.Internal} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				enqueue(t, s, job("a", 1))
				f := &flaky{Jobs: s, kind: kind}
				f.leave(10 * time.Minute)
				var ran atomic.Int64
				stop := start(t, jobs.Config{Jobs: f, Handlers: map[string]jobs.Handler{
					"a": {Func: func(context.Context, storage.ClaimedJob) error { ran.Add(1); return nil }},
				}})
				time.Sleep(9 * time.Minute)
				if calls := f.calls.Load(); calls > 30 {
					t.Errorf("asked %d times in 9 minutes", calls)
				}
				time.Sleep(2 * time.Minute)
				stop()
				if ran.Load() != 1 || left(t, s, "a") != 0 {
					t.Errorf("ran %d times", ran.Load())
				}
			})
		})
	}
}

// A queue that wakes the runner is used again as soon as it is reachable, however long it was away.
func TestQueueIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		f := &flaky{Jobs: s, kind: fault.Unavailable}
		f.leave(10 * time.Minute)
		var ran time.Time
		stop := start(t, jobs.Config{Jobs: f, Handlers: map[string]jobs.Handler{
			"a": {Func: func(context.Context, storage.ClaimedJob) error { ran = time.Now(); return nil }},
		}})
		time.Sleep(10 * time.Minute)
		back := time.Now()
		enqueue(t, s, job("a", 1))
		time.Sleep(time.Minute)
		stop()
		if after := ran.Sub(back); after < 0 || after > 2*time.Second {
			t.Errorf("ran %v after the queue was back", after)
		}
	})
}

// A queue that does not answer a claim does not stop the runner.
func TestClaimHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		f := &hanging{Jobs: s}
		var ran atomic.Int64
		stop := start(t, jobs.Config{Jobs: f, Handlers: map[string]jobs.Handler{
			"a": {Func: func(context.Context, storage.ClaimedJob) error { ran.Add(1); return nil }},
		}})
		enqueue(t, s, job("a", 1))
		time.Sleep(20 * time.Second)
		stop()
		if ran.Load() != 1 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

// hanging is a queue whose first claim hangs until it is canceled.
type hanging struct {
	storage.Jobs
	claims atomic.Int64
}

func (h *hanging) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	if h.claims.Add(1) == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Jobs.Claim(ctx, most, now, lease)
}

// Handlers that yield let others run, up to a limit. Each is counted once, and Run waits for all of them.
func TestYield(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var all []storage.Job
		for n := range int64(30) {
			all = append(all, job("a", n))
		}
		enqueue(t, s, all...)
		var running, done atomic.Int64
		release := make(chan struct{})
		stop := start(t, jobs.Config{Jobs: s, Handlers: map[string]jobs.Handler{"a": {Workers: 2, Func: func(ctx context.Context, _ storage.ClaimedJob) error {
			running.Add(1)
			jobs.Yield(ctx)
			jobs.Yield(ctx)
			<-release
			jobs.Yield(ctx)
			running.Add(-1)
			done.Add(1)
			return nil
		}}}})
		time.Sleep(time.Minute)
		if n := running.Load(); n != 10 { // 2 workers, and 4 times 2 yielded handlers
			t.Errorf("%d run at the same time", n)
		}
		close(release)
		time.Sleep(time.Minute)
		if n := done.Load(); n != 30 {
			t.Errorf("%d are done", n)
		}
		enqueue(t, s, all[:4]...)
		time.Sleep(time.Minute)
		stop()
		if n := done.Load(); n != 34 || left(t, s, "a") != 0 {
			t.Errorf("%d are done in the end", n)
		}
		jobs.Yield(t.Context()) // outside of a runner
	})
}

// Only genuine failures count: not outages, scheduled retries or progress.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	away, unknown := fault.New(fault.Unavailable, "away"), fault.New(fault.OutcomeUnknown, "who knows")
	for name, c := range map[string]struct {
		errs   []error // of the attempts
		waits  []int   // between them, in seconds
		buried bool
	}{
		"failures":                 {[]error{errRefused, errRefused, errRefused, errRefused}, []int{10, 20, 30}, true},
		"outages":                  {[]error{away, unknown, away, away, away, away, nil}, []int{10, 20, 30, 30, 30, 30}, false},
		"an outage in between":     {[]error{errRefused, away, errRefused, away, away, errRefused, errRefused}, []int{10, 10, 20, 10, 20, 30}, true},
		"an outage after much use": {[]error{jobs.RetryAt(time.Time{}, nil), jobs.RetryAt(time.Time{}, nil), jobs.RetryAt(time.Time{}, nil), away, nil}, []int{0, 0, 0, 10}, false},
		"a deadline":               {[]error{context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded}, []int{10, 20, 30}, true},
		"a plan after failures":    {[]error{errRefused, errRefused, jobs.RetryAt(time.Time{}, nil), errRefused, nil}, []int{10, 20, 0, 10}, false},
		"progress": {[]error{jobs.Progress(errRefused), jobs.Progress(errRefused), jobs.Progress(errRefused), jobs.Progress(errRefused),
			jobs.Progress(errRefused), nil}, []int{10, 10, 10, 10, 10}, false},
		"progress after failures":  {[]error{errRefused, errRefused, jobs.Progress(errRefused), errRefused, nil}, []int{10, 20, 10, 20}, false},
		"progress until an outage": {[]error{away, away, jobs.Progress(away), jobs.Progress(away), nil}, []int{10, 20, 10, 10}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				var waits []int
				var last time.Time
				ran := 0
				stop := start(t, jobs.Config{Jobs: s, MaxAttempts: 4, Backoff: func(failed int) time.Duration { return time.Duration(failed) * 10 * time.Second },
					Handlers: map[string]jobs.Handler{"a": {Func: func(context.Context, storage.ClaimedJob) error {
						if ran > 0 {
							waits = append(waits, int(time.Since(last).Round(10*time.Second).Seconds()))
						}
						last = time.Now()
						ran++
						return c.errs[ran-1]
					}}}})
				enqueue(t, s, job("a", 1))
				time.Sleep(10 * time.Minute)
				stop()
				if diff := cmp.Diff(c.waits, waits); diff != "" {
					t.Error(diff)
				}
				buried, err := s.FailedJobs(t.Context(), storage.Seek{Limit: 9})
				if err != nil || (len(buried) == 1) != c.buried || left(t, s, "a") != 0 {
					t.Errorf("buried %v, %v", buried, err)
				}
			})
		})
	}
}

// Only handlers with a limit of attempts have their jobs failed, and never because of an outage.
func TestGivesUpWhereAsked(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.Unavailable, "away")
	for name, c := range map[string]struct {
		all, own int // attempts: of the runner, and of the handler
		err      error
		buried   bool
	}{
		"by default":           {0, 0, errRefused, false},
		"all":                  {30, 0, errRefused, true},
		"one":                  {0, 30, errRefused, true},
		"all but one":          {30, -1, errRefused, false},
		"an outage":            {30, 0, away, false},
		"an outage, by itself": {0, 1, away, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				ran := 0
				stop := start(t, jobs.Config{Jobs: s, MaxAttempts: c.all, Handlers: map[string]jobs.Handler{"a": {
					MaxAttempts: c.own, Func: func(context.Context, storage.ClaimedJob) error { ran++; return c.err },
				}}})
				enqueue(t, s, job("a", 1))
				time.Sleep(3 * 24 * time.Hour)
				stop()
				buried, err := s.FailedJobs(t.Context(), storage.Seek{Limit: 9})
				if err != nil || (len(buried) == 1) != c.buried || ran < 30 {
					t.Errorf("after %d attempts: %v, %v", ran, buried, err)
				}
			})
		})
	}
}

// A kind without a handler is reported.
func TestNewListsMissingFields(t *testing.T) {
	t.Parallel()
	handler := jobs.Handler{Func: func(context.Context, storage.ClaimedJob) error { return nil }}
	for name, c := range map[string]struct {
		cfg  jobs.Config
		want []string
	}{
		"all is there": {jobs.Config{Jobs: memstore.New(), Kinds: []string{"a"}, Handlers: map[string]jobs.Handler{"a": handler, "b": handler}}, nil},
		"no queue":     {jobs.Config{}, []string{"Jobs"}},
		"no handler":   {jobs.Config{Jobs: memstore.New(), Kinds: []string{"a", "b"}, Handlers: map[string]jobs.Handler{"a": handler}}, []string{"Handlers[b]"}},
		"no function":  {jobs.Config{Jobs: memstore.New(), Handlers: map[string]jobs.Handler{"a": {}}}, []string{"Handlers[a]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jobs.New(c.cfg)
			var got []string
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
				got = slices.Sorted(maps.Keys(f.Fields))
			}
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want == nil) {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

// Results of jobs that finish while the queue is unreachable are written later.
func TestResultIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		f := &flaky{Jobs: s, kind: fault.Unavailable}
		var ran atomic.Int64
		stop := start(t, jobs.Config{Jobs: f, Handlers: map[string]jobs.Handler{
			"a": {Func: func(context.Context, storage.ClaimedJob) error {
				f.leave(time.Minute)
				ran.Add(1)
				return nil
			}},
		}})
		enqueue(t, s, job("a", 1))
		time.Sleep(2 * time.Minute)
		if ran.Load() != 1 || left(t, s, "a") != 0 {
			t.Errorf("ran %d times", ran.Load())
		}
		// If the queue stays unreachable, Run still ends.
		f.leave(24 * time.Hour)
		begin := time.Now()
		stop()
		if took := time.Since(begin); took > 11*time.Second {
			t.Errorf("stopped after %v", took)
		}
	})
}

// Results are written in batches: far fewer calls than jobs.
func TestFinishesInBatches(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	f := &counting{Jobs: s}
	var all []storage.Job
	for n := range int64(500) {
		all = append(all, job("a", n))
	}
	enqueue(t, s, all...)
	var mu sync.Mutex
	seen := map[int64]int{}
	done := make(chan struct{})
	stop := start(t, jobs.Config{Jobs: f, Workers: 50, Handlers: map[string]jobs.Handler{
		"a": {Func: func(_ context.Context, j storage.ClaimedJob) error {
			mu.Lock()
			defer mu.Unlock()
			if seen[j.Subject]++; len(seen) == 500 {
				close(done)
			}
			return nil
		}},
	}})
	<-done
	stop()
	if n := left(t, s, "a"); n != 0 || len(seen) != 500 {
		t.Errorf("%d left, %d ran", n, len(seen))
	}
	if f.finished.Load() != 500 || f.largest.Load() > 50 {
		t.Errorf("finished %d, at most %d in one call", f.finished.Load(), f.largest.Load())
	}
}

type counting struct {
	storage.Jobs
	finished, largest atomic.Int64
}

func (c *counting) Finish(ctx context.Context, all ...storage.ClaimedJob) error {
	c.finished.Add(int64(len(all)))
	if n := int64(len(all)); n > c.largest.Load() {
		c.largest.Store(n)
	}
	return c.Jobs.Finish(ctx, all...)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := jobs.New(jobs.Config{}); err == nil {
		t.Error("a runner without a queue was made")
	}
	if _, err := jobs.New(jobs.Config{Jobs: memstore.New(), Handlers: map[string]jobs.Handler{"a": {}}}); err == nil {
		t.Error("a handler without a function was taken")
	}
}

func Example() {
	store := memstore.New()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	runner, err := jobs.New(jobs.Config{
		Jobs: store,
		Handlers: map[string]jobs.Handler{
			"greet": {Workers: 2, Func: func(_ context.Context, job storage.ClaimedJob) error {
				fmt.Printf("%s %s, attempt %d\n", job.Kind, job.Payload, job.Attempt)
				stop()
				return nil
			}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		return tx.Within(helpdesk.Scope{}).Enqueue(ctx, storage.Job{Kind: "greet", Payload: []byte(`"Ada"`)})
	})
	fmt.Println(runner.Run(ctx))
	// Output:
	// greet "Ada", attempt 1
	// <nil>
}

// While Hold returns an error no jobs are claimed; afterwards the waiting jobs run.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		enqueue(t, store, storage.Job{Kind: "k"})
		var held atomic.Bool
		held.Store(true)
		var done atomic.Int32
		runner, err := jobs.New(jobs.Config{
			Jobs: store, Hold: func() error {
				if held.Load() {
					return errors.New("not now")
				}
				return nil
			},
			Handlers: map[string]jobs.Handler{"k": {Func: func(context.Context, storage.ClaimedJob) error { done.Add(1); return nil }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runner.Run(ctx) }()
		time.Sleep(time.Minute)
		if done.Load() != 0 {
			t.Error("a job was done while jobs are held back")
		}
		held.Store(false)
		time.Sleep(10 * time.Second)
		if done.Load() != 1 {
			t.Error("the job was not done afterwards")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// asked is a queue that records the kinds claimed.
type asked struct {
	storage.Jobs
	mu   sync.Mutex
	most []map[string]int
}

func (a *asked) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = append(a.most, maps.Clone(most))
	return a.Jobs.Claim(ctx, most, now, lease)
}

// As many jobs of a kind are claimed at once as it has workers, regardless of other kinds; and when workers are free again,
// only their kind is claimed.
func TestClaimsForAllWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		queue := &asked{Jobs: s}
		var all []storage.Job
		for n := range 20 {
			all = append(all, job("many", int64(n)))
		}
		enqueue(t, s, all...)
		var done atomic.Int64
		stop := start(t, jobs.Config{Jobs: queue, Poll: time.Hour, Handlers: map[string]jobs.Handler{
			"many": {Workers: 9, Func: func(context.Context, storage.ClaimedJob) error { time.Sleep(time.Second); done.Add(1); return nil }},
			"one":  {Workers: 1, Func: func(context.Context, storage.ClaimedJob) error { return nil }},
		}})
		time.Sleep(time.Minute)
		stop()
		first := []map[string]int{{"many": 9, "one": 1}, {"one": 1}} // the second because the queue has woken it
		if diff := cmp.Diff(first, queue.most[:2]); diff != "" {
			t.Error(diff)
		}
		for _, most := range queue.most[2:] { // for as many workers as have ended by then
			if len(most) != 1 || most["many"] == 0 {
				t.Errorf("asked for %v", most)
			}
		}
		if done.Load() != 20 || len(queue.most) > 15 {
			t.Errorf("%d jobs ran after %d claims: %v", done.Load(), len(queue.most), queue.most)
		}
	})
}

// telling is a queue that tells the kinds of new jobs.
type telling struct {
	asked
	wake  chan struct{}
	kinds []string
	all   bool
}

func (q *telling) Wake() <-chan struct{} { return q.wake }

func (q *telling) Woken() (kinds []string, all bool) { return q.kinds, q.all }

// A queue that tells which kinds have new jobs is asked for those. All kinds are asked for when it cannot tell, and once in
// every poll.
func TestClaimsKindsThatWoke(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := &telling{asked: asked{Jobs: memstore.New()}, wake: make(chan struct{})}
		nothing := func(context.Context, storage.ClaimedJob) error { return nil }
		stop := start(t, jobs.Config{Jobs: queue, Poll: time.Minute, Workers: 1, Handlers: map[string]jobs.Handler{"a": {Func: nothing}, "b": {Func: nothing}}})
		defer stop()
		both, one := map[string]int{"a": 1, "b": 1}, map[string]int{"b": 1}
		for n, step := range []struct {
			after time.Duration
			kinds []string
			all   bool
			want  []map[string]int
		}{
			{want: []map[string]int{both}},
			{after: 40 * time.Second, kinds: []string{"b", "of another process"}, want: []map[string]int{one}},
			{after: time.Second, kinds: []string{"of another process"}},
			{after: time.Second, all: true, want: []map[string]int{both}},
			{after: 59 * time.Second, kinds: []string{"b"}, want: []map[string]int{one}},
			{after: 2 * time.Second, kinds: []string{"of another process"}, want: []map[string]int{both}},
		} {
			time.Sleep(step.after)
			if queue.kinds, queue.all = step.kinds, step.all; n > 0 {
				queue.wake <- struct{}{}
			}
			synctest.Wait()
			queue.mu.Lock()
			if diff := cmp.Diff(step.want, queue.most); diff != "" {
				t.Errorf("step %d: %s", n, diff)
			}
			queue.most = nil
			queue.mu.Unlock()
		}
	})
}

// Jobs that come one by one faster than claims are useful are claimed several at once.
func TestClaimsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		queue := &asked{Jobs: s}
		var done atomic.Int64
		stop := start(t, jobs.Config{Jobs: queue, Poll: time.Hour, Handlers: map[string]jobs.Handler{
			"a": {Workers: 20, Func: func(context.Context, storage.ClaimedJob) error { done.Add(1); return nil }},
		}})
		defer stop()
		for n := range 1000 {
			enqueue(t, s, job("a", int64(n)))
			if time.Sleep(time.Millisecond); n < 5 && done.Load() != int64(n+1) {
				t.Errorf("%d of few jobs are done at once, not %d", done.Load(), n+1)
			}
		}
		time.Sleep(50 * time.Millisecond)
		queue.mu.Lock()
		defer queue.mu.Unlock()
		if claims := len(queue.most); done.Load() != 1000 || claims > 250 {
			t.Errorf("%d jobs are done after %d claims", done.Load(), claims)
		}
	})
}
