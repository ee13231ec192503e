package sending

import (
	"context"
	"time"
)

// Suppression is an address that no mail is sent to: its deliveries fail at once, as [Suppressed], until the suppression is
// lifted.
type Suppression struct {
	ID            int64
	Email         string
	Key           string // mailaddr.Key; unique in the account
	Reason        SuppressionReason
	Detail        string // the bounce's or the member's explanation; at most 500 characters
	UserID        int64  // who suppressed it; 0: a bounce
	InteractionID int64  // that bounced, may no longer exist; 0: none
	CreatedAt     time.Time
}

// SuppressionReason is the reason why no mail is sent to an address.
type SuppressionReason string

// The reasons of suppressions. More may be added.
const (
	SuppressedBounce SuppressionReason = "bounce" // a message bounced: the address does not exist
	SuppressedManual SuppressionReason = "manual" // suppressed by a member
)

// SuppressionInput is a new suppression.
type SuppressionInput struct {
	Email  string // required
	Detail string // at most 500 characters
}

// SuppressionReader reads the addresses that mail is not sent to.
type SuppressionReader interface {
	// SuppressionsByKey returns the suppressions of addresses, given by mailaddr.Key, by id.
	SuppressionsByKey(ctx context.Context, keys []string) ([]Suppression, error)
}

// UniqueSuppression is the code of the Conflict fault for a second suppression of the same account and Key.
const UniqueSuppression = "suppression"
