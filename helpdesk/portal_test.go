package helpdesk_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

func (b *bundle) portal(email string) *helpdesk.Portal {
	b.t.Helper()
	return must(b.svc.Portal(b.ctx, b.account.ID, email))(b.t)
}

// sent posts an answer and begins to send it.
func (b *bundle) sent(conversationID int64, in helpdesk.InteractionInput) helpdesk.Interaction {
	b.t.Helper()
	i := b.answer(conversationID, in)
	must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, 1))(b.t)
	return i
}

func (b *bundle) note(conversationID int64, body string) helpdesk.Interaction {
	b.t.Helper()
	return must(b.desk.Interactions().Create(b.ctx, conversationID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: body}))(b.t)
}

func bodies(t testing.TB, p *helpdesk.Portal, conversationID int64) []string {
	t.Helper()
	var out []string
	for _, i := range must(p.Interactions(t.Context(), conversationID, storage.PageRequest{}))(t).Items {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(i.Body, "<p>"), "</p>"))
	}
	return out
}

// A customer sees their own messages and those mailed to them, and no trace of anything else.
func TestPortalSees(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	p := b.portal("ADA@example.com")
	before := must(p.Conversation(b.ctx, id))(t)

	b.clock.Add(time.Minute)
	b.note(id, "She is a difficult one.")
	b.answer(id, helpdesk.InteractionInput{Body: "This waits to be sent."})
	b.answer(id, helpdesk.InteractionInput{Body: "This is not finished.", Status: helpdesk.StatusDraft})
	b.sent(id, helpdesk.InteractionInput{Body: "Please look at this.", To: []string{"expert@example.net"}, IsForward: true})
	b.sent(id, helpdesk.InteractionInput{Body: "Between us.", To: []string{"expert@example.net"}})
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("The door is stuck"), UserID: storage.Some(b.owner.ID)}))(t)
	if diff := cmp.Diff(before, must(p.Conversation(b.ctx, id))(t)); diff != "" {
		t.Errorf("what she does not see shows: %s", diff)
	}
	if before.Preview != "It does not open." || before.AwaitingSince.IsZero() || before.UserID != 0 {
		t.Errorf("conversation %+v", before)
	}

	b.clock.Add(time.Minute)
	b.sent(id, helpdesk.InteractionInput{Body: "Pull.", Bcc: []string{"boss@example.org"}, Cc: []string{"bob@example.com"}})
	b.receive(ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{bob}, References: []string{"1@example.com"}, Text: "I want to see the desk only."}})
	if diff := cmp.Diff([]string{"It does not open.", "Pull."}, bodies(t, p, id)); diff != "" {
		t.Error(diff)
	}
	page := must(p.Interactions(b.ctx, id, storage.PageRequest{}))(t).Items
	answer := page[1]
	if len(answer.Bcc) > 0 || answer.MessageID != "" || answer.References != nil || !cmp.Equal(answer.Cc, []string{"bob@example.com"}) {
		t.Errorf("answer %+v", answer)
	}
	if page[0].Threading.Rule != "" || page[0].CustomerID == 0 {
		t.Errorf("question %+v", page[0])
	}
	list := must(p.Conversations(b.ctx, nil, storage.PageRequest{}))(t).Items
	after := must(p.Conversation(b.ctx, id))(t)
	if diff := cmp.Diff([]helpdesk.Conversation{after}, list); diff != "" {
		t.Errorf("the list shows it otherwise: %s", diff)
	}
	if after.Preview != "Pull." || !after.AwaitingSince.IsZero() || !after.UpdatedAt.After(before.UpdatedAt) {
		t.Errorf("conversation %+v", after)
	}
	agents := must(p.Agents(b.ctx, page))(t)
	if diff := cmp.Diff([]helpdesk.Agent{{ID: b.owner.ID, Name: "Olga Owner"}}, agents); diff != "" {
		t.Error(diff)
	}
}

