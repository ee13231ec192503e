package helpdesk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// handsOut makes a team that hands out conversations to members who are all there.
func (b *bundle) handsOut(p assign.Policy, members ...*helpdesk.Desk) int64 {
	b.t.Helper()
	p.Strategy, p.Who = firstOf(p.Strategy, assign.RoundRobin), firstOf(p.Who, assign.All)
	id := b.team("Sales", members...)
	must(b.desk.Teams().Update(b.ctx, id, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(p)}))(b.t)
	b.handOut()
	return id
}

// handsOutBy is the input of a policy.
func handsOutBy(p assign.Policy) helpdesk.AssignmentInput {
	p = p.WithDefaults()
	return helpdesk.AssignmentInput{
		Strategy: storage.Some(p.Strategy), Capacity: storage.Some(p.Capacity), Who: storage.Some(p.Who),
		WhenUnavailable: storage.Some(p.WhenUnavailable), ReturnAfter: storage.Some(p.ReturnAfter), Sticky: storage.Some(p.Sticky),
	}
}

func firstOf[T ~string](a, b T) T {
	if a == "" {
		return b
	}
	return a
}

// handOut runs the jobs that hand out conversations, each twice, and says how many there were.
func (b *bundle) handOut() int {
	b.t.Helper()
	jobs := b.jobs(helpdesk.JobHandOut)
	for _, job := range jobs {
		for range 2 {
			ok(b.t, b.svc.Jobs().HandOut(b.ctx, job))
		}
	}
	return len(jobs)
}

// begunIn begins a conversation of a customer in a team and returns it.
func (b *bundle) begunIn(team int64, subject string, change ...func(*helpdesk.ConversationInput)) helpdesk.Conversation {
	b.t.Helper()
	b.clock.Add(time.Second)
	in := helpdesk.ConversationInput{
		Channel: "email", To: subject + "@example.com", Subject: subject, TeamID: storage.Some(team),
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help!"}},
	}
	for _, f := range change {
		f(&in)
	}
	return must(b.desk.Conversations().Create(b.ctx, in))(b.t)
}

func (b *bundle) update(id int64, in helpdesk.ConversationUpdate) helpdesk.Conversation {
	b.t.Helper()
	return must(b.desk.Conversations().Update(b.ctx, id, in))(b.t)
}

func (b *bundle) close(id int64) {
	b.t.Helper()
	b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)})
}

// queue returns the subjects of a team's queue.
func (b *bundle) queue(team int64) []string {
	b.t.Helper()
	subjects := []string{}
	for _, c := range must(b.desk.Teams().Queue(b.ctx, team, storage.PageRequest{}))(b.t).Items {
		subjects = append(subjects, c.Subject)
	}
	return subjects
}

// heldBy returns the subjects of the open conversations of a member, oldest first.
func (b *bundle) heldBy(d *helpdesk.Desk) []string {
	b.t.Helper()
	subjects := []string{}
	page := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{
		UserID: storage.Some(d.UserID()), Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}, Ascending: true,
	}, storage.PageRequest{Limit: 100}))(b.t)
	for _, c := range page.Items {
		subjects = append(subjects, c.Subject)
	}
	return subjects
}

