package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The first and the longest wait while the queue is unreachable: before claims, unless the queue wakes the runner, and
// before writing results again.
const (
	firstWait = time.Second
	longWait  = 30 * time.Second
	writeWait = 5 * time.Second
)

// When the queue wakes the runner more often than every wakePause, claims follow at once for wakeBurst of them. Further ones
// wait, so that of many jobs that come one by one several are claimed together.
const (
	wakePause = 5 * time.Millisecond
	wakeBurst = 8
)

// callTime is the time limit for a call to the queue.
const callTime = 15 * time.Second

// run is one call of Run. Only the dispatch goroutine uses the lanes.
type run struct {
	Config
	work    context.Context //nolint:containedctx // of the handlers: outlives Run's by the time to drain
	lanes   []*lane
	ended   chan *lane  // a worker is free again
	results chan result // of handlers, to be written
	workers sync.WaitGroup
	looked  time.Time // of dispatch: when all kinds were last claimed
	wakes   time.Time // of dispatch: when all claims for which the queue woke it would be done, one every wakePause
	holding bool      // of dispatch: Config.Hold returned an error
	lost    bool      // of writeResults: a result could not be written before the end
}

// lane is one kind and its workers.
type lane struct {
	kind string
	Handler
	busy    int
	more    bool // there may be due jobs that no worker was free for
	woken   bool // the queue has told of new jobs
	waiting atomic.Int64
}

// result is the result of a job.
type result struct {
	job storage.ClaimedJob
	*lane
	err  error
	took time.Duration
}

// Run runs jobs until the context ends, which is not an error. Running handlers may then continue for Config.Drain; after
// that their context ends, and unfinished jobs are due again when their leases expire. Run returns when all handlers have
// returned.
//
// While the queue is unreachable Run waits and retries.
func (r *Runner) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	all := &run{Config: r.cfg, work: work}
	total := 0
	for kind, h := range r.cfg.Handlers {
		setDefault(&h.Workers, r.cfg.Workers)
		if h.MaxAttempts == 0 {
			h.MaxAttempts = r.cfg.MaxAttempts
		}
		all.lanes = append(all.lanes, &lane{kind: kind, Handler: h})
		total += h.Workers
	}
	all.ended, all.results = make(chan *lane, total), make(chan result, total)
	var writer sync.WaitGroup
	writer.Go(all.writeResults)

	all.dispatch(ctx)
	timer := time.AfterFunc(r.cfg.Drain, stop)
	defer timer.Stop()
	all.workers.Wait()
	close(all.results)
	writer.Wait()
	return nil
}

// dispatch claims jobs whenever a worker is free, until the context ends.
func (r *run) dispatch(ctx context.Context) {
	away := time.Duration(0) // the wait after the last failure; 0: the queue answers
	all := true              // any kind may have due jobs, not only those whose workers were all busy
	for ctx.Err() == nil {
		if r.held(ctx) {
			r.wait(ctx, r.Poll, nil)
			continue
		}
		err := r.claim(ctx, all)
		all = true
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			away = min(max(2*away, firstWait), longWait)
			r.Logger.WarnContext(ctx, "jobs cannot be claimed", "error", err, "wait", away)
			r.wait(ctx, firstWait, nil)
			r.wait(ctx, away-firstWait, r.Jobs.Wake())
		default:
			away = 0
			woken := r.wait(ctx, r.Poll-time.Since(r.looked), r.Jobs.Wake())
			if woken {
				r.gather(ctx)
			}
			all = woken && r.anyKind() || time.Since(r.looked) >= r.Poll
		}
	}
}

// held reports whether Config.Hold forbids claims, and logs when that begins and ends.
func (r *run) held(ctx context.Context) bool {
	if r.Hold == nil {
		return false
	}
	err := r.Hold()
	if was := r.holding; was != (err != nil) {
		r.holding = err != nil
		r.Logger.WarnContext(ctx, "whether jobs are held back has changed", "held", r.holding, "error", err)
	}
	return r.holding
}

// gather waits for more jobs when the queue wakes the runner too often, unless a missing worker is free again.
func (r *run) gather(ctx context.Context) {
	now := time.Now()
	if r.wakes.Before(now) {
		r.wakes = now
	}
	r.wakes = r.wakes.Add(wakePause)
	if ahead := r.wakes.Sub(now) - wakeBurst*wakePause; ahead > 0 {
		r.wait(ctx, ahead, make(chan struct{}))
	}
}

