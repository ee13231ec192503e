package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (d directory) TokensOf(ctx context.Context, userID int64, seek storage.Seek) ([]helpdesk.AccessToken, error) {
	return query(ctx, d.src, func(db *data) ([]helpdesk.AccessToken, error) {
		return db.tokens.list(global, seek, func(t *helpdesk.AccessToken) bool { return t.UserID == userID && !t.Session }), nil
	})
}

func (d directory) InvitationByHash(ctx context.Context, hash []byte) (helpdesk.Invitation, error) {
	return query(ctx, d.src, func(db *data) (helpdesk.Invitation, error) {
		for account := range db.invitations.rows {
			i, err := db.invitations.first(account, func(i *helpdesk.Invitation) bool {
				return len(hash) > 0 && bytes.Equal(i.Hash, hash)
			})
			if err == nil {
				return i, nil
			}
		}
		return helpdesk.Invitation{}, db.invitations.missing(0)
	})
}

func (t systemTx) UpdateUser(ctx context.Context, u *helpdesk.User) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, u.ID); err != nil {
			return err
		}
		if db.users.conflict(global, u.ID, func(o *helpdesk.User) bool { return o.EmailKey == u.EmailKey }) {
			return unique(helpdesk.UniqueUserEmail, "Another user has this email address.")
		}
		return db.users.update(global, u.ID, u)
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
		db.tokens.removeIf(global, func(t *helpdesk.AccessToken) bool {
			return t.UserID == userID && t.Session && !t.ExpiresAt.After(by)
		})
		return nil
	})
}

func (r reader) Invitation(ctx context.Context, id int64) (helpdesk.Invitation, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Invitation, error) {
		return copyOf(db.invitations.get(r.scope.AccountID, id))
	})
}

func (r reader) Invitations(ctx context.Context, seek storage.Seek) ([]helpdesk.Invitation, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Invitation, error) {
		return db.invitations.list(r.scope.AccountID, seek, every), nil
	})
}

// LockAccount has nothing to do but to look: a transaction has the whole store.
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

func (t tx) UpdateRole(ctx context.Context, r *helpdesk.Role) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.roles.get(t.scope.AccountID, r.ID); err != nil {
			return err
		}
		return db.roles.update(t.scope.AccountID, r.ID, r)
	})
}

func (t tx) DeleteRole(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.roles.get(t.scope.AccountID, id); err != nil {
			return err
		}
		has := func(m *helpdesk.Membership) bool { return slices.Contains(m.RoleIDs, id) }
		if db.memberships.conflict(t.scope.AccountID, 0, has) {
			return &fault.Error{Kind: fault.Conflict, Resource: "role", ID: id, Message: "A member has this role."}
		}
		db.roles.set(t.scope.AccountID, id, nil)
		return nil
	})
}

func (t tx) InsertInvitation(ctx context.Context, i *helpdesk.Invitation) error {
	return t.write(ctx, func(db *data) error {
		i.AccountID = t.scope.AccountID
		return db.invitations.insert(t.scope.AccountID, i, &i.ID)
	})
}

func (t tx) DeleteInvitation(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.invitations.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.invitations.set(t.scope.AccountID, id, nil)
		return nil
	})
}

func (t systemTx) DeleteOtherSessions(ctx context.Context, userID, id int64) error {
	return change(ctx, t.open, func(db *data) error {
		db.tokens.removeIf(global, func(t *helpdesk.AccessToken) bool { return t.UserID == userID && t.Session && t.ID != id })
		return nil
	})
}
