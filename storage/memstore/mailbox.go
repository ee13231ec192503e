package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// folderCursor is how far one folder of a mailbox was taken.
type folderCursor struct {
	Folder string
	Cursor helpdesk.FetchCursor
}

// sees reports whether a mailbox is within the scope.
func sees(s helpdesk.Scope, mailboxID int64) bool {
	return s.Mailboxes == nil || slices.Contains(s.Mailboxes, mailboxID)
}

func (db *data) mailbox(s helpdesk.Scope, id int64) (*helpdesk.Mailbox, error) {
	if !sees(s, id) {
		return nil, db.mailboxes.missing(id)
	}
	return db.mailboxes.get(s.AccountID, id)
}

func (r reader) Mailbox(ctx context.Context, id int64) (helpdesk.Mailbox, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Mailbox, error) { return copyOf(db.mailbox(r.scope, id)) })
}

func (r reader) Mailboxes(ctx context.Context, seek storage.Seek) ([]helpdesk.Mailbox, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Mailbox, error) {
		return db.mailboxes.list(r.scope.AccountID, seek, func(m *helpdesk.Mailbox) bool { return sees(r.scope, m.ID) }), nil
	})
}

func (r reader) MailboxesByID(ctx context.Context, ids []int64) ([]helpdesk.Mailbox, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Mailbox, error) {
		return db.mailboxes.where(r.scope.AccountID, func(m *helpdesk.Mailbox) bool {
			return slices.Contains(ids, m.ID) && sees(r.scope, m.ID)
		}), nil
	})
}

func (r reader) FetchStatus(ctx context.Context, mailboxID int64) (helpdesk.FetchStatus, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.FetchStatus, error) {
		if _, err := db.mailbox(r.scope, mailboxID); err != nil {
			return helpdesk.FetchStatus{}, err
		}
		status, err := copyOf(db.statuses.get(r.scope.AccountID, mailboxID))
		if fault.Is(err, fault.NotFound) {
			return helpdesk.FetchStatus{}, nil
		}
		return status, err
	})
}

func (r reader) FetchCursor(ctx context.Context, mailboxID int64, folder string) (helpdesk.FetchCursor, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.FetchCursor, error) {
		if _, err := db.mailbox(r.scope, mailboxID); err != nil {
			return helpdesk.FetchCursor{}, err
		}
		folders, err := db.cursors.get(r.scope.AccountID, mailboxID)
		if err == nil {
			for _, f := range *folders {
				if f.Folder == folder {
					return f.Cursor, nil
				}
			}
		}
		return helpdesk.FetchCursor{}, nil
	})
}

func (t tx) InsertMailbox(ctx context.Context, m *helpdesk.Mailbox) error {
	return t.write(ctx, func(db *data) error {
		if err := t.uniqueMailbox(db, m, 0); err != nil {
			return err
		}
		row := storedMailbox(t.scope, m)
		if err := db.mailboxes.insert(t.scope.AccountID, &row, &row.ID); err != nil {
			return err
		}
		m.ID, m.AccountID = row.ID, row.AccountID
		return nil
	})
}

func (t tx) UpdateMailbox(ctx context.Context, m *helpdesk.Mailbox) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.mailbox(t.scope, m.ID); err != nil {
			return err
		}
		if err := t.uniqueMailbox(db, m, m.ID); err != nil {
			return err
		}
		row := storedMailbox(t.scope, m)
		return db.mailboxes.update(t.scope.AccountID, m.ID, &row)
	})
}

// storedMailbox is what is stored of a mailbox: in the scope's account whatever m
// says, without what only the service sets. A table gives ids to a copy.
func storedMailbox(s helpdesk.Scope, m *helpdesk.Mailbox) helpdesk.Mailbox {
	row := *m
	row.AccountID, row.Inbound.HasPassword, row.Inbound.OAuth.HasRefreshToken = s.AccountID, false, false
	return row
}

func (t tx) uniqueMailbox(db *data, m *helpdesk.Mailbox, id int64) error {
	if m.EmailKey != "" && db.mailboxes.conflict(t.scope.AccountID, id, func(o *helpdesk.Mailbox) bool { return o.EmailKey == m.EmailKey }) {
		return unique(helpdesk.UniqueMailboxEmail, "Another mailbox has this email address.")
	}
	for account := range db.mailboxes.rows {
		if db.mailboxes.conflict(account, id, func(o *helpdesk.Mailbox) bool { return o.InternalLocal == m.InternalLocal }) {
			return unique(helpdesk.UniqueMailboxLocal, "Another mailbox has this internal address.")
		}
	}
	return nil
}

func (t tx) DeleteMailbox(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.mailbox(t.scope, id); err != nil {
			return err
		}
		account := t.scope.AccountID
		if db.conversations.conflict(account, 0, func(c *helpdesk.Conversation) bool { return c.MailboxID == id }) {
			return fault.New(fault.Conflict, "The mailbox has conversations.")
		}
		db.ledger.removeIf(account, func(m *helpdesk.InboundMail) bool { return m.MailboxID == id })
		db.statuses.set(account, id, nil)
		db.cursors.set(account, id, nil)
		db.forgetMailbox(account, id)
		db.mailboxes.set(account, id, nil)
		return nil
	})
}

func (t tx) SaveFetchStatus(ctx context.Context, s helpdesk.FetchStatus) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.mailbox(t.scope, s.MailboxID); err != nil {
			return err
		}
		return db.statuses.update(t.scope.AccountID, s.MailboxID, &s)
	})
}

func (t tx) SaveFetchCursor(ctx context.Context, mailboxID int64, folder string, c helpdesk.FetchCursor) error {
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
