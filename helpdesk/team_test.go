package helpdesk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// team makes a team of members and returns its id.
func (b *bundle) team(name string, members ...*helpdesk.Desk) int64 {
	b.t.Helper()
	var ids []int64
	for _, d := range members {
		ids = append(ids, d.UserID())
	}
	return must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: name, MemberIDs: storage.Some(ids)}))(b.t).ID
}

func (b *bundle) assignTeam(c, team int64) {
	b.t.Helper()
	must(b.desk.Conversations().Update(b.ctx, c, helpdesk.ConversationUpdate{TeamID: storage.Some(team)}))(b.t)
}

// membersOf are those of a team.
func (b *bundle) membersOf(team int64) []int64 {
	b.t.Helper()
	return must(b.desk.Teams().Get(b.ctx, team))(b.t).MemberIDs
}

func TestTeamIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.team("Straße")
	other := b.team("other")
	many := make([]int64, helpdesk.MaxTeamMembers+1)
	taken := fault.Fields{"name": {"is already taken"}}
	for name, tt := range map[string]struct {
		in   helpdesk.TeamInput
		want fault.Fields
	}{
		"no name":   {helpdesk.TeamInput{Name: " \n"}, fault.Fields{"name": {"is required"}}},
		"long name": {helpdesk.TeamInput{Name: strings.Repeat("x", 101)}, fault.Fields{"name": {"is longer than 100 characters"}}},
		"same name": {helpdesk.TeamInput{Name: "STRASSE"}, taken},
		"too many":  {helpdesk.TeamInput{Name: "x", MemberIDs: storage.Some(many)}, fault.Fields{"users": {"has more than 500 ids"}}},
	} {
		_, err := b.desk.Teams().Create(b.ctx, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		_, err = b.desk.Teams().Update(b.ctx, other, tt.in)
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s, later: %s", name, diff)
		}
	}
	stranger := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "stranger@example.org"}))(t)
	agent := b.member(identity.RoleAgent)
	for what, err := range map[string]error{
		"made with a stranger":     second(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "x", MemberIDs: storage.Some([]int64{stranger.ID})})),
		"a stranger taken in":      second(b.desk.Teams().AddMembers(b.ctx, other, []int64{stranger.ID})),
		"none":                     second(b.desk.Teams().Update(b.ctx, 9999, helpdesk.TeamInput{Name: "x"})),
		"assigned to none":         second(b.desk.Conversations().Update(b.ctx, b.begin("c", helpdesk.StatusPosted, storage.Opt[int64]{}), helpdesk.ConversationUpdate{TeamID: storage.Some[int64](9999)})),
		"begun with none":          second(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", TeamID: storage.Some[int64](9999)})),
		"listed of none":           second(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{TeamID: storage.Some[int64](9999)}, storage.PageRequest{})),
		"deleted that is not":      b.desk.Teams().Delete(b.ctx, 9999),
		"in bulk assigned to none": second(b.desk.Conversations().UpdateAll(b.ctx, []int64{b.begin("d", helpdesk.StatusPosted, storage.Opt[int64]{})}, helpdesk.BulkUpdate{TeamID: storage.Some[int64](9999)})),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"made by an agent":    second(agent.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "x"})),
		"changed by an agent": second(agent.Teams().AddMembers(b.ctx, other, []int64{agent.UserID()})),
		"deleted by an agent": agent.Teams().Delete(b.ctx, other),
		"seen by an editor":   second(b.member(identity.RoleEditor).Teams().List(b.ctx, storage.PageRequest{})),
		"assigned by a collaborator": second(b.member(identity.RoleCollaborator).Conversations().Update(b.ctx,
			b.begin("e", helpdesk.StatusPosted, storage.Opt[int64]{}), helpdesk.ConversationUpdate{TeamID: storage.Some(other)})),
	} {
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestMaxTeams(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for n := range helpdesk.MaxTeams {
		b.team(fmt.Sprint(n))
	}
	if _, err := b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "one more"}); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

