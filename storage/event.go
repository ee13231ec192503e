package storage

import (
	"context"
	"time"
)

// Event is one entry of an account's event log, written in the transaction that caused it.
type Event struct {
	Seq            int64     // position in the account's log, from 1 without gaps; set by the store
	Type           string    // <area>.<past tense>, such as "conversation.created"
	Subject        int64     // id of the resource
	MailboxID      int64     // members of this mailbox may see it; 0: all members of the account
	ConversationID int64     // conversation it happened in; 0: none
	ActorID        int64     // user who caused it; 0: none, for example a mail
	Data           []byte    // JSON object
	Time           time.Time // time of the transaction
}

// EventLog reads the event logs of accounts.
type EventLog interface {
	// Events returns the first events of an account with a Seq above after, in order: limit of them, or all if there are fewer.
	// Once it has returned an event, no event with a lower Seq appears later.
	Events(ctx context.Context, accountID, after int64, limit int) ([]Event, error)
}

// EventNotifier is an [EventLog] that announces new events. Readers poll when the log does not implement it, and because
// notifications may be lost.
type EventNotifier interface {
	// NotifyEvents registers fn, which is called soon after any process has committed events of an account; accountID is 0 when
	// any account may have new events. fn must not block. Calling stop ends the calls.
	NotifyEvents(fn func(accountID int64)) (stop func())
}

// EventFeed follows event logs as they grow: see package events.
type EventFeed interface {
	// Follow returns a stream that starts after the event with the Seq after.
	Follow(accountID, after int64) EventStream
}

// EventStream is one reader of an account's event log. It is for use by one goroutine.
type EventStream interface {
	// Next waits for the next events and returns them in order, without gaps or repeats. Other streams may share them: they are
	// not to be changed. It returns the context's error, or an
	// Unavailable fault when the feed has ended or the log cannot be read; in the last case Next may be called again.
	Next(ctx context.Context) ([]Event, error)
	// Close ends the stream.
	Close()
}
