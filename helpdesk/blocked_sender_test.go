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
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

func (b *bundle) blocks(senders ...string) {
	b.t.Helper()
	for _, s := range senders {
		must(b.desk.BlockedSenders().Block(b.ctx, s))(b.t)
	}
}

// Whose mail is spam: it counts whom it is filed under.
func TestBlockedSenders(t *testing.T) {
	t.Parallel()
	from := func(address string) ledger.Incoming {
		m := opening()
		m.From = []mailaddr.Address{{Name: "Ada", Email: address}}
		return m
	}
	for name, tt := range map[string]struct {
		blocked string
		mail    ledger.Incoming
		spam    bool
	}{
		"an address":                   {"ada@example.com", from("ada@example.com"), true},
		"another case":                 {"Ada@Example.COM", from("ADA@example.com"), true},
		"a domain in Unicode":          {"bücher.example", from("ada@xn--bcher-kva.example"), true},
		"an address there":             {"ada@xn--bcher-kva.example", from("ada@bücher.example"), true},
		"another address":              {"ada@example.com", from("bob@example.com"), false},
		"a tag is another address":     {"ada@example.com", from("ada+shop@example.com"), false},
		"a domain":                     {"example.com", from("ada@example.com"), true},
		"a domain with its sign":       {"@example.com", from("ada@example.com"), true},
		"below a domain":               {"example.com", from("ada@mail.example.com"), true},
		"above a domain":               {"mail.example.com", from("ada@example.com"), false},
		"a domain that ends alike":     {"ample.com", from("ada@example.com"), false},
		"a name that says another one": {"ada@example.com", func() ledger.Incoming { m := from("bob@example.net"); m.From[0].Name = "ada@example.com"; return m }(), false},
		"only in Reply-To": {"ada@example.com", func() ledger.Incoming {
			m := from("bob@example.net")
			m.ReplyTo = []mailaddr.Address{{Email: "ada@example.com"}}
			return m
		}(), false},
		"only in Sender": {"ada@example.com", func() ledger.Incoming {
			m := from("bob@example.net")
			m.Sender = []mailaddr.Address{{Email: "ada@example.com"}}
			return m
		}(), false},
		"the first of several": {"ada@example.com", func() ledger.Incoming {
			m := from("ada@example.com")
			m.From = []mailaddr.Address{{Email: "ada@example.com"}, {Email: "bob@example.net"}}
			return m
		}(), true},
		"the second of several": {"ada@example.com", func() ledger.Incoming {
			m := from("bob@example.net")
			m.From = []mailaddr.Address{{Email: "bob@example.net"}, {Email: "ada@example.com"}}
			return m
		}(), false},
		"who was there before a list rewrote it": {"ada@example.com", func() ledger.Incoming {
			m := from("list@lists.example.net")
			m.Rewritten, m.Original = true, mailaddr.Address{Email: "ada@example.com"}
			return m
		}(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.blocks(tt.blocked)
			i := b.receive(tt.mail)
			c := must(b.desk.Conversations().Get(b.ctx, i.ConversationID))(t)
			if c.IsSpam() != tt.spam || (c.Status == helpdesk.StatusClosed) != tt.spam || c.AwaitingSince.IsZero() != tt.spam {
				t.Errorf("spam since %v, %s, waits since %v", c.SpamAt, c.Status, c.AwaitingSince)
			}
			why := must(b.desk.Interactions().ExplainThreading(b.ctx, c.ID, i.InteractionID))(t)
			if said := strings.Contains(strings.Join(why.Words, "\n"), "The sender is blocked"); said != tt.spam {
				t.Errorf("said: %q", why.Words)
			}
			if kinds := b.kinds("conversation."); !slices.Equal(kinds, []string{"conversation.created"}) {
				t.Errorf("events %v", kinds)
			}
		})
	}
}

