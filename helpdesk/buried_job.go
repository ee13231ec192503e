package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// UniqueJob is the code of the Conflict fault about a job that is retried while another with its key waits or runs: that
// one does the same.
const UniqueJob = "job"

// BuriedJobFilter narrows a list of jobs that were given up.
type BuriedJobFilter struct {
	Kind string // "": all
}

// BuriedJobReader reads the jobs of an account that were given up.
type BuriedJobReader interface {
	// BuriedJobs lists by id.
	BuriedJobs(ctx context.Context, filter BuriedJobFilter, seek storage.Seek) ([]storage.BuriedJob, error)
}

// BuriedJobWriter decides about the jobs of an account that were given up. One that is there and was not given up is
// NotFound.
type BuriedJobWriter interface {
	// ReviveJob makes a job due at a time, as one that has not failed: what became of it before counts no more, but for the
	// number of its attempts. It is a Conflict fault with code UniqueJob while another with its UniqueKey is unfinished.
	ReviveJob(ctx context.Context, id int64, runAt time.Time) error
	// DropJob removes a job.
	DropJob(ctx context.Context, id int64) error
}

// What is in the audit log about jobs; the subject is the job.
const (
	auditJobRetried = "job.retried"
	auditJobDropped = "job.dropped"
)

// BuriedJobs lists the jobs of the account that were given up, newest first, with the reasons, which tell how the server
// works inside. It needs accounts.update, and members of some mailboxes get none.
func (d *Desk) BuriedJobs(ctx context.Context, filter BuriedJobFilter, req storage.PageRequest) (storage.Page[storage.BuriedJob], error) {
	r, err := d.guard.Read(AccountsUpdate)
	if err == nil {
		err = d.reachesAll()
	}
	if err != nil {
		return storage.Page[storage.BuriedJob]{}, err
	}
	var problems fault.Collector
	filter.Kind = cleanLine(filter.Kind)
	bounded(&problems, "kind", filter.Kind, 64)
	if err := problems.Err(); err != nil {
		return storage.Page[storage.BuriedJob]{}, err
	}
	return storage.List(req, true, func(j storage.BuriedJob) storage.Position { return storage.Position{ID: j.ID} },
		func(seek storage.Seek) ([]storage.BuriedJob, error) { return r.BuriedJobs(ctx, filter, seek) })
}

// RetryJob has a job done that was given up, as if it had not failed before. It is a Conflict fault while another job waits
// or runs that does the same. It needs accounts.update.
func (d *Desk) RetryJob(ctx context.Context, id int64) error {
	return d.decide(ctx, id, auditJobRetried, revive)
}

// DropJob removes a job that was given up: it is never done. It needs accounts.update.
func (d *Desk) DropJob(ctx context.Context, id int64) error {
	return d.decide(ctx, id, auditJobDropped, drop)
}

// decision is what can be done about a job that was given up.
type decision func(ctx context.Context, tx BuriedJobWriter, id int64, now time.Time) error

func revive(ctx context.Context, tx BuriedJobWriter, id int64, now time.Time) error {
	err := tx.ReviveJob(ctx, id, now)
	if isUnique(err, UniqueJob) {
		return &fault.Error{Kind: fault.Conflict, Resource: "job", ID: id, Code: UniqueJob, Message: "A job that does the same waits or runs already: drop this one.", Err: err}
	}
	return err
}

func drop(ctx context.Context, tx BuriedJobWriter, id int64, _ time.Time) error {
	return tx.DropJob(ctx, id)
}

func (d *Desk) decide(ctx context.Context, id int64, action string, do decision) error {
	begin, err := d.guard.Write(AccountsUpdate)
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

// RetryJob is [Desk.RetryJob] of a job of an account, 0 for one of none; operators only.
func (a *Admin) RetryJob(ctx context.Context, accountID, id int64) error {
	return a.decide(ctx, accountID, id, auditJobRetried, revive)
}

// DropJob is [Desk.DropJob] of a job of an account, 0 for one of none; operators only.
func (a *Admin) DropJob(ctx context.Context, accountID, id int64) error {
	return a.decide(ctx, accountID, id, auditJobDropped, drop)
}

// decide notes what was done in the log of the job's account, if that is still there.
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
