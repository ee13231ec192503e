package memstore

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func (r reader) Account(ctx context.Context) (helpdesk.Account, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Account, error) {
		return copyOf(db.accounts.get(global, r.scope.AccountID))
	})
}

func (r reader) Roles(ctx context.Context) ([]helpdesk.Role, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Role, error) {
		return db.roles.where(r.scope.AccountID, every), nil
	})
}

func (r reader) Membership(ctx context.Context, id int64) (helpdesk.Membership, error) {
	return query(ctx, r.src, func(db *data) (helpdesk.Membership, error) {
		return copyOf(db.memberships.get(r.scope.AccountID, id))
	})
}

func (r reader) Memberships(ctx context.Context, seek storage.Seek) ([]helpdesk.Membership, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.Membership, error) {
		return db.memberships.list(r.scope.AccountID, seek, every), nil
	})
}

func (r reader) UsersByID(ctx context.Context, ids []int64) ([]helpdesk.User, error) {
	return query(ctx, r.src, func(db *data) ([]helpdesk.User, error) {
		return db.users.where(global, func(u *helpdesk.User) bool {
			return slices.Contains(ids, u.ID) &&
				db.memberships.conflict(r.scope.AccountID, 0, func(m *helpdesk.Membership) bool { return m.UserID == u.ID })
		}), nil
	})
}

func (t tx) UpdateAccount(ctx context.Context, a *helpdesk.Account) error {
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

func (t tx) InsertRole(ctx context.Context, r *helpdesk.Role) error {
	return t.write(ctx, func(db *data) error { return db.roles.insert(t.scope.AccountID, r, &r.ID) })
}

func (t tx) InsertMembership(ctx context.Context, m *helpdesk.Membership) error {
	return t.write(ctx, func(db *data) error {
		if err := t.uniqueMembership(db, m, 0); err != nil {
			return err
		}
		return db.memberships.insert(t.scope.AccountID, m, &m.ID)
	})
}

func (t tx) UpdateMembership(ctx context.Context, m *helpdesk.Membership) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.memberships.get(t.scope.AccountID, m.ID); err != nil {
			return err
		}
		if err := t.uniqueMembership(db, m, m.ID); err != nil {
			return err
		}
		return db.memberships.update(t.scope.AccountID, m.ID, m)
	})
}

func (t tx) uniqueMembership(db *data, m *helpdesk.Membership, id int64) error {
	if db.memberships.conflict(t.scope.AccountID, id, func(o *helpdesk.Membership) bool { return o.UserID == m.UserID }) {
		return unique(helpdesk.UniqueMembership, "The user is a member already.")
	}
	return nil
}

func (t tx) DeleteMembership(ctx context.Context, id int64) error {
	return t.write(ctx, func(db *data) error {
		if _, err := db.memberships.get(t.scope.AccountID, id); err != nil {
			return err
		}
		db.memberships.set(t.scope.AccountID, id, nil)
		return nil
	})
}

// every matches all rows.
func every[T any](*T) bool { return true }
