package sending

import "time"

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

// SuppressionFilter narrows a list of suppressions.
type SuppressionFilter struct {
	Keys []string // with any of these; empty: all
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

// UniqueSuppression is the code of the Conflict fault for a second suppression of the same account and Key.
const UniqueSuppression = "suppression"
