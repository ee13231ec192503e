package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (r reader) Account(ctx context.Context) (identity.Account, error) {
	return query(ctx, r.src, func(db *data) (identity.Account, error) {
		return copyOf(db.accounts.get(global, r.scope.AccountID))
	})
}

// roleUnused returns a Conflict fault if a member has a role.
func (db *data) roleUnused(account, id int64) error {
	if db.memberships.conflict(account, 0, func(m *identity.Membership) bool { return slices.Contains(m.RoleIDs, id) }) {
		return &fault.Error{Kind: fault.Conflict, Resource: "role", ID: id, Message: "A member has this role."}
	}
	return nil
}

var memberships = noun[helpdesk.Scope, identity.Membership, storage.NoFilter]{
	Noun: nouns.Memberships, of: func(db *data) *table[identity.Membership] { return &db.memberships },
}

// Memberships implements [helpdesk.Reader].
func (r reader) Memberships() storage.RowReader[identity.Membership, storage.NoFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &memberships)
}

// Memberships implements [helpdesk.Rows].
func (t tx) Memberships() storage.Rows[identity.Membership, storage.NoFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &memberships)
}

func (r reader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	return query(ctx, r.src, func(db *data) ([]identity.User, error) {
		return db.users.where(global, func(u *identity.User) bool {
			return slices.Contains(ids, u.ID) &&
				db.memberships.conflict(r.scope.AccountID, 0, func(m *identity.Membership) bool { return m.UserID == u.ID })
		}), nil
	})
}

// Picture implements [identity.AccountReader].
func (r reader) Picture(ctx context.Context, userID int64) ([]byte, error) {
	return query(ctx, r.src, func(db *data) ([]byte, error) {
		if !db.memberships.conflict(r.scope.AccountID, 0, func(m *identity.Membership) bool { return m.UserID == userID }) {
			return nil, db.pictures.missing(userID)
		}
		content, err := db.pictures.get(global, userID)
		if err != nil {
			return nil, err
		}
		return slices.Clone(*content), nil
	})
}

func (t tx) UpdateAccount(ctx context.Context, a *identity.Account) error {
	return t.write(ctx, func(db *data) error {
		old, err := db.accounts.get(global, t.scope.AccountID)
		if err != nil {
			return err
		}
		if a.ID != t.scope.AccountID {
			return db.accounts.missing(a.ID)
		}
		row := *a
		row.NextNumber = max(row.NextNumber, old.NextNumber)
		return db.accounts.update(global, row.ID, &row)
	})
}

func (t tx) DeleteAccount(ctx context.Context) error {
	return t.write(ctx, func(db *data) error {
		db.removeAccount(t.scope.AccountID)
		return nil
	})
}

// TrimAccount removes nothing: there is no other transaction that would have to wait for DeleteAccount.
func (t tx) TrimAccount(ctx context.Context, _ int) (trimmed bool, err error) {
	return false, t.LockAccount(ctx)
}

func (t tx) TakeNumber(ctx context.Context) (int64, error) {
	var number int64
	err := t.write(ctx, func(db *data) error {
		a, err := copyOf(db.accounts.get(global, t.scope.AccountID))
		if err != nil {
			return err
		}
		number = a.NextNumber
		a.NextNumber++
		return db.accounts.update(global, a.ID, &a)
	})
	return number, err
}

// every matches all rows.
func every[T any](*T) bool { return true }
