// Package assign chooses the member of a team who gets a conversation. It is arithmetic on plain values: it knows no store and
// no clock. See [Policy.Next].
package assign

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/helpwright/helpwright/storage/fault"
)

// Strategy is how a team hands out its conversations.
type Strategy string

// The strategies.
const (
	None       Strategy = "none"        // members take conversations themselves; the default
	RoundRobin Strategy = "round_robin" // to the member whose last turn is longest ago
	Balanced   Strategy = "balanced"    // to the member with the fewest open conversations
)

// Who are the members that a team hands out conversations to.
type Who string

// The members.
const (
	Available Who = "available" // who are online; the default
	Scheduled Who = "scheduled" // whose working hours it is, and who are not away
	All       Who = "all"       // all of them, at any time
)

// WhenUnavailable is what happens to the open conversations of a member who is away.
type WhenUnavailable string

// What happens to them.
const (
	Keep   WhenUnavailable = "keep"   // they stay with the member; the default
	Return WhenUnavailable = "return" // they go back to the team after a time
)

// Limits of a policy.
const (
	MaxCapacity        = 1000
	MaxReturnAfter     = 720 // hours
	DefaultReturnAfter = 24  // hours
)

// Policy is how a team hands out its conversations.
type Policy struct {
	Strategy        Strategy
	Capacity        int // open conversations per member, up to which a member gets more; 0: no limit
	Who             Who
	WhenUnavailable WhenUnavailable
	ReturnAfter     int  // hours, of Return
	Sticky          bool // whoever had the customer's last conversation comes first
}

// Default returns the policy of a new team: members take conversations themselves.
func Default() Policy {
	return Policy{Strategy: None, Who: Available, WhenUnavailable: Keep, ReturnAfter: DefaultReturnAfter}
}

// WithDefaults returns the policy with defaults in place of empty fields.
func (p Policy) WithDefaults() Policy {
	d := Default()
	p.Strategy, p.Who, p.WhenUnavailable = cmp.Or(p.Strategy, d.Strategy), cmp.Or(p.Who, d.Who), cmp.Or(p.WhenUnavailable, d.WhenUnavailable)
	p.ReturnAfter = cmp.Or(p.ReturnAfter, d.ReturnAfter)
	return p
}

// Check adds a problem for each invalid field, as "assignment[<field>]".
func (p Policy) Check(problems *fault.Collector) {
	problems.Check(slices.Contains([]Strategy{None, RoundRobin, Balanced}, p.Strategy), "assignment[strategy]", "must be none, round_robin or balanced")
	problems.Check(p.Capacity >= 0 && p.Capacity <= MaxCapacity, "assignment[capacity]", "must be from 1 to "+strconv.Itoa(MaxCapacity)+", or null")
	problems.Check(slices.Contains([]Who{Available, Scheduled, All}, p.Who), "assignment[who]", "must be available, scheduled or all")
	problems.Check(slices.Contains([]WhenUnavailable{Keep, Return}, p.WhenUnavailable), "assignment[when_unavailable]", "must be keep or return")
	problems.Check(p.ReturnAfter >= 1 && p.ReturnAfter <= MaxReturnAfter, "assignment[return_after]", "must be from 1 to "+strconv.Itoa(MaxReturnAfter)+" hours")
}

// On reports whether the team hands out conversations by itself.
func (p Policy) On() bool { return p.Strategy == RoundRobin || p.Strategy == Balanced }

// Returns reports whether conversations of members who are away go back to the team.
func (p Policy) Returns() bool { return p.On() && p.WhenUnavailable == Return && p.Who != All }

// Member is a member of a team, as far as the choice depends on it.
type Member struct {
	ID     int64
	Load   int  // open conversations
	Turn   int  // place in the order of the last turns in the team, the latest has the highest; 0: none yet
	Online bool // at work now
	OnDuty bool // it is within the member's working hours, and the member is not away
	Barred bool // may not see or answer the conversation
}

// Here reports whether a member counts as available under the policy.
func (p Policy) Here(m Member) bool {
	switch p.Who {
	case All:
		return true
	case Scheduled:
		return m.OnDuty
	}
	return m.Online
}

// Full reports whether a member has reached the capacity.
func (p Policy) Full(m Member) bool { return p.Capacity > 0 && m.Load >= p.Capacity }

// Takes reports whether a member can get a conversation now.
func (p Policy) Takes(m Member) bool { return !m.Barred && p.Here(m) && !p.Full(m) }

// Reason is why a member gets a conversation, or why nobody does.
type Reason string

// The reasons of a choice, and then those of its absence.
const (
	Known     Reason = "known"      // had the customer's last conversation
	Turn      Reason = "turn"       // it is the member's turn
	LeastBusy Reason = "least_busy" // has the fewest open conversations

	Off     Reason = "off"      // the team's strategy is none
	Nobody  Reason = "nobody"   // nobody who may see and answer it is in the team
	Absent  Reason = "absent"   // nobody of these is available
	AllFull Reason = "all_full" // all who are available have reached the capacity

	Away Reason = "away" // the member was away for too long, and lost the conversation
)

// Choice is who gets a conversation, and why.
type Choice struct {
	Member int64 // 0: nobody
	Reason Reason
	Load   int // open conversations that the member had before
	Free   int // members who could take it
	Of     int // members of the team
}

// Next chooses who gets a conversation. known is who had the customer's last conversation, 0: nobody. Without a member in the
// choice, Reason says why the conversation waits. The result depends on the arguments only, and not on the order of members.
func (p Policy) Next(members []Member, known int64) Choice {
	c := Choice{Of: len(members)}
	if !p.On() {
		c.Reason = Off
		return c
	}
	var free []Member
	c.Reason = Nobody
	for _, m := range members {
		switch {
		case m.Barred:
		case p.Takes(m):
			free = append(free, m)
		case p.Here(m):
			c.Reason = AllFull
		case c.Reason == Nobody:
			c.Reason = Absent
		}
	}
	if c.Free = len(free); c.Free == 0 {
		return c
	}
	first := slices.MinFunc(free, p.compare)
	c.Reason = Turn
	if p.Strategy == Balanced {
		c.Reason = LeastBusy
	}
	if n := slices.IndexFunc(free, func(m Member) bool { return m.ID == known }); p.Sticky && known != 0 && n >= 0 {
		first, c.Reason = free[n], Known
	}
	c.Member, c.Load = first.ID, first.Load
	return c
}

// compare orders members by who comes first.
func (p Policy) compare(a, b Member) int {
	byLoad := 0
	if p.Strategy == Balanced {
		byLoad = cmp.Compare(a.Load, b.Load)
	}
	return cmp.Or(byLoad, cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.ID, b.ID))
}

// Give returns the members after one of them got a conversation: with one more, and the latest in turn.
func Give(members []Member, id int64) []Member {
	after, latest := slices.Clone(members), 0
	for _, m := range members {
		latest = max(latest, m.Turn)
	}
	for n := range after {
		if after[n].ID == id {
			after[n].Load++
			after[n].Turn = latest + 1
		}
	}
	return after
}
