package helpdesk

import (
	"context"
	"io"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// InboundState is the processing state of a received message.
type InboundState string

// The states of a received mail.
const (
	InboundReceived    InboundState = "received"    // its raw bytes are stored, nothing else happened
	InboundFiled       InboundState = "filed"       // it is an interaction
	InboundIgnored     InboundState = "ignored"     // on purpose, see Reason
	InboundQuarantined InboundState = "quarantined" // could not be filed, see Reason; can be replayed
)

// InboundMail is one row of the ledger: a message that reached a mailbox, whatever its state. Rows
// outlive their conversation, so that the next import does not bring a deleted one back.
type InboundMail struct {
	ID             int64
	MailboxID      int64
	Source         string // "imap", "pop3", "smtp", "lmtp", "replay" or [SourceImport]
	Position       string // in the source; "" if the source has no positions
	State          InboundState
	Reason         string // why it was set aside, or a remark on how it was filed
	UserID         int64  // who ignored it, at UpdatedAt; 0: nobody, or a rule
	Note           string // by whoever ignored it, at most 500 characters
	Partial        bool   // the raw bytes are incomplete; a replay fetches it again
	Deaths         int    // number of processes that crashed filing it, see [Intake.StartMail]
	RawKey         string // blob of the raw mail; "" when it was deleted with its conversation, or after [Retention]
	Size           int64  // bytes of the raw mail
	MessageID      string // for people; "" until it was parsed
	MailHead              // for people: header fields, as far as readable
	Identity       []byte // Message-ID and hash of From, Date and content; nil until it was filed
	ConversationID int64  // 0 unless filed
	InteractionID  int64  // 0 unless filed
	// Authentication contains the results of checking the sender during receipt.
	Authentication MailAuthentication
	DeliveredAt    time.Time // when the server it was fetched from received it; zero: unknown
	ReceivedAt     time.Time // here
	UpdatedAt      time.Time
}

// fetched reports whether it was fetched from a mail server.
func wasFetched(m InboundMail) bool { return m.Source == "imap" || m.Source == "pop3" }

// ofAnyAge reports whether it was fetched from a mail server or imported from an archive.
func ofAnyAge(m InboundMail) bool { return wasFetched(m) || m.Source == SourceImport }

// MailHead contains the header fields by which people recognize a message.
type MailHead struct {
	Subject string
	From    mailaddr.Address
}

func cleanHead(h MailHead) MailHead {
	return MailHead{
		Subject: plain.Cut(plain.Line(h.Subject), 998),
		From:    mailaddr.Address{Name: plain.Cut(plain.Line(h.From.Name), 200), Email: plain.Cut(plain.Line(h.From.Email), 320)},
	}
}

// InboundFilter narrows a list of ledger rows. The zero value selects all.
type InboundFilter struct {
	MailboxID int64
	States    []InboundState
}

// InboundMails lists a mailbox's ledger rows, newest first; no states means all. It needs
// mailboxes.connection.
func (d *Desk) InboundMails(ctx context.Context, filter InboundFilter, req storage.PageRequest) (storage.Page[InboundMail], error) {
	var none storage.Page[InboundMail]
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return none, err
	}
	if _, err := r.Mailboxes().Get(ctx, filter.MailboxID); err != nil {
		return none, err
	}
	return storage.List(req, true, func(m InboundMail) storage.Position { return storage.Position{ID: m.ID} },
		func(seek storage.Seek) ([]InboundMail, error) { return r.InboundMails(ctx, filter, seek) })
}

// InboundMail returns one row of a mailbox's ledger. It needs mailboxes.connection.
func (d *Desk) InboundMail(ctx context.Context, mailboxID, id int64) (InboundMail, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return InboundMail{}, err
	}
	m, err := r.InboundMail(ctx, id)
	if err == nil && m.MailboxID != mailboxID {
		err = fault.Missing("mail", id)
	}
	if err != nil {
		return InboundMail{}, err
	}
	return m, nil
}

// OpenRaw opens the raw bytes of a received message. It needs mailboxes.connection. A message
// deleted with its conversation is a NotFound fault.
func (d *Desk) OpenRaw(ctx context.Context, mailboxID, id int64) (io.ReadCloser, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return nil, err
	}
	m, err := r.InboundMail(ctx, id)
	if err == nil && (m.MailboxID != mailboxID || m.RawKey == "") {
		err = fault.Missing("mail", id)
	}
	if err != nil {
		return nil, err
	}
	return d.svc.cfg.Blobs.Get(ctx, m.RawKey)
}
