package helpdesk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// talk is a conversation of two matters: Ada's question, our answer, Bob's question about another door by the same thread,
// and our answer to him.
func (b *bundle) talk() (id int64, said []helpdesk.Interaction) {
	b.t.Helper()
	id = b.receive(opening()).ConversationID
	b.clock.Add(time.Minute)
	first := b.answer(id, helpdesk.InteractionInput{Cc: []string{bob.Email}})
	b.clock.Add(time.Minute)
	b.receive(ledger.Incoming{
		Message: message.Message{
			MessageID: "bob@example.com", From: []mailaddr.Address{bob}, To: []mailaddr.Address{{Email: "support@example.org"}, {Email: "carol@example.com"}},
			InReplyTo: []string{first.MessageID}, Subject: "Re: The window", Text: "My window squeaks.",
			Attachments: []message.Part{{Filename: "squeak.txt", ContentType: "text/plain", Body: []byte("eek")}},
		},
	})
	b.clock.Add(time.Minute)
	b.answer(id, helpdesk.InteractionInput{To: []string{bob.Email}, Body: "Oil it."})
	b.clock.Add(time.Minute)
	return id, b.interactions(id)
}

func interactionIDs(all []helpdesk.Interaction) []int64 {
	var ids []int64
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(said []helpdesk.Interaction) helpdesk.SplitInput{
		"from here on": func(said []helpdesk.Interaction) helpdesk.SplitInput {
			return helpdesk.SplitInput{InteractionID: said[2].ID}
		},
		"by name": func(said []helpdesk.Interaction) helpdesk.SplitInput {
			return helpdesk.SplitInput{InteractionIDs: []int64{said[3].ID, said[2].ID}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id, said := b.talk()
			tag := b.tag("door")
			must(b.desk.Conversations().SetTags(b.ctx, id, []int64{tag}))(t)
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{
				Subject: storage.Some("The door is stuck"), UserID: storage.Some(b.owner.ID), Status: storage.Some(helpdesk.StatusPending),
			}))(t)
			other := b.member(identity.RoleAgent)
			c := must(b.desk.Conversations().Split(b.ctx, id, in(said)))(t)
			if diff := cmp.Diff(b.conversation(c.ID), c); diff != "" {
				t.Error(diff)
			}
			got := []any{c.Number, c.Status, c.Subject, c.Preview, c.CustomerEmail, c.UserID, c.MailboxID, c.AwaitingSince.IsZero(), b.tagsOf(c.ID)}
			want := []any{int64(2), helpdesk.StatusPosted, "Re: The window", "Oil it.", bob.Email, b.owner.ID, b.mailbox.ID, true, ""}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			old := b.conversation(id)
			got = []any{old.Number, old.Status, old.Subject, old.Preview, old.CustomerEmail, old.AwaitingSince.IsZero(), b.tagsOf(id)}
			want = []any{int64(1), helpdesk.StatusPending, "The door is stuck", "Have you tried to pull?", ada.Email, true, "door"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			// Everything is in one of them, with all that hangs on it.
			left, moved := b.interactions(id), b.interactions(c.ID)
			if !slices.Equal(interactionIDs(left), interactionIDs(said[:2])) || !slices.Equal(interactionIDs(moved), interactionIDs(said[2:])) {
				t.Errorf("left %v, moved %v", interactionIDs(left), interactionIDs(moved))
			}
			if !left[0].IsStarter || !moved[0].IsStarter || moved[1].IsStarter {
				t.Error("the starters are others")
			}
			files := must(b.desk.Attachments().List(b.ctx, c.ID, moved[0].ID))(t)
			deliveries := must(b.desk.Interactions().Deliveries(b.ctx, []int64{moved[1].ID}))(t)
			if len(files) != 1 || files[0].ConversationID != c.ID || len(deliveries) != 1 {
				t.Errorf("attachments %+v, deliveries %+v", files, deliveries)
			}
			row := b.mail(2)
			if row.ConversationID != c.ID || row.InteractionID != moved[0].ID {
				t.Errorf("the ledger has the mail in conversation %d as %d", row.ConversationID, row.InteractionID)
			}
			if a, z := b.found("squeaks"), b.found("open"); !slices.Equal(a, []int64{c.ID}) || !slices.Equal(z, []int64{id}) {
				t.Errorf("found %v and %v", a, z)
			}
			unread := must(other.Conversations().Unread(b.ctx, []int64{id, c.ID}))(t)
			if b.unread(c.ID) != 0 || b.unread(id) != 0 || unread[id] != 1 || unread[c.ID] != 1 {
				t.Errorf("unread: %d and %d, of another %v", b.unread(id), b.unread(c.ID), unread)
			}
			e := must(b.desk.Interactions().ExplainThreading(b.ctx, c.ID, moved[0].ID))(t)
			moves := []helpdesk.Move{{
				InteractionID: moved[0].ID, Rule: helpdesk.RuleSplit, FromID: id, IntoID: c.ID, MailboxID: b.mailbox.ID, UserID: b.owner.ID, CreatedAt: b.clock.Now(),
			}}
			if diff := cmp.Diff(moves, e.Moves); diff != "" || e.Rule != helpdesk.RuleSplit || e.Filed.Rule != helpdesk.RuleReferences {
				t.Errorf("explained by %s, filed by %s: %s", e.Rule, e.Filed.Rule, diff)
			}
			var kinds []string
			for _, event := range must(b.store.Events(b.ctx, b.account.ID, 0, 10000))(t) {
				if event.Time.Equal(b.clock.Now()) {
					kinds = append(kinds, event.Type)
				}
			}
			for _, kind := range []string{"conversation.created", "conversation.split", "interaction.moved", "conversation.updated"} {
				if !slices.Contains(kinds, kind) {
					t.Errorf("no event %s among %v", kind, kinds)
				}
			}
		})
	}
}

