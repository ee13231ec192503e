package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// folderCursor is how far one folder of a mailbox has been fetched.
type folderCursor struct {
	Folder string
	Cursor mailserver.Cursor
}

// sees reports whether a mailbox is within the scope.
func sees(s helpdesk.Scope, mailboxID int64) bool {
	return s.Mailboxes == nil || slices.Contains(s.Mailboxes, mailboxID)
}

var mailboxes = noun[helpdesk.Scope, helpdesk.Mailbox, storage.NoFilter]{
	Noun: nouns.Mailboxes, of: func(db *data) *table[helpdesk.Mailbox] { return &db.mailboxes },
	sees: func(_ *data, s helpdesk.Scope, m *helpdesk.Mailbox) bool { return sees(s, m.ID) },
	strip: func(m *helpdesk.Mailbox) {
		m.Inbound.HasPassword, m.Inbound.OAuth.HasRefreshToken, m.Outbound.HasPassword = false, false, false
	},
	remove: removeMailbox,
}

// removeMailbox deletes what belongs to a mailbox, unless it has conversations.
func removeMailbox(db *data, s helpdesk.Scope, id int64) error {
	account := s.AccountID
	if db.conversations.conflict(account, 0, func(c *helpdesk.Conversation) bool { return c.MailboxID == id }) {
		return fault.New(fault.Conflict, "The mailbox has conversations.")
	}
	db.ledger.removeIf(account, func(m *ledger.Mail) bool { return m.MailboxID == id })
	db.statuses.set(account, id, nil)
	db.cursors.set(account, id, nil)
	db.forgetMailbox(account, id)
	return nil
}

// Mailboxes implements [helpdesk.Reader].
func (r reader) Mailboxes() storage.RowReader[helpdesk.Mailbox, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &mailboxes)
}

// Mailboxes implements [helpdesk.Rows].
func (t tx) Mailboxes() storage.Rows[helpdesk.Mailbox, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &mailboxes)
}

func (db *data) mailbox(s helpdesk.Scope, id int64) (*helpdesk.Mailbox, error) {
	if !sees(s, id) {
		return nil, db.mailboxes.missing(id)
	}
	return db.mailboxes.get(s.AccountID, id)
}

func (r reader) FetchStatus(ctx context.Context, mailboxID int64) (ledger.FetchStatus, error) {
	return query(ctx, r.src, func(db *data) (ledger.FetchStatus, error) {
		if _, err := db.mailbox(r.scope, mailboxID); err != nil {
			return ledger.FetchStatus{}, err
		}
		status, err := copyOf(db.statuses.get(r.scope.AccountID, mailboxID))
		if fault.Is(err, fault.NotFound) {
			return ledger.FetchStatus{}, nil
		}
		return status, err
	})
}

func (r reader) FetchCursor(ctx context.Context, mailboxID int64, folder string) (mailserver.Cursor, error) {
	return query(ctx, r.src, func(db *data) (mailserver.Cursor, error) {
		if _, err := db.mailbox(r.scope, mailboxID); err != nil {
			return mailserver.Cursor{}, err
		}
		folders, err := db.cursors.get(r.scope.AccountID, mailboxID)
		if err == nil {
			for _, f := range *folders {
				if f.Folder == folder {
					return f.Cursor, nil
				}
			}
		}
		return mailserver.Cursor{}, nil
	})
}

func (t tx) SaveFetchStatus(ctx context.Context, s ledger.FetchStatus) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.mailbox(t.scope, s.MailboxID); err != nil {
			return err
		}
		return db.statuses.update(t.scope.AccountID, s.MailboxID, &s)
	})
}

func (t tx) SaveFetchCursor(ctx context.Context, mailboxID int64, folder string, c mailserver.Cursor) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.mailbox(t.scope, mailboxID); err != nil {
			return err
		}
		folders := []folderCursor{{folder, c}}
		if old, err := db.cursors.get(t.scope.AccountID, mailboxID); err == nil {
			for _, f := range *old {
				if f.Folder != folder {
					folders = append(folders, f)
				}
			}
		}
		return db.cursors.update(t.scope.AccountID, mailboxID, &folders)
	})
}
