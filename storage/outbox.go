package storage

import "context"

// Outbox is part of every transaction: its jobs and events become visible when the transaction commits, and disappear when
// it rolls back.
type Outbox interface {
	// Enqueue adds jobs, with the context's [Traceparent] unless they have one. A job whose UniqueKey belongs to an unfinished job is silently dropped.
	Enqueue(ctx context.Context, jobs ...Job) error
	// Emit appends events to the log of the transaction's account in the order given.
	Emit(ctx context.Context, events ...Event) error
}
