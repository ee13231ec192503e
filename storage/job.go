package storage

import (
	"context"
	"time"
)

// Job is work to run at least once after its transaction commits.
type Job struct {
	Kind      string    // what to do, such as "mail.send"; at most 64 bytes
	AccountID int64     // 0: none
	Subject   int64     // id of the resource it is about; the kind defines its meaning
	Payload   []byte    // JSON, at most 64 KiB; nil: none
	UniqueKey string    // "": none; at most one unfinished job has a given key
	RunAt     time.Time // earliest start; zero: at once
	// Trace is the traceparent of the work that enqueued it, at most [MaxTraceparent] bytes; "": Enqueue asks the context, see
	// [Traceparent], and what is not traced has none.
	Trace string
	// Listens are types of events: the job is dropped unless the account listens to one of them when the transaction commits, see
	// identity.Account; nil: it is never dropped.
	Listens []string
}

// ClaimedJob is a job that a worker has leased.
type ClaimedJob struct {
	ID int64
	Job
	Attempt int // 1 for the first; also a fencing token: results of an earlier attempt are dropped
	// Failed and Away record earlier attempts as [Jobs.Retry] reported them: how many failed by themselves, and how many in a
	// row failed because a shared dependency was unavailable.
	Failed, Away int
	// Lost is how many attempts in a row, before this one, left no result: the job may have crashed the processes that ran it.
	Lost int
}

// FailedJob is a job that was given up; a person decides what to do with it.
type FailedJob struct {
	ID int64
	Job
	Attempt int
	Reason  string
}

// Jobs is the queue that workers claim jobs from. Several processes may claim at the same time; no job is handed out twice.
type Jobs interface {
	// Claim leases due jobs until lease: of each kind in most at most so many, the oldest due first, and none of other kinds.
	// It returns them in the order in which they were due. A job whose lease has expired is due again, with a higher attempt.
	// When Claim fails, some jobs may have been leased to no worker; an implementation that can find them releases them.
	Claim(ctx context.Context, most map[string]int, now, lease time.Time) ([]ClaimedJob, error)
	// Finish deletes completed jobs. It leaves jobs alone that a later attempt has taken over.
	Finish(ctx context.Context, jobs ...ClaimedJob) error
	// Retry makes a job due again at runAt and stores the reason, job.Failed and job.Away.
	Retry(ctx context.Context, job ClaimedJob, runAt time.Time, reason string) error
	// Fail sets a job aside for a person to decide about; it is not claimed again.
	Fail(ctx context.Context, job ClaimedJob, reason string) error
	// Extend prolongs the lease of a long-running job. A job that a later attempt has taken over is a Conflict fault.
	Extend(ctx context.Context, job ClaimedJob, lease time.Time) error
	// FailedJobs lists failed jobs, newest first.
	FailedJobs(ctx context.Context, seek Seek) ([]FailedJob, error)
	// Wake returns a channel that usually receives a value soon after jobs were committed; workers must poll as well. The
	// channel is valid for the life of the store.
	Wake() <-chan struct{}
}

// KindWaker is a queue that knows what its wake-ups are about, so that workers need not look for jobs of every kind each
// time. [Jobs] may implement it.
type KindWaker interface {
	// Woken returns the kinds of the jobs that the channel's values since the last call were about; all reports that there may
	// be jobs of any kind. It is called after a value was received.
	Woken() (kinds []string, all bool)
}
