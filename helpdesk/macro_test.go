package helpdesk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// macro creates a shared saved reply with actions.
func (b *bundle) macro(name, body string, actions ...rules.Action) helpdesk.SavedReply {
	b.t.Helper()
	return must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{
		Name: name, Body: body, Shared: storage.Some(true), Actions: storage.Some(actions),
	}))(b.t)
}

// byMacro are the entries of a history that a macro made.
func (b *bundle) byMacro(id int64) (all []helpdesk.HistoryEntry) {
	b.t.Helper()
	for _, e := range must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(b.t).Items {
		if e.Why.MacroID != 0 {
			all = append(all, e)
		}
	}
	return all
}

// A macro changes, notes, follows and tells together with the answer that it is for, in the member's name, and the history
// names it.
func TestMacroWithAnswer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	tag := fmt.Sprint(b.tag("refund"))
	m := b.macro("Refund", "<p>Done.</p>", do(rules.SetStatus, "closed"), do(rules.SetPriority, "low"), do(rules.AddTags, tag),
		do(rules.AddNote, "<p>Refunded.</p>"), do(rules.Follow, fmt.Sprint(agent.UserID())), do(rules.Notify, fmt.Sprint(agent.UserID())))
	id := b.receive(opening()).ConversationID
	i := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Done.", MacroID: m.ID}))(t)
	if c := b.conversation(id); c.Status != helpdesk.StatusClosed || c.Priority != helpdesk.PriorityLow || b.tagsOf(id) != "refund" || !c.AwaitingSince.IsZero() {
		t.Errorf("the conversation is %+v with tags %s", c, b.tagsOf(id))
	}
	var notes []helpdesk.Interaction
	for _, one := range must(b.desk.Interactions().List(b.ctx, id, storage.PageRequest{}))(t).Items {
		if one.Type == helpdesk.TypeNote {
			notes = append(notes, one)
		}
	}
	if len(notes) != 1 || notes[0].UserID != b.desk.UserID() || notes[0].Source != "" {
		t.Errorf("the notes are %+v", notes)
	}
	if !slices.ContainsFunc(must(b.desk.Conversations().Followers(b.ctx, []int64{id}))(t), func(f helpdesk.Follower) bool { return f.UserID == agent.UserID() }) {
		t.Error("nobody follows")
	}
	by := b.byMacro(id)
	if len(by) != 1 || by[0].Why.MacroID != m.ID || by[0].Actor != (subscription.Actor{Type: subscription.ActorUser, ID: b.desk.UserID()}) || len(by[0].Changes) != 3 {
		t.Errorf("the history says %+v", by)
	}
	if c := must(b.desk.Interactions().CancelSending(b.ctx, id, i.ID))(t); c.Status != helpdesk.StatusDraft || b.conversation(id).Status != helpdesk.StatusClosed {
		t.Errorf("after cancelling, the answer is %s and the conversation %s", c.Status, b.conversation(id).Status)
	}
}

// A macro goes with a draft that is posted, and with a note; it goes with nothing else.
func TestMacroWhenPosted(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := b.macro("Urgent", "", do(rules.SetPriority, "urgent"))
	id := b.receive(opening()).ConversationID
	draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "x"}))(t)
	refused := fault.Fields{"saved_reply_id": {"is only allowed for answers and notes that are posted"}}
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"a new draft", func() error {
			_, err := b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, MacroID: m.ID})
			return err
		}},
		{"a customer's message", func() error {
			_, err := b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "x", MacroID: m.ID})
			return err
		}},
		{"a draft that stays one", func() error {
			_, err := b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some("y"), MacroID: m.ID})
			return err
		}},
	} {
		if diff := cmp.Diff(refused, fieldsOf(tt.do())); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if c := b.conversation(id); c.Priority != helpdesk.PriorityNormal {
		t.Errorf("priority is %s", c.Priority)
	}
	must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted), MacroID: m.ID}))(t)
	if c := b.conversation(id); c.Priority != helpdesk.PriorityUrgent {
		t.Errorf("after posting the draft, priority is %s", c.Priority)
	}
	low := b.macro("Low", "", do(rules.SetPriority, "low"))
	must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x", MacroID: low.ID}))(t)
	if c := b.conversation(id); c.Priority != helpdesk.PriorityLow {
		t.Errorf("after the note, priority is %s", c.Priority)
	}
}