// Objects of others do not exist for the customer.
func TestPortalHides(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	hidden := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Watch her", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeNote, Body: "Fraud?"}},
	}))(t).ID
	note := b.note(adas, "A note")
	bobsMessage := b.interactions(bobs)[0]
	p, stranger := b.portal("ada@example.com"), b.portal("nobody@example.com")
	message := helpdesk.PortalMessage{Body: "Let me in"}
	file := func() helpdesk.Upload { return helpdesk.Upload{Filename: "x.txt", Content: strings.NewReader("x")} }
	for name, err := range map[string]error{
		"another's conversation":                second(p.Conversation(b.ctx, bobs)),
		"an absent one":                         second(p.Conversation(b.ctx, 9999)),
		"one with notes only":                   second(p.Conversation(b.ctx, hidden)),
		"interactions of another's":             second(p.Interactions(b.ctx, bobs, storage.PageRequest{})),
		"an interaction of another's":           second(p.Interaction(b.ctx, bobs, bobsMessage.ID)),
		"another's through the own":             second(p.Interaction(b.ctx, adas, bobsMessage.ID)),
		"a note":                                second(p.Interaction(b.ctx, adas, note.ID)),
		"files of a note":                       second(p.Attachments(b.ctx, adas, note.ID)),
		"writing to another's":                  second(p.CreateInteraction(b.ctx, bobs, message)),
		"writing to one with notes":             second(p.CreateInteraction(b.ctx, hidden, message)),
		"attaching to a note":                   second(p.CreateAttachment(b.ctx, adas, note.ID, file())),
		"attaching to another's":                second(p.CreateAttachment(b.ctx, bobs, bobsMessage.ID, file())),
		"a stranger reading":                    second(stranger.Conversation(b.ctx, adas)),
		"a stranger writing":                    second(stranger.CreateInteraction(b.ctx, adas, message)),
		"an account that is not there":          second(b.svc.Portal(b.ctx, 9999, "ada@example.com")),
		"a conversation in an absent mailbox":   second(p.CreateConversation(b.ctx, helpdesk.PortalConversationInput{MailboxID: 9999, Messages: []helpdesk.PortalMessage{message}})),
		"files of several, of another's":        second(p.AttachmentsOf(b.ctx, bobs, []int64{bobsMessage.ID})),
		"a file of another's conversation":      second(p.OpenAttachment(b.ctx, helpdesk.Attachment{ConversationID: bobs, InteractionID: bobsMessage.ID, ID: 1}, 0, -1)),
		"a file's description in another's":     second(p.Attachment(b.ctx, bobs, bobsMessage.ID, 1)),
		"a file that is not there of one's own": second(p.Attachment(b.ctx, adas, b.interactions(adas)[0].ID, 1)),
	} {
		if !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list := must(stranger.Conversations(b.ctx, nil, storage.PageRequest{}))(t).Items; len(list) > 0 {
		t.Errorf("a stranger sees %v", list)
	}
	if list := must(p.Conversations(b.ctx, nil, storage.PageRequest{}))(t).Items; len(list) != 1 || list[0].ID != adas {
		t.Errorf("she sees %v", list)
	}
}