// anyKind reports whether the queue woke the runner for jobs of any kind. Otherwise it has noted the kinds that may have
// more.
func (r *run) anyKind() bool {
	queue, ok := r.Jobs.(storage.KindWaker)
	if !ok {
		return true
	}
	kinds, all := queue.Woken()
	for _, l := range r.lanes {
		l.woken = l.woken || slices.Contains(kinds, l.kind)
	}
	return all
}

// wait returns when there may be jobs to claim: after d, when the queue wakes the runner, which it reports, or when a
// missing worker is free again. With a nil wake it waits for all of d.
func (r *run) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-wake:
			return true
		case l := <-r.ended:
			l.busy--
			if l.more && wake != nil {
				return false
			}
		}
	}
}

// claim starts due jobs until none are left or no worker is free. Unless all is set, it only looks for jobs of the kinds
// that may have more than they had workers for.
func (r *run) claim(ctx context.Context, all bool) error {
	if all {
		r.looked = time.Now()
	}
	for {
		r.collect()
		most := r.free(all)
		if len(most) == 0 {
			return nil
		}
		jobs, err := r.claimJobs(ctx, most)
		if err != nil {
			return err
		}
		got := make(map[string]int, len(most))
		for _, job := range jobs {
			r.start(job)
			got[job.Kind]++
		}
		for _, l := range r.lanes {
			if n, asked := most[l.kind]; asked {
				l.more = got[l.kind] >= n
			}
		}
		all = false
	}
}

// free returns how many jobs of which kinds to claim.
func (r *run) free(all bool) map[string]int {
	most := map[string]int{}
	for _, l := range r.lanes {
		free := l.Workers - l.busy
		switch {
		case free > 0 && (all || l.more || l.woken):
			most[l.kind] = min(free, r.Batch)
		case free <= 0 && (all || l.woken):
			l.more = true
		}
		l.woken = false
	}
	return most
}

func (r *run) claimJobs(ctx context.Context, most map[string]int) ([]storage.ClaimedJob, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	now := r.Now()
	return r.Jobs.Claim(ctx, most, now, now.Add(r.Lease))
}

// collect counts the workers that have become free.
func (r *run) collect() {
	for {
		select {
		case l := <-r.ended:
			l.busy--
		default:
			return
		}
	}
}

func (r *run) start(job storage.ClaimedJob) {
	for _, l := range r.lanes {
		if l.kind == job.Kind {
			l.busy++
			place := &place{lane: l, leave: sync.OnceFunc(func() { r.ended <- l })}
			r.workers.Go(func() {
				defer place.end()
				began := r.Now()
				err := r.handle(job, place)
				r.results <- result{job, l, err, r.Now().Sub(began)}
			})
		}
	}
}

// handle runs a job's handler and keeps its lease meanwhile.
func (r *run) handle(job storage.ClaimedJob, p *place) (err error) {
	leased, cancel := context.WithCancel(context.WithValue(r.work, placeKey{}, p))
	var keeper sync.WaitGroup
	keeper.Go(func() { r.extendLease(leased, cancel, job) })
	defer keeper.Wait()
	defer cancel()
	ctx := leased // the keeper must not see it change
	if r.Tracer != nil {
		var span storage.Span
		if job.Trace != "" {
			ctx = r.Tracer.Link(ctx, job.Trace)
		}
		ctx, span = r.Tracer.Start(ctx, "job "+job.Kind, storage.SpanConsumer,
			slog.Int64("helpwright.job.id", job.ID), slog.Int("helpwright.job.attempt", job.Attempt), slog.Int64("helpwright.account.id", job.AccountID))
		defer func() { span.End(err) }()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			r.Logger.ErrorContext(ctx, "a job's handler panicked", "kind", job.Kind, "job", job.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	return p.lane.Func(ctx, job)
}

// extendLease extends the lease until the context ends. When another worker has taken the job over, it cancels the context.
func (r *run) extendLease(ctx context.Context, cancel context.CancelFunc, job storage.ClaimedJob) {
	ticker := time.NewTicker(max(r.Lease/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := r.Jobs.Extend(ctx, job, r.Now().Add(r.Lease))
		if fault.Is(err, fault.Conflict) {
			r.Logger.WarnContext(ctx, "a job was taken over while it ran", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt)
			cancel()
			return
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.WarnContext(ctx, "a lease cannot be extended", "kind", job.Kind, "job", job.ID, "error", err)
		}
	}
}
