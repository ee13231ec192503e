package helpdesk_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func (b *bundle) prioritized(id int64, p helpdesk.Priority) {
	b.t.Helper()
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Priority: storage.Some(p)}))(b.t)
}

// Changes of a priority, and actions that keep it.
func TestPriority(t *testing.T) {
	t.Parallel()
	input := func(p helpdesk.Priority) helpdesk.ConversationInput {
		return helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "S", Priority: p}
	}
	for name, tt := range map[string]struct {
		make func(b *bundle) int64
		want helpdesk.Priority
		told bool // by an event
	}{
		"a mail":             {func(b *bundle) int64 { return b.receive(opening()).ConversationID }, helpdesk.PriorityNormal, false},
		"none given":         {func(b *bundle) int64 { return must(b.desk.Conversations().Create(b.ctx, input("")))(b.t).ID }, helpdesk.PriorityNormal, false},
		"given at the start": {func(b *bundle) int64 { return must(b.desk.Conversations().Create(b.ctx, input("low")))(b.t).ID }, helpdesk.PriorityLow, false},
		"an update": {func(b *bundle) int64 {
			id := b.receive(opening()).ConversationID
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Priority: storage.Some(helpdesk.PriorityHigh)}))(b.t)
			return id
		}, helpdesk.PriorityHigh, true},
		"an update of something else": {func(b *bundle) int64 {
			id := must(b.desk.Conversations().Create(b.ctx, input("urgent")))(b.t).ID
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("Other")}))(b.t)
			return id
		}, helpdesk.PriorityUrgent, false},
		"the customer's mail": {func(b *bundle) int64 {
			id := b.receive(opening()).ConversationID
			b.prioritized(id, helpdesk.PriorityUrgent)
			m := opening()
			m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
			b.receive(m)
			return id
		}, helpdesk.PriorityUrgent, true},
		"another merged into it": {func(b *bundle) int64 {
			id, urgent := b.receive(opening()).ConversationID, must(b.desk.Conversations().Create(b.ctx, input("urgent")))(b.t).ID
			must(b.desk.Conversations().Merge(b.ctx, urgent, id))(b.t)
			return id
		}, helpdesk.PriorityNormal, false},
		"split off": {func(b *bundle) int64 {
			id := b.receive(opening()).ConversationID
			b.prioritized(id, helpdesk.PriorityHigh)
			i := b.answer(id, helpdesk.InteractionInput{})
			return must(b.desk.Conversations().Split(b.ctx, id, helpdesk.SplitInput{InteractionID: i.ID}))(b.t).ID
		}, helpdesk.PriorityHigh, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := tt.make(b)
			if c := must(b.desk.Conversations().Get(b.ctx, id))(t); c.Priority != tt.want {
				t.Errorf("it is %q", c.Priority)
			}
			if told := slices.Contains(b.kinds("conversation."), "conversation.prioritized"); told != tt.told {
				t.Errorf("told: %t, events %v", told, b.kinds("conversation."))
			}
		})
	}
}

// Lists and views filter by priority, and keep their order: the longest wait first.
func TestPriorityLists(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ids := map[string]int64{}
	for n, p := range helpdesk.Priorities() {
		m := opening()
		m.MessageID, m.Subject = string(p)+"@example.com", string(p)
		ids[string(p)] = b.receive(m).ConversationID
		b.prioritized(ids[string(p)], helpdesk.Priorities()[n])
		b.clock.Add(1e9)
	}
	waiting := helpdesk.ConversationQuery{Sort: helpdesk.ByAwaiting, Ascending: true}
	agent := b.member(identity.RoleAgent)
	for name, tt := range map[string]struct {
		priorities []helpdesk.Priority
		want       []string
	}{
		"all":            {nil, []string{"low", "normal", "high", "urgent"}},
		"urgent":         {[]helpdesk.Priority{"urgent"}, []string{"urgent"}},
		"high or urgent": {[]helpdesk.Priority{"urgent", "high", "high"}, []string{"high", "urgent"}},
		"not high":       {[]helpdesk.Priority{"low", "normal", "urgent"}, []string{"low", "normal", "urgent"}},
	} {
		view := must(agent.Views().Create(b.ctx, helpdesk.ViewInput{Name: name, Filter: helpdesk.ViewFilter{Priorities: tt.priorities, Sort: helpdesk.ByAwaiting, Ascending: true}}))(t)
		plain := waiting
		plain.Priorities = tt.priorities
		for what, q := range map[string]helpdesk.ConversationQuery{"query": plain, "view": {ViewID: view.ID}} {
			var got []string
			for _, c := range must(agent.Conversations().List(b.ctx, q, storage.PageRequest{}))(t).Items {
				got = append(got, c.Subject)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s by %s: %s", name, what, diff)
			}
		}
	}
}

func TestPriorityProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.begin("it", helpdesk.StatusPosted, storage.Opt[int64]{})
	want := []string{"must be low, normal, high or urgent"}
	for _, wrong := range []helpdesk.Priority{"none", "HIGH", "\x00", " high"} {
		_, made := b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Priority: wrong})
		_, one := b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Priority: storage.Some(wrong)})
		_, bulk := b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Priority: storage.Some(wrong)})
		for what, err := range map[string]error{"made": made, "one": one, "bulk": bulk} {
			if diff := cmp.Diff(fault.Fields{"priority": want}, fieldsOf(err)); diff != "" {
				t.Errorf("%s, %q: %s", what, wrong, diff)
			}
		}
		_, list := b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Priorities: []helpdesk.Priority{wrong}}, storage.PageRequest{})
		if diff := cmp.Diff(fault.Fields{"priority[0]": want}, fieldsOf(list)); diff != "" {
			t.Error(diff)
		}
	}
	_, null := b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Priority: storage.Null[helpdesk.Priority]()})
	if diff := cmp.Diff(fault.Fields{"priority": want}, fieldsOf(null)); diff != "" {
		t.Error(diff)
	}
	_, err := b.member(identity.RoleCollaborator).Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Priority: storage.Some(helpdesk.PriorityLow)})
	if !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a collaborator: %v", err)
	}
}
