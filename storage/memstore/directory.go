package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// directory implements helpdesk.Directory for the store and for system transactions.
type directory struct{ src source }

func (d directory) TokenByHash(ctx context.Context, hash []byte) (identity.AccessToken, error) {
	return query(ctx, d.src, func(db *data) (identity.AccessToken, error) {
		token, err := db.tokens.first(global, func(t *identity.AccessToken) bool { return len(hash) > 0 && bytes.Equal(t.Hash, hash) })
		if err != nil {
			return token, err
		}
		user, err := db.users.get(global, token.UserID)
		token.UserDisabled = err == nil && !user.DisabledAt.IsZero()
		return token, err
	})
}

func (d directory) User(ctx context.Context, id int64) (identity.User, error) {
	return query(ctx, d.src, func(db *data) (identity.User, error) { return copyOf(db.users.get(global, id)) })
}

func (d directory) UserByEmail(ctx context.Context, key string) (identity.User, error) {
	return query(ctx, d.src, func(db *data) (identity.User, error) {
		return db.users.first(global, func(u *identity.User) bool { return u.EmailKey == key })
	})
}

func (d directory) HasUsers(ctx context.Context) (bool, error) {
	return query(ctx, d.src, func(db *data) (bool, error) { return len(db.users.rows[global]) > 0, nil })
}

func (d directory) Grant(ctx context.Context, userID, accountID int64) (identity.Grant, error) {
	return query(ctx, d.src, func(db *data) (identity.Grant, error) {
		m, err := db.memberships.first(accountID, func(m *identity.Membership) bool { return m.UserID == userID })
		if err != nil {
			return identity.Grant{}, err
		}
		roles, err := rolesOf(db, accountID, m)
		if err != nil {
			return identity.Grant{}, err
		}
		user, err := db.users.get(global, userID)
		if err != nil {
			return identity.Grant{}, err
		}
		account, err := db.accounts.get(global, accountID)
		if err != nil {
			return identity.Grant{}, err
		}
		return identity.Grant{
			Membership: m, Roles: roles, Disabled: !user.DisabledAt.IsZero(), HasPassword: user.PasswordHash != "",
			HasSecondFactor: !user.SecondFactorAt.IsZero(), RequireSecondFactor: account.RequireSecondFactor,
		}, nil
	})
}

// rolesOf returns the roles of a member, by id.
func rolesOf(db *data, account int64, m identity.Membership) ([]identity.Role, error) {
	var roles []identity.Role
	for _, r := range db.plain["hw_roles"].where(account, func(r *storage.Record) bool { return slices.Contains(m.RoleIDs, r.ID) }) {
		role, err := nouns.Roles.Of(r)
		if err != nil {
			return nil, err
		}
		roles = append(roles, role)
	}
	return roles, nil
}

func (d directory) AccountsOf(ctx context.Context, userID int64, seek storage.Seek) ([]identity.Account, error) {
	return query(ctx, d.src, func(db *data) ([]identity.Account, error) {
		return db.accounts.list(global, seek, func(a *identity.Account) bool {
			return db.memberships.conflict(a.ID, 0, func(m *identity.Membership) bool { return m.UserID == userID })
		}), nil
	})
}

func (d directory) MailboxByLocal(ctx context.Context, local string) (helpdesk.Mailbox, error) {
	return query(ctx, d.src, func(db *data) (helpdesk.Mailbox, error) {
		for account := range db.mailboxes.rows {
			m, err := db.mailboxes.first(account, func(m *helpdesk.Mailbox) bool { return m.InternalLocal == local })
			if err == nil {
				return m, nil
			}
		}
		return helpdesk.Mailbox{}, db.mailboxes.missing(0)
	})
}

func (d directory) MailboxesToFetch(ctx context.Context, seek storage.Seek) ([]helpdesk.Mailbox, error) {
	return query(ctx, d.src, func(db *data) ([]helpdesk.Mailbox, error) {
		everywhere := func(yield func(row) bool) {
			for _, rows := range db.mailboxes.rows {
				for _, r := range rows {
					if !yield(r) {
						return
					}
				}
			}
		}
		return page(everywhere, seek, func(m *helpdesk.Mailbox) bool { return m.Inbound.Type != ledger.InboundForward }), nil
	})
}

// systemTx implements helpdesk.SystemTx.
type systemTx struct {
	directory
	open *session
}

func (t systemTx) Within(s helpdesk.Scope) helpdesk.Tx { return newTx(t.open, s) }

func (t systemTx) InsertUser(ctx context.Context, u *identity.User) error {
	return change(ctx, t.open, func(db *data) error {
		if db.users.conflict(global, 0, func(o *identity.User) bool { return o.EmailKey == u.EmailKey }) {
			return unique(identity.UniqueUserEmail, "Another user has this email address.")
		}
		return db.users.insert(global, u, &u.ID)
	})
}

func (t systemTx) InsertToken(ctx context.Context, token *identity.AccessToken) error {
	return change(ctx, t.open, func(db *data) error {
		if _, err := db.users.get(global, token.UserID); err != nil {
			return err
		}
		return db.tokens.insert(global, token, &token.ID)
	})
}

func (t systemTx) TouchToken(ctx context.Context, id int64, at time.Time) error {
	return change(ctx, t.open, func(db *data) error {
		token, err := copyOf(db.tokens.get(global, id))
		if err != nil {
			return err
		}
		token.LastUsedAt = at
		return db.tokens.update(global, id, &token)
	})
}

func (t systemTx) InsertAccount(ctx context.Context, a *identity.Account) error {
	return change(ctx, t.open, func(db *data) error { return db.accounts.insert(global, a, &a.ID) })
}

// copyOf returns a copy of a table's value.
func copyOf[T any](v *T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return *clone(v), nil
}
