package storage

import "context"

// Outbox is part of every transaction: the jobs and events put into it become
// visible with the transaction's commit, and vanish with its rollback.
type Outbox interface {
	// Enqueue adds jobs. One whose UniqueKey is already queued and unfinished is
	// left out silently.
	Enqueue(ctx context.Context, jobs ...Job) error
	// Emit appends events to the log of the transaction's account in the order given.
	Emit(ctx context.Context, events ...Event) error
}
