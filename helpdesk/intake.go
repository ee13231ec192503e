package helpdesk

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// receive is the only permission of an Intake.
const receive identity.Permission = "mail.receive"

// Intake can only receive mail: it finds the mailbox of an address, takes raw messages into the ledger and files them. It
// cannot read conversations or send mail.
type Intake struct {
	svc    *Service
	system systemGuard
	desk   func(accountID int64) deskGuard
}

// Intake returns the handle for sources of mail.
func (s *Service) Intake() *Intake {
	allows := func(p identity.Permission) bool { return p == receive }
	return &Intake{
		svc:    s,
		system: guard.New(allows, Directory(s.cfg.Store), s.cfg.Store.InSystemTx),
		desk:   func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) },
	}
}

// Recipient finds the mailbox of an internal address, with or without a reply token. Any other address is a NotFound fault.
func (in *Intake) Recipient(ctx context.Context, address string) (Mailbox, error) {
	dir, err := in.system.Read(receive)
	if err != nil {
		return Mailbox{}, err
	}
	local, domain, found := plain.CutLast(mailaddr.Key(address), "@")
	if !found || domain != mailaddr.Key(in.svc.cfg.IntakeDomain) {
		return Mailbox{}, fault.New(fault.NotFound, "There is no such mailbox here.")
	}
	base, _ := splitDetail(local)
	m, err := dir.MailboxByLocal(ctx, base)
	m.Inbound = ledger.Inbound{}
	return m, err
}

// Cursor returns the last message taken from a folder.
func (in *Intake) Cursor(ctx context.Context, accountID, mailboxID int64, folder string) (mailserver.Cursor, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return mailserver.Cursor{}, err
	}
	return r.FetchCursor(ctx, mailboxID, folder)
}

// ReportFetch records the result of fetching a mailbox. A zero LastSuccessAt or an empty LastError keeps the previous value.
func (in *Intake) ReportFetch(ctx context.Context, accountID int64, status ledger.FetchStatus) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		old, err := lockedStatus(ctx, tx, status.MailboxID)
		if err != nil {
			return err
		}
		next := status
		next.Worker, next.Deaths, next.Fruitless, next.ParkedAt = old.Worker, old.Deaths, old.Fruitless, old.ParkedAt
		if next.LastSuccessAt.IsZero() {
			next.LastSuccessAt = old.LastSuccessAt
		}
		if next.LastError == "" {
			next.LastErrorAt, next.LastError = old.LastErrorAt, old.LastError
		}
		next.LastError = plain.Cut(plain.Line(next.LastError), 500)
		next.UpdatedAt = in.svc.now()
		if needsAttention(next) && !needsAttention(old) {
			if err := in.svc.notifyAfterCommit(ctx, tx, accountID, occurrence{Kind: NotifyMailbox, MailboxID: next.MailboxID}); err != nil {
				return err
			}
		}
		return tx.SaveFetchStatus(ctx, next)
	})
}