// Answers to moved messages follow them, by reference and by reply token; answers to the others stay.
func TestAnswersAfterSplit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, said := b.talk()
	toAda, toBob := begin(b, said[1].ID), begin(b, said[3].ID)
	if toAda.ReplyTo != toBob.ReplyTo {
		t.Fatal("the answers went out with different tokens")
	}
	c := must(b.desk.Conversations().Split(b.ctx, id, helpdesk.SplitInput{InteractionID: said[2].ID}))(t)
	eve, token := mailaddr.Address{Email: "eve@example.net"}, []mailaddr.Address{{Email: toBob.ReplyTo}}
	for name, tt := range map[string]struct {
		mail ledger.Incoming
		want int64
	}{
		"token and reference":            {ledger.Incoming{Message: message.Message{MessageID: "a1", From: []mailaddr.Address{eve}, To: token, InReplyTo: []string{said[3].MessageID}}}, c.ID},
		"token and reference of the old": {ledger.Incoming{Message: message.Message{MessageID: "a2", From: []mailaddr.Address{eve}, To: token, InReplyTo: []string{said[1].MessageID}}}, id},
		"token and both":                 {ledger.Incoming{Message: message.Message{MessageID: "a3", From: []mailaddr.Address{eve}, To: token, References: []string{said[1].MessageID, said[3].MessageID}}}, c.ID},
		"token alone":                    {ledger.Incoming{Message: message.Message{MessageID: "a4", From: []mailaddr.Address{eve}, To: token}}, id},
		"reference":                      {ledger.Incoming{Message: message.Message{MessageID: "a5", From: []mailaddr.Address{bob}, InReplyTo: []string{said[3].MessageID}}}, c.ID},
		"reference to his own":           {ledger.Incoming{Message: message.Message{MessageID: "a6", From: []mailaddr.Address{bob}, InReplyTo: []string{"bob@example.com"}}}, c.ID},
		"who was in copy":                {ledger.Incoming{Message: message.Message{MessageID: "a7", From: []mailaddr.Address{{Email: "carol@example.com"}}, InReplyTo: []string{"bob@example.com"}}}, c.ID},
		"reference of the old":           {ledger.Incoming{Message: message.Message{MessageID: "a8", From: []mailaddr.Address{ada}, InReplyTo: []string{said[1].MessageID}}}, id},
	} {
		tt.mail.Text = name
		if row := b.receive(tt.mail); row.ConversationID != tt.want {
			t.Errorf("%s: filed in %d, want %d", name, row.ConversationID, tt.want)
		}
	}
	if row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "a9", From: []mailaddr.Address{ada}, InReplyTo: []string{said[3].MessageID}, Text: "I took no part in that."}}); row.ConversationID == c.ID {
		t.Error("who takes no part in the new conversation came into it")
	}
	// The rest of the old one is deleted; the token still leads to the moved part.
	if err := b.desk.Conversations().Delete(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	late := b.receive(ledger.Incoming{Message: message.Message{MessageID: "a10", From: []mailaddr.Address{eve}, To: token, InReplyTo: []string{said[3].MessageID}, Text: "Late."}})
	if late.ConversationID != c.ID {
		t.Errorf("after the old one is gone: filed in %d", late.ConversationID)
	}
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, said := b.talk()
	other := b.receive(ledger.Incoming{Message: message.Message{MessageID: "x@example.com", From: []mailaddr.Address{bob}, Text: "Another matter."}})
	all := interactionIDs(said)
	for name, tt := range map[string]struct {
		in    helpdesk.SplitInput
		want  fault.Kind
		field string
	}{
		"nothing":       {helpdesk.SplitInput{}, fault.Invalid, "interaction"},
		"both":          {helpdesk.SplitInput{InteractionID: all[1], InteractionIDs: all[:1]}, fault.Invalid, "interactions"},
		"everything":    {helpdesk.SplitInput{InteractionID: all[0]}, fault.Invalid, "interaction"},
		"all by name":   {helpdesk.SplitInput{InteractionIDs: all}, fault.Invalid, "interactions"},
		"too many":      {helpdesk.SplitInput{InteractionIDs: make([]int64, 101)}, fault.Invalid, "interactions"},
		"long subject":  {helpdesk.SplitInput{InteractionID: all[1], Subject: strings.Repeat("x", 999)}, fault.Invalid, "subject"},
		"unknown":       {helpdesk.SplitInput{InteractionID: 999}, fault.NotFound, ""},
		"of another":    {helpdesk.SplitInput{InteractionID: other.InteractionID}, fault.NotFound, ""},
		"one unknown":   {helpdesk.SplitInput{InteractionIDs: []int64{all[1], 999}}, fault.NotFound, "interactions[1]"},
		"one elsewhere": {helpdesk.SplitInput{InteractionIDs: []int64{other.InteractionID}}, fault.NotFound, "interactions[0]"},
	} {
		_, err := b.desk.Conversations().Split(b.ctx, id, tt.in)
		if fields := fieldsOf(err); !fault.Is(err, tt.want) || tt.field != "" && len(fields[tt.field]) != 1 {
			t.Errorf("%s: %v %v", name, err, fields)
		}
	}
	if _, err := b.desk.Conversations().Split(b.ctx, 999, helpdesk.SplitInput{InteractionID: all[1]}); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("of no conversation: %v", err)
	}
	if b.count() != 2 || len(b.interactions(id)) != 4 {
		t.Error("something was split")
	}
}

