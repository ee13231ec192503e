package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of a job.
const (
	maxKind    = 64
	maxPayload = 64 << 10
)

type jobRow struct {
	bun.BaseModel `bun:"table:hw_jobs,alias:hw_jobs"`
	ID            int64 `bun:",pk,autoincrement"`
	Kind          string
	AccountID     int64
	Subject       int64
	Payload       []byte
	UniqueKey     string
	RunAt         int64
	DueAt         int64 // the later of RunAt and LeaseUntil
	ClaimedDue    int64 // DueAt before the last claim
	Attempt       int
	Failed        int
	Away          int
	Settled       int   // last attempt with a known result
	LeaseUntil    int64 // noTime: no worker has the job
	Buried        bool
	Reason        string
	Trace         string // traceparent
	Holder        string // process that claimed it last, see [DB.hold]; "": unknown
}

// jobColumns are the columns of jobRow.
const jobColumns = `id, kind, account_id, subject, payload, unique_key, run_at, due_at, claimed_due, attempt, failed, away, settled, lease_until,
	buried, reason, trace, holder`

func (r *jobRow) job() storage.Job {
	return storage.Job{
		Kind: r.Kind, AccountID: r.AccountID, Subject: r.Subject, Payload: empty(r.Payload), UniqueKey: r.UniqueKey,
		RunAt: timeOf(r.RunAt), Trace: r.Trace,
	}
}

func jobRowOf(j storage.Job) jobRow {
	return jobRow{
		Kind: j.Kind, AccountID: j.AccountID, Subject: j.Subject, Payload: empty(slices.Clone(j.Payload)),
		UniqueKey: j.UniqueKey, RunAt: micros(j.RunAt), DueAt: micros(j.RunAt), LeaseUntil: noTime, Trace: j.Trace,
	}
}

// insertJobs queues jobs and reports whether any was new. With the commit of a caller's transaction PostgreSQL notifies the workers
// of all processes.
func (s *querier) insertJobs(ctx context.Context, jobs []jobRow) (bool, error) {
	insert := s.jobs(&jobs)
	if !s.notifies() {
		var kinds []string
		err := insert.Scan(ctx, &kinds)
		return len(kinds) > 0, failure(ctx, err, "job", 0)
	}
	var queued int
	err := s.raw("WITH queued AS (?) SELECT count(pg_notify(?, ? || kind)) FROM (SELECT DISTINCT kind FROM queued) AS kinds",
		insert, jobChannel, jobNotice("", "")).Scan(ctx, &queued)
	return queued > 0, failure(ctx, err, "job", 0)
}

// notifies reports whether statements notify other processes, because nothing else will: the transaction is the caller's.
func (s *querier) notifies() bool { return s.store.postgres && !s.tx.own }

// jobs is the statement that queues jobs, and returns the kinds of the new ones.
func (s *querier) jobs(rows *[]jobRow) *bun.InsertQuery {
	return s.inserts(rows).Returning("kind").On("CONFLICT (unique_key) WHERE unique_key <> '' AND NOT buried DO NOTHING")
}

// Claim implements [storage.Jobs] with one statement, in which PostgreSQL skips rows that others are claiming.
func (db *DB) Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]storage.ClaimedJob, error) {
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(most)), func(kind string) bool { return most[kind] <= 0 })
	if err := checkText(kinds); err != nil || len(kinds) == 0 {
		return nil, err
	}
	var rows []jobRow
	var err error
	claim := db.hands.startClaim()
	defer func() { db.hands.end(claim, rows, err) }()
	holder, err := db.hold(ctx)
	if err != nil {
		return nil, failure(ctx, err, "job", 0)
	}
	err = db.queue().raw(`UPDATE hw_jobs SET attempt = attempt + 1, claimed_due = due_at, holder = ?, lease_until = ?,
			due_at = CASE WHEN run_at > ? THEN run_at ELSE ? END
		WHERE id IN (?) RETURNING `+jobColumns, holder, micros(lease), micros(lease), micros(lease), db.due(kinds, most, now)).
		Scan(ctx, &rows)
	if err != nil {
		rows = nil // drop the rows already read as well
		return nil, failure(ctx, err, "job", 0)
	}
	slices.SortFunc(rows, func(a, b jobRow) int {
		return cmp.Or(cmp.Compare(a.ClaimedDue, b.ClaimedDue), cmp.Compare(a.ID, b.ID))
	})
	return mapped(rows, func(r *jobRow) storage.ClaimedJob {
		return storage.ClaimedJob{
			ID: r.ID, Job: r.job(), Attempt: r.Attempt, Failed: r.Failed, Away: r.Away, Lost: r.Attempt - 1 - r.Settled,
		}
	}), nil
}

// due selects the ids of due jobs. It reads each kind in the order of its index, so that other kinds cost nothing, however
// long their queues are.
func (db *DB) due(kinds []string, most map[string]int, now time.Time) *bun.RawQuery {
	lock := bun.Safe("")
	if db.postgres {
		lock = "FOR UPDATE SKIP LOCKED"
	}
	one := func(kind string) *bun.RawQuery {
		return db.queue().raw(`SELECT id FROM hw_jobs WHERE kind = ? AND due_at <= ? AND NOT buried
			ORDER BY due_at, id LIMIT ? ?`, kind, micros(now), most[kind], lock)
	}
	if len(kinds) == 1 {
		return db.queue().raw("SELECT id FROM (?) AS due", one(kinds[0]))
	}
	all := db.queue().raw("SELECT id FROM (?) AS k", one(kinds[0]))
	for _, kind := range kinds[1:] {
		all = db.queue().raw("? UNION ALL SELECT id FROM (?) AS k", all, one(kind))
	}
	return all
}

