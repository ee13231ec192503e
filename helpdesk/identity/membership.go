package identity

import (
	"time"
	_ "time/tzdata"

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

// Online reports whether a member is at work at a time. No other code decides this.
func (m Membership) Online(now time.Time) bool {
	a := m.Availability
	switch {
	case a.ForceOffline:
		return false
	case a.WhileInApp && now.Sub(m.LastActivity) < activeFor:
		return true
	}
	return a.UseSchedule && a.scheduled(now)
}

// AwaySince returns since when a member has been unavailable at a time; zero: the member is available. Available members are
// online or, with onDuty, within their working hours, see [Availability.OnDuty]. A change of the membership begins a new absence, as
// nobody knows what held before it.
func (m Membership) AwaySince(now time.Time, onDuty bool) time.Time {
	a := m.Availability
	since := m.UpdatedAt
	later := func(t time.Time) {
		if t.After(since) {
			since = t
		}
	}
	switch {
	case onDuty && a.OnDuty(now), !onDuty && m.Online(now):
		return time.Time{}
	case a.ForceOffline:
		return since
	case !onDuty && a.WhileInApp && !m.LastActivity.IsZero():
		later(m.LastActivity.Add(activeFor))
	}
	later(a.dutyEnded(now))
	return since
}

// MembershipUpdate changes a membership's permissions.
type MembershipUpdate struct {
	RoleIDs []int64 // required
	// MailboxIDs are the mailboxes within reach. Null: all; absent: unchanged. Empty: all, too, unless the member is limited to
	// mailboxes that were all deleted: their list shows as empty, and saving it again must not give them all.
	MailboxIDs storage.Opt[[]int64]
}

// Grant is a membership with the roles it refers to.
type Grant struct {
	Membership Membership
	Roles      []Role
	Disabled   bool // the user is disabled, and the grant is void

	HasPassword, HasSecondFactor bool // of the user
	RequireSecondFactor          bool // of the account
}

// LacksSecondFactor reports whether the account requires a second factor that the member has not set up and the sign-in did
// not have, see [AccessToken]. It is false for users with neither a password nor an identity provider, who sign in by other
// means.
func (g Grant) LacksSecondFactor(factors int) bool {
	return g.RequireSecondFactor && !g.HasSecondFactor && factors < 2 && (g.HasPassword || factors == 1)
}

// ActiveMember is a member who is online, for helpdesk.Desk.Context.
type ActiveMember struct {
	Membership Membership
	User       User
}
