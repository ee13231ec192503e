package helpdesk

import (
	"context"
	"io"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// fetched reports whether it was fetched from a mail server.
func wasFetched(m ledger.Mail) bool { return m.Source == "imap" || m.Source == "pop3" }

// ofAnyAge reports whether it was fetched from a mail server or imported from an archive.
func ofAnyAge(m ledger.Mail) bool { return wasFetched(m) || m.Source == ledger.SourceImport }

func cleanHead(h ledger.Head) ledger.Head {
	return ledger.Head{
		Subject: plain.Cut(plain.Line(h.Subject), 998),
		From:    mailaddr.Address{Name: plain.Cut(plain.Line(h.From.Name), 200), Email: plain.Cut(plain.Line(h.From.Email), 320)},
	}
}

// InboundMails are the ledger of mails that mailboxes received.
type InboundMails struct{ *desk }

// InboundMails returns the handle of the ledger of received mails.
func (d *Desk) InboundMails() InboundMails { return InboundMails{&d.desk} }

// List lists a mailbox's ledger rows, newest first; no states means all. It needs mailboxes.connection.
func (d InboundMails) List(ctx context.Context, filter ledger.Filter, req storage.PageRequest) (storage.Page[ledger.Mail], error) {
	var none storage.Page[ledger.Mail]
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return none, err
	}
	if _, err := r.Mailboxes().Get(ctx, filter.MailboxID); err != nil {
		return none, err
	}
	return storage.List(req, true, func(m ledger.Mail) storage.Position { return storage.Position{ID: m.ID} },
		func(seek storage.Seek) ([]ledger.Mail, error) { return r.InboundMails(ctx, filter, seek) })
}

// Get returns one row of a mailbox's ledger. It needs mailboxes.connection.
func (d InboundMails) Get(ctx context.Context, mailboxID, id int64) (ledger.Mail, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.Mail{}, err
	}
	m, err := r.InboundMail(ctx, id)
	if err == nil && m.MailboxID != mailboxID {
		err = fault.Missing("mail", id)
	}
	if err != nil {
		return ledger.Mail{}, err
	}
	return m, nil
}

// Open opens the raw bytes of a received message. It needs mailboxes.connection. A message deleted with its conversation
// is a NotFound fault.
func (d InboundMails) Open(ctx context.Context, mailboxID, id int64) (io.ReadCloser, error) {
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
