package helpdesk

import (
	"context"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// maxGrants limits the roles and the mailboxes of a membership.
const maxGrants = 1000

// Members are the people who work in the account, with their invitations.
type Members struct{ *desk }

// Members returns the handle of members and invitations.
func (d *Desk) Members() Members { return Members{&d.desk} }

// List lists the memberships by id. It needs memberships.view.
func (d Members) List(ctx context.Context, req storage.PageRequest) (storage.Page[identity.Membership], error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return storage.Page[identity.Membership]{}, err
	}
	return storage.List(req, false, func(m identity.Membership) storage.Position { return storage.Position{ID: m.ID} },
		func(seek storage.Seek) ([]identity.Membership, error) {
			return r.Memberships().List(ctx, storage.NoFilter{}, seek)
		})
}

// Get returns a membership. It needs memberships.view.
func (d Members) Get(ctx context.Context, id int64) (identity.Membership, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return identity.Membership{}, err
	}
	return r.Memberships().Get(ctx, id)
}

// ByID returns those of the memberships that there are, in any order. It needs memberships.view.
func (d Members) ByID(ctx context.Context, ids []int64) ([]identity.Membership, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return r.Memberships().ByIDs(ctx, ids)
}

// Update changes a member's roles and mailboxes. It needs memberships.update.
//
// A caller may neither change a member who holds more than the caller, nor grant more than the caller holds, in permissions
// and in mailboxes; both are Forbidden faults. A role or mailbox that is absent or invisible to the caller is a NotFound
// fault. The last owner of all mailboxes can neither lose that role nor be limited: a Conflict fault with code last_owner.
func (d Members) Update(ctx context.Context, id int64, in identity.MembershipUpdate) (identity.Membership, error) {
	begin, err := d.guard.Write(identity.MembershipsUpdate)
	if err != nil {
		return identity.Membership{}, err
	}
	var problems fault.Collector
	validateGrants(&problems, in.RoleIDs, in.MailboxIDs.Or(nil))
	if err := problems.Err(); err != nil {
		return identity.Membership{}, err
	}
	var m identity.Membership
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		if m, err = tx.Memberships().Get(ctx, id); err != nil {
			return err
		}
		if err := d.mayTouch(ctx, tx.Reader(), m); err != nil {
			return err
		}
		old := m
		m.RoleIDs = distinct(in.RoleIDs)
		if m.MailboxIDs, err = d.newReach(ctx, tx.Reader(), old, in); err != nil {
			return err
		}
		if err := d.mayGrant(ctx, tx.Reader(), m.RoleIDs, m.MailboxIDs); err != nil {
			return err
		}
		if err := keepOwner(ctx, tx.Reader(), old, m); err != nil {
			return err
		}
		m.UpdatedAt = d.svc.now()
		if err := tx.Memberships().Update(ctx, &m); err != nil {
			return err
		}
		what, err := ofMember(ctx, tx.Reader(), old, m)
		if err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "membership.updated", m.ID, 0, what)
	})
	return m, err
}

// newReach returns the mailboxes of a member after a change.
func (d *desk) newReach(ctx context.Context, r Reader, old identity.Membership, in identity.MembershipUpdate) ([]int64, error) {
	given, set := in.MailboxIDs.Get()
	switch {
	case in.MailboxIDs.IsNull():
		return nil, nil
	case !set:
		return old.MailboxIDs, nil
	case len(given) == 0 && len(old.MailboxIDs) > 0:
		left, err := r.Mailboxes().ByIDs(ctx, old.MailboxIDs)
		if err != nil || len(left) == 0 {
			return old.MailboxIDs, err
		}
	}
	return distinct(given), d.findMailboxes(ctx, r, given, old.MailboxIDs...)
}

// Remove ends a membership; members may end their own. The member leaves all teams, and a job soon unassigns the
// member's conversations. It needs memberships.delete. A member who holds more than the caller is a Forbidden fault; the
// last owner is a Conflict fault with code last_owner.
func (d Members) Remove(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.MembershipsDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		m, err := tx.Memberships().Get(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayTouch(ctx, tx.Reader(), m); err != nil {
			return err
		}
		return d.svc.endMembership(ctx, tx, d.scope.AccountID, m, func(kind string, subject int64) error { return d.emit(ctx, tx, kind, subject, 0) })
	})
}

// endMembership removes a membership and the member's private data. The account must be locked.
func (s *Service) endMembership(ctx context.Context, tx Tx, accountID int64, m identity.Membership, emit func(kind string, subject int64) error) error {
	if err := keepOwner(ctx, tx.Reader(), m, identity.Membership{}); err != nil {
		return err
	}
	if err := tx.Memberships().Delete(ctx, m.ID); err != nil {
		return err
	}
	if err := forgetSignature(ctx, tx, m.UserID); err != nil {
		return err
	}
	if err := forgetPushDevices(ctx, tx, m.UserID); err != nil {
		return err
	}
	if err := forgetReplies(ctx, tx, accountID, m.UserID); err != nil {
		return err
	}
	if err := s.leaveTeams(ctx, tx, m.UserID, emit); err != nil {
		return err
	}
	if err := tx.Enqueue(ctx, storage.Job{Kind: JobUnassign, AccountID: accountID, Subject: m.UserID, RunAt: s.now()}); err != nil {
		return err
	}
	return emit("membership.deleted", m.ID)
}

