package helpdesk

import (
	"context"
	_ "time/tzdata" // schedules use named time zones, also where the system has no database

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// others returns the permission for another member's availability; one's own needs none.
func (d *desk) others(membershipID int64) identity.Permission {
	if membershipID != 0 && membershipID == d.membershipID {
		return anyMember
	}
	return identity.MembershipsUpdate
}

// Availability returns the membership with its availability; another member's needs memberships.update.
func (d Members) Availability(ctx context.Context, membershipID int64) (identity.Membership, error) {
	r, err := d.guard.Read(d.others(membershipID))
	if err != nil {
		return identity.Membership{}, err
	}
	return r.Memberships().Get(ctx, membershipID)
}

// SetAvailability changes when a member counts as online. Another member's needs memberships.update and, as in
// [Members.Update], everything that member holds.
func (d Members) SetAvailability(ctx context.Context, membershipID int64, in identity.AvailabilityInput) (identity.Membership, error) {
	begin, err := d.guard.Write(d.others(membershipID))
	if err != nil {
		return identity.Membership{}, err
	}
	var problems fault.Collector
	in.Check(&problems)
	if err := problems.Err(); err != nil {
		return identity.Membership{}, err
	}
	var m identity.Membership
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		if m, err = tx.Memberships().Get(ctx, membershipID); err != nil {
			return err
		}
		if m.ID != d.membershipID {
			if err := d.mayTouch(ctx, tx.Reader(), m); err != nil {
				return err
			}
		}
		old := m.Availability
		in.Apply(&m.Availability)
		m.UpdatedAt = d.svc.now()
		if err := tx.Memberships().Update(ctx, &m); err != nil {
			return err
		}
		if err := d.svc.handOutTo(ctx, tx, d.scope.AccountID, m.UserID); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "membership.updated", m.ID, 0, ofAvailability(old, m.Availability))
	})
	return m, err
}
