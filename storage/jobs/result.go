package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// lastTry is how long writing a result may take after the drain time.
const lastTry = 2 * time.Second

// writeResults writes the results of jobs, the finished ones together.
func (r *run) writeResults() {
	for first := range r.results {
		var done []storage.ClaimedJob
		var failed []result
		add := func(res result) {
			if res.err == nil {
				r.observe("finished", res)
				done = append(done, res.job)
			} else {
				failed = append(failed, res)
			}
		}
		add(first)
		for open := true; open && len(done)+len(failed) < r.Batch; {
			select {
			case res, ok := <-r.results:
				if ok {
					add(res)
				} else {
					open = false
				}
			default:
				open = false
			}
		}
		if len(done) > 0 {
			r.write("finished", func(ctx context.Context) error { return r.Jobs.Finish(ctx, done...) })
		}
		for _, res := range failed {
			r.fail(res)
		}
	}
}

// fail retries a job, or gives it up.
func (r *run) fail(res result) {
	v, _ := errors.AsType[*verdict](res.err)
	if r.work.Err() != nil && (v == nil || v.progress) { // interrupted: another runner may take it at once
		r.retry("given back", res, r.Now())
		return
	}
	log := r.Logger.With("kind", res.job.Kind, "job", res.job.ID, "attempt", res.job.Attempt, "error", res.err)
	at := r.count(&res.job, v, res.err)
	if v != nil && v.bury || v == nil && !away(res.err) && res.MaxAttempts > 0 && res.job.Failed >= res.MaxAttempts {
		log.Error("a job was given up")
		r.observe("buried", res)
		r.write("buried", func(ctx context.Context) error { return r.Jobs.Fail(ctx, res.job, reason(res.err)) })
		return
	}
	log.Warn("a job failed", "again", at)
	r.retry("retried", res, at)
}

// observe reports an attempt to Config.Observe.
func (r *run) observe(what string, res result) {
	if r.Observe != nil {
		r.Observe(Attempt{Kind: res.job.Kind, Result: what, Took: res.took})
	}
}

func (r *run) retry(what string, res result, at time.Time) {
	r.observe(what, res)
	r.write(what, func(ctx context.Context) error { return r.Jobs.Retry(ctx, res.job, at, reason(res.err)) })
}

// count updates the counters of a job after an attempt, and returns when to retry it.
func (r *run) count(job *storage.ClaimedJob, v *verdict, err error) time.Time {
	if v != nil { // nothing failed, or there was progress first
		job.Failed, job.Away = 0, 0
	}
	switch {
	case v != nil && !v.progress:
		return v.at
	case away(err):
		job.Away++
		return r.Now().Add(min(r.Backoff(job.Away), maxAway))
	}
	job.Failed, job.Away = job.Failed+1, 0
	return r.Now().Add(r.Backoff(job.Failed))
}

// away reports whether a shared dependency was unavailable. A deadline alone does not prove it: it may be the handler's.
func away(err error) bool { return fault.Is(err, fault.Unavailable) || !fault.Certain(err) }

// write stores a result, and waits for an unreachable queue as long as handlers may run. A result that cannot be written is
// left to the lease's expiry.
func (r *run) write(what string, store func(ctx context.Context) error) {
	for wait := firstWait; ; wait = min(2*wait, writeWait) {
		ctx, cancel := context.WithTimeout(r.work, callTime)
		last := r.work.Err() != nil
		if last && r.lost {
			cancel()
			return // the queue is unreachable, and there is no time left
		}
		if last {
			cancel()
			ctx, cancel = context.WithTimeout(context.WithoutCancel(r.work), lastTry)
		}
		err := store(ctx)
		cancel()
		if err == nil {
			return
		}
		r.Logger.Warn("a result of jobs cannot be written", "result", what, "error", err)
		r.lost = last
		if last || !fault.Passes(err) && r.work.Err() == nil {
			return
		}
		select {
		case <-time.After(wait):
		case <-r.work.Done():
		}
	}
}
