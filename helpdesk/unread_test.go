package helpdesk_test

import (
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// unread is how much of a conversation the owner has not read.
func (b *bundle) unread(conversationID int64) int64 {
	b.t.Helper()
	return unreadBy(b, b.desk, conversationID)
}

func unreadBy(b *bundle, d *helpdesk.Desk, conversationID int64) int64 {
	b.t.Helper()
	return must(d.Conversations().Unread(b.ctx, []int64{conversationID}))(b.t)[conversationID]
}

// Everybody has an own count.
func TestUnread(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent := b.member(identity.RoleAgent)
	id := b.receive(opening()).ConversationID
	more := func() {
		must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "Hello?"}))(t)
	}
	check := func(what string, owner, other int64) {
		t.Helper()
		if got, gotOther := b.unread(id), unreadBy(b, agent, id); got != owner || gotOther != other {
			t.Errorf("%s: %d and %d, want %d and %d", what, got, gotOther, owner, other)
		}
	}
	more()
	check("at first", 2, 2)
	before := b.conversation(id)
	if got := must(b.desk.Conversations().MarkRead(b.ctx, id))(t); got.UpdatedAt != before.UpdatedAt {
		t.Error("reading changes the conversation")
	}
	check("read by one", 0, 2)
	more()
	check("a third message", 1, 3)
	must(agent.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "I look into it."}))(t)
	check("a note reads nothing", 1, 3)
	draft := must(agent.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Pull."}))(t)
	check("a draft reads nothing", 1, 3)
	more()
	must(agent.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
	check("who answers has read", 2, 0)
	must(agent.Conversations().MarkUnread(b.ctx, id))(t)
	check("forgotten", 2, 4)
}
