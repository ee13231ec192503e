package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// UniqueJob is the code of the Conflict fault for retrying a job while another job with its key waits or runs; that job does
// the same work.
const UniqueJob = "job"

// FailedJobFilter narrows a list of jobs that were given up.
type FailedJobFilter struct {
	Kind string // "": all
}

// FailedJobReader reads the jobs of an account that were given up.
type FailedJobReader interface {
	// FailedJobs lists by id.
	FailedJobs(ctx context.Context, filter FailedJobFilter, seek storage.Seek) ([]storage.FailedJob, error)
}

// FailedJobWriter retries or drops an account's jobs that were given up. A job that was not given up is a NotFound fault.
type FailedJobWriter interface {
	// ReviveJob makes a job due at a time, as if it had not failed; it keeps only the number of attempts. While another job
	// with its UniqueKey is unfinished, it is a Conflict fault with code UniqueJob.
	ReviveJob(ctx context.Context, id int64, runAt time.Time) error
	// DropJob removes a job.
	DropJob(ctx context.Context, id int64) error
}

// Audit log actions on jobs; the subject is the job.
const (
	auditJobRetried = "job.retried"
	auditJobDropped = "job.dropped"
)

// FailedJobs lists the account's jobs that were given up, newest first, with the reasons, which expose server internals. It
// needs accounts.update; for members limited to some mailboxes it is a Forbidden fault.
func (d Account) FailedJobs(ctx context.Context, filter FailedJobFilter, req storage.PageRequest) (storage.Page[storage.FailedJob], error) {
	r, err := d.guard.Read(identity.AccountsUpdate)
	if err == nil {
		err = d.reachesAll()
	}
	if err != nil {
		return storage.Page[storage.FailedJob]{}, err
	}
	var problems fault.Collector
	filter.Kind = plain.Line(filter.Kind)
	bounded(&problems, "kind", filter.Kind, 64)
	if err := problems.Err(); err != nil {
		return storage.Page[storage.FailedJob]{}, err
	}
	return storage.List(req, true, func(j storage.FailedJob) storage.Position { return storage.Position{ID: j.ID} },
		func(seek storage.Seek) ([]storage.FailedJob, error) { return r.FailedJobs(ctx, filter, seek) })
}

// RetryJob retries a job that was given up, as if it had not failed before. While another job with the same work waits or
// runs, it is a Conflict fault. It needs accounts.update.
func (d Account) RetryJob(ctx context.Context, id int64) error {
	return d.decide(ctx, id, auditJobRetried, revive)
}

// DropJob removes a job that was given up, for good. It needs accounts.update.
func (d Account) DropJob(ctx context.Context, id int64) error {
	return d.decide(ctx, id, auditJobDropped, drop)
}

// decision is an operation on a job that was given up.
type decision func(ctx context.Context, tx FailedJobWriter, id int64, now time.Time) error

func revive(ctx context.Context, tx FailedJobWriter, id int64, now time.Time) error {
	err := tx.ReviveJob(ctx, id, now)
	if isUnique(err, UniqueJob) {
		return &fault.Error{Kind: fault.Conflict, Resource: "job", ID: id, Code: UniqueJob, Message: "A job with the same work is already waiting or running. Drop this one.", Err: err}
	}
	return err
}

func drop(ctx context.Context, tx FailedJobWriter, id int64, _ time.Time) error {
	return tx.DropJob(ctx, id)
}

func (d *desk) decide(ctx context.Context, id int64, action string, do decision) error {
	begin, err := d.guard.Write(identity.AccountsUpdate)
	if err == nil {
		err = d.reachesAll()
	}
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := do(ctx, tx, id, d.svc.now()); err != nil {
			return err
		}
		return tx.InsertAudit(ctx, []AuditEntry{d.svc.entry(action, id, d.userID, d.caller.tokenID, d.svc.now())})
	})
}

// RetryJob is [Account.RetryJob] for a job of an account, or of none if 0; operators only.
func (a *Admin) RetryJob(ctx context.Context, accountID, id int64) error {
	return a.decide(ctx, accountID, id, auditJobRetried, revive)
}

// DropJob is [Account.DropJob] for a job of an account, or of none if 0; operators only.
func (a *Admin) DropJob(ctx context.Context, accountID, id int64) error {
	return a.decide(ctx, accountID, id, auditJobDropped, drop)
}

// decide records the action in the log of the job's account, if that still exists.
func (a *Admin) decide(ctx context.Context, accountID, id int64, action string, do decision) error {
	begin, err := a.guard.Write(operate)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx SystemTx) error {
		in := tx.Within(Scope{AccountID: accountID})
		if err := do(ctx, in, id, a.svc.now()); err != nil || accountID == 0 {
			return err
		}
		if _, err := in.Reader().Account(ctx); err != nil {
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return err
		}
		return in.InsertAudit(ctx, []AuditEntry{a.svc.entry(action, id, 0, 0, a.svc.now())})
	})
}
