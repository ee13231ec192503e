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
	MailboxIDs   []int64 // what the member sees; empty: all mailboxes
	LastActivity time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Grant is a membership with the roles it refers to.
type Grant struct {
	Membership Membership
	Roles      []Role
}

// activeFor is how long after its last activity a member counts as working.
const activeFor = 5 * time.Minute

// Membership returns the caller's own membership.
func (d *Desk) Membership(ctx context.Context) (Membership, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return Membership{}, err
	}
	return r.Membership(ctx, d.membershipID)
}

// Touch records that the caller is at work, at most once a minute.
func (d *Desk) Touch(ctx context.Context) error {
	begin, err := d.guard.Write(anyMember)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.MembershipForUpdate(ctx, d.membershipID)
		if err != nil {
			return err
		}
		now := d.svc.now()
		if now.Sub(m.LastActivity) < time.Minute {
			return nil
		}
		m.LastActivity = now
		return tx.UpdateMembership(ctx, &m)
	})
}

// Online reports whether a member is at work: active in the last five minutes.
func (d *Desk) Online(m Membership) bool { return d.svc.now().Sub(m.LastActivity) < activeFor }

// Roles lists the account's roles by id, built-in ones with their permissions.
func (d *Desk) Roles(ctx context.Context) ([]Role, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	roles, err := r.Roles(ctx)
	return resolve(roles), err
}

// UsersByID returns those of the users who are members of the account, for
// showing who wrote what.
func (d *Desk) UsersByID(ctx context.Context, ids []int64) ([]User, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.UsersByID(ctx, ids)
}

// ActiveMember is a member who is at work, for [Desk.Context].
type ActiveMember struct {
	Membership Membership
	User       User
}

// Context lists who is at work now. The desk is online when somebody is. It needs
// conversations.view.
func (d *Desk) Context(ctx context.Context) ([]ActiveMember, error) {
	r, err := d.guard.Read(ConversationsView)
	if err != nil {
		return nil, err
	}
	var active []ActiveMember
	var from *storage.Position
	for {
		members, err := r.Memberships(ctx, storage.Seek{From: from, Limit: 100})
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			from = &storage.Position{ID: m.ID}
			if d.Online(m) {
				active = append(active, ActiveMember{Membership: m})
			}
		}
		if len(members) < 100 {
			break
		}
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