// An action that the member may not do, or that names what is gone, is named, and nothing is sent.
func TestMacroRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent, reader := b.member(identity.RoleAgent), b.member(identity.RoleCollaborator)
	tag := b.tag("gone")
	id := b.receive(opening()).ConversationID
	assign := b.macro("Assign", "", do(rules.SetPriority, "urgent"), do(rules.AssignUser, fmt.Sprint(agent.UserID())))
	tagged := b.macro("Tag", "", do(rules.SetPriority, "urgent"), do(rules.AddTags, fmt.Sprint(tag)))
	own := must(agent.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Mine", Actions: storage.Some([]rules.Action{do(rules.SetPriority, "low")})}))(t)
	ok(t, b.desk.Tags().Delete(b.ctx, tag))
	for _, tt := range []struct {
		name   string
		desk   *helpdesk.Desk
		macro  int64
		kind   fault.Kind
		action string
	}{
		{"without the permission", reader, assign.ID, fault.Forbidden, "set_priority"},
		{"with a tag that is gone", b.desk, tagged.ID, fault.Conflict, "add_tags"},
		{"of another member", b.desk, own.ID, fault.NotFound, ""},
	} {
		_, err := tt.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x", MacroID: tt.macro})
		var want fault.Fields
		if tt.action != "" {
			want = fault.Fields{"action": {tt.action}}
		}
		if diff := cmp.Diff(want, fieldsOf(err)); diff != "" || !fault.Is(err, tt.kind) || tt.action != "" && !strings.Contains(err.Error(), tt.action) {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
		if _, err := tt.desk.Conversations().ApplyMacro(b.ctx, id, tt.macro); !fault.Is(err, tt.kind) {
			t.Errorf("%s, alone: %v", tt.name, err)
		}
	}
	if n := len(must(b.desk.Interactions().List(b.ctx, id, storage.PageRequest{}))(t).Items); n != 1 {
		t.Errorf("%d interactions", n)
	}
	if c := b.conversation(id); c.Priority != helpdesk.PriorityNormal {
		t.Errorf("priority is %s", c.Priority)
	}
}

// What a macro may be is checked as of a rule.
func TestMacroProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	text := b.macro("Text", "x")
	for _, tt := range []struct {
		name    string
		actions []rules.Action
		want    fault.Fields
	}{
		{"a reply", []rules.Action{do(rules.Reply, fmt.Sprint(text.ID))}, fault.Fields{"actions[0][type]": {"is not an action of macros"}}},
		{"a webhook", []rules.Action{do(rules.Webhook, "1")}, fault.Fields{"actions[0][type]": {"is not an action of macros"}}},
		{"unknown", []rules.Action{do("explode")}, fault.Fields{"actions[0][type]": {"is not an action"}, "body": {"is required"}}},
		{"a value that is none", []rules.Action{do(rules.SetStatus, "gone")}, fault.Fields{"actions[0][value]": {"is none of the options"}}},
		{"no field", []rules.Action{setsField("none", "x")}, fault.Fields{"actions[0][field]": {"is not a field of conversations"}}},
		{"nothing", nil, fault.Fields{"body": {"is required"}}},
	} {
		_, err := b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: tt.name, Actions: storage.Some(tt.actions)})
		if diff := cmp.Diff(tt.want, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if _, err := b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "x", Actions: storage.Some([]rules.Action{do(rules.AssignTeam, "99")})}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown team: %v", err)
	}
	if _, err := b.desk.Conversations().ApplyMacro(b.ctx, b.receive(opening()).ConversationID, text.ID); fieldsOf(err) == nil {
		t.Errorf("a reply without actions is applied: %v", err)
	}
	m := b.macro("Both", "x", do(rules.SetPriority, "low"))
	if m = must(b.desk.SavedReplies().Update(b.ctx, m.ID, helpdesk.SavedReplyInput{Name: "Both", Body: "y"}))(t); len(m.Actions) != 1 {
		t.Errorf("an update without actions leaves %v", m.Actions)
	}
	if m = must(b.desk.SavedReplies().Update(b.ctx, m.ID, helpdesk.SavedReplyInput{Name: "Both", Body: "y", Actions: storage.Some[[]rules.Action](nil)}))(t); len(m.Actions) != 0 {
		t.Errorf("an update to no actions leaves %v", m.Actions)
	}
}

// A field that a macro sets cannot be deleted.
func TestFieldOfMacro(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	f := must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Key: "order_no", Label: "Order", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText}))(t)
	other := must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Key: "order_no2", Label: "Other", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText}))(t)
	b.macro("Note", "", do(rules.AddNote, `"set_field","field":"order_no2"`))
	m := b.macro("Order", "", setsField("order_no", "unknown"))
	agent := b.member(identity.RoleAgent)
	must(agent.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Mine", Actions: storage.Some([]rules.Action{setsField("order_no")})}))(t)
	err := b.desk.Fields().Delete(b.ctx, f.ID)
	if want := []string{"Order", "a member's own saved reply"}; !fault.Is(err, fault.Conflict) || !slices.Equal(fieldsOf(err)["used_by"], want) {
		t.Errorf("deleting the field: %v %v", err, fieldsOf(err))
	}
	ok(t, b.desk.Fields().Delete(b.ctx, other.ID))
	id := b.receive(opening()).ConversationID
	must(b.desk.Conversations().ApplyMacro(b.ctx, id, m.ID))(t)
	if by := b.byMacro(id); len(by) != 1 || len(by[0].Changes) != 1 {
		t.Errorf("the history says %+v", by)
	}
}

// A macro is applied to several conversations, all or none; a rule that sends one without text leaves that out.
func TestMacroAlone(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := b.macro("Close", "", do(rules.SetStatus, "closed"))
	b.rule(ruleInput("Answer", atMail, do(rules.Reply, fmt.Sprint(m.ID))))
	one := b.receive(opening()).ConversationID
	two := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "bob@customer.example"}))(t).ID
	if _, err := b.desk.Conversations().ApplyMacroToAll(b.ctx, []int64{one, 99}, m.ID); !fault.Is(err, fault.NotFound) || b.conversation(one).Status == helpdesk.StatusClosed {
		t.Errorf("with one that is not there: %v", err)
	}
	for _, c := range must(b.desk.Conversations().ApplyMacroToAll(b.ctx, []int64{two, one}, m.ID))(t) {
		if c.Status != helpdesk.StatusClosed || len(b.byMacro(c.ID)) != 1 {
			t.Errorf("%d is %s, its history %+v", c.ID, c.Status, b.byMacro(c.ID))
		}
	}
	b.runRules()
	for _, i := range must(b.desk.Interactions().List(b.ctx, one, storage.PageRequest{}))(t).Items {
		if i.Type == helpdesk.TypeUser {
			t.Errorf("the rule sent %+v", i)
		}
	}
}