// Two concurrent changes of a team's members lose nothing.
func TestTeamMembers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	anna, ben, carl := b.member(identity.RoleAgent), b.member(identity.RoleAgent), b.member(identity.RoleAgent)
	team := b.team("Sales", carl)
	errs := make(chan error, 2)
	for _, d := range []*helpdesk.Desk{anna, ben} {
		go func() { errs <- second(b.desk.Teams().AddMembers(b.ctx, team, []int64{d.UserID()})) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	all := []int64{anna.UserID(), ben.UserID(), carl.UserID()}
	slices.Sort(all)
	if diff := cmp.Diff(all, b.membersOf(team)); diff != "" {
		t.Error(diff)
	}
	before := must(b.desk.Teams().Get(b.ctx, team))(t)
	b.clock.Add(time.Minute)
	must(b.desk.Teams().AddMembers(b.ctx, team, all))(t)
	must(b.desk.Teams().RemoveMembers(b.ctx, team, []int64{9999}))(t)
	renamed := must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Sales"}))(t)
	if diff := cmp.Diff(before, renamed); diff != "" {
		t.Errorf("changing nothing: %s", diff)
	}
	must(b.desk.Teams().RemoveMembers(b.ctx, team, []int64{ben.UserID()}))(t)
	must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Selling"}))(t)
	other := b.team("Repairs", carl, anna)
	if err := b.desk.Members().Remove(b.ctx, membershipOf(t, b.ctx, carl).ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{team, other} {
		if diff := cmp.Diff([]int64{anna.UserID()}, b.membersOf(id)); diff != "" {
			t.Errorf("after one has left: %s", diff)
		}
	}
	must(b.desk.Teams().Update(b.ctx, team, helpdesk.TeamInput{Name: "Selling", MemberIDs: storage.Null[[]int64]()}))(t)
	if got := b.membersOf(team); got != nil {
		t.Errorf("members of nobody: %v", got)
	}
}

// A team's conversations are in its list and its counts, and no longer unassigned.
func TestTeamLists(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	sales, repairs := b.team("Sales", agent), b.team("Repairs")
	begin := func(user, team int64) int64 {
		b.clock.Add(time.Second)
		return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", UserID: storage.Some(user), TeamID: storage.Some(team),
		}))(t).ID
	}
	nobodys, theirs, taken, mine := begin(0, 0), begin(0, sales), begin(agent.UserID(), sales), begin(agent.UserID(), 0)
	closed := begin(0, sales)
	must(b.desk.Conversations().Update(b.ctx, closed, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	var views []helpdesk.ViewCounts
	for _, tt := range []struct {
		name   string
		filter helpdesk.ViewFilter
		want   []int64
	}{
		{"nobody's", helpdesk.ViewFilter{Agent: helpdesk.AgentUnassigned}, []int64{nobodys}},
		{"the team's", helpdesk.ViewFilter{TeamID: sales}, []int64{closed, taken, theirs}},
		{"nobody's of the team", helpdesk.ViewFilter{TeamID: sales, Agent: helpdesk.AgentUnassigned}, []int64{closed, theirs}},
		{"mine of the team", helpdesk.ViewFilter{TeamID: sales, Agent: helpdesk.AgentMe}, []int64{taken}},
		{"mine", helpdesk.ViewFilter{Agent: helpdesk.AgentMe}, []int64{mine, taken}},
		{"another team's", helpdesk.ViewFilter{TeamID: repairs}, nil},
	} {
		query, _ := tt.filter.Query(agent.UserID())
		view := must(agent.Views().Create(b.ctx, helpdesk.ViewInput{Name: tt.name, Filter: tt.filter}))(t)
		views = append(views, helpdesk.ViewCounts{ViewID: view.ID, Conversations: int64(len(tt.want))})
		for what, q := range map[string]helpdesk.ConversationQuery{"query": query, "view": {ViewID: view.ID}} {
			var got []int64
			for _, c := range must(agent.Conversations().List(b.ctx, q, storage.PageRequest{}))(t).Items {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s by %s: %s", tt.name, what, diff)
			}
		}
	}
	counts := must(agent.Conversations().Counts(b.ctx))(t)
	want := helpdesk.Counts{
		Mine: 2, Unassigned: 1, Open: 4,
		Mailboxes: []helpdesk.MailboxCounts{{MailboxID: b.mailbox.ID, Open: 4, Unassigned: 1}},
		Teams:     []helpdesk.TeamCounts{{TeamID: sales, Open: 2, Unassigned: 1}},
		Views:     views,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	all := must(b.desk.Conversations().UpdateAll(b.ctx, []int64{nobodys, taken}, helpdesk.BulkUpdate{TeamID: storage.Some(repairs)}))(t)
	if all[0].TeamID != repairs || all[1].TeamID != repairs || all[1].UserID != agent.UserID() {
		t.Errorf("in bulk: %+v", all)
	}
	must(b.desk.Conversations().Update(b.ctx, taken, helpdesk.ConversationUpdate{TeamID: storage.Null[int64]()}))(t)
	if c := b.conversation(taken); c.TeamID != 0 || c.UserID != agent.UserID() {
		t.Errorf("taken from its team: %+v", c)
	}
	part := b.answer(theirs, helpdesk.InteractionInput{})
	b.answer(theirs, helpdesk.InteractionInput{})
	if c := must(b.desk.Conversations().Split(b.ctx, theirs, helpdesk.SplitInput{InteractionIDs: []int64{part.ID}}))(t); c.TeamID != sales {
		t.Errorf("split: %+v", c)
	}
}

// Whose a conversation becomes is told by its own event.
func TestTeamEvents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	sales, repairs := b.team("Sales", agent), b.team("Repairs")
	none := storage.Null[int64]()
	for name, tt := range map[string]struct {
		user, team     int64 // before
		toUser, toTeam storage.Opt[int64]
		want           string
	}{
		"to a team":              {0, 0, storage.Opt[int64]{}, storage.Some(sales), "conversation.assigned"},
		"to another team":        {agent.UserID(), sales, storage.Opt[int64]{}, storage.Some(repairs), "conversation.assigned"},
		"taken over":             {0, sales, storage.Some(agent.UserID()), storage.Opt[int64]{}, "conversation.assigned"},
		"given back to the team": {agent.UserID(), sales, none, storage.Opt[int64]{}, "conversation.unassigned"},
		"taken from the team":    {0, sales, storage.Opt[int64]{}, none, "conversation.unassigned"},
		"of no team, but mine":   {agent.UserID(), sales, storage.Opt[int64]{}, none, ""},
		"the same":               {agent.UserID(), sales, storage.Some(agent.UserID()), storage.Some(sales), ""},
	} {
		c := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", UserID: storage.Some(tt.user), TeamID: storage.Some(tt.team),
		}))(t)
		must(b.desk.Conversations().Update(b.ctx, c.ID, helpdesk.ConversationUpdate{UserID: tt.toUser, TeamID: tt.toTeam}))(t)
		want := []string{"conversation.created", "conversation.updated"}
		if tt.want != "" {
			want = append(want, tt.want)
		}
		var got []string
		for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t) {
			if e.ConversationID == c.ID {
				got = append(got, e.Type)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The conversations of a team that is deleted lose it, however many there are.
func TestDisband(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	team := b.team("Sales", agent)
	const many = 130
	for range many {
		must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", UserID: storage.Some(agent.UserID()), TeamID: storage.Some(team),
		}))(t)
	}
	left := func() int {
		n := 0
		for _, c := range must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).Count(b.ctx, helpdesk.CountQuery{Maintained: true}))(t).Maintained {
			if c.TeamID != 0 || c.UserID != agent.UserID() {
				n += int(c.N)
			}
		}
		return n
	}
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobDisband, AccountID: b.account.ID, Subject: team}}
	if err := b.svc.Jobs().Disband(b.ctx, job); err != nil || left() != many {
		t.Errorf("a team that is there keeps %d: %v", left(), err)
	}
	if err := b.desk.Teams().Delete(b.ctx, team); err != nil {
		t.Fatal(err)
	}
	now := b.clock.Now()
	claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobDisband: 10}, now, now.Add(time.Minute)))(t)
	if len(claimed) != 1 || claimed[0].Job.Subject != team {
		t.Fatalf("jobs %+v", claimed)
	}
	for range 2 {
		if err := b.svc.Jobs().Disband(b.ctx, claimed[0]); err != nil || left() != 0 {
			t.Errorf("%d are left: %v", left(), err)
		}
	}
	var kinds []string
	for _, e := range must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{}, storage.PageRequest{}))(t).Items {
		if strings.HasPrefix(e.Action, "team.") {
			kinds = append(kinds, e.Action)
		}
	}
	if diff := cmp.Diff([]string{"team.deleted", "team.created"}, kinds); diff != "" {
		t.Errorf("audit log: %s", diff)
	}
}