// matter is all that must not change when an interaction is moved there and back.
type matter struct {
	Conversations []helpdesk.Conversation
	Interactions  [][]helpdesk.Interaction
	Attachments   [][]helpdesk.Attachment
	Deliveries    []sending.Delivery
	Mails         []ledger.Mail
	Found         [][]int64
	Unread        map[int64]int64
}

func (b *bundle) matter(conversations ...int64) (m matter) {
	b.t.Helper()
	for _, id := range conversations {
		c := b.conversation(id)
		c.UpdatedAt = time.Time{}
		said := b.interactions(id)
		m.Conversations, m.Interactions = append(m.Conversations, c), append(m.Interactions, said)
		for _, i := range said {
			m.Attachments = append(m.Attachments, must(b.desk.Attachments().List(b.ctx, id, i.ID))(b.t))
		}
		m.Deliveries = append(m.Deliveries, must(b.desk.Interactions().Deliveries(b.ctx, interactionIDs(said)))(b.t)...)
	}
	for _, word := range []string{"window", "squeaks", "oil", "open", "stuck"} {
		m.Found = append(m.Found, b.found(word))
	}
	m.Mails, m.Unread = b.ledger(), must(b.desk.Conversations().Unread(b.ctx, conversations))(b.t)
	return m
}

func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, said := b.talk()
	target := b.receive(ledger.Incoming{Message: message.Message{MessageID: "t@example.com", From: []mailaddr.Address{bob}, Subject: "Windows", Text: "Another matter."}}).ConversationID
	must(b.desk.Conversations().MarkRead(b.ctx, target))(t)
	before := b.matter(id, target)
	for _, i := range said { // each, including the one that starts the conversation
		b.clock.Add(time.Minute)
		moved := must(b.desk.Interactions().Move(b.ctx, id, i.ID, target))(t)
		want := i
		want.ConversationID, want.IsStarter = target, true // it is older than the present ones
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("moved: %s", diff)
		}
		if len(b.interactions(id)) != 3 || len(b.interactions(target)) != 2 {
			t.Errorf("%d and %d interactions", len(b.interactions(id)), len(b.interactions(target)))
		}
		must(b.desk.Interactions().Move(b.ctx, target, i.ID, id))(t)
		if diff := cmp.Diff(before, b.matter(id, target)); diff != "" {
			t.Errorf("back: %s", diff)
		}
	}
}

