package ledger

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// Mail is one row of the ledger: a message that reached a mailbox, whatever its state. Rows outlive their conversation, so
// that the next import does not bring a deleted one back.
type Mail struct {
	ID             int64
	MailboxID      int64
	Source         string // "imap", "pop3", "smtp", "lmtp", "replay" or [SourceImport]
	Position       string // in the source; "" if the source has no positions
	State          State
	Reason         string // why it was set aside, or a remark on how it was filed
	UserID         int64  // who ignored it, at UpdatedAt; 0: nobody, or a rule
	Note           string // by whoever ignored it, at most 500 characters
	Partial        bool   // the raw bytes are incomplete; a replay fetches it again
	Deaths         int    // number of processes that crashed filing it, see helpdesk.Intake.StartMail
	RawKey         string // blob of the raw mail; "" when it was deleted with its conversation, or after helpdesk.Retention
	Size           int64  // bytes of the raw mail
	MessageID      string // for people; "" until it was parsed
	Head                  // for people: header fields, as far as readable
	Identity       []byte // Message-ID and hash of From, Date and content; nil until it was filed
	ConversationID int64  // 0 unless filed
	InteractionID  int64  // 0 unless filed
	// Authentication contains the results of checking the sender during receipt.
	Authentication Authentication
	DeliveredAt    time.Time // when the server it was fetched from received it; zero: unknown
	ReceivedAt     time.Time // here
	UpdatedAt      time.Time
}

// State is the processing state of a received message.
type State string

// The states of a received mail.
const (
	Received    State = "received"    // its raw bytes are stored, nothing else happened
	Filed       State = "filed"       // it is an interaction
	Ignored     State = "ignored"     // on purpose, see Reason
	Quarantined State = "quarantined" // could not be filed, see Reason; can be replayed
)

// Head contains the header fields by which people recognize a message.
type Head struct {
	Subject string
	From    mailaddr.Address
}

// Raw is one message from a source.
type Raw struct {
	// Position identifies the message in its source; "" if the source has no positions. Each position of a source is taken only
	// once.
	Position string
	Raw      []byte
	// DeliveredAt is when the server it was fetched from received it; zero: unknown.
	DeliveredAt time.Time
	// Problem is set when the source could not read the message completely. The message is quarantined with this reason, and a
	// replay fetches it again.
	Problem string
	// Head contains its header fields; unreadable ones are empty.
	Head Head
	// Authentication contains the results of checking the sender during receipt; zero if unchecked.
	Authentication Authentication
}

// Filter narrows a list of ledger rows. The zero value selects all.
type Filter struct {
	MailboxID int64
	States    []State
}

// Counts are the numbers of unfiled messages in a ledger.
type Counts struct {
	Received    int64 // waiting to be filed
	Quarantined int64
	Ignored     int64
}
