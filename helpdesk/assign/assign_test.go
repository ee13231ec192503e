package assign_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/storage/fault"
)

func TestNext(t *testing.T) {
	t.Parallel()
	anna := assign.Member{ID: 1, Load: 2, Turn: 1, Online: true, OnDuty: true}
	ben := assign.Member{ID: 2, Load: 1, Turn: 2, Online: true}
	carl := assign.Member{ID: 3, Load: 0, Turn: 3, OnDuty: true}
	turn := assign.Policy{Strategy: assign.RoundRobin}
	balanced := assign.Policy{Strategy: assign.Balanced}
	with := func(p assign.Policy, change func(*assign.Policy)) assign.Policy {
		change(&p)
		return p
	}
	team := []assign.Member{anna, ben, carl}
	for name, tt := range map[string]struct {
		policy  assign.Policy
		members []assign.Member
		known   int64
		want    assign.Choice
	}{
		"strategy none":          {assign.Default(), team, 1, assign.Choice{Reason: assign.Off, Of: 3}},
		"empty policy":           {assign.Policy{}, team, 1, assign.Choice{Reason: assign.Off, Of: 3}},
		"no members":             {turn, nil, 0, assign.Choice{Reason: assign.Nobody}},
		"longest without a turn": {turn, team, 0, assign.Choice{Member: 1, Reason: assign.Turn, Load: 2, Free: 2, Of: 3}},
		"new member first": {turn, append(slices.Clone(team), assign.Member{ID: 4, Load: 9, Online: true}), 0,
			assign.Choice{Member: 4, Reason: assign.Turn, Load: 9, Free: 3, Of: 4}},
		"fewest":           {balanced, team, 0, assign.Choice{Member: 2, Reason: assign.LeastBusy, Load: 1, Free: 2, Of: 3}},
		"fewest of equals": {balanced, []assign.Member{{ID: 8, Turn: 5, Online: true}, {ID: 9, Turn: 4, Online: true}}, 0, assign.Choice{Member: 9, Reason: assign.LeastBusy, Free: 2, Of: 2}},
		"lowest id of equals": {balanced, []assign.Member{{ID: 9, Online: true}, {ID: 8, Online: true}}, 0,
			assign.Choice{Member: 8, Reason: assign.LeastBusy, Free: 2, Of: 2}},
		"on duty": {with(turn, func(p *assign.Policy) { p.Who = assign.Scheduled }), []assign.Member{ben, carl}, 0,
			assign.Choice{Member: 3, Reason: assign.Turn, Free: 1, Of: 2}},
		"all": {with(balanced, func(p *assign.Policy) { p.Who = assign.All }), team, 0,
			assign.Choice{Member: 3, Reason: assign.LeastBusy, Free: 3, Of: 3}},
		"known":                 {with(turn, func(p *assign.Policy) { p.Sticky = true }), team, 2, assign.Choice{Member: 2, Reason: assign.Known, Load: 1, Free: 2, Of: 3}},
		"known, but not sticky": {turn, team, 2, assign.Choice{Member: 1, Reason: assign.Turn, Load: 2, Free: 2, Of: 3}},
		"known is offline": {with(turn, func(p *assign.Policy) { p.Sticky = true }), team, 3,
			assign.Choice{Member: 1, Reason: assign.Turn, Load: 2, Free: 2, Of: 3}},
		"known is full": {with(turn, func(p *assign.Policy) { p.Sticky, p.Capacity = true, 2 }), team, 1,
			assign.Choice{Member: 2, Reason: assign.Turn, Load: 1, Free: 1, Of: 3}},
		"known has left": {with(turn, func(p *assign.Policy) { p.Sticky = true }), team, 99,
			assign.Choice{Member: 1, Reason: assign.Turn, Load: 2, Free: 2, Of: 3}},
		"below capacity": {with(turn, func(p *assign.Policy) { p.Capacity = 2 }), team, 0, assign.Choice{Member: 2, Reason: assign.Turn, Load: 1, Free: 1, Of: 3}},
		"all full":       {with(turn, func(p *assign.Policy) { p.Capacity = 1 }), team, 0, assign.Choice{Reason: assign.AllFull, Of: 3}},
		"absent":         {turn, []assign.Member{carl}, 0, assign.Choice{Reason: assign.Absent, Of: 1}},
		"barred":         {turn, []assign.Member{{ID: 1, Online: true, Barred: true}}, 1, assign.Choice{Reason: assign.Nobody, Of: 1}},
		"barred or absent": {turn, []assign.Member{carl, {ID: 1, Online: true, Barred: true}}, 1,
			assign.Choice{Reason: assign.Absent, Of: 2}},
	} {
		if diff := cmp.Diff(tt.want, tt.policy.Next(tt.members, tt.known)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		backwards := slices.Clone(tt.members)
		slices.Reverse(backwards)
		if diff := cmp.Diff(tt.want, tt.policy.Next(backwards, tt.known)); diff != "" {
			t.Errorf("%s, in another order: %s", name, diff)
		}
	}
}

func TestGive(t *testing.T) {
	t.Parallel()
	members := []assign.Member{{ID: 1, Load: 4, Turn: 5}, {ID: 2, Turn: 7}}
	got := assign.Give(members, 1)
	want := []assign.Member{{ID: 1, Load: 5, Turn: 8}, {ID: 2, Turn: 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if members[0].Load != 4 {
		t.Error("changed its argument")
	}
}

func TestPolicyIsRefused(t *testing.T) {
	t.Parallel()
	ok := assign.Default()
	for name, tt := range map[string]struct {
		change func(*assign.Policy)
		want   fault.Fields
	}{
		"default":         {func(*assign.Policy) {}, nil},
		"largest":         {func(p *assign.Policy) { p.Capacity, p.ReturnAfter = assign.MaxCapacity, assign.MaxReturnAfter }, nil},
		"strategy":        {func(p *assign.Policy) { p.Strategy = "random" }, fault.Fields{"assignment[strategy]": {"must be none, round_robin or balanced"}}},
		"negative":        {func(p *assign.Policy) { p.Capacity = -1 }, fault.Fields{"assignment[capacity]": {"must be from 1 to 1000, or null"}}},
		"large":           {func(p *assign.Policy) { p.Capacity = 1001 }, fault.Fields{"assignment[capacity]": {"must be from 1 to 1000, or null"}}},
		"who":             {func(p *assign.Policy) { p.Who = "me" }, fault.Fields{"assignment[who]": {"must be available, scheduled or all"}}},
		"when":            {func(p *assign.Policy) { p.WhenUnavailable = "drop" }, fault.Fields{"assignment[when_unavailable]": {"must be keep or return"}}},
		"at once":         {func(p *assign.Policy) { p.ReturnAfter = 0 }, fault.Fields{"assignment[return_after]": {"must be from 1 to 720 hours"}}},
		"after two years": {func(p *assign.Policy) { p.ReturnAfter = 17520 }, fault.Fields{"assignment[return_after]": {"must be from 1 to 720 hours"}}},
	} {
		p := ok
		tt.change(&p)
		var problems fault.Collector
		p.Check(&problems)
		var got fault.Fields
		if err, is := errors.AsType[*fault.Error](problems.Err()); is {
			got = err.Fields
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(assign.Default(), assign.Policy{}.WithDefaults()); diff != "" {
		t.Error(diff)
	}
}

// day is a random working day of a team: conversations come, members come, go and close.
type day struct {
	*rand.Rand
	policy  assign.Policy
	members []assign.Member
	waiting []int // numbers of conversations, oldest first
	next    int   // number of the next conversation
	given   map[int64]int
	order   []int // in which conversations were given out
}

func newDay(seed uint64) *day {
	d := &day{Rand: rand.New(rand.NewPCG(seed, 7)), given: map[int64]int{}}
	d.policy = assign.Policy{
		Strategy: []assign.Strategy{assign.RoundRobin, assign.Balanced}[d.IntN(2)], Capacity: d.IntN(6),
		Who: []assign.Who{assign.Available, assign.Scheduled, assign.All}[d.IntN(3)], Sticky: d.IntN(2) == 0,
	}
	for n := range 1 + d.IntN(6) {
		d.members = append(d.members, assign.Member{ID: int64(n + 1), Online: d.IntN(3) > 0, OnDuty: d.IntN(3) > 0, Barred: d.IntN(12) == 0})
	}
	return d
}

// hand gives out what waits, oldest first, until nobody takes the next one.
func (d *day) hand() {
	for len(d.waiting) > 0 {
		known := int64(d.IntN(len(d.members) + 1))
		c := d.policy.Next(d.members, known)
		if c.Member == 0 {
			return
		}
		d.members = assign.Give(d.members, c.Member)
		d.given[c.Member]++
		d.order = append(d.order, d.waiting[0])
		d.waiting = d.waiting[1:]
	}
}

func (d *day) step() {
	m := &d.members[d.IntN(len(d.members))]
	switch d.IntN(5) {
	case 0:
		m.Online = !m.Online
	case 1:
		m.OnDuty = !m.OnDuty
	case 2:
		m.Load = max(m.Load-1, 0)
	default:
		d.waiting = append(d.waiting, d.next)
		d.next++
	}
	d.hand()
}

// Over 10,000 random days nobody gets more than the capacity, nobody gets anything while away or barred, and nothing waits
// while somebody is free. What waited longest is given first.
func TestRandomDays(t *testing.T) {
	t.Parallel()
	handed := 0
	for seed := range uint64(10_000) {
		d := newDay(seed)
		for range 40 {
			before := maps.Clone(d.given)
			d.step()
			for _, m := range d.members {
				if d.given[m.ID] > before[m.ID] && (m.Barred || !d.policy.Here(m)) {
					t.Fatalf("day %d: %+v got a conversation", seed, m)
				}
				if d.policy.Capacity > 0 && m.Load > d.policy.Capacity {
					t.Fatalf("day %d: %+v is over the capacity of %d", seed, m, d.policy.Capacity)
				}
			}
			if len(d.waiting) > 0 && slices.ContainsFunc(d.members, d.policy.Takes) {
				t.Fatalf("day %d: %d wait while somebody is free", seed, len(d.waiting))
			}
		}
		if !slices.IsSorted(d.order) {
			t.Fatalf("day %d: given out in the order %v", seed, d.order)
		}
		handed += len(d.order)
	}
	if handed < 100_000 {
		t.Errorf("only %d were given out", handed)
	}
}

// Members who are there all day get as many conversations, give or take one, whatever they close.
func TestRoundRobinIsFair(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10_000) {
		d := newDay(seed)
		d.policy = assign.Policy{Strategy: assign.RoundRobin, Who: assign.All}
		for n := range d.members {
			d.members[n].Barred = false
		}
		for range 40 {
			d.step()
			var counts []int
			for _, m := range d.members {
				counts = append(counts, d.given[m.ID])
			}
			if slices.Max(counts)-slices.Min(counts) > 1 {
				t.Fatalf("day %d: %v", seed, counts)
			}
		}
	}
}

// Balanced never widens the difference between the busiest and the least busy member.
func TestBalancedIsBalanced(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10_000) {
		d := newDay(seed)
		d.policy = assign.Policy{Strategy: assign.Balanced, Who: assign.All}
		for n := range d.members {
			d.members[n].Barred, d.members[n].Load = false, d.IntN(9)
		}
		for range 40 {
			byLoad := func(a, b assign.Member) int { return a.Load - b.Load }
			least := slices.MinFunc(d.members, byLoad).Load
			c := d.policy.Next(d.members, 0)
			if c.Load != least {
				t.Fatalf("day %d: given to one with %d while another has %d", seed, c.Load, least)
			}
			d.members = assign.Give(d.members, c.Member)
		}
	}
}

func ExamplePolicy_Next() {
	policy := assign.Policy{Strategy: assign.RoundRobin, Capacity: 3, Who: assign.Available}
	members := []assign.Member{
		{ID: 1, Load: 1, Turn: 2, Online: true},
		{ID: 2, Load: 0, Turn: 3, Online: true},
		{ID: 3, Load: 0, Turn: 1}, // offline
	}
	for range 6 {
		choice := policy.Next(members, 0)
		fmt.Println(choice.Member, choice.Reason)
		members = assign.Give(members, choice.Member)
	}
	// Output:
	// 1 turn
	// 2 turn
	// 1 turn
	// 2 turn
	// 2 turn
	// 0 all_full
}
