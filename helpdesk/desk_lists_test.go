package helpdesk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// Lists show waiting conversations, drafts and undelivered answers, in a query and in a view.
func TestDeskLists(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	first := b.receive(opening()).ConversationID
	quiet := b.begin("quiet", helpdesk.StatusPosted, storage.Opt[int64]{})
	m := opening()
	m.MessageID, m.Subject = "2@example.com", "The window is stuck"
	b.clock.Add(1e9)
	second := b.receive(m).ConversationID
	must(agent.Interactions().Create(b.ctx, first, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "So"}))(t)
	must(b.desk.Interactions().Create(b.ctx, second, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "So"}))(t)
	answer := b.answer(quiet, helpdesk.InteractionInput{})
	report(b, begin(b, answer.ID), sending.Failed)
	yes, no := true, false
	for _, tt := range []struct {
		name   string
		filter helpdesk.ViewFilter
		want   []int64
	}{
		{"who waits, longest first", helpdesk.ViewFilter{Awaiting: &yes, Sort: helpdesk.ByAwaiting, Ascending: true}, []int64{first, second}},
		{"who does not wait", helpdesk.ViewFilter{Awaiting: &no}, []int64{quiet}},
		{"my drafts", helpdesk.ViewFilter{Draft: helpdesk.AgentMe}, []int64{first}},
		{"failed", helpdesk.ViewFilter{Undelivered: true}, []int64{quiet}},
		{"failed, and somebody waits", helpdesk.ViewFilter{Undelivered: true, Awaiting: &yes}, nil},
	} {
		query, _ := tt.filter.Query(agent.UserID())
		view := must(agent.Views().Create(b.ctx, helpdesk.ViewInput{Name: tt.name, Filter: tt.filter}))(t)
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
	_, err := agent.Views().Create(b.ctx, helpdesk.ViewInput{Name: "V", Filter: helpdesk.ViewFilter{Draft: "you"}})
	if fields := fieldsOf(err); len(fields["filter[draft]"]) != 1 {
		t.Errorf("drafts of nobody: %v", err)
	}
	if _, err := agent.Conversations().List(b.ctx, helpdesk.ConversationQuery{DraftBy: 9999}, storage.PageRequest{}); err == nil {
		t.Error("drafts of somebody who is no member")
	}
}
