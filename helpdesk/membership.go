package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// newMembership returns a membership of a user who is online while in the app.
func newMembership(userID int64, roleIDs []int64, now time.Time) identity.Membership {
	return identity.Membership{
		UserID: userID, RoleIDs: roleIDs, CreatedAt: now, UpdatedAt: now, Availability: identity.Availability{WhileInApp: true},
	}
}

// Membership returns the caller's own membership.
func (d *Desk) Membership(ctx context.Context) (identity.Membership, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return identity.Membership{}, err
	}
	return r.Memberships().Get(ctx, d.membershipID)
}

// Touch records that the caller is active. It is written later, see [Service.Run], so that readers need not wait.
func (d *Desk) Touch(ctx context.Context) error {
	if _, err := d.guard.Write(anyMember); err != nil {
		return err
	}
	d.svc.marks.Add(ctx, mark{kind: memberActive, account: d.scope.AccountID, id: d.membershipID}, d.svc.now())
	return nil
}

// Online reports whether a member is online now, according to its [identity.Availability].
func (d Members) Online(m identity.Membership) bool { return m.Online(d.svc.now()) }

// All lists the account's roles by id, built-in ones with their permissions.
func (d Roles) All(ctx context.Context) ([]identity.Role, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	roles, err := roleNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	return d.svc.registry.Resolve(roles), err
}

// Users returns those of the users who are members of the account, for showing authors.
func (d Members) Users(ctx context.Context, ids []int64) ([]identity.User, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.UsersByID(ctx, ids)
}

// Active lists who is online now. The desk is online if anybody is. It needs conversations.view.
func (d Members) Active(ctx context.Context) ([]identity.ActiveMember, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return nil, err
	}
	var active []identity.ActiveMember
	err = eachMember(ctx, r, func(m identity.Membership) error {
		if d.Online(m) {
			active = append(active, identity.ActiveMember{Membership: m})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(active))
	for i, a := range active {
		ids[i] = a.Membership.UserID
	}
	users, err := r.UsersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := map[int64]identity.User{}
	for _, u := range users {
		byID[u.ID] = u
	}
	for i := range active {
		active[i].User = byID[active[i].Membership.UserID]
	}
	return active, nil
}

// each visits all rows of a list by id.
func each[T any](list func(storage.Seek) ([]T, error), id func(T) int64, visit func(T) error) error {
	const batch = 100
	var from *storage.Position
	for {
		rows, err := list(storage.Seek{From: from, Limit: batch})
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
			from = &storage.Position{ID: id(row)}
		}
		if len(rows) < batch {
			return nil
		}
	}
}

func eachMember(ctx context.Context, r Reader, visit func(identity.Membership) error) error {
	list := func(seek storage.Seek) ([]identity.Membership, error) {
		return r.Memberships().List(ctx, storage.NoFilter{}, seek)
	}
	return each(list, func(m identity.Membership) int64 { return m.ID }, visit)
}
