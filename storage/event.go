package storage

import (
	"context"
	"time"
)

// Event is one entry of an account's log: something that happened, written in the
// transaction that made it happen.
type Event struct {
	Seq       int64     // position in the account's log, from 1 without gaps; set by the store
	Type      string    // <area>.<past tense>, such as "conversation.created"
	Subject   int64     // id of the resource
	MailboxID int64     // whose members may see it; 0: all members of the account
	ActorID   int64     // user who did it; 0: nobody, a mail for instance
	Data      []byte    // JSON object
	Time      time.Time // of the transaction
}

// EventLog reads the logs of accounts.
type EventLog interface {
	// Events returns at most limit events of an account with a Seq above after, in
	// order. An event once returned is never preceded later by one that was not.
	Events(ctx context.Context, accountID, after int64, limit int) ([]Event, error)
}
