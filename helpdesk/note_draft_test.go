package helpdesk_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A draft of a note tells nobody; posted, it is a note that was written then, and stays one.
func TestNoteDraft(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	other := b.member(identity.RoleAgent)
	draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{
		Type: helpdesk.TypeNote, Status: helpdesk.StatusDraft, Body: "Look, @" + b.emailOf(other),
	}))(t)
	b.clock.Add(time.Minute)
	must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some(draft.Body + " please.")}))(t)
	want := []helpdesk.NotificationKind{helpdesk.NotifyUnassigned} // of the customer's mail
	if diff := cmp.Diff(want, b.told(other)); diff != "" {
		t.Error(diff)
	}
	m := opening()
	m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
	b.receive(m)
	want = b.told(other)
	b.clock.Add(time.Minute)
	noted := must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
	if all := b.interactions(id); all[len(all)-1].ID != noted.ID || noted.Status != helpdesk.StatusPosted {
		t.Errorf("the note is %+v, and not the last of the conversation", noted)
	}
	if diff := cmp.Diff(append([]helpdesk.NotificationKind{helpdesk.NotifyMentioned}, want...), b.told(other)); diff != "" {
		t.Error(diff)
	}
	_, err := b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusDraft)})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the note became a draft again: %v", err)
	}
}

// An answer that was begun before the customer wrote again stands below that mail when it is sent.
func TestReplyIsPlacedWhenPosted(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Soon."}))(t)
	b.clock.Add(time.Minute)
	m := opening()
	m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
	b.receive(m)
	b.clock.Add(time.Minute)
	sent := must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
	all := b.interactions(id)
	if last := all[len(all)-1]; last.ID != sent.ID || !last.At.Equal(sent.PostedAt) {
		t.Errorf("the last message is %d at %v, want the answer %d at %v", last.ID, last.At, sent.ID, sent.PostedAt)
	}
}

// Who may only write notes has drafts of them, but changes no other interaction.
func TestNoteDraftOfCollaborator(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	guest, other := b.member(identity.RoleCollaborator), b.member(identity.RoleCollaborator)
	draft := helpdesk.InteractionInput{Type: helpdesk.TypeNote, Status: helpdesk.StatusDraft, Body: "Hm."}
	mine, theirs := must(guest.Interactions().Create(b.ctx, id, draft))(t), must(other.Interactions().Create(b.ctx, id, draft))(t)
	post := helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}
	for name, err := range map[string]error{
		"another's draft is posted":  second(guest.Interactions().Update(b.ctx, id, theirs.ID, post)),
		"another's draft is deleted": guest.Interactions().Delete(b.ctx, id, theirs.ID),
		"a mail is deleted":          guest.Interactions().Delete(b.ctx, id, b.interactions(id)[0].ID),
	} {
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(guest.Interactions().Update(b.ctx, id, mine.ID, post))(t)
	if err := guest.Interactions().Delete(b.ctx, id, mine.ID); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a posted note is deleted: %v", err)
	}
	if err := other.Interactions().Delete(b.ctx, id, theirs.ID); err != nil {
		t.Error(err)
	}
}