// A customer who waits for an answer to a moved message waits in the other conversation.
func TestMoveReopens(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	more := b.receive(ledger.Incoming{Message: message.Message{MessageID: "m@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "And the window."}})
	b.answer(bobs, helpdesk.InteractionInput{})
	must(b.desk.Conversations().Update(b.ctx, bobs, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
	must(b.desk.Interactions().Move(b.ctx, adas, more.InteractionID, bobs))(t)
	c := b.conversation(bobs)
	if c.Status != helpdesk.StatusPosted || c.AwaitingSince.IsZero() || c.Preview != "Have you tried to pull?" && c.Preview != "And the window." {
		t.Errorf("%+v", c)
	}
	if old := b.conversation(adas); old.AwaitingSince.IsZero() {
		t.Errorf("the first question waits no more: %+v", old)
	}
	// The last one takes its conversation along.
	last := b.interactions(adas)
	tag := b.tag("door")
	must(b.desk.Conversations().SetTags(b.ctx, adas, []int64{tag}))(t)
	must(b.desk.Interactions().Move(b.ctx, adas, last[0].ID, bobs))(t)
	if _, err := b.desk.Conversations().Get(b.ctx, adas); !errors.Is(err, helpdesk.ErrNotFound) || b.tagsOf(bobs) != "door" {
		t.Errorf("the empty conversation: %v; tags %q", err, b.tagsOf(bobs))
	}
	e := must(b.desk.Interactions().ExplainThreading(b.ctx, bobs, last[0].ID))(t)
	if e.Rule != helpdesk.RuleRethread || len(e.Moves) != 1 {
		t.Errorf("%+v", e)
	}
	for _, into := range []int64{0, bobs} {
		if got := fieldsOf(second(b.desk.Interactions().Move(b.ctx, bobs, last[0].ID, into))); len(got["conversation"]) != 1 {
			t.Errorf("into %d: %v", into, got)
		}
	}
	for _, ids := range [][3]int64{{999, last[0].ID, bobs}, {bobs, last[0].ID, 999}, {bobs, 999, 998}} {
		if _, err := b.desk.Interactions().Move(b.ctx, ids[0], ids[1], ids[2]); !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%v: %v", ids, err)
		}
	}
}

// Answers to a mail that was moved into another mailbox still come into the mailbox that it was sent from.
func TestMoveBetweenMailboxes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, said := b.talk()
	token := begin(b, said[3].ID).ReplyTo
	sales := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales")}))(t)
	target := b.begin("Windows", helpdesk.StatusPosted, storage.Opt[int64]{})
	must(b.desk.Conversations().Update(b.ctx, target, helpdesk.ConversationUpdate{Subject: storage.Some("Windows"), MailboxID: storage.Some(sales.ID)}))(t)
	must(b.desk.Interactions().Move(b.ctx, id, said[3].ID, target))(t)
	for name, mail := range map[string]ledger.Incoming{
		"reference": {Message: message.Message{MessageID: "b1", From: []mailaddr.Address{bob}, InReplyTo: []string{said[3].MessageID}, Text: "1"}},
		"token":     {Message: message.Message{MessageID: "b2", From: []mailaddr.Address{ada}, To: []mailaddr.Address{{Email: token}}, InReplyTo: []string{said[3].MessageID}, Text: "2"}},
	} {
		if row := b.receive(mail); row.ConversationID != target {
			t.Errorf("%s: filed in %d, want %d", name, row.ConversationID, target)
		}
	}
}

// The rules are applied again: to a mail whose question came late, to one whose sender takes part by now, and to one that an
// agent has put elsewhere.
func TestRethread(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	late := b.receive(ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "Still."}})
	first := b.receive(opening())
	moved := must(b.desk.Interactions().Rethread(b.ctx, late.ConversationID, late.InteractionID))(t)
	want := helpdesk.Threading{Rule: helpdesk.RuleReferences, Matched: "1@example.com", References: 1, Known: 1}
	if diff := cmp.Diff(want, moved.Threading); diff != "" || moved.ConversationID != first.ConversationID {
		t.Errorf("in %d: %s", moved.ConversationID, diff)
	}
	if _, err := b.desk.Conversations().Get(b.ctx, late.ConversationID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("the conversation of the late mail alone: %v", err)
	}
	// It is where it belongs, and stays.
	again := must(b.desk.Interactions().Rethread(b.ctx, first.ConversationID, late.InteractionID))(t)
	if diff := cmp.Diff(moved, again); diff != "" {
		t.Error(diff)
	}
	// The first one stays where it began; unrelated ones become new.
	must(b.desk.Interactions().Rethread(b.ctx, first.ConversationID, first.InteractionID))(t)
	stranger := b.receive(ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{bob}, InReplyTo: []string{"1@example.com"}, Subject: "Hm", Text: "Me too."}})
	must(b.desk.Interactions().Move(b.ctx, stranger.ConversationID, stranger.InteractionID, first.ConversationID))(t)
	put := must(b.desk.Interactions().Rethread(b.ctx, first.ConversationID, stranger.InteractionID))(t)
	if put.ConversationID != first.ConversationID || put.Threading.Rule != helpdesk.RuleNew {
		t.Errorf("of who takes part by the move: %+v", put) // the agent's decision made him take part
	}
	note := must(b.desk.Interactions().Create(b.ctx, first.ConversationID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x"}))(t)
	if _, err := b.desk.Interactions().Rethread(b.ctx, first.ConversationID, note.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("of a note: %v", err)
	}
	if _, err := b.desk.Interactions().Rethread(b.ctx, 999, late.InteractionID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("of no conversation: %v", err)
	}
	unrelated := b.receive(ledger.Incoming{Message: message.Message{MessageID: "4@example.com", From: []mailaddr.Address{bob}, Subject: "Else", Text: "Else."}})
	must(b.desk.Interactions().Move(b.ctx, unrelated.ConversationID, unrelated.InteractionID, first.ConversationID))(t)
	fresh := must(b.desk.Interactions().Rethread(b.ctx, first.ConversationID, unrelated.InteractionID))(t)
	if c := b.conversation(fresh.ConversationID); c.Subject != "Else" || c.CustomerEmail != bob.Email || !fresh.IsStarter || fresh.ConversationID == first.ConversationID {
		t.Errorf("what refers to nothing: %+v in %+v", fresh, c)
	}
}

// A reply token counts again, though it stood in the envelope only.
func TestRethreadByToken(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	adas, bobs := b.pair()
	token := begin(b, b.answer(adas, helpdesk.InteractionInput{}).ID).ReplyTo
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "e@example.net", From: []mailaddr.Address{{Email: "eve@example.net"}}, DeliveredTo: []mailaddr.Address{{Email: token}}, Text: "Hi."}})
	must(b.desk.Interactions().Move(b.ctx, adas, row.InteractionID, bobs))(t)
	if i := must(b.desk.Interactions().Rethread(b.ctx, bobs, row.InteractionID))(t); i.ConversationID != adas || i.Threading.Rule != helpdesk.RuleToken {
		t.Errorf("in %d by %+v", i.ConversationID, i.Threading)
	}
}