// A customer's message is filed as their mail would be.
func TestPortalWrites(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	p := b.portal("Ada@Example.com")
	c := must(p.CreateConversation(b.ctx, helpdesk.PortalConversationInput{
		Subject: "The door", Messages: []helpdesk.PortalMessage{{Body: "It is stuck."}, {Body: "Again.", Source: "chat"}},
	}))(t)
	seen := b.conversation(c.ID)
	if c.Preview != "Again." || seen.CustomerEmail != "Ada@Example.com" || seen.MailboxID != b.mailbox.ID || seen.AwaitingSince.IsZero() {
		t.Errorf("conversation %+v", seen)
	}
	b.sent(c.ID, helpdesk.InteractionInput{Body: "Pull."})
	must(b.desk.Conversations().Update(b.ctx, c.ID, helpdesk.ConversationUpdate{Subject: storage.Some("The door"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	b.clock.Add(time.Hour)
	reply := must(p.CreateInteraction(b.ctx, c.ID, helpdesk.PortalMessage{Body: "<script>x</script>Thanks"}))(t)
	seen = b.conversation(c.ID)
	if seen.Status != helpdesk.StatusPosted || seen.AwaitingSince != b.clock.Now() || seen.Preview != "Thanks" {
		t.Errorf("conversation %+v", seen)
	}
	want := helpdesk.Interaction{
		ID: reply.ID, ConversationID: c.ID, Type: helpdesk.TypeCustomer, Status: helpdesk.StatusPosted, Body: "Thanks", CustomerID: seen.CustomerID,
		CustomerEmailID: seen.CustomerEmailID, CustomerEmail: "Ada@Example.com", Source: "portal",
		PostedAt: b.clock.Now(), At: b.clock.Now(), CreatedAt: b.clock.Now(), UpdatedAt: b.clock.Now(),
	}
	if diff := cmp.Diff(want, reply); diff != "" {
		t.Error(diff)
	}
	var kinds []string
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 100))(t) {
		if e.ActorID == 0 && !strings.HasPrefix(e.Type, "mailbox") {
			kinds = append(kinds, e.Type)
		}
	}
	if diff := cmp.Diff([]string{
		"customer.created", "conversation.created", "interaction.created", "interaction.created", "interaction.created", "conversation.reopened",
	}, kinds); diff != "" {
		t.Error(diff)
	}
	for name, err := range map[string]error{
		"no message":  second(p.CreateConversation(b.ctx, helpdesk.PortalConversationInput{})),
		"no body":     second(p.CreateInteraction(b.ctx, c.ID, helpdesk.PortalMessage{Body: "<p> </p>"})),
		"no address":  second(b.svc.Portal(b.ctx, b.account.ID, "ada")),
		"a status":    second(p.Conversations(b.ctx, []helpdesk.Status{helpdesk.StatusDraft}, storage.PageRequest{})),
		"long source": second(p.CreateInteraction(b.ctx, c.ID, helpdesk.PortalMessage{Body: "x", Source: strings.Repeat("x", 51)})),
	} {
		if !errors.Is(err, helpdesk.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPortalFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	mail := opening()
	mail.Attachments = []message.Part{{Filename: "door.png", ContentType: "image/png", Body: []byte("png")}}
	id := b.receive(mail).ConversationID
	p := b.portal("ada@example.com")
	mailed := must(p.Interactions(b.ctx, id, storage.PageRequest{}))(t).Items[0]
	posted := must(p.CreateInteraction(b.ctx, id, helpdesk.PortalMessage{Body: "See the file"}))(t)
	upload := func(i int64) (helpdesk.Attachment, error) {
		return p.CreateAttachment(b.ctx, id, i, helpdesk.Upload{Filename: "x.txt", Content: strings.NewReader("stuck")})
	}
	file := must(upload(posted.ID))(t)
	body := must(p.OpenAttachment(b.ctx, file, 1, 3))(t)
	content, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(content, []byte("tuc")) {
		t.Errorf("%q, %v", content, err)
	}
	of := must(p.AttachmentsOf(b.ctx, id, []int64{mailed.ID, posted.ID, b.note(id, "x").ID}))(t)
	if len(of) != 2 || of[0].Filename != "door.png" || of[1].ID != file.ID {
		t.Errorf("files %+v", of)
	}
	if _, err := upload(mailed.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("attaching to a mail: %v", err)
	}
	answer := b.sent(id, helpdesk.InteractionInput{})
	if _, err := upload(answer.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("attaching to an answer: %v", err)
	}
	for range helpdesk.MaxPortalFiles - 1 {
		must(upload(posted.ID))(t)
	}
	if _, err := upload(posted.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("one file too many: %v", err)
	}
	late := must(p.CreateInteraction(b.ctx, id, helpdesk.PortalMessage{Body: "Another"}))(t)
	b.clock.Add(helpdesk.PortalFilesFor + time.Second)
	if _, err := upload(late.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("attaching after an hour: %v", err)
	}
}

// Reading marks answers as seen, the first time only.
func TestPortalSeen(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	p := b.portal("ada@example.com")
	first := b.sent(id, helpdesk.InteractionInput{Body: "One"})
	held := b.answer(id, helpdesk.InteractionInput{Body: "Held"})
	must(p.Conversation(b.ctx, id))(t)
	if i := must(b.desk.Interactions().Get(b.ctx, id, first.ID))(t); !i.SeenAt.IsZero() {
		t.Error("a conversation's preview shows the answer already")
	}
	at := b.clock.Now()
	if page := must(p.Interactions(b.ctx, id, storage.PageRequest{}))(t); page.Items[1].SeenAt != at {
		t.Errorf("she saw it at %v", page.Items[1].SeenAt)
	}
	b.clock.Add(time.Hour)
	second := b.sent(id, helpdesk.InteractionInput{Body: "Two"})
	must(p.Interaction(b.ctx, id, first.ID))(t)
	must(p.Interaction(b.ctx, id, second.ID))(t)
	got := map[int64]time.Time{}
	for _, i := range b.interactions(id) {
		got[i.ID] = i.SeenAt
	}
	want := map[int64]time.Time{b.interactions(id)[0].ID: {}, first.ID: at, held.ID: {}, second.ID: b.clock.Now()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var seen []int64
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 100))(t) {
		if e.Type == "interaction.seen" {
			seen = append(seen, e.Subject)
		}
	}
	if diff := cmp.Diff([]int64{first.ID, second.ID}, seen); diff != "" {
		t.Error(diff)
	}
}

// A merged conversation is found under its own id by its customer, and only if the other one is theirs, too; messages of
// others in it stay hidden.
func TestPortalMerged(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	again := b.receive(ledger.Incoming{Message: message.Message{MessageID: "9@example.com", From: []mailaddr.Address{ada}, Subject: "The window", Text: "It is stuck too."}}).ConversationID
	p, bobsPortal := b.portal("ada@example.com"), b.portal("bob@example.com")
	must(b.desk.Conversations().Merge(b.ctx, again, adas))(t)
	if c := must(p.Conversation(b.ctx, again))(t); c.ID != adas {
		t.Errorf("found %d", c.ID)
	}
	posted := must(p.CreateInteraction(b.ctx, again, helpdesk.PortalMessage{Body: "Both."}))(t)
	if posted.ConversationID != adas {
		t.Errorf("posted into %d", posted.ConversationID)
	}
	must(b.desk.Conversations().Merge(b.ctx, bobs, adas))(t)
	if diff := cmp.Diff([]string{"It does not open.", "It is stuck too.", "Both."}, bodies(t, p, again), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
	if _, err := bobsPortal.Conversation(b.ctx, bobs); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("Bob finds Ada's: %v", err)
	}
	customers := must(b.desk.Customers().List(b.ctx, helpdesk.CustomerQuery{Email: "bob@example.com"}, storage.PageRequest{}))(t)
	must(b.desk.Customers().Merge(b.ctx, customers.Items[0].ID, b.conversation(adas).CustomerID))(t)
	if n := len(bodies(t, bobsPortal, bobs)); n != 4 {
		t.Errorf("as one customer they see %d", n)
	}
}

func sortedFields(err error) []string { return slices.Sorted(maps.Keys(fieldsOf(err))) }

func TestPortalKeys(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	for name, tt := range map[string]struct {
		in     helpdesk.PortalKeyInput
		fields []string
	}{
		"EdDSA":                  {helpdesk.PortalKeyInput{Name: "App", Algorithm: "EdDSA", PublicKey: public}, nil},
		"HS256":                  {helpdesk.PortalKeyInput{Name: "App", Algorithm: "HS256"}, nil},
		"nothing":                {helpdesk.PortalKeyInput{}, []string{"algorithm", "name"}},
		"none":                   {helpdesk.PortalKeyInput{Name: "App", Algorithm: "none"}, []string{"algorithm"}},
		"EdDSA without a key":    {helpdesk.PortalKeyInput{Name: "App", Algorithm: "EdDSA"}, []string{"public_key"}},
		"EdDSA with garbage":     {helpdesk.PortalKeyInput{Name: "App", Algorithm: "EdDSA", PublicKey: "x"}, []string{"public_key"}},
		"HS256 with a key":       {helpdesk.PortalKeyInput{Name: "App", Algorithm: "HS256", PublicKey: public}, []string{"public_key"}},
		"HS256 without any name": {helpdesk.PortalKeyInput{Name: " ", Algorithm: "HS256"}, []string{"name"}},
	} {
		key, secret, err := b.desk.PortalKeys().Create(b.ctx, tt.in)
		if diff := cmp.Diff(tt.fields, sortedFields(err), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s %v", name, diff, err)
		}
		if len(key.SealedSecret) > 0 || err == nil && (tt.in.Algorithm == "HS256") != strings.HasPrefix(secret, helpdesk.PortalSecretPrefix) {
			t.Errorf("%s: %+v %q", name, key, secret)
		}
	}
	keys := must(b.desk.PortalKeys().List(b.ctx, storage.PageRequest{}))(t).Items
	if len(keys) != 2 || len(keys[0].SealedSecret)+len(keys[1].SealedSecret) > 0 {
		t.Fatalf("keys %+v", keys)
	}
	if err := b.desk.PortalKeys().Delete(b.ctx, keys[0].ID); err != nil {
		t.Error(err)
	}
	if err := b.desk.PortalKeys().Delete(b.ctx, keys[0].ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := b.member(identity.RoleAgent).PortalKeys().Create(b.ctx, helpdesk.PortalKeyInput{}); !errors.Is(err, helpdesk.ErrForbidden) {
		t.Error(err)
	}
}
