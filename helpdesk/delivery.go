package helpdesk

import "time"

// DeliveryState is how far an answer got on its way to one recipient.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryQueued   DeliveryState = "queued"
	DeliverySent     DeliveryState = "sent"     // the relay has taken it
	DeliveryDeferred DeliveryState = "deferred" // refused for now, tried again
	DeliveryFailed   DeliveryState = "failed"   // refused for good, or given up
	DeliveryBounced  DeliveryState = "bounced"  // taken by the relay and returned later
)

// Delivery is the state of one recipient of a posted user interaction.
type Delivery struct {
	ID            int64
	InteractionID int64
	Address       string
	Field         string // "to", "cc" or "bcc"
	State         DeliveryState
	Attempts      int
	Code          int    // SMTP reply code of the last try, RFC 5321 section 4.2; 0: none
	EnhancedCode  string // RFC 3463, such as "5.1.1"; "": none
	Response      string // text of the last answer, at most 500 bytes
	NextAttemptAt time.Time
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