// A blocked sender's answer changes no conversation that is no spam, and goes on with one that is.
func TestBlockedAnswers(t *testing.T) {
	t.Parallel()
	answer := func(b *bundle, n string) ledger.Mail {
		m := opening()
		m.MessageID, m.References = n+"@example.com", []string{"1@example.com", "2@example.com"}
		b.clock.Add(time.Minute)
		return b.receive(m)
	}
	b := newBundle(t)
	first := b.receive(opening()).ConversationID
	must(b.desk.Conversations().Update(b.ctx, first, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	before := must(b.desk.Conversations().Get(b.ctx, first))(t)
	b.blocks("example.com")
	second := answer(b, "2")
	if second.ConversationID == first {
		t.Fatal("it came into a conversation that is no spam")
	}
	if diff := cmp.Diff(before, must(b.desk.Conversations().Get(b.ctx, first))(t)); diff != "" {
		t.Error(diff)
	}
	if c := must(b.desk.Conversations().Get(b.ctx, second.ConversationID))(t); !c.IsSpam() || c.RefersTo != 0 {
		t.Errorf("%+v", c)
	}
	words := strings.Join(must(b.desk.Interactions().ExplainThreading(b.ctx, second.ConversationID, second.InteractionID))(t).Words, "\n")
	if !strings.Contains(words, "its sender is blocked, and the conversation is no spam") {
		t.Error(words)
	}
	b.desk.Conversations().Update(b.ctx, first, helpdesk.ConversationUpdate{Spam: storage.Some(true)}) //nolint:errcheck // looked at below
	third := answer(b, "3")
	c := must(b.desk.Conversations().Get(b.ctx, third.ConversationID))(t)
	if third.ConversationID != second.ConversationID && third.ConversationID != first || !c.IsSpam() || c.Status != helpdesk.StatusClosed || c.Preview == "" {
		t.Errorf("in %d: %+v", third.ConversationID, c)
	}
	list := must(b.desk.BlockedSenders().List(b.ctx, "ada@mail.example.com", storage.PageRequest{}))(t).Items
	if len(list) != 1 || list[0].Sender != "example.com" {
		t.Fatalf("%+v", list)
	}
	if err := b.desk.BlockedSenders().Unblock(b.ctx, list[0].ID); err != nil {
		t.Fatal(err)
	}
	m := opening()
	m.MessageID, m.Subject = "4@example.com", "Something else"
	if c := must(b.desk.Conversations().Get(b.ctx, b.receive(m).ConversationID))(t); c.IsSpam() {
		t.Error("unblocked, it is spam")
	}
}

func TestBlockSenderProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.blocks("ada@example.com", "spam.example")
	owner := must(b.store.User(b.ctx, b.owner.ID))(t)
	_, domain, _ := strings.Cut(owner.Email, "@")
	for sender, want := range map[string]string{
		"": "is required", " @ ": "is required", "ada@": "is neither an email address nor a domain", "com": "is neither an email address nor a domain",
		"*.example.com": "is neither an email address nor a domain", "a b.example": "is neither an email address nor a domain", "\x00": "is required",
		"<ada@example.com>": "is neither an email address nor a domain", strings.Repeat("a", 400) + ".example": "is neither an email address nor a domain",
		"co.uk":           "is a public suffix: block a domain below it",
		"ADA@example.com": "is taken", "Spam.Example.": "is taken",
		owner.Email: "is the address of a member, or the domain of one", domain: "",
		b.mailbox.Email: "is the address of a mailbox of this account", ledger.UnknownSender: "is the placeholder for mail without a sender", "mail.invalid": "is the placeholder for mail without a sender",
	} {
		_, err := b.desk.BlockedSenders().Block(b.ctx, sender)
		got := fieldsOf(err)["sender"]
		if len(got) != 1 || want != "" && !strings.Contains(got[0], want) && want != "is taken" {
			t.Errorf("%q: %v", sender, err)
		}
	}
	for what, d := range map[string]*helpdesk.Desk{"a collaborator": b.member(identity.RoleCollaborator)} {
		_, err := d.BlockedSenders().Block(b.ctx, "eve@example.net")
		if !errors.Is(err, helpdesk.ErrForbidden) || !errors.Is(d.BlockedSenders().Unblock(b.ctx, 1), helpdesk.ErrForbidden) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Events that keep a conversation spam, and those that do not.
func TestSpam(t *testing.T) {
	t.Parallel()
	update := func(b *bundle, id int64, in helpdesk.ConversationUpdate) {
		must(b.desk.Conversations().Update(b.ctx, id, in))(b.t)
	}
	for name, tt := range map[string]struct {
		act    func(b *bundle, id int64)
		spam   bool
		status helpdesk.Status
		waits  bool
	}{
		"nothing": {func(*bundle, int64) {}, true, helpdesk.StatusClosed, true},
		"again":   {func(b *bundle, id int64) { update(b, id, helpdesk.ConversationUpdate{Spam: storage.Some(true)}) }, true, helpdesk.StatusClosed, true},
		"the customer's mail": {func(b *bundle, id int64) {
			m := opening()
			m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
			if got := b.receive(m).ConversationID; got != id {
				b.t.Errorf("it is in %d", got)
			}
		}, true, helpdesk.StatusClosed, true},
		"an answer that does not arrive": {func(b *bundle, id int64) {
			report(b, begin(b, b.answer(id, helpdesk.InteractionInput{}).ID), sending.Failed)
		}, true, helpdesk.StatusClosed, false},
		"another subject": {func(b *bundle, id int64) { update(b, id, helpdesk.ConversationUpdate{Subject: storage.Some("x")}) }, true, helpdesk.StatusClosed, true},
		"closing it": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)})
		}, true, helpdesk.StatusClosed, true},
		"opening it": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusPending)})
		}, false, helpdesk.StatusPending, true},
		"taken back": {func(b *bundle, id int64) { update(b, id, helpdesk.ConversationUpdate{Spam: storage.Some(false)}) }, false, helpdesk.StatusPosted, true},
		"taken back, closed": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{Spam: storage.Some(false), Status: storage.Some(helpdesk.StatusClosed)})
		}, false, helpdesk.StatusClosed, true},
		"in bulk": {func(b *bundle, id int64) {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Spam: storage.Some(false)}))(b.t)
		}, false, helpdesk.StatusPosted, true},
		"one who waits is merged into it": {func(b *bundle, id int64) {
			m := opening()
			m.MessageID = "3@example.com"
			must(b.desk.Conversations().Merge(b.ctx, b.receive(m).ConversationID, id))(b.t)
		}, true, helpdesk.StatusClosed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			b.snoozed(id)
			update(b, id, helpdesk.ConversationUpdate{Spam: storage.Some(true)})
			if c := must(b.desk.Conversations().Get(b.ctx, id))(t); !c.SnoozedUntil.IsZero() || !c.IsSpam() {
				t.Errorf("%+v", c)
			}
			tt.act(b, id)
			c := must(b.desk.Conversations().Get(b.ctx, id))(t)
			if c.IsSpam() != tt.spam || c.Status != tt.status || c.AwaitingSince.IsZero() == tt.waits {
				t.Errorf("spam since %v, %s, waits since %v", c.SpamAt, c.Status, c.AwaitingSince)
			}
			if cleared := slices.Contains(b.kinds("conversation."), "conversation.cleared_spam"); cleared == tt.spam {
				t.Errorf("events %v", b.kinds("conversation."))
			}
			counts := must(b.desk.Conversations().Counts(b.ctx))(t)
			if (counts.Spam == 1) != tt.spam || (counts.Open == 1) != tt.status.Open() {
				t.Errorf("%+v", counts)
			}
			for want, q := range map[bool]helpdesk.ConversationQuery{tt.spam: {Spam: storage.Some(true)}, !tt.spam: {Spam: storage.Some(false)}} {
				if got := found(b, b.desk, q); (len(got) == 1) != want {
					t.Errorf("%v: %v", q.Spam, got)
				}
			}
		})
	}
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	_, err := b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Spam: storage.Some(true), Status: storage.Some(helpdesk.StatusPosted)})
	if len(fieldsOf(err)["status"]) != 1 {
		t.Error(err)
	}
}

// A conversation that was spam from its beginning waits for an answer once it is not spam.
func TestSpamByMistake(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.blocks("example.com")
	i := b.receive(opening())
	c := must(b.desk.Conversations().Update(b.ctx, i.ConversationID, helpdesk.ConversationUpdate{Spam: storage.Some(false)}))(t)
	if c.Status != helpdesk.StatusPosted || c.AwaitingSince.IsZero() {
		t.Errorf("%s, waits since %v", c.Status, c.AwaitingSince)
	}
}