// However a conversation comes to wait in a team, a member gets it in the same transaction.
func TestEveryWayToATeam(t *testing.T) {
	t.Parallel()
	opened := func(b *bundle, team int64, anna *helpdesk.Desk) int64 { // one that is not in the team
		return b.begin("c", helpdesk.StatusPosted, storage.Opt[int64]{})
	}
	held := func(change func(*helpdesk.ConversationUpdate)) func(b *bundle, team int64, anna *helpdesk.Desk) int64 {
		return func(b *bundle, team int64, anna *helpdesk.Desk) int64 {
			id := b.receive(opening()).ConversationID
			in := helpdesk.ConversationUpdate{}
			change(&in)
			in.TeamID, in.UserID = storage.Some(team), storage.Null[int64]()
			b.update(id, in)
			return id
		}
	}
	for name, tt := range map[string]struct {
		before func(b *bundle, team int64, anna *helpdesk.Desk) int64
		act    func(b *bundle, team, id int64, anna *helpdesk.Desk) int64 // returns the conversation, 0: id
	}{
		"begun": {opened, func(b *bundle, team, _ int64, _ *helpdesk.Desk) int64 {
			c := b.begunIn(team, "begun")
			if c.UserID == 0 {
				b.t.Error("the answer has no user")
			}
			return c.ID
		}},
		"assigned": {opened, func(b *bundle, team, id int64, _ *helpdesk.Desk) int64 {
			if c := b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team)}); c.UserID == 0 {
				b.t.Error("the answer has no user")
			}
			return 0
		}},
		"assigned in bulk": {opened, func(b *bundle, team, id int64, _ *helpdesk.Desk) int64 {
			all := must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{TeamID: storage.Some(team)}))(b.t)
			if all[0].UserID == 0 {
				b.t.Error("the answer has no user")
			}
			return 0
		}},
		"taken from a user": {func(b *bundle, team int64, anna *helpdesk.Desk) int64 {
			id := opened(b, team, anna)
			b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team), UserID: storage.Some(b.owner.ID)})
			return id
		}, func(b *bundle, _, id int64, _ *helpdesk.Desk) int64 {
			b.update(id, helpdesk.ConversationUpdate{UserID: storage.Null[int64]()})
			return 0
		}},
		"reopened": {held(func(in *helpdesk.ConversationUpdate) { in.Status = storage.Some(helpdesk.StatusClosed) }), func(b *bundle, _, id int64, _ *helpdesk.Desk) int64 {
			b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusPosted)})
			return 0
		}},
		"reopened by the customer": {held(func(in *helpdesk.ConversationUpdate) { in.Status = storage.Some(helpdesk.StatusClosed) }), func(b *bundle, _, _ int64, _ *helpdesk.Desk) int64 {
			again := opening()
			again.MessageID, again.References, again.Text = "2@example.com", []string{"1@example.com"}, "Still stuck."
			return b.receive(again).ConversationID
		}},
		"woken": {held(func(in *helpdesk.ConversationUpdate) {
			in.SnoozedUntil = storage.Some(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))
		}), func(b *bundle, _, id int64, _ *helpdesk.Desk) int64 {
			b.clock.Add(25 * time.Hour)
			for _, job := range b.jobs(helpdesk.JobWake) {
				ok(b.t, b.svc.Jobs().Wake(b.ctx, job))
			}
			return 0
		}},
		"not spam": {func(b *bundle, team int64, anna *helpdesk.Desk) int64 {
			id := opened(b, team, anna)
			b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team), Spam: storage.Some(true)})
			return id
		}, func(b *bundle, _, id int64, _ *helpdesk.Desk) int64 {
			b.update(id, helpdesk.ConversationUpdate{Spam: storage.Some(false)})
			return 0
		}},
		"its user leaves": {func(b *bundle, team int64, _ *helpdesk.Desk) int64 {
			ben := b.member(identity.RoleAgent)
			id := opened(b, team, ben)
			b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team), UserID: storage.Some(ben.UserID())})
			ok(b.t, b.desk.Members().Remove(b.ctx, membershipOf(b.t, b.ctx, ben).ID))
			return id
		}, func(b *bundle, _, _ int64, _ *helpdesk.Desk) int64 {
			for _, job := range b.jobs(helpdesk.JobUnassign) {
				ok(b.t, b.svc.Jobs().Unassign(b.ctx, job))
			}
			return 0
		}},
		"split": {func(b *bundle, team int64, anna *helpdesk.Desk) int64 {
			id := b.begin("c", helpdesk.StatusPosted, storage.Opt[int64]{})
			for _, body := range []string{"one", "two"} {
				must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: body}))(b.t)
			}
			must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(assign.Default())}))(b.t)
			b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team)})
			return id
		}, func(b *bundle, team, id int64, _ *helpdesk.Desk) int64 {
			must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(assign.Policy{Strategy: assign.Balanced, Who: assign.All})}))(b.t)
			b.handOut()
			b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed), UserID: storage.Null[int64]()})
			all := b.interactions(id)
			return must(b.desk.Conversations().Split(b.ctx, id, helpdesk.SplitInput{InteractionID: all[len(all)-1].ID}))(b.t).ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			anna := b.member(identity.RoleAgent)
			team := b.handsOut(assign.Policy{}, anna)
			id := tt.before(b, team, anna)
			if made := tt.act(b, team, id, anna); made != 0 {
				id = made
			}
			c := b.conversation(id)
			if c.UserID != anna.UserID() || c.TeamID != team {
				t.Errorf("user %d and team %d", c.UserID, c.TeamID)
			}
		})
	}
}

