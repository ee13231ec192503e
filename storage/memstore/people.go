package memstore

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (d directory) Users(ctx context.Context, seek storage.Seek) ([]identity.User, error) {
	return query(ctx, d.src, func(db *data) ([]identity.User, error) {
		return db.users.list(global, seek, func(*identity.User) bool { return true }), nil
	})
}

// UserForUpdate needs no lock: a transaction has the whole store to itself.
func (t systemTx) UserForUpdate(ctx context.Context, id int64) (identity.User, error) {
	return t.User(ctx, id)
}

func (t systemTx) DeleteUser(ctx context.Context, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, id); err != nil {
			return err
		}
		for account := range db.memberships.rows {
			if db.memberships.conflict(account, 0, func(m *identity.Membership) bool { return m.UserID == id }) {
				return fault.New(fault.Conflict, "The user is a member of an account.")
			}
		}
		db.tokens.removeIf(global, func(t *identity.AccessToken) bool { return t.UserID == id })
		db.identities.removeIf(global, func(i *identity.Identity) bool { return i.UserID == id })
		db.passkeys.removeIf(global, func(p *identity.Passkey) bool { return p.UserID == id })
		db.pictures.set(global, id, nil)
		db.users.set(global, id, nil)
		return nil
	})
}

func (d directory) TokensOf(ctx context.Context, userID int64, sessions bool, seek storage.Seek) ([]identity.AccessToken, error) {
	return query(ctx, d.src, func(db *data) ([]identity.AccessToken, error) {
		return db.tokens.list(global, seek, func(t *identity.AccessToken) bool { return t.UserID == userID && t.Session == sessions }), nil
	})
}

func (t systemTx) UpdateUser(ctx context.Context, u *identity.User) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, u.ID); err != nil {
			return err
		}
		if db.users.conflict(global, u.ID, func(o *identity.User) bool { return o.EmailKey == u.EmailKey }) {
			return unique(identity.UniqueUserEmail, "Another user has this email address.")
		}
		return db.users.update(global, u.ID, u)
	})
}

// SetPicture implements [identity.UserWriter].
func (t systemTx) SetPicture(ctx context.Context, userID int64, content []byte) error {
	return change(ctx, t.open, func(db *data) error {
		if content == nil {
			db.pictures.set(global, userID, nil)
			return nil
		}
		if _, err := db.users.get(global, userID); err != nil {
			return err
		}
		return db.pictures.update(global, userID, &content)
	})
}

func (t systemTx) DeleteToken(ctx context.Context, userID, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		token, err := db.tokens.get(global, id)
		if err != nil {
			return err
		}
		if token.UserID != userID {
			return db.tokens.missing(id)
		}
		db.tokens.set(global, id, nil)
		return nil
	})
}

func (t systemTx) DeleteSessions(ctx context.Context, userID int64, by time.Time) error {
	return change(ctx, t.open, func(db *data) error {
		db.tokens.removeIf(global, func(t *identity.AccessToken) bool {
			return t.UserID == userID && t.Session && !t.ExpiresAt.After(by)
		})
		return nil
	})
}

// LockAccount needs no lock: a transaction has the whole store to itself.
func (t tx) Whole() helpdesk.Reader {
	whole := t.reader
	whole.scope.Mailboxes = nil
	return whole
}

func (t tx) LockAccount(ctx context.Context) error {
	return t.write(ctx, func(*data) error { return nil })
}

func (t tx) TouchMembership(ctx context.Context, id int64, at time.Time) error {
	return t.write(ctx, func(db *data) error {
		m, err := copyOf(db.memberships.get(t.scope.AccountID, id))
		if err != nil {
			return err
		}
		m.LastActivity = at
		return db.memberships.update(t.scope.AccountID, id, &m)
	})
}

func (t systemTx) DeleteOtherSessions(ctx context.Context, userID, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		db.tokens.removeIf(global, func(t *identity.AccessToken) bool { return t.UserID == userID && t.Session && t.ID != id })
		return nil
	})
}
