package storage

import (
	"context"
	"time"
)

// Event is one entry of an account's log: something that happened, written in the
// transaction that made it happen.
type Event struct {
	Seq            int64     // position in the account's log, from 1 without gaps; set by the store
	Type           string    // <area>.<past tense>, such as "conversation.created"
	Subject        int64     // id of the resource
	MailboxID      int64     // whose members may see it; 0: all members of the account
	ConversationID int64     // that it happened in; 0: in none
	ActorID        int64     // user who did it; 0: nobody, a mail for instance
	Data           []byte    // JSON object
	Time           time.Time // of the transaction
}

// EventLog reads the logs of accounts.
type EventLog interface {
	// Events returns at most limit events of an account with a Seq above after, in
	// order. An event once returned is never preceded later by one that was not.
	Events(ctx context.Context, accountID, after int64, limit int) ([]Event, error)
}

// EventNotifier is an [EventLog] that tells when logs have grown. Readers of one
// that is none, or that misses some, poll.
type EventNotifier interface {
	// NotifyEvents has fn called soon after events of an account were committed, by
	// any process; with 0 when any account may have some. fn must not block. The
	// calls end with stop.
	NotifyEvents(fn func(accountID int64)) (stop func())
}

// EventFeed follows logs as they grow, see package events.
type EventFeed interface {
	// Follow begins after the event with the Seq after.
	Follow(accountID, after int64) EventStream
}

// EventStream is one reader of an account's log. It belongs to one goroutine.
type EventStream interface {
	// Next waits for the events that follow those it returned last and returns some of
	// them in their order, none left out and none twice. It fails with the context's
	// error, and with an Unavailable fault when the feed has ended or the log cannot be
	// read; after the latter it may be called again.
	Next(ctx context.Context) ([]Event, error)
	// Close ends the stream.
	Close()
}
