package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// Membership lets a user work in an account.
type Membership struct {
	ID           int64
	UserID       int64
	RoleIDs      []int64
	MailboxIDs   []int64 // mailboxes within reach; empty: all
	LastActivity time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Availability Availability
}

// newMembership returns a membership of a user who is online while in the app.
func newMembership(userID int64, roleIDs []int64, now time.Time) Membership {
	return Membership{
		UserID: userID, RoleIDs: roleIDs, CreatedAt: now, UpdatedAt: now, Availability: Availability{WhileInApp: true},
	}
}

// Grant is a membership with the roles it refers to.
type Grant struct {
	Membership Membership
	Roles      []Role
	Disabled   bool // the user is disabled, and the grant is void

	HasPassword, HasSecondFactor bool // of the user
	RequireSecondFactor          bool // of the account
}

// Membership returns the caller's own membership.
func (d *Desk) Membership(ctx context.Context) (Membership, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return Membership{}, err
	}
	return r.Memberships().Get(ctx, d.membershipID)
}

// Touch records that the caller is active. It is written later, see [Service.Run], so that readers
// need not wait.
func (d *Desk) Touch(ctx context.Context) error {
	if _, err := d.guard.Write(anyMember); err != nil {
		return err
	}
	d.svc.mark(ctx, mark{kind: memberActive, account: d.scope.AccountID, id: d.membershipID}, d.svc.now())
	return nil
}

// Online reports whether a member is online now, according to its [Availability].
func (d *Desk) Online(m Membership) bool { return m.online(d.svc.now()) }

// Roles lists the account's roles by id, built-in ones with their permissions.
func (d *Desk) Roles(ctx context.Context) ([]Role, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	roles, err := r.Roles().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	return resolve(roles), err
}

// UsersByID returns those of the users who are members of the account, for showing authors.
func (d *Desk) UsersByID(ctx context.Context, ids []int64) ([]User, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.UsersByID(ctx, ids)
}

// ActiveMember is a member who is online, for [Desk.Context].
type ActiveMember struct {
	Membership Membership
	User       User
}

// Context lists who is online now. The desk is online if anybody is. It needs conversations.view.
func (d *Desk) Context(ctx context.Context) ([]ActiveMember, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return nil, err
	}
	var active []ActiveMember
	err = eachMember(ctx, r, func(m Membership) error {
		if d.Online(m) {
			active = append(active, ActiveMember{Membership: m})
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
	byID := map[int64]User{}
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

func eachMember(ctx context.Context, r Reader, visit func(Membership) error) error {
	list := func(seek storage.Seek) ([]Membership, error) {
		return r.Memberships().List(ctx, storage.NoFilter{}, seek)
	}
	return each(list, func(m Membership) int64 { return m.ID }, visit)
}
