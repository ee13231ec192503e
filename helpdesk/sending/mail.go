package sending

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
)

// EncryptedMail is a copy of a reply, encrypted for all of Keys.
type EncryptedMail struct {
	Due []Delivery // recipients of this attempt; all in To and Cc, or one in Bcc
	// Keys are packets of valid OpenPGP keys; a recipient may have several.
	Keys [][]byte
}

// SystemMail is a mail from the help desk itself to one recipient who is not a customer. Every attempt gets the same
// content.
type SystemMail struct {
	MessageID string
	Date      time.Time
	From      mailaddr.Address
	ReplyTo   string // address for replies; "": From
	To        mailaddr.Address
	Subject   string
	InReplyTo string
	Text      string
	Relay     *Relay    // of the mailbox whose address From is; nil: the server's
	DKIM      []DKIMKey // to sign with; none: unsigned
}

// MailLinks build the URLs of pages in system mails. All but Forgotten are required.
type MailLinks struct {
	Invitation    func(token string) string        // for accepting an invitation
	Conversation  func(accountID, id int64) string // for reading a conversation
	Mailbox       func(accountID, id int64) string // for managing a mailbox
	Notifications func(accountID int64) string     // for choosing notifications
	Password      func(token string) string        // for choosing a new password
	Forgotten     func() string                    // for asking for a new password; nil: no link
}

// Check adds problems for missing links, on fields below Links.
func (l MailLinks) Check(problems *fault.Collector) {
	problems.Check(l.Invitation != nil, "Links.Invitation", "is required")
	problems.Check(l.Conversation != nil, "Links.Conversation", "is required")
	problems.Check(l.Mailbox != nil, "Links.Mailbox", "is required")
	problems.Check(l.Notifications != nil, "Links.Notifications", "is required")
	problems.Check(l.Password != nil, "Links.Password", "is required")
}