// A member limited to some mailboxes learns nothing about conversations in others.
func TestExplainConceals(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	hidden := b.receive(opening()).ConversationID
	secret := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Secret")}))(t)
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "3@example.com", From: []mailaddr.Address{bob}, InReplyTo: []string{"1@example.com"}, Text: "Me too."}})
	more := b.receive(ledger.Incoming{Message: message.Message{MessageID: "4@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "More."}})
	must(b.desk.Conversations().Update(b.ctx, hidden, helpdesk.ConversationUpdate{Subject: storage.Some("x"), MailboxID: storage.Some(secret.ID)}))(t)
	must(b.desk.Interactions().Move(b.ctx, hidden, more.InteractionID, row.ConversationID))(t)

	limited := b.member(identity.RoleAgent)
	members := must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items
	at := slices.IndexFunc(members, func(m identity.Membership) bool { return m.UserID == limited.UserID() })
	must(b.desk.Members().Update(b.ctx, members[at].ID, identity.MembershipUpdate{RoleIDs: members[at].RoleIDs, MailboxIDs: storage.Some([]int64{b.mailbox.ID})}))(t)
	limited = must(b.svc.Desk(b.ctx, b.svc.As(limited.UserID()), b.account.ID))(t)

	if e := must(b.desk.Interactions().ExplainThreading(b.ctx, row.ConversationID, row.InteractionID))(t); len(e.Filed.Refused) != 1 || e.Filed.Refused[0].ConversationID != hidden {
		t.Fatalf("to the owner: %+v", e)
	}
	e := must(limited.Interactions().ExplainThreading(b.ctx, row.ConversationID, row.InteractionID))(t)
	moved := must(limited.Interactions().ExplainThreading(b.ctx, row.ConversationID, more.InteractionID))(t)
	list := must(limited.Interactions().List(b.ctx, row.ConversationID, storage.PageRequest{}))(t).Items
	one := must(limited.Interactions().Get(b.ctx, row.ConversationID, row.InteractionID))(t)
	if len(e.Filed.Refused)+len(one.Threading.Refused)+len(list[0].Threading.Refused) != 0 || strings.Contains(strings.Join(e.Words, " "), "refused") {
		t.Errorf("told of a conversation out of reach: %+v, %+v, %+v", e, one.Threading, list[0].Threading)
	}
	want := []helpdesk.Move{{InteractionID: more.InteractionID, Rule: helpdesk.RuleRethread, IntoID: row.ConversationID, UserID: b.owner.ID, CreatedAt: b.clock.Now()}}
	got := slices.Clone(moved.Moves)
	got[0].CreatedAt = b.clock.Now()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := limited.Interactions().ExplainThreading(b.ctx, hidden, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("of what is out of reach: %v", err)
	}
}

func TestExplainWords(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, said := b.talk()
	row := b.receive(ledger.Incoming{Message: message.Message{MessageID: "e", From: []mailaddr.Address{{Email: "eve@example.net"}}, References: []string{"1@example.com", "x@y"}, Text: "Me too.", AutoSubmitted: true}})
	for name, tt := range map[string]struct {
		conversation, interaction int64
		want                      []string
	}{
		"first": {id, said[0].ID, []string{
			"It started a new conversation.", "None of the addresses it was sent to has a valid reply token.", "It does not refer to another message.",
			"No trusted server has checked its sender.",
		}},
		"answer": {id, said[1].ID, []string{"It did not arrive by mail."}},
		"reference": {id, said[2].ID, []string{
			"It refers to the message " + said[1].MessageID + " in this mailbox, and its sender takes part in that conversation.",
			"No trusted server has checked its sender.",
		}},
		"refused": {row.ConversationID, row.InteractionID, []string{
			"It started a new conversation.", "None of the addresses it was sent to has a valid reply token.",
			"Messages that it refers to: 2; found in this mailbox: 1.",
			"It was not added to conversation 1: the sender takes no part in it.",
			"No trusted server has checked its sender.",
			"It was sent automatically (RFC 3834): nobody waits for an answer, and it reopens nothing.",
		}},
	} {
		if diff := cmp.Diff(tt.want, must(b.desk.Interactions().ExplainThreading(b.ctx, tt.conversation, tt.interaction))(t).Words); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	must(b.desk.Conversations().Merge(b.ctx, row.ConversationID, id))(t)
	e := must(b.desk.Interactions().ExplainThreading(b.ctx, id, row.InteractionID))(t)
	if last := e.Words[len(e.Words)-1]; e.Rule != helpdesk.RuleMerge ||
		last != "It came with all of its conversation from conversation 2 into conversation 1 by user 1 on 1 November 2026 at 12:04 UTC." {
		t.Errorf("after the merge: %s, %q", e.Rule, last)
	}
}

// A slow clock, or a wait for a lock, never places a new message before existing ones: a conversation has one starter, and
// so do its parts.
func TestStartersWhenClocksDiffer(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]func(b *bundle, id int64){
		"mail": func(b *bundle, _ int64) {
			b.receive(ledger.Incoming{Message: message.Message{MessageID: "2@example.com", From: []mailaddr.Address{ada}, InReplyTo: []string{"1@example.com"}, Text: "Still."}})
		},
		"answer": func(b *bundle, id int64) { b.answer(id, helpdesk.InteractionInput{Body: "Oil it."}) },
		"scheduled answer": func(b *bundle, id int64) {
			i := b.answer(id, helpdesk.InteractionInput{Body: "Oil it.", SendAt: b.clock.Now().Add(time.Second)})
			b.clock.Add(time.Second)
			must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, 1))(b.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			b.clock.Add(-time.Minute)
			says(b, id)
			b.clock.Add(time.Hour)
			b.answer(id, helpdesk.InteractionInput{Body: "Done?"})
			said := b.interactions(id)
			apart := must(b.desk.Conversations().Split(b.ctx, id, helpdesk.SplitInput{InteractionIDs: interactionIDs(said[1:2])}))(t)
			must(b.desk.Interactions().Move(b.ctx, id, said[2].ID, apart.ID))(t)
			var got []bool
			for _, i := range slices.Concat(said, b.interactions(id), b.interactions(apart.ID)) {
				got = append(got, i.IsStarter)
			}
			if diff := cmp.Diff([]bool{true, false, false, true, true, false}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
