package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// lastTry is how long writing a result may take when the time to drain is over.
const lastTry = 2 * time.Second

// writeResults writes what became of jobs, those that are done together.
func (r *run) writeResults() {
	for first := range r.results {
		var done []storage.ClaimedJob
		var failed []result
		add := func(res result) {
			if res.err == nil {
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

// fail has a job tried again, or gives it up.
func (r *run) fail(res result) {
	job, err := res.job, res.err
	if r.work.Err() != nil { // it was interrupted: another runner may have it at once
		if _, decided := errors.AsType[*verdict](err); !decided {
			r.write("given back", func(ctx context.Context) error { return r.Jobs.Retry(ctx, job, r.Now(), reason(err)) })
			return
		}
	}
	log := r.Logger.With("kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "error", err)
	v, decided := errors.AsType[*verdict](err)
	switch {
	case decided && v.bury, !decided && job.Attempt >= res.MaxAttempts:
		log.Error("a job was given up")
		r.write("buried", func(ctx context.Context) error { return r.Jobs.Bury(ctx, job, reason(err)) })
	default:
		at := r.Now().Add(r.Backoff(job.Attempt))
		if decided {
			at = v.at
		}
		log.Warn("a job failed", "again", at)
		r.write("retried", func(ctx context.Context) error { return r.Jobs.Retry(ctx, job, at, reason(err)) })
	}
}

// write stores a result, waiting for a queue that cannot be reached as long as
// handlers may run. What cannot be written is left to the lease.
func (r *run) write(what string, store func(ctx context.Context) error) {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		ctx, cancel := r.work, context.CancelFunc(func() {})
		last := r.work.Err() != nil
		if last && r.lost {
			return // the queue is away, and there is no more time
		}
		if last {
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
