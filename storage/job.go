package storage

import (
	"context"
	"time"
)

// Job is work to be done after a transaction's commit, at least once.
type Job struct {
	Kind      string    // what to do, such as "mail.send"; at most 64 bytes
	AccountID int64     // 0: none
	Subject   int64     // id of what it is about; its meaning is the kind's
	Payload   []byte    // JSON, at most 64 KiB; nil: none
	UniqueKey string    // "": none; at most one unfinished job has a given key
	RunAt     time.Time // not before; zero: at once
}

// ClaimedJob is a job that a worker holds until its lease ends.
type ClaimedJob struct {
	ID int64
	Job
	Attempt int // 1 for the first; also the fence: results of an older attempt are dropped
	// What became of earlier attempts, as [Jobs.Retry] was told: how many failed by
	// themselves, and how many in a row met an outage of what all jobs need.
	Failed, Away int
	// Lost is how many attempts before this one, in a row, left no result: the processes
	// that ran them may have died of it.
	Lost int
}

// BuriedJob is a job that was given up; a person decides about it.
type BuriedJob struct {
	ID int64
	Job
	Attempt int
	Reason  string
}

// Jobs is the queue that workers take from. Implementations let several
// processes claim at the same time without handing a job out twice.
type Jobs interface {
	// Claim takes at most n due jobs of the given kinds, oldest due first, for the
	// time until lease; a job whose lease ended is due again, with a higher attempt.
	// After an error jobs may have been taken, for nobody: an implementation that can
	// find them gives them back.
	Claim(ctx context.Context, kinds []string, n int, now, lease time.Time) ([]ClaimedJob, error)
	// Finish removes jobs that are done. Those that another attempt has taken over
	// meanwhile are left alone.
	Finish(ctx context.Context, jobs ...ClaimedJob) error
	// Retry makes a job due again at runAt, remembering why, and job.Failed and job.Away.
	Retry(ctx context.Context, job ClaimedJob, runAt time.Time, reason string) error
	// Bury keeps a job for a person to decide about; it is not claimed again.
	Bury(ctx context.Context, job ClaimedJob, reason string) error
	// Extend prolongs the lease of jobs that take long; a job that another attempt
	// has taken over is a Conflict fault.
	Extend(ctx context.Context, job ClaimedJob, lease time.Time) error
	// Buried lists jobs that were given up, newest first.
	Buried(ctx context.Context, seek Seek) ([]BuriedJob, error)
	// Wake returns a channel that receives a value, or not, soon after jobs were
	// committed; workers poll besides. It is valid for the life of the store.
	Wake() <-chan struct{}
}
