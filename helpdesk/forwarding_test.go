package helpdesk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

// door is a mail with copies and two files.
func door() ledger.Incoming {
	m := opening()
	m.From = []mailaddr.Address{{Name: "Zoë", Email: "zoe@example.net"}}
	m.To, m.Cc = []mailaddr.Address{{Email: "support@example.org"}}, []mailaddr.Address{{Name: "Bo", Email: "bo@example.net"}}
	m.Date = time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC)
	m.Subject, m.HTML = "The door", "<p>It <b>sticks</b>.</p>"
	m.Attachments = []message.Part{
		{Filename: "door.txt", ContentType: "text/plain", Body: []byte("oak")}, {Filename: "key.txt", ContentType: "text/plain", Body: []byte("iron")},
	}
	return m
}

// A forward carries the message with the lines of its header, and the chosen files alone.
func TestForwarding(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.sign("Doors Ltd", helpdesk.QuoteAll)
	original := b.receive(door())
	files := must(b.desk.Attachments().List(b.ctx, original.ConversationID, original.ID))(t)
	in := helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, IsForward: true, To: []string{"smith@example.net"},
		Forwarding: helpdesk.Forwarding{InteractionID: original.ID, FileIDs: []int64{files[1].ID}},
	}
	draft := must(b.desk.Interactions().Create(b.ctx, original.ConversationID, in))(t)
	draft = must(b.desk.Interactions().Update(b.ctx, original.ConversationID, draft.ID, helpdesk.InteractionUpdate{To: storage.Some(in.To)}))(t)
	if diff := cmp.Diff(in.Forwarding, draft.Forwarding()); diff != "" {
		t.Errorf("the draft keeps another choice: %s", diff)
	}
	post := helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}
	must(b.desk.Interactions().Update(b.ctx, original.ConversationID, draft.ID, post))(t)
	back := must(b.desk.Interactions().CancelSending(b.ctx, original.ConversationID, draft.ID))(t)
	if diff := cmp.Diff(in.Forwarding, back.Forwarding()); diff != "" {
		t.Errorf("called back, it has another choice: %s", diff)
	}
	sent := must(b.desk.Interactions().Update(b.ctx, original.ConversationID, draft.ID, post))(t)
	mail := begin(b, sent.ID)
	want := "Doors Ltd\n\n---------- Forwarded message ----------\nFrom: Zoë <zoe@example.net>\nDate: Wed, 4 Mar 2026 09:30 UTC\n" +
		"Subject: The door\nTo: support@example.org\nCc: Bo <bo@example.net>\n\nIt sticks."
	if diff := cmp.Diff(want, strings.TrimSpace(mailhtml.Text(mail.HTML))); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(mail.HTML, "<b>sticks</b>") {
		t.Errorf("its looks are lost: %s", mail.HTML)
	}
	var names []string
	for _, a := range mail.Attachments {
		names = append(names, a.Filename)
	}
	if diff := cmp.Diff([]string{"key.txt"}, names); diff != "" {
		t.Errorf("the files that go along: %s", diff)
	}
	if f, ok := mailhtml.SplitForward(mail.HTML, "Fwd: The door"); !ok || f.Header.Subject != "The door" {
		t.Errorf("a desk that gets it does not see what is forwarded: %+v", f)
	}
}

// Only a message of the conversation can be passed on, with its own files.
func TestForwardingRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	here, other := b.receive(door()), b.receive(opening())
	note := must(b.desk.Interactions().Create(b.ctx, here.ConversationID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "He never pays."}))(t)
	files := must(b.desk.Attachments().List(b.ctx, here.ConversationID, here.ID))(t)
	for name, f := range map[string]helpdesk.Forwarding{
		"a note": {InteractionID: note.ID}, "another conversation's": {InteractionID: other.ID}, "none there": {InteractionID: 1 << 40},
		"another's file": {InteractionID: here.ID, FileIDs: []int64{files[0].ID, 1 << 40}},
	} {
		in := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, IsForward: true, Forwarding: f}
		if _, err := b.desk.Interactions().Create(b.ctx, here.ConversationID, in); fieldsOf(err)["forwarding"] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
