package ledger

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// Incoming is a parsed message with what its source and the parser know of it, ready to be filed.
type Incoming struct {
	message.Message
	Identity []byte // see [Mail].Identity; required
	// FormerIdentity is the Identity computed by earlier versions. It recognizes messages filed then. nil: none.
	FormerIdentity []byte
	// Guessed: the message lacks a single From header field with a single address, so readers may see different senders. It
	// joins a conversation only by a reply token.
	Guessed  bool
	Archived bool // from an archive, see [SourceImport]
	// KeptAsSent: fetched from a folder in which mail programs keep what they sent.
	KeptAsSent bool
	// Rewritten reports that a list or group replaced From with its own address. Original is the previous author, as far as the
	// message contains it.
	Rewritten  bool
	Original   mailaddr.Address
	DateOffset int       // time zone of Date, in seconds east of UTC
	LastHop    time.Time // time of receipt in the last Received header field; zero: unknown
	Relayed    bool      // a server relayed it, so it is not a copy kept by its sender
	Attached   *Incoming // the only attached message; nil: none or several
	Security   Security
	// Authentication contains results that trusted servers added to the header. They count only where nobody else can have
	// added them.
	Authentication Authentication
	Report         *sending.Report // report on the delivery of one of our messages; nil: none
}

// Forwarded is a message that a member forwarded to the desk, as the forwarding message describes it. Missing parts are
// zero.
type Forwarded struct {
	UserID    int64              `json:"user_id"` // the member
	From      mailaddr.Address   `json:"from"`
	ReplyTo   []mailaddr.Address `json:"reply_to,omitempty"`
	To        []mailaddr.Address `json:"to,omitempty"`
	Cc        []mailaddr.Address `json:"cc,omitempty"`
	Subject   string             `json:"subject,omitempty"`
	Date      time.Time          `json:"date,omitzero"`
	MessageID string             `json:"message_id,omitempty"`
}

// Parsed is a parsed message with its ledger row.
type Parsed struct {
	ID   int64 // of the row
	Mail Incoming
}

// UnknownSender is the customer address for messages without a sender (RFC 6761 section 6.4: mail to it is never delivered).
// A message that cannot be answered is better than one that nobody sees. It is never a participant.
const UnknownSender = "unknown-sender@mail.invalid"

// SourceImport is the source of messages from an archive: mbox files or a Maildir. Such messages keep their own date,
// whatever their age, and are never treated as a member's commands. A message that the mailbox, or a member on its behalf,
// sent to others becomes a reply, which is not sent again. A conversation whose last message is such a reply, or is older
// than 30 days, is closed.
const SourceImport = "import"
