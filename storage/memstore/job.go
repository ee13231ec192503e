package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of a job.
const (
	maxKind    = 64
	maxPayload = 64 << 10
)

// jobRow is a job with its state.
type jobRow struct {
	storage.Job
	Attempt int
	Lease   time.Time // zero: no worker has the job
	Buried  bool
	Reason  string

	Failed, Away int
	Settled      int // last attempt with a known result
}

// due returns when the job may be claimed.
func (j *jobRow) due() time.Time {
	if j.Lease.After(j.RunAt) {
		return j.Lease
	}
	return j.RunAt
}

// Enqueue adds jobs to the queue. A failed job does not occupy its key.
func (o outbox) Enqueue(ctx context.Context, jobs ...storage.Job) error {
	return change(ctx, o.into, func(db *data) error {
		for _, job := range jobs {
			if job.Kind == "" || len(job.Kind) > maxKind {
				return fault.Field("kind", "must have from 1 to 64 bytes")
			}
			if len(job.Payload) > maxPayload {
				return fault.Field("payload", "must have at most 64 KiB")
			}
			if len(job.Trace) > storage.MaxTraceparent {
				return fault.Field("trace", "must have at most 64 bytes")
			}
			job.Trace = cmp.Or(job.Trace, storage.Traceparent(ctx))
			if job.Listens != nil && (job.UniqueKey != "" || job.AccountID == 0) {
				return fault.Field("listens", "is only for jobs of an account without a key")
			}
			if account, err := db.accounts.get(global, job.AccountID); job.Listens != nil &&
				(err != nil || !slices.ContainsFunc(job.Listens, func(kind string) bool { return slices.Contains(account.Listens, kind) })) {
				continue
			}
			job.Listens = nil
			waiting := job.UniqueKey != "" && db.jobs.conflict(global, 0, func(j *jobRow) bool {
				return !j.Buried && j.UniqueKey == job.UniqueKey
			})
			if waiting {
				continue
			}
			var id int64
			if err := db.jobs.insert(global, &jobRow{Job: job}, &id); err != nil {
				return err
			}
			db.enqueued = true
		}
		return nil
	})
}

// Claim takes due jobs.
func (s *store) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	var claimed []storage.ClaimedJob
	err := s.update(ctx, func(db *data) error {
		var due []row
		for id, j := range db.jobs.all(global) {
			if !j.Buried && most[j.Kind] > 0 && !j.due().After(now) {
				due = append(due, row{id, j})
			}
		}
		slices.SortStableFunc(due, func(a, b row) int {
			return cmp.Or(value[jobRow](a).due().Compare(value[jobRow](b).due()), cmp.Compare(a.id, b.id))
		})
		taken := map[string]int{}
		for _, r := range due {
			j := *clone(value[jobRow](r))
			if taken[j.Kind] == most[j.Kind] {
				continue
			}
			taken[j.Kind]++
			j.Attempt++
			j.Lease = lease
			db.jobs.set(global, r.id, clone(&j))
			claimed = append(claimed, storage.ClaimedJob{
				ID: r.id, Job: j.Job, Attempt: j.Attempt, Failed: j.Failed, Away: j.Away, Lost: j.Attempt - 1 - j.Settled,
			})
		}
		return nil
	})
	return claimed, err
}

// Finish deletes completed jobs.
func (s *store) Finish(ctx context.Context, jobs ...storage.ClaimedJob) error {
	return s.update(ctx, func(db *data) error {
		for _, job := range jobs {
			if db.held(job) != nil {
				db.jobs.set(global, job.ID, nil)
			}
		}
		return nil
	})
}

// Retry makes a job due again.
func (s *store) Retry(ctx context.Context, job storage.ClaimedJob, runAt time.Time, reason string) error {
	return s.result(ctx, job, func(j *jobRow) {
		j.RunAt, j.Lease, j.Reason = runAt, time.Time{}, reason
		j.Failed, j.Away, j.Settled = job.Failed, job.Away, j.Attempt
	})
}

// Fail gives a job up.
func (s *store) Fail(ctx context.Context, job storage.ClaimedJob, reason string) error {
	return s.result(ctx, job, func(j *jobRow) { j.Buried, j.Lease, j.Reason = true, time.Time{}, reason })
}

