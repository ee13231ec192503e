package helpdesk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// The number of a saved view is that of the conversations that it lists; views that would require counting have none.
func TestViewCounts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	team := must(b.desk.Teams().Create(b.ctx, helpdesk.TeamInput{Name: "Sales", MemberIDs: storage.Some([]int64{b.owner.ID})}))(t)
	tag, other := b.tag("urgent"), b.tag("money")
	second := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(t)
	for n := range 24 {
		in := helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", MailboxID: b.mailbox.ID}
		if n%4 == 0 {
			in.MailboxID = second.ID
		}
		c := must(b.desk.Conversations().Create(b.ctx, in))(t)
		if n%2 == 0 {
			must(b.desk.Interactions().Create(b.ctx, c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "Help"}))(t)
		}
		change := helpdesk.BulkUpdate{Status: storage.Some([]helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed}[n%3])}
		switch n % 5 {
		case 0:
			change.UserID = storage.Some(b.owner.ID)
		case 1:
			change.UserID = storage.Some(agent.UserID())
		case 2:
			change.TeamID = storage.Some(team.ID)
		}
		if n%7 == 0 && n%3 != 2 {
			change.SnoozedUntil = storage.Some(b.clock.Now().AddDate(0, 0, 1))
		}
		change.TagIDs = storage.Some([][]int64{{tag}, {tag, other}, {other}, nil}[n/6])
		change.Priority = storage.Some(helpdesk.Priorities()[n%4])
		must(b.desk.Conversations().UpdateAll(b.ctx, []int64{c.ID}, change))(t)
		if n%8 == 7 {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{c.ID}, helpdesk.BulkUpdate{Spam: storage.Some(true)}))(t)
		}
	}
	yes, no := true, false
	open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
	for name, tt := range map[string]struct {
		filter helpdesk.ViewFilter
		none   bool
	}{
		"all": {filter: helpdesk.ViewFilter{}}, "open": {filter: helpdesk.ViewFilter{Statuses: open}}, "mine": {filter: helpdesk.ViewFilter{Agent: "me"}},
		"nobody's":   {filter: helpdesk.ViewFilter{Agent: "unassigned", Statuses: open, Snoozed: &no}},
		"a team's":   {filter: helpdesk.ViewFilter{TeamID: team.ID}},
		"asleep":     {filter: helpdesk.ViewFilter{Snoozed: &yes}},
		"waiting":    {filter: helpdesk.ViewFilter{Awaiting: &yes, Statuses: open}},
		"a mailbox":  {filter: helpdesk.ViewFilter{MailboxID: second.ID, Awaiting: &no}},
		"tagged":     {filter: helpdesk.ViewFilter{TagIDs: []int64{tag}}},
		"open, high": {filter: helpdesk.ViewFilter{TagIDs: []int64{other}, Statuses: open, Priorities: []helpdesk.Priority{helpdesk.PriorityHigh}}},
		"two tags":   {filter: helpdesk.ViewFilter{TagIDs: []int64{tag, other}}, none: true},
		"words":      {filter: helpdesk.ViewFilter{Words: "help"}, none: true},
		"drafts":     {filter: helpdesk.ViewFilter{Draft: "me"}, none: true},
		"changed":    {filter: helpdesk.ViewFilter{UpdatedSince: b.clock.Now()}, none: true},
		"undeliv.":   {filter: helpdesk.ViewFilter{Undelivered: true}, none: true},
		"urgent":     {filter: helpdesk.ViewFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh}}},
		"no spam":    {filter: helpdesk.ViewFilter{Spam: &no}},
		"spam":       {filter: helpdesk.ViewFilter{Spam: &yes}},
		"a customer": {filter: helpdesk.ViewFilter{CustomerID: 1}, none: true},
	} {
		view := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: name, Filter: tt.filter}))(t)
		for who, d := range map[string]*helpdesk.Desk{"the owner": b.desk, "the agent": agent} {
			var want, got []helpdesk.ViewCounts
			for _, c := range must(d.Conversations().Counts(b.ctx))(t).Views {
				if c.ViewID == view.ID {
					got = append(got, c)
				}
			}
			if !tt.none {
				q, _ := tt.filter.Query(d.UserID())
				listed := must(d.Conversations().List(b.ctx, q, storage.PageRequest{Limit: 100}))(t).Items
				want = []helpdesk.ViewCounts{{ViewID: view.ID, Conversations: int64(len(listed))}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, of %s: %s", name, who, diff)
			}
			if diff := cmp.Diff(want, must(d.Conversations().CountsOf(b.ctx, []helpdesk.View{view}))(t).Views); diff != "" {
				t.Errorf("%s alone, of %s: %s", name, who, diff)
			}
		}
	}
}
