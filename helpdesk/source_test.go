package helpdesk_test

import (
	"errors"
	"io"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// The source of a mail is its original bytes, for messages that arrived by mail.
func TestSource(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	mail := b.interactions(id)[0]
	other := b.receive(ledger.Incoming{Message: message.Message{MessageID: "b@example.com", From: []mailaddr.Address{bob}, Subject: "x", Text: "y"}}).ConversationID
	s := must(b.desk.Interactions().Source(b.ctx, id, mail.ID))(t)
	if s.Size != int64(len("mail 1")) || s.Partial || s.InteractionID != mail.ID {
		t.Errorf("%+v", s)
	}
	raw := must(b.desk.Interactions().OpenSource(b.ctx, id, mail.ID, 2))(t)
	if text := string(must(io.ReadAll(raw))(t)); text != "il 1" {
		t.Errorf("%q", text)
	}
	if err := raw.Close(); err != nil {
		t.Error(err)
	}
	for name, interaction := range map[string]int64{
		"an answer": b.answer(id, helpdesk.InteractionInput{}).ID, "a note": b.note(id, "x").ID, "of another conversation": b.interactions(other)[0].ID, "none": 999,
	} {
		_, err := b.desk.Interactions().Source(b.ctx, id, interaction)
		_, open := b.desk.Interactions().OpenSource(b.ctx, id, interaction, 0)
		if !errors.Is(err, helpdesk.ErrNotFound) || !errors.Is(open, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v, %v", name, err, open)
		}
	}
}
