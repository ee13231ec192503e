package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

func (db *data) inbound(s helpdesk.Scope, id int64) (*ledger.Mail, error) {
	m, err := db.ledger.get(s.AccountID, id)
	if err != nil || !sees(s, m.MailboxID) {
		return nil, db.ledger.missing(id)
	}
	return m, nil
}

// bury turns the matching rows into tombstones.
func (db *data) bury(account int64, match func(*ledger.Mail) bool) {
	for _, m := range db.ledger.where(account, match) {
		m.InteractionID, m.ConversationID, m.RawKey, m.Head = 0, 0, "", ledger.Head{}
		db.ledger.set(account, m.ID, &m)
	}
}

func (r reader) InboundMail(ctx context.Context, id int64) (ledger.Mail, error) {
	return query(ctx, r.src, func(db *data) (ledger.Mail, error) { return copyOf(db.inbound(r.scope, id)) })
}

func (r reader) InboundMails(ctx context.Context, filter ledger.Filter, seek storage.Seek) ([]ledger.Mail, error) {
	return query(ctx, r.src, func(db *data) ([]ledger.Mail, error) {
		return db.ledger.list(r.scope.AccountID, seek, func(m *ledger.Mail) bool {
			return sees(r.scope, m.MailboxID) &&
				(filter.MailboxID == 0 || m.MailboxID == filter.MailboxID) &&
				(len(filter.States) == 0 || slices.Contains(filter.States, m.State))
		}), nil
	})
}

func (r reader) InboundByIdentity(ctx context.Context, identities [][]byte) ([]ledger.Mail, error) {
	return query(ctx, r.src, func(db *data) ([]ledger.Mail, error) {
		return db.ledger.where(r.scope.AccountID, func(m *ledger.Mail) bool {
			return sees(r.scope, m.MailboxID) && len(m.Identity) > 0 &&
				slices.ContainsFunc(identities, func(identity []byte) bool { return bytes.Equal(m.Identity, identity) })
		}), nil
	})
}

func (r reader) InboundOf(ctx context.Context, interactionID int64) ([]ledger.Mail, error) {
	return query(ctx, r.src, func(db *data) ([]ledger.Mail, error) {
		return db.ledger.where(r.scope.AccountID, func(m *ledger.Mail) bool {
			return sees(r.scope, m.MailboxID) && interactionID != 0 && m.InteractionID == interactionID
		}), nil
	})
}

func (r reader) InboundPositions(ctx context.Context, mailboxID int64, source string, positions []string) ([]string, error) {
	return query(ctx, r.src, func(db *data) ([]string, error) {
		var found []string
		for _, m := range db.ledger.where(r.scope.AccountID, func(m *ledger.Mail) bool {
			return sees(r.scope, m.MailboxID) && m.MailboxID == mailboxID && m.Source == source && m.Position != "" &&
				slices.Contains(positions, m.Position)
		}) {
			found = append(found, m.Position)
		}
		slices.Sort(found)
		return found, nil
	})
}

func (r reader) InboundCounts(ctx context.Context, mailboxID int64) (ledger.Counts, error) {
	return query(ctx, r.src, func(db *data) (counts ledger.Counts, err error) {
		of := map[ledger.State]*int64{
			ledger.Received: &counts.Received, ledger.Quarantined: &counts.Quarantined, ledger.Ignored: &counts.Ignored,
		}
		for _, m := range db.ledger.all(r.scope.AccountID) {
			if n := of[m.State]; n != nil && m.MailboxID == mailboxID && sees(r.scope, mailboxID) {
				*n++
			}
		}
		return counts, nil
	})
}

func (t tx) inboundRefs(db *data, m *ledger.Mail) error {
	if _, err := db.mailbox(t.scope, m.MailboxID); err != nil {
		return err
	}
	if _, err := db.conversations.get(t.scope.AccountID, m.ConversationID); m.ConversationID != 0 && err != nil {
		return err
	}
	if _, err := db.interactions.get(t.scope.AccountID, m.InteractionID); m.InteractionID != 0 && err != nil {
		return err
	}
	return nil
}

func (t tx) samePosition(db *data, m *ledger.Mail, id int64) bool {
	return m.Position != "" && db.ledger.conflict(t.scope.AccountID, id, func(o *ledger.Mail) bool {
		return o.MailboxID == m.MailboxID && o.Source == m.Source && o.Position == m.Position
	})
}

func (t tx) uniqueIdentity(db *data, m *ledger.Mail, id int64) error {
	taken := len(m.Identity) > 0 && db.ledger.conflict(t.scope.AccountID, id, func(o *ledger.Mail) bool {
		return o.MailboxID == m.MailboxID && bytes.Equal(o.Identity, m.Identity)
	})
	if taken {
		return unique(ledger.UniqueIdentity, "The mail was received before.")
	}
	return nil
}

func (t tx) InsertInbound(ctx context.Context, mails []*ledger.Mail) error {
	return t.write(ctx, func(db *data) error {
		for _, m := range mails {
			if err := t.inboundRefs(db, m); err != nil {
				return err
			}
			if t.samePosition(db, m, 0) {
				continue
			}
			if err := t.uniqueIdentity(db, m, 0); err != nil {
				return err
			}
			if err := db.ledger.insert(t.scope.AccountID, m, &m.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) UpdateInbound(ctx context.Context, m *ledger.Mail) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.inbound(t.scope, m.ID); err != nil {
			return err
		}
		if err := t.inboundRefs(db, m); err != nil {
			return err
		}
		if err := t.uniqueIdentity(db, m, m.ID); err != nil {
			return err
		}
		if t.samePosition(db, m, m.ID) {
			return unique(ledger.UniqueMailPosition, "The mail was received before.")
		}
		return db.ledger.update(t.scope.AccountID, m.ID, m)
	})
}

func (t tx) SetInboundState(ctx context.Context, ids []int64, from, to ledger.State, at time.Time) ([]int64, error) {
	var changed []int64
	err := t.write(ctx, func(db *data) error {
		for _, m := range db.ledger.where(t.scope.AccountID, func(m *ledger.Mail) bool {
			return slices.Contains(ids, m.ID) && sees(t.scope, m.MailboxID) && m.State == from
		}) {
			m.State, m.UpdatedAt, m.Reason, m.Note, m.UserID = to, at.UTC().Truncate(time.Microsecond), "", "", 0
			db.ledger.set(t.scope.AccountID, m.ID, &m)
			changed = append(changed, m.ID)
		}
		return nil
	})
	return changed, err
}

func (t tx) InboundForUpdate(ctx context.Context, id int64) (ledger.Mail, error) {
	return t.InboundMail(ctx, id)
}