// queue returns the querier for statements that run in a transaction of their own, or in that of the context's unit if it is
// open.
func (db *DB) queue() *querier { return &querier{store: db, db: db.write} }

// queued runs a statement that returns no rows.
func (db *DB) queued(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return db.queue().raw(query, args...).Exec(ctx)
}

// held restricts a statement to a job that an attempt still holds.
const held = "id = ? AND attempt = ? AND NOT buried AND lease_until <> ?"

// Finish implements [storage.Jobs].
func (db *DB) Finish(ctx context.Context, jobs ...storage.ClaimedJob) error {
	if len(jobs) == 0 {
		return nil
	}
	ids := make([]int64, len(jobs))
	attempts := make([][]int64, len(jobs))
	for i, j := range jobs {
		ids[i], attempts[i] = j.ID, []int64{j.ID, int64(j.Attempt)}
	}
	_, err := db.queued(ctx, `DELETE FROM hw_jobs WHERE id IN (?) AND (id, attempt) IN (VALUES ?)
		AND NOT buried AND lease_until <> ?`, bun.List(ids), bun.List(tuples(attempts)), noTime)
	return db.settled(failure(ctx, err, "job", 0), jobs...)
}

// tuples turns pairs into the form that bun writes as (1, 2), (3, 4).
func tuples(pairs [][]int64) []bun.TupleValues {
	all := make([]bun.TupleValues, len(pairs))
	for i, p := range pairs {
		all[i] = bun.Tuple(p)
	}
	return all
}

// Retry implements [storage.Jobs].
func (db *DB) Retry(ctx context.Context, job storage.ClaimedJob, runAt time.Time, reason string) error {
	_, err := db.queued(ctx, `UPDATE hw_jobs SET run_at = ?, due_at = ?, lease_until = ?, holder = '', reason = ?,
		failed = ?, away = ?, settled = attempt WHERE `+held,
		micros(runAt), micros(runAt), noTime, reason, job.Failed, job.Away, job.ID, job.Attempt, noTime)
	return db.settled(failure(ctx, err, "job", job.ID), job)
}

// Fail implements [storage.Jobs]. A failed job releases its UniqueKey.
func (db *DB) Fail(ctx context.Context, job storage.ClaimedJob, reason string) error {
	_, err := db.queued(ctx, "UPDATE hw_jobs SET buried = ?, lease_until = ?, holder = '', reason = ? WHERE "+held,
		bun.Safe("TRUE"), noTime, reason, job.ID, job.Attempt, noTime)
	return db.settled(failure(ctx, err, "job", job.ID), job)
}

// settled forgets jobs whose result was written; when err leaves that open, they stay tracked.
func (db *DB) settled(err error, jobs ...storage.ClaimedJob) error {
	if err == nil {
		db.hands.drop(jobs)
	}
	return err
}

// Extend implements [storage.Jobs].
func (db *DB) Extend(ctx context.Context, job storage.ClaimedJob, lease time.Time) error {
	res, err := db.queued(ctx, `UPDATE hw_jobs SET lease_until = ?,
		due_at = CASE WHEN run_at > ? THEN run_at ELSE ? END WHERE `+held,
		micros(lease), micros(lease), micros(lease), job.ID, job.Attempt, noTime)
	if err := changed(ctx, res, err, "job", job.ID); !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.New(fault.Conflict, "Another worker has taken over the job.")
}

// FailedJobs implements [helpdesk.FailedJobReader].
func (r reader) FailedJobs(ctx context.Context, f helpdesk.FailedJobFilter, seek storage.Seek) ([]storage.FailedJob, error) {
	var rows []jobRow
	q := r.selects(&rows).Err(checkText(f.Kind)).ApplyQueryBuilder(r.account).Where("buried")
	if f.Kind != "" {
		q.Where("kind = ?", f.Kind)
	}
	err := page(q, "id", seek).Scan(ctx)
	return mapped(rows, (*jobRow).buried), failure(ctx, err, "job", 0)
}

// ReviveJob implements [helpdesk.FailedJobWriter]. Workers find the job at their next poll.
func (w writer) ReviveJob(ctx context.Context, id int64, runAt time.Time) error {
	res, err := w.raw(`UPDATE hw_jobs SET buried = ?, run_at = ?, due_at = ?, lease_until = ?, holder = '', failed = 0, away = 0, settled = attempt
		WHERE id = ? AND account_id = ? AND buried`, bun.Safe("FALSE"), micros(runAt), micros(runAt), noTime, id, w.scope.AccountID).Exec(ctx)
	return changed(ctx, res, err, "job", id)
}

// DropJob implements [helpdesk.FailedJobWriter].
func (w writer) DropJob(ctx context.Context, id int64) error {
	res, err := w.raw("DELETE FROM hw_jobs WHERE id = ? AND account_id = ? AND buried", id, w.scope.AccountID).Exec(ctx)
	return changed(ctx, res, err, "job", id)
}

func (r *jobRow) buried() storage.FailedJob {
	return storage.FailedJob{ID: r.ID, Job: r.job(), Attempt: r.Attempt, Reason: r.Reason}
}

// FailedJobs implements [storage.Jobs]; newest first with seek.Desc.
func (db *DB) FailedJobs(ctx context.Context, seek storage.Seek) ([]storage.FailedJob, error) {
	var rows []jobRow
	err := page(db.selects(&rows).Where("buried"), "id", seek).Scan(ctx)
	return mapped(rows, (*jobRow).buried), failure(ctx, err, "job", 0)
}