// result updates a job, unless another attempt has taken it over.
func (s *store) result(ctx context.Context, job storage.ClaimedJob, note func(*jobRow)) error {
	return s.update(ctx, func(db *data) error {
		held := db.held(job)
		if held == nil {
			return nil
		}
		j := *clone(held)
		note(&j)
		return db.jobs.update(global, job.ID, &j)
	})
}

// Extend prolongs the lease of a job.
func (s *store) Extend(ctx context.Context, job storage.ClaimedJob, lease time.Time) error {
	return s.update(ctx, func(db *data) error {
		held := db.held(job)
		if held == nil {
			return fault.New(fault.Conflict, "Another worker has taken over the job.")
		}
		j := *clone(held)
		j.Lease = lease
		return db.jobs.update(global, job.ID, &j)
	})
}

// held returns the job if the attempt still holds it.
func (db *data) held(job storage.ClaimedJob) *jobRow {
	j, err := db.jobs.get(global, job.ID)
	if err != nil || j.Buried || j.Lease.IsZero() || j.Attempt != job.Attempt {
		return nil
	}
	return j
}

// FailedJobs implements [helpdesk.FailedJobReader].
func (r reader) FailedJobs(ctx context.Context, f helpdesk.FailedJobFilter, seek storage.Seek) ([]storage.FailedJob, error) {
	return query(ctx, r.src, func(db *data) ([]storage.FailedJob, error) {
		return db.buried(seek, func(j *jobRow) bool {
			return j.AccountID == r.scope.AccountID && (f.Kind == "" || j.Kind == f.Kind)
		}), nil
	})
}

// ReviveJob implements [helpdesk.FailedJobWriter].
func (t tx) ReviveJob(ctx context.Context, id int64, runAt time.Time) error {
	return change(ctx, t.src, func(db *data) error {
		buried, err := t.failedJob(db, id)
		if err != nil {
			return err
		}
		if buried.UniqueKey != "" && db.jobs.conflict(global, 0, func(j *jobRow) bool { return !j.Buried && j.UniqueKey == buried.UniqueKey }) {
			return &fault.Error{Kind: fault.Conflict, Resource: "job", ID: id, Code: helpdesk.UniqueJob}
		}
		j := *clone(buried)
		j.Buried, j.RunAt, j.Lease, j.Failed, j.Away, j.Settled = false, runAt, time.Time{}, 0, 0, j.Attempt
		db.enqueued = true
		return db.jobs.update(global, id, &j)
	})
}

// DropJob implements [helpdesk.FailedJobWriter].
func (t tx) DropJob(ctx context.Context, id int64) error {
	return change(ctx, t.src, func(db *data) error {
		if _, err := t.failedJob(db, id); err != nil {
			return err
		}
		db.jobs.set(global, id, nil)
		return nil
	})
}

// failedJob returns a failed job of the account.
func (t tx) failedJob(db *data, id int64) (*jobRow, error) {
	j, err := db.jobs.get(global, id)
	if err != nil || !j.Buried || j.AccountID != t.scope.AccountID {
		return nil, fault.Missing("job", id)
	}
	return j, nil
}

// FailedJobs lists failed jobs by id, newest first with seek.Desc.
func (s *store) FailedJobs(ctx context.Context, seek storage.Seek) ([]storage.FailedJob, error) {
	return query(ctx, s, func(db *data) ([]storage.FailedJob, error) {
		return db.buried(seek, func(*jobRow) bool { return true }), nil
	})
}

func (db *data) buried(seek storage.Seek, among func(*jobRow) bool) []storage.FailedJob {
	var all []storage.FailedJob
	for id, j := range db.jobs.all(global) {
		past := seek.From == nil || !seek.Desc && id > seek.From.ID || seek.Desc && id < seek.From.ID
		if j.Buried && past && among(j) {
			all = append(all, storage.FailedJob{ID: id, Job: clone(j).Job, Attempt: j.Attempt, Reason: j.Reason})
		}
	}
	if seek.Desc {
		slices.Reverse(all)
	}
	return all[:min(max(seek.Limit, 0), len(all))]
}

// Wake returns a channel that receives a value soon after jobs were committed.
func (s *store) Wake() <-chan struct{} { return s.wake }

// update changes the queue outside of any transaction. fn must check before it changes anything.
func (s *store) update(ctx context.Context, fn func(db *data) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fn(s.db)
}
