package sending

import (
	"time"
)

// Delivery is the state of one recipient of a posted user interaction.
type Delivery struct {
	ID            int64
	InteractionID int64
	Address       string
	AddressKey    string // its mailaddr.Key
	Field         string // "to", "cc" or "bcc"
	State         State
	Attempts      int
	Code          int       // SMTP reply code of the last attempt, RFC 5321 section 4.2; 0: none
	EnhancedCode  string    // RFC 3463, such as "5.1.1"; "": none
	Response      string    // text of the last reply, at most 500 bytes
	MessageID     string    // that the relay gave the mail instead of the interaction's, see [RelayMessageID]; "": none
	NextAttemptAt time.Time // earliest next attempt; zero: none
	HeldBy        int64     // ID of the job that is attempting it; 0: none
	HeldUntil     time.Time // deadline of that job
	CreatedAt     time.Time
	UpdatedAt     time.Time // time of the last reply
}

// Spooled is the Response of a mail that was written to a file because no relay is set: it reached nobody.
const Spooled = "Written to the spool."

// Spooled reports whether the message was only written to a file.
func (d Delivery) Spooled() bool { return d.State == Sent && d.Response == Spooled }

// DeliveryFilter names the interactions whose deliveries are listed.
type DeliveryFilter struct{ InteractionIDs []int64 }

// State is the state of delivering a reply to one recipient.
type State string

// The states of a delivery.
const (
	Queued     State = "queued"     // not attempted yet
	Sent       State = "sent"       // accepted by the relay, or spooled
	Delivered  State = "delivered"  // a report (RFC 3464) says that it reached the recipient's mailbox
	Deferred   State = "deferred"   // rejected temporarily, to be retried
	Failed     State = "failed"     // rejected permanently, or given up
	Bounced    State = "bounced"    // accepted by the relay, and returned later
	Suppressed State = "suppressed" // not attempted: the address is suppressed
)

// Undelivered reports whether the message did not reach the recipient and is not retried automatically.
func (s State) Undelivered() bool {
	return s == Failed || s == Bounced || s == Suppressed
}

// Accepted reports whether the relay has accepted the message, and nothing says that it came back.
func (s State) Accepted() bool { return s == Sent || s == Delivered }

// Report is a report, found in a message, on the delivery of one of ours.
type Report struct {
	InWords    bool     // parsed from a mail system's text for people
	Complaint  bool     // recipients received the message and report it as abuse
	MessageIDs []string // of the reported message, the likeliest first
	Senders    []string // possible senders of the reported message
	Recipients []ReportedRecipient
}

// ReportedRecipient is a report's result for one recipient.
type ReportedRecipient struct {
	Address      string
	Original     string // before it was rewritten in transit; "": not reported
	State        State  // bounced; delivered; deferred: still in transit; sent: handed on to a server that sends no reports
	EnhancedCode string // RFC 3463; "": not reported
	Response     string
}
