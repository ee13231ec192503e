package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// belongs reports whether a ledger row belongs to the folder.
func belongs(s ledger.ServerMails, m ledger.Mail) bool {
	rest, ok := strings.CutPrefix(m.Position, s.Prefix)
	return ok && m.Source == s.Source && m.Position != "" && strings.HasSuffix(rest, s.Suffix) && !strings.Contains(rest, "\t")
}

// named limits the messages of each kind that a reconciliation names.
const named = 100

// Reconcile compares the messages on a mailbox's server with the ledger. It changes nothing. It needs
// mailboxes.connection. A mailbox of type FWD is a Conflict fault; an unreachable server is an Unavailable fault with the
// reason.
func (d Mailboxes) Reconcile(ctx context.Context, id int64) (ledger.Reconciliation, error) {
	source, err := d.fetchSource(ctx, id)
	if err != nil {
		return ledger.Reconciliation{}, err
	}
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.Reconciliation{}, err
	}
	c := comparison{Reader: r, mailbox: id, seed: maphash.MakeSeed()}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	err = d.atWork(ctx, id, false, func() error {
		return d.svc.cfg.MailServers.List(ctx, source, time.Time{}, c.server)
	})
	if err != nil {
		return ledger.Reconciliation{}, serverFault(err)
	}
	return c.result, c.ledger(ctx)
}

// serverFault converts a mail server's error to a fault. Our own errors stay.
func serverFault(err error) error {
	if fault.Of(err) != fault.Internal {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Message: "The mail server: " + shownError(err), Err: err}
}

// comparison is the state of one reconciliation.
type comparison struct {
	Reader
	mailbox int64
	seed    maphash.Seed
	result  ledger.Reconciliation
	folders []serverFolder // parallel to result.Folders
}

type serverFolder struct {
	ledger.ServerMails
	cursor mailserver.Cursor
	// there contains a hash of each position on the server. For a hundred thousand messages, the positions themselves would
	// take ten times the memory.
	there map[uint64]struct{}
}

// server adds messages on the server.
func (c *comparison) server(ctx context.Context, some ledger.ServerMails) error {
	n := len(c.folders) - 1
	if n < 0 || c.folders[n].Folder != some.Folder {
		cursor, err := c.FetchCursor(ctx, c.mailbox, some.Cursor)
		if err != nil {
			return err
		}
		c.folders = append(c.folders, serverFolder{ServerMails: some, cursor: cursor, there: map[uint64]struct{}{}})
		c.result.Folders = append(c.result.Folders, ledger.ReconciledFolder{Name: some.Folder})
		n++
	}
	known, err := c.InboundPositions(ctx, c.mailbox, some.Source, some.Positions)
	if err != nil {
		return err
	}
	taken := make(map[string]bool, len(known))
	for _, position := range known {
		taken[position] = true
	}
	f := &c.result.Folders[n]
	for i, position := range some.Positions {
		c.folders[n].there[maphash.String(c.seed, position)] = struct{}{}
		f.OnServer++
		switch {
		case taken[position]:
		case some.At == nil || c.folders[n].ahead(some.At[i]):
			f.Waiting++
		default:
			if f.Missing++; f.Missing <= named {
				f.MissingPositions = append(f.MissingPositions, position)
			}
		}
	}
	return nil
}

// ahead reports whether the cursor has not reached a message yet.
func (f serverFolder) ahead(at mailserver.Cursor) bool {
	return at.UIDValidity != f.cursor.UIDValidity || at.UID > f.cursor.UID
}

// ledger compares the mailbox's ledger rows.
func (c *comparison) ledger(ctx context.Context) error {
	const batch = 1000
	for from := (*storage.Position)(nil); ; {
		rows, err := c.InboundMails(ctx, ledger.Filter{MailboxID: c.mailbox}, storage.Seek{From: from, Limit: batch})
		if err != nil {
			return err
		}
		for _, row := range rows {
			from = &storage.Position{ID: row.ID}
			c.row(row)
		}
		if len(rows) < batch {
			return nil
		}
	}
}

func (c *comparison) row(row ledger.Mail) {
	for n, folder := range c.folders {
		if !belongs(folder.ServerMails, row) {
			continue
		}
		f := &c.result.Folders[n]
		f.InLedger++
		if _, there := folder.there[maphash.String(c.seed, row.Position)]; !there {
			if f.Gone++; f.Gone <= named {
				f.GoneIDs = append(f.GoneIDs, row.ID)
			}
		}
		return
	}
	c.result.Elsewhere++
}

