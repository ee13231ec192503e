package helpdesk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

var bob = mailaddr.Address{Name: "Bob", Email: "bob@example.com"}

// pair is Ada's older conversation and Bob's newer one.
func (b *bundle) pair() (adas, bobs int64) {
	b.t.Helper()
	adas = b.receive(opening()).ConversationID
	b.clock.Add(time.Hour)
	bobs = b.receive(ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{bob}, Subject: "The door again", Text: "It is stuck."}}).ConversationID
	b.clock.Add(time.Hour)
	return adas, bobs
}

func TestMerge(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	x, y := b.tag("x"), b.tag("y")
	must(b.desk.Conversations().SetTags(b.ctx, adas, []int64{x, y}))(t)
	must(b.desk.Conversations().SetTags(b.ctx, bobs, []int64{y}))(t)
	must(b.desk.Conversations().Update(b.ctx, bobs, helpdesk.ConversationUpdate{Subject: storage.Some("The door again"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	waiting := b.conversation(adas).AwaitingSince
	c := must(b.desk.Conversations().Merge(b.ctx, adas, bobs))(t)
	if diff := cmp.Diff(b.conversation(bobs), c); diff != "" {
		t.Error(diff)
	}
	if c.Subject != "The door again" || c.CustomerEmail != bob.Email || c.Status != helpdesk.StatusPosted || !c.AwaitingSince.Equal(waiting) ||
		c.Preview != "It is stuck." || b.tagsOf(bobs) != "x y" || b.unread(bobs) != 2 {
		t.Errorf("%+v with tags %q, %d unread", c, b.tagsOf(bobs), b.unread(bobs))
	}
	var starters []bool
	for _, i := range b.interactions(bobs) {
		starters = append(starters, i.IsStarter)
	}
	if diff := cmp.Diff([]bool{true, false}, starters); diff != "" {
		t.Errorf("starters: %s", diff)
	}
	if _, err := b.desk.Conversations().Get(b.ctx, adas); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the merged conversation: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	for into, want := range map[int64]fault.Fields{0: {"into": {"is required: the conversation does not refer to another one"}}, adas: {"into": {"must be another conversation"}}} {
		if diff := cmp.Diff(want, fieldsOf(second(b.desk.Conversations().Merge(b.ctx, adas, into)))); diff != "" {
			t.Error(diff)
		}
	}
	for _, ids := range [][2]int64{{adas, 999}, {999, adas}} {
		if _, err := b.desk.Conversations().Merge(b.ctx, ids[0], ids[1]); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%v: %v", ids, err)
		}
	}
	if b.count() != 2 || len(b.interactions(bobs)) != 1 {
		t.Error("something was merged")
	}
}

// Answers to the mails of a merged conversation come into the other one, by token and by reference, also after a second
// merge and into another mailbox.
func TestAnswersAfterMerge(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	answer := b.answer(adas, helpdesk.InteractionInput{})
	token := begin(b, answer.ID).ReplyTo
	target := b.begin("All doors", helpdesk.StatusPosted, storage.Opt[int64]{})
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Doors")}))(t)
	must(b.desk.Conversations().Update(b.ctx, target, helpdesk.ConversationUpdate{Subject: storage.Some("All doors"), MailboxID: storage.Some(other.ID)}))(t)
	must(b.desk.Conversations().Merge(b.ctx, adas, bobs))(t)
	must(b.desk.Conversations().Merge(b.ctx, bobs, target))(t)
	for name, mail := range map[string]ledger.Incoming{
		"token":      {Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{{Email: "else@example.com"}}, To: []mailaddr.Address{{Email: token}}, Text: "By token."}},
		"references": {Message: message.Message{MessageID: "4@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{answer.MessageID}, Text: "By reference."}},
		"bob":        {Message: message.Message{MessageID: "5@example.com", From: []mailaddr.Address{bob}, References: []string{"2@example.com"}, Text: "By Bob."}},
	} {
		if row := b.receive(mail); row.ConversationID != target {
			t.Errorf("%s: filed in %d, not in %d", name, row.ConversationID, target)
		}
	}
	if row := b.receive(opening()); row.State != ledger.Ignored {
		t.Errorf("the first mail again is %s", row.State)
	}
	if err := b.desk.Conversations().Delete(b.ctx, target); err != nil {
		t.Fatal(err)
	}
	if row := b.receive(opening()); row.State != ledger.Ignored {
		t.Errorf("the first mail, after all was deleted, is %s", row.State)
	}
	late := b.receive(ledger.Incoming{Message: message.Message{MessageID: "6@example.com", From: []mailaddr.Address{ada}, To: []mailaddr.Address{{Email: token}}, Text: "Late."}})
	if late.State != ledger.Filed || late.ConversationID == target {
		t.Errorf("an answer to what is gone: %+v", late)
	}
}