func validateGrants(problems *fault.Collector, roles, mailboxes []int64) {
	problems.Check(len(roles) > 0, "roles", "is required")
	problems.Check(len(roles) <= maxGrants, "roles", fmt.Sprintf("has more than %d items", maxGrants))
	problems.Check(len(mailboxes) <= maxGrants, "mailboxes", fmt.Sprintf("has more than %d items", maxGrants))
}

// distinct removes duplicates and keeps the order.
func distinct(ids []int64) []int64 {
	var out []int64
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// rolesOf returns the roles with the given ids; an absent one is a NotFound fault.
func (s *Service) rolesOf(ctx context.Context, r Reader, ids []int64) ([]identity.Role, error) {
	all, err := roleNoun().Reader(r).ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []identity.Role
	for _, id := range ids {
		i := slices.IndexFunc(all, func(role identity.Role) bool { return role.ID == id })
		if i < 0 {
			return nil, fault.Missing("role", id)
		}
		found = append(found, all[i])
	}
	return s.registry.Resolve(found), nil
}

// findMailboxes returns a fault if a mailbox is absent or invisible to the caller. Those that the row named before are not
// checked again: they may have been deleted since.
func (d *desk) findMailboxes(ctx context.Context, r Reader, ids []int64, former ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := r.Mailboxes().ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(former, id) && !slices.ContainsFunc(found, func(m Mailbox) bool { return m.ID == id }) {
			return fault.Missing("mailbox", id)
		}
	}
	return nil
}

// mayTouch returns a fault if the member holds more than the caller.
func (d *desk) mayTouch(ctx context.Context, r Reader, m identity.Membership) error {
	roles, err := d.svc.rolesOf(ctx, r, m.RoleIDs)
	if err != nil {
		return err
	}
	if !d.covers(roles, m.MailboxIDs) {
		return fault.New(fault.Forbidden, "The member has more permissions than you.")
	}
	return nil
}

// mayGrant returns a fault if the grant exceeds what the caller holds.
func (d *desk) mayGrant(ctx context.Context, r Reader, roleIDs, mailboxIDs []int64) error {
	roles, err := d.svc.rolesOf(ctx, r, roleIDs)
	if err != nil {
		return err
	}
	if !d.covers(roles, mailboxIDs) {
		return fault.New(fault.Forbidden, "You cannot grant more than you have.")
	}
	return nil
}

// covers reports whether the caller holds everything that the roles and mailboxes grant.
func (d *desk) covers(roles []identity.Role, mailboxIDs []int64) bool {
	for _, role := range roles {
		if !d.holdsAll(role.Permissions) {
			return false
		}
	}
	if d.scope.Mailboxes == nil {
		return true
	}
	beyond := func(id int64) bool { return !slices.Contains(d.scope.Mailboxes, id) }
	return len(mailboxIDs) > 0 && !slices.ContainsFunc(mailboxIDs, beyond)
}

func (d *desk) holdsAll(permissions []identity.Permission) bool {
	return !slices.ContainsFunc(permissions, func(p identity.Permission) bool { return !d.permissions.Has(p) })
}

// keepOwner returns a fault if a change would leave no owner of all mailboxes. Otherwise, what the remaining members cannot
// reach would stay unreachable. The account must be locked.
func keepOwner(ctx context.Context, r Reader, old, m identity.Membership) error {
	roles, err := roleNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(roles, func(role identity.Role) bool { return role.Key == identity.RoleOwner })
	if at < 0 {
		return nil
	}
	owns := func(m identity.Membership) bool { return slices.Contains(m.RoleIDs, roles[at].ID) }
	ownsAll := func(m identity.Membership) bool { return owns(m) && len(m.MailboxIDs) == 0 }
	if !owns(old) || ownsAll(m) || owns(m) && !ownsAll(old) {
		return nil
	}
	owner, ownerOfAll := false, false
	err = eachMember(ctx, r, func(other identity.Membership) error {
		owner = owner || other.ID != old.ID && owns(other)
		ownerOfAll = ownerOfAll || other.ID != old.ID && ownsAll(other)
		return nil
	})
	switch {
	case err != nil:
		return err
	case !owner && !owns(m):
		return &fault.Error{Kind: fault.Conflict, Code: "last_owner", Message: "This is the account's last owner. Make someone else an owner first."}
	case !ownerOfAll && ownsAll(old):
		return &fault.Error{Kind: fault.Conflict, Code: "last_owner", Message: "This is the account's last owner with access to all mailboxes. Make someone else one first."}
	}
	return nil
}