// Backfill imports, in the background, the messages that a mailbox's server received on a day or later and that are not in
// the ledger, whatever was fetched before: those skipped by ImportSince, or missed when the server renumbered its messages.
// A message imported under another position is recognized by its identity and not filed twice. It needs
// mailboxes.connection. Mailboxes of type FWD and POP3 are Conflict faults; POP3 imports everything on the server anyway.
func (d Mailboxes) Backfill(ctx context.Context, mailboxID int64, since time.Time) error {
	begin, err := d.guard.Write(identity.MailboxesConnection)
	if err != nil {
		return err
	}
	now := d.svc.now()
	if since.IsZero() || since.After(now) {
		return fault.Field("since", "must be a time in the past")
	}
	source, err := d.fetchSource(ctx, mailboxID)
	if err != nil {
		return err
	}
	if source.Inbound.Type == ledger.InboundPOP3 {
		return fault.New(fault.Conflict, "A POP3 mailbox already imports all mail on the server.")
	}
	payload, err := json.Marshal(ledger.Backfill{Since: since.UTC()})
	if err != nil {
		return fault.Wrap(fault.Internal, "making a job", err)
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Mailboxes().Get(ctx, mailboxID); err != nil {
			return err
		}
		return tx.Enqueue(ctx, storage.Job{
			Kind: JobBackfill, AccountID: d.scope.AccountID, Subject: mailboxID, Payload: payload, RunAt: now,
			UniqueKey: fmt.Sprintf("backfill/%d/%d/%d", d.scope.AccountID, mailboxID, since.Unix()),
		})
	})
}

// Source returns one mailbox to fetch. A mailbox of type FWD, or an absent one, is a NotFound fault.
func (in *Intake) Source(ctx context.Context, accountID, mailboxID int64) (ledger.FetchSource, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return ledger.FetchSource{}, err
	}
	m, err := r.Mailboxes().Get(ctx, mailboxID)
	if err == nil && m.Inbound.Type == ledger.InboundForward {
		err = fault.Missing("mailbox", mailboxID)
	}
	if err != nil {
		return ledger.FetchSource{}, err
	}
	return in.svc.fetchSource(m), nil
}

// Mail returns a ledger row.
func (in *Intake) Mail(ctx context.Context, accountID, id int64) (ledger.Mail, error) {
	r, err := in.desk(accountID).Read(receive)
	if err != nil {
		return ledger.Mail{}, err
	}
	return r.InboundMail(ctx, id)
}

// Refetched takes a message that was fetched again because it was incomplete. A complete one is filed next; one with a
// Problem stays quarantined with that reason. A row handled in the meantime is unchanged.
func (in *Intake) Refetched(ctx context.Context, accountID, id int64, mail ledger.Raw) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	row, err := in.Mail(ctx, accountID, id)
	if err != nil {
		return err
	}
	fresh := in.row(accountID, row.MailboxID, row.Source, mail)
	if mail.Problem == "" {
		if err := in.putAll(ctx, []ledger.Mail{fresh}, []ledger.Raw{mail}); err != nil {
			return err
		}
	}
	named := false
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		named = false
		row, err := tx.InboundForUpdate(ctx, id)
		if err != nil || row.State != ledger.Quarantined || !row.Partial {
			return err
		}
		row.UpdatedAt = in.svc.now()
		if mail.Problem != "" {
			row.Reason = plain.Cut(plain.Line(mail.Problem), 500)
			return tx.UpdateInbound(ctx, &row)
		}
		named = true
		if row.RawKey != "" {
			if err := tx.Enqueue(ctx, purgeKeys(accountID, []string{row.RawKey})...); err != nil {
				return err
			}
		}
		row.State, row.Reason, row.Partial, row.RawKey, row.Size = ledger.Received, "", false, fresh.RawKey, fresh.Size
		if err := tx.UpdateInbound(ctx, &row); err != nil {
			return err
		}
		err = tx.Emit(ctx, storage.Event{
			Type: "mail.refetched", Subject: row.ID, MailboxID: row.MailboxID, Data: eventData(row.ID), Time: row.UpdatedAt,
		})
		if err != nil {
			return err
		}
		return tx.Enqueue(ctx, storage.Job{Kind: JobFileMail, AccountID: accountID, Subject: row.MailboxID, RunAt: row.UpdatedAt})
	})
	if mail.Problem == "" && (err != nil || !named) {
		in.svc.discard(ctx, err, fresh.RawKey)
	}
	return err
}