// Take makes messages durable: it stores their raw bytes as blobs, inserts a ledger row for each and moves the cursor. When
// it returns nil, the source may discard them. Otherwise nothing was taken and the source must retry. A job of kind
// [JobFileMail] files them later.
func (in *Intake) Take(ctx context.Context, accountID, mailboxID int64, source string, mails []ledger.Raw, cursor *ledger.FolderCursor) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	now := in.svc.now()
	rows := make([]ledger.Mail, len(mails))
	for i, m := range mails {
		rows[i] = in.row(accountID, mailboxID, source, m)
	}
	if err := in.putAll(ctx, rows, mails); err != nil {
		return err
	}
	var fresh []*ledger.Mail
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		fresh = make([]*ledger.Mail, len(rows))
		for i := range rows {
			row := rows[i]
			fresh[i] = &row
		}
		if err := tx.InsertInbound(ctx, fresh); err != nil {
			return err
		}
		for _, m := range fresh {
			if m.ID == 0 || m.State != ledger.Quarantined {
				continue
			}
			e := storage.Event{Type: "mail.quarantined", Subject: m.ID, MailboxID: mailboxID, Data: eventData(m.ID), Time: now}
			if err := tx.Emit(ctx, e); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(fresh, func(m *ledger.Mail) bool { return m.ID != 0 && wasFetched(*m) }) {
			if err := absolve(ctx, tx, mailboxID); err != nil {
				return err
			}
		}
		toFile := slices.ContainsFunc(fresh, func(m *ledger.Mail) bool { return m.ID != 0 && m.State == ledger.Received })
		if toFile {
			job := storage.Job{Kind: JobFileMail, AccountID: accountID, Subject: mailboxID, RunAt: now}
			if err := tx.Enqueue(ctx, job); err != nil {
				return err
			}
		}
		if cursor == nil {
			return nil
		}
		return tx.SaveFetchCursor(ctx, mailboxID, cursor.Folder, cursor.Cursor)
	})
	var unnamed []string
	for i := range rows {
		if err != nil || fresh[i].ID == 0 { // 0: already taken
			unnamed = append(unnamed, rows[i].RawKey)
		}
	}
	in.svc.discard(ctx, err, unnamed...)
	return err
}

// row returns the ledger row of a message.
func (in *Intake) row(accountID, mailboxID int64, source string, m ledger.Raw) ledger.Mail {
	state := ledger.Received
	if m.Problem != "" {
		state = ledger.Quarantined
	}
	now := in.svc.now()
	return ledger.Mail{
		MailboxID: mailboxID, Source: source, Position: m.Position, State: state, Reason: plain.Cut(plain.Line(m.Problem), 500),
		Partial: m.Problem != "", RawKey: rawKey(accountID, mailboxID), Size: int64(len(m.Raw)),
		Head: cleanHead(m.Head), Authentication: m.Authentication, DeliveredAt: m.DeliveredAt.UTC(), ReceivedAt: now, UpdatedAt: now,
	}
}

// putAll stores raw messages concurrently, since each waits for the disk.
func (in *Intake) putAll(ctx context.Context, rows []ledger.Mail, mails []ledger.Raw) error {
	var wait sync.WaitGroup
	errs := make([]error, len(rows))
	slots := make(chan struct{}, 8)
	for i := range rows {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			_, errs[i] = in.svc.cfg.Blobs.Put(ctx, rows[i].RawKey, bytes.NewReader(mails[i].Raw))
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			for _, row := range rows {
				in.svc.discard(ctx, err, row.RawKey)
			}
			return err
		}
	}
	return nil
}

// Waiting lists a mailbox's messages that are received but not filed yet, oldest first, after a given id.
func (in *Intake) Waiting(ctx context.Context, accountID, mailboxID, after int64, limit int) ([]ledger.Mail, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return nil, err
	}
	filter := ledger.Filter{MailboxID: mailboxID, States: []ledger.State{ledger.Received}}
	return r.InboundMails(ctx, filter, storage.Seek{From: &storage.Position{ID: after}, Limit: limit})
}

// Raw reads a received message into memory.
func (in *Intake) Raw(ctx context.Context, accountID int64, m ledger.Mail) ([]byte, error) {
	if _, err := in.desk(accountID).Read(receive); err != nil {
		return nil, err
	}
	blob, err := in.svc.cfg.Blobs.Get(ctx, m.RawKey)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	whole := bytes.NewBuffer(make([]byte, 0, max(0, m.Size)+bytes.MinRead)) // preallocated, since messages are large and growing the buffer would copy them
	_, err = whole.ReadFrom(blob)
	return whole.Bytes(), err
}

// Quarantine sets aside a message that cannot be filed, with the reason. It does nothing if the message was handled in the
// meantime.
func (in *Intake) Quarantine(ctx context.Context, accountID, id int64, reason string) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.InboundForUpdate(ctx, id)
		if err != nil || m.State != ledger.Received {
			return err
		}
		return setFinalState(ctx, tx, &m, ledger.Quarantined, reason, in.svc.now())
	})
}