// What the team did is an entry of its own, with the conditions that held, and only the member who got it is told.
func TestWhyAMember(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna, ben := b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	team := b.handsOut(assign.Policy{Strategy: assign.Balanced, Capacity: 7}, anna, ben)
	b.begunIn(team, "first")
	id := b.begin("c", helpdesk.StatusPosted, storage.Opt[int64]{})
	b.update(id, helpdesk.ConversationUpdate{TeamID: storage.Some(team)})
	history := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange, Newest: true}, storage.PageRequest{Limit: 2}))(t).Items
	want := helpdesk.HistoryEntry{
		Type: helpdesk.HistoryChange, At: history[0].At, Seq: history[0].Seq, Events: []string{"conversation.updated", "conversation.assigned"},
		Actor: subscription.Actor{Type: subscription.ActorTeam, ID: team},
		Why: helpdesk.HistoryReason{Assignment: helpdesk.AssignmentReason{
			Reason: assign.LeastBusy, Strategy: assign.Balanced, Who: assign.All, Capacity: 7, Free: 2, Of: 2,
		}},
	}
	changes := must(json.Marshal(history[0].Changes))(t)
	if diff := cmp.Diff(fmt.Sprintf(`{"user_id":{"from":null,"to":%d}}`, ben.UserID()), string(changes)); diff != "" {
		t.Error(diff)
	}
	history[0].Changes = nil
	if diff := cmp.Diff(want, history[0]); diff != "" {
		t.Error(diff)
	}
	if history[1].UserID != b.owner.ID || len(history[1].Changes) != 1 {
		t.Errorf("the assignment to the team: %+v", history[1])
	}
	for name, tt := range map[string]struct {
		d    *helpdesk.Desk
		want []helpdesk.NotificationKind
	}{
		"first":  {anna, []helpdesk.NotificationKind{helpdesk.NotifyAssigned}},
		"second": {ben, []helpdesk.NotificationKind{helpdesk.NotifyAssigned}},
	} {
		if diff := cmp.Diff(tt.want, b.told(tt.d)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Members get conversations up to the capacity. The rest waits, the most urgent first, and moves when somebody is free again.
func TestQueueMoves(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(b *bundle, held int64){
		"closed": func(b *bundle, held int64) { b.close(held) },
		"closed in bulk": func(b *bundle, held int64) {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{held}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(b.t)
		},
		"snoozed": func(b *bundle, held int64) {
			b.update(held, helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(b.clock.Now().Add(time.Hour))})
		},
		"spam": func(b *bundle, held int64) {
			b.update(held, helpdesk.ConversationUpdate{Spam: storage.Some(true)})
		},
		"given to another": func(b *bundle, held int64) {
			b.update(held, helpdesk.ConversationUpdate{UserID: storage.Some(b.owner.ID)})
		},
		"unassigned": func(b *bundle, held int64) {
			b.update(held, helpdesk.ConversationUpdate{UserID: storage.Null[int64](), TeamID: storage.Null[int64]()})
		},
		"deleted": func(b *bundle, held int64) { b.deleteConversation(held) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			anna := b.member(identity.RoleAgent)
			team := b.handsOut(assign.Policy{Capacity: 1}, anna)
			held := b.begunIn(team, "held")
			b.begunIn(team, "normal")
			b.begunIn(team, "later")
			b.begunIn(team, "urgent", func(in *helpdesk.ConversationInput) { in.Priority = helpdesk.PriorityUrgent })
			if diff := cmp.Diff([]string{"urgent", "normal", "later"}, b.queue(team)); diff != "" {
				t.Error(diff)
			}
			b.handOut()
			if diff := cmp.Diff([]string{"held"}, b.heldBy(anna)); diff != "" {
				t.Error(diff)
			}
			act(b, held.ID)
			b.handOut()
			if got := b.heldBy(anna); !slices.Contains(got, "urgent") {
				t.Errorf("holds %v", got)
			}
			if diff := cmp.Diff([]string{"normal", "later"}, b.queue(team)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whoever comes takes what waits: somebody who comes online or joins, or a greater capacity. Before that, new conversations do not
// overtake old ones.
func TestMembersCome(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna, ben := b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	team := b.handsOut(assign.Policy{Who: assign.Available, Capacity: 2}, anna)
	b.begunIn(team, "a")
	b.begunIn(team, "b")
	b.begunIn(team, "c")
	if b.handOut(); len(b.queue(team)) != 3 {
		t.Errorf("assigned to somebody who is offline: %v wait", b.queue(team))
	}
	ok(t, anna.Touch(b.ctx))
	ok(t, b.svc.FlushMarks(b.ctx))
	b.begunIn(team, "d") // before the job
	if b.handOut() == 0 {
		t.Error("no job when somebody comes online")
	}
	if diff := cmp.Diff([]string{"a", "b"}, b.heldBy(anna)); diff != "" {
		t.Error(diff)
	}
	must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(assign.Policy{Strategy: assign.RoundRobin, Capacity: 3})}))(t)
	b.handOut()
	if diff := cmp.Diff([]string{"d"}, b.queue(team)); diff != "" {
		t.Error(diff)
	}
	must(ben.Members().SetAvailability(b.ctx, membershipOf(t, b.ctx, ben).ID, identity.AvailabilityInput{
		ForceOffline: storage.Some(false), WhileInApp: storage.Some(false), UseSchedule: storage.Some(true),
		Schedule: storage.Some([]identity.WorkingHours{{Day: b.clock.Now().Weekday(), From: "00:00", To: "00:00"}}),
	}))(t)
	must(b.desk.Teams().AddMembers(b.ctx, team, []int64{ben.UserID()}))(t)
	b.handOut()
	if diff := cmp.Diff([]string{"d"}, b.heldBy(ben)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, b.queue(team)); diff != "" {
		t.Error(diff)
	}
	b.clock.Add(time.Hour)
	if n := b.handOut() + b.handOut(); n > 1 {
		t.Errorf("%d jobs although nothing waits", n)
	}
}

// A job looks at the queue again while something waits, for members whose hours begin.
func TestHoursBegin(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna := b.member(identity.RoleAgent)
	must(anna.Members().SetAvailability(b.ctx, membershipOf(t, b.ctx, anna).ID, identity.AvailabilityInput{
		ForceOffline: storage.Some(false), WhileInApp: storage.Some(true), UseSchedule: storage.Some(true),
		Schedule: storage.Some([]identity.WorkingHours{{Day: time.Sunday, From: "13:00", To: "14:00"}}), // it is Sunday, noon
	}))(t)
	team := b.handsOut(assign.Policy{Who: assign.Scheduled}, anna)
	ok(t, anna.Touch(b.ctx))
	ok(t, b.svc.FlushMarks(b.ctx))
	b.begunIn(team, "early")
	runs := 0
	for range 90 {
		b.clock.Add(time.Minute)
		runs += b.handOut()
	}
	if got := b.heldBy(anna); len(got) != 1 || runs < 55 || runs > 65 {
		t.Errorf("holds %v after %d jobs", got, runs)
	}
}

// Only members who see the mailbox and may answer get conversations, and the customer's last member comes first.
func TestWhoGetsIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna, ben, carl, dora, emil := b.member(identity.RoleAgent), b.member(identity.RoleAgent), b.member(identity.RoleCollaborator),
		b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	b.limit(dora) // to another mailbox
	must(b.svc.Operator().DisableUser(b.ctx, emil.UserID()))(t)
	team := b.handsOut(assign.Policy{Sticky: true}, anna, ben, carl, dora, emil)
	for range 3 {
		b.begunIn(team, "ada")
	}
	for _, subject := range []string{"bob", "cem", "dan"} {
		b.begunIn(team, subject)
	}
	got := map[string][]string{"anna": b.heldBy(anna), "ben": b.heldBy(ben)}
	want := map[string][]string{"anna": {"ada", "ada", "ada", "cem"}, "ben": {"bob", "dan"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	members := must(b.desk.Teams().Members(b.ctx, team))(t)
	wantMembers := []helpdesk.TeamMember{
		{UserID: anna.UserID(), Load: 4, Here: true, Able: true, Next: false},
		{UserID: ben.UserID(), Load: 2, Here: true, Able: true},
		{UserID: carl.UserID(), Here: true},
		{UserID: dora.UserID(), Here: true, Able: true, Next: true},
		{UserID: emil.UserID(), Here: true},
	}
	if diff := cmp.Diff(wantMembers, members); diff != "" {
		t.Error(diff)
	}
	limited := b.again(dora)
	if page := must(limited.Teams().Queue(b.ctx, team, storage.PageRequest{}))(t); len(page.Items) != 0 {
		t.Errorf("shows %v", page.Items)
	}
	if _, err := b.desk.Teams().Queue(b.ctx, 999, storage.PageRequest{}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := b.member(identity.RoleEditor).Teams().Members(b.ctx, team); !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
}

// Conversations of a member who is away for too long go back to the team, and to another member, once.
func TestReturn(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna, ben := b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	active := func(d *helpdesk.Desk) {
		ok(t, d.Touch(b.ctx))
		ok(t, b.svc.FlushMarks(b.ctx))
	}
	team := b.handsOut(assign.Policy{Who: assign.Available, WhenUnavailable: assign.Return, ReturnAfter: 2}, anna, ben)
	open := b.begunIn(team, "open")
	active(anna)
	b.handOut() // hands out everything, and still looks again later
	closed := b.begunIn(team, "closed")
	b.close(closed.ID)
	other := b.begin("of no team", helpdesk.StatusPosted, storage.Some(anna.UserID()))
	for range 23 {
		b.clock.Add(5 * time.Minute)
		active(ben)
		b.handOut()
	}
	if c := b.conversation(open.ID); c.UserID != anna.UserID() {
		t.Fatal("taken back too early")
	}
	for range 4 {
		b.clock.Add(5 * time.Minute)
		active(ben)
		b.handOut()
	}
	for id, want := range map[int64]int64{open.ID: ben.UserID(), closed.ID: anna.UserID(), other: anna.UserID()} {
		if c := b.conversation(id); c.UserID != want {
			t.Errorf("conversation %d belongs to %d, not %d", id, c.UserID, want)
		}
	}
	var reasons []assign.Reason
	history := must(b.desk.Conversations().History(b.ctx, open.ID, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(t).Items
	for _, e := range history {
		if e.Actor.Type == subscription.ActorTeam {
			reasons = append(reasons, e.Why.Assignment.Reason)
		}
	}
	if diff := cmp.Diff([]assign.Reason{assign.Turn, assign.Away, assign.Turn}, reasons); diff != "" {
		t.Error(diff)
	}
}

// A team without a strategy works as before, and new settings begin with what waits.
func TestStrategyNone(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna := b.member(identity.RoleAgent)
	team := b.team("Sales", anna)
	if diff := cmp.Diff(assign.Default(), must(b.desk.Teams().Get(b.ctx, team))(t).Assignment); diff != "" {
		t.Error(diff)
	}
	b.begunIn(team, "waits")
	if diff := cmp.Diff([]string{"waits"}, b.queue(team)); diff != "" || b.handOut() != 0 {
		t.Error(diff)
	}
	if diff := cmp.Diff([]helpdesk.NotificationKind{helpdesk.NotifyAssigned}, b.told(anna)); diff != "" {
		t.Error(diff)
	}
	must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(assign.Policy{Strategy: assign.Balanced, Who: assign.All})}))(t)
	b.handOut()
	if diff := cmp.Diff([]string{"waits"}, b.heldBy(anna)); diff != "" {
		t.Error(diff)
	}
	_, err := b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales", Assignment: handsOutBy(assign.Policy{Strategy: "x"})})
	if diff := cmp.Diff(fault.Fields{"assignment[strategy]": {"must be none, round_robin or balanced"}}, fieldsOf(err)); diff != "" {
		t.Error(diff)
	}
}

// A long queue is listed in order, page by page, as a short one is.
func TestLongQueue(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	team := b.team("Sales")
	var want []string
	for _, p := range []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh, helpdesk.PriorityNormal, helpdesk.PriorityLow} {
		for n := range 55 {
			subject := fmt.Sprint(p, n)
			want = append(want, subject)
			b.begunIn(team, subject, func(in *helpdesk.ConversationInput) {
				in.Priority = p
				if n%3 == 0 { // nobody waits for a reply
					in.Interactions = nil
				}
			})
		}
	}
	got := []string{}
	for cursor := ""; ; {
		page := must(b.desk.Teams().Queue(b.ctx, team, storage.PageRequest{Limit: 30, Cursor: cursor}))(t)
		for _, c := range page.Items {
			got = append(got, c.Subject)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
