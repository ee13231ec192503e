package helpdesk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// replays replays a rule to the end, twice as after a crash, and returns the replay and its conversations.
func (b *bundle) replays(in helpdesk.ReplayInput) (helpdesk.RuleReplay, []helpdesk.ReplayedConversation) {
	b.t.Helper()
	begun := must(b.desk.Rules().Replay(b.ctx, in))(b.t)
	b.replayJobs()
	done := must(b.desk.Rules().ReplayOf(b.ctx, begun.ID))(b.t)
	if done.State == helpdesk.ReplayRunning || done.FinishedAt.IsZero() || done.Percent != 100 {
		b.t.Errorf("the replay is not done: %+v", done)
	}
	var all []helpdesk.ReplayedConversation
	for req := (storage.PageRequest{Limit: 3}); ; {
		page := must(b.desk.Rules().Replayed(b.ctx, begun.ID, req))(b.t)
		if all = append(all, page.Items...); page.Next == "" {
			return done, all
		}
		req.Cursor = page.Next
	}
}

func (b *bundle) replayJobs() {
	b.t.Helper()
	for _, job := range must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobReplay: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t) {
		for range 2 {
			ok(b.t, b.svc.Jobs().ReplayRule(b.ctx, job))
		}
		ok(b.t, b.store.Finish(b.ctx, job))
	}
}

// month lets some time pass in which things happen at random, the same ones for the same seed.
type month struct {
	*bundle
	*rand.Rand
	tags          []int64
	users         []int64
	conversations []int64
	company       int64
}

func newMonth(t *testing.T, seed uint64) *month {
	m := &month{bundle: newBundle(t), Rand: rand.New(rand.NewPCG(seed, 7))}
	m.tags = []int64{m.tag("bug"), m.tag("vip")}
	m.users = []int64{m.owner.ID, m.member(identity.RoleAgent).UserID()}
	m.company = m.bundle.company("Halden", "halden.example").ID
	m.field("plan", helpdesk.FieldSelect, helpdesk.FieldOption{Value: "free", Label: "Free"}, helpdesk.FieldOption{Value: "pro", Label: "Pro"})
	m.field("order_no", helpdesk.FieldText)
	return m
}

// live lets things happen, and the rules act on them.
func (m *month) live(days int) {
	m.t.Helper()
	for end := m.clock.Now().Add(time.Duration(days) * 24 * time.Hour); m.clock.Now().Before(end); {
		m.clock.Add(time.Duration(1+m.IntN(9)) * time.Hour)
		m.tickRules()
		m.runRules()
		m.happen()
		m.runRules()
	}
}

// happen does one thing at random.
func (m *month) happen() {
	m.t.Helper()
	if len(m.conversations) < 3 || m.IntN(5) == 0 {
		who := []string{"ann@halden.example", "bob@example.com", "cleo@example.com"}[m.IntN(3)]
		subject := []string{"The door is stuck", "An invoice", "URGENT: fire"}[m.IntN(3)]
		in := message.Message{
			MessageID: fmt.Sprintf("%d@example.com", m.taken), From: []mailaddr.Address{{Name: "Some Body", Email: who}}, To: []mailaddr.Address{{Email: "support@example.org"}},
			Subject: subject, Text: []string{"It does not open.", "Please pay."}[m.IntN(2)],
		}
		m.conversations = append(m.conversations, m.receive(ledger.Incoming{Message: in}).ConversationID)
		return
	}
	id := m.conversations[m.IntN(len(m.conversations))]
	change := helpdesk.ConversationUpdate{}
	switch m.IntN(9) {
	case 0:
		change.Priority = storage.Some([]helpdesk.Priority{helpdesk.PriorityLow, helpdesk.PriorityNormal, helpdesk.PriorityHigh}[m.IntN(3)])
	case 1:
		change.Status = storage.Some([]helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed}[m.IntN(3)])
	case 2:
		change.UserID = []storage.Opt[int64]{storage.Some(m.users[0]), storage.Some(m.users[1]), storage.Null[int64]()}[m.IntN(3)]
	case 3:
		must(m.desk.Conversations().AddTags(m.ctx, id, []int64{m.tags[m.IntN(2)]}))(m.t)
		return
	case 4:
		must(m.desk.Conversations().RemoveTags(m.ctx, id, []int64{m.tags[m.IntN(2)]}))(m.t)
		return
	case 5:
		m.answer(id, helpdesk.InteractionInput{Body: "We look into it."})
		return
	case 6:
		m.remark(id)
		return
	case 7:
		change.Fields = helpdesk.FieldTexts{"plan": {[]string{"free", "pro"}[m.IntN(2)]}}
	case 8:
		m.writesAgain(id)
		return
	}
	must(m.desk.Conversations().Update(m.ctx, id, change))(m.t)
}

// writesAgain lets the customer of a conversation write again.
func (m *month) writesAgain(id int64) {
	m.t.Helper()
	first := m.interactions(id)[0]
	in := mailFrom(first.CustomerEmail, fmt.Sprintf("again%d@example.com", m.taken))
	in.From[0].Name = "Some Body"
	in.References, in.InReplyTo = []string{first.MessageID}, []string{first.MessageID}
	if got := m.receive(ledger.Incoming{Message: in}).ConversationID; got != id {
		m.t.Fatalf("the mail came to conversation %d", got)
	}
}

// changedBy returns the places of the conversations that a rule changed, in the order in which they began.
func (m *month) changedBy(r helpdesk.Rule) []int {
	m.t.Helper()
	var places []int
	for _, run := range m.runs(r) {
		if run.Outcome == helpdesk.RunChanged {
			places = append(places, slices.Index(m.conversations, run.ConversationID))
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// A replay finds the conversations that the rule would have changed: those that it changes where it was on and the same things happened.
func TestReplayProperty(t *testing.T) {
	t.Parallel()
	updates := []string{"conversation.updated", "conversation.closed", "conversation.assigned"}
	tests := map[string]func(m *month) helpdesk.RuleInput{
		"subject": func(*month) helpdesk.RuleInput {
			return ruleInput("r", atMail, do(rules.SetPriority, "urgent"), when("subject", rules.Contains, "fire"))
		},
		"body and status": func(m *month) helpdesk.RuleInput {
			return ruleInput("r", atMail, do(rules.AddTags, fmt.Sprint(m.tags[0])), when("interaction.body", rules.Contains, "pay"), when("status", rules.Is, "posted"), when("interaction.type", rules.Is, "customer"))
		},
		"an answer": func(*month) helpdesk.RuleInput {
			return ruleInput("r", []string{"interaction.posted"}, do(rules.SetStatus, "pending"), when("priority", rules.AnyOf, "high", "urgent"))
		},
		"customer": func(m *month) helpdesk.RuleInput {
			return ruleInput("r", atMail, do(rules.AssignUser, fmt.Sprint(m.users[1])), when("customer.email", rules.Contains, "halden"), when("company.id", rules.Is, fmt.Sprint(m.company)))
		},
		"tags": func(m *month) helpdesk.RuleInput {
			return ruleInput("r", updates, do(rules.SetPriority, "low"), when("tags", rules.Contains, fmt.Sprint(m.tags[1])), when("user_id", rules.NotEmpty))
		},
		"a change": func(m *month) helpdesk.RuleInput {
			return ruleInput("r", updates, do(rules.AddTags, fmt.Sprint(m.tags[0])), when("priority", rules.ChangedTo, "high"))
		},
		"a change from": func(*month) helpdesk.RuleInput {
			return ruleInput("r", updates, do(rules.AddNote, "Done?"), when("status", rules.ChangedFrom, "posted"))
		},
		"a field": func(*month) helpdesk.RuleInput {
			return ruleInput("r", updates, setsField("plan", "free"), when("fields.plan", rules.Is, "pro"), when("awaiting", rules.Is, "true"))
		},
		"waiting": func(*month) helpdesk.RuleInput {
			return timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceCustomerWrote, Hours: 20}, do(rules.SetPriority, "urgent"), when("awaiting", rules.Is, "true"))
		},
		"we wrote": func(*month) helpdesk.RuleInput {
			return timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceWeWrote, Hours: 30}, do(rules.SetStatus, "closed"), when("status", rules.IsNot, "closed"))
		},
		"assigned long": func(*month) helpdesk.RuleInput {
			return timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceAssigned, Hours: 25}, do(rules.Unassign), when("status", rules.Is, "posted"))
		},
		"pending long": func(m *month) helpdesk.RuleInput {
			return timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceStatusChanged, Hours: 40}, do(rules.AddTags, fmt.Sprint(m.tags[0])), when("status", rules.Is, "pending"), when("fields.plan", rules.Empty))
		},
	}
	for name, rule := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := 0
			for seed := range uint64(2) {
				on, off := newMonth(t, seed), newMonth(t, seed)
				for _, m := range []*month{on, off} { // rules before it, of which one lets no other run
					m.rule(ruleInput("high", atMail, do(rules.SetPriority, "high"), when("subject", rules.Contains, "stuck")))
					stops := ruleInput("stops", updates, do(rules.SetPriority, "normal"), when("priority", rules.Is, "low"), when("tags", rules.Contains, fmt.Sprint(m.tags[0])))
					stops.Stop = storage.Some(true)
					m.rule(stops)
				}
				r := on.rule(rule(on))
				from := off.clock.Now()
				on.live(12)
				off.live(12)
				replay, found := off.replays(helpdesk.ReplayInput{Rule: rule(off), From: from})
				var got []int
				for _, c := range found {
					got = append(got, slices.Index(off.conversations, c.ConversationID))
				}
				slices.Sort(got)
				want := on.changedBy(r)
				if diff := cmp.Diff(want, got); diff != "" || replay.Changed != len(got) || replay.Unknown != 0 || replay.Gone != 0 {
					t.Errorf("seed %d: changed where it was on, found where it was off: %s\n%+v", seed, diff, replay)
				}
				changed += len(want)
			}
			if changed == 0 {
				t.Error("the rule changes nothing: the test says nothing")
			}
		})
	}
}

// What cannot be known of the time is told, not guessed.
func TestReplayUnknown(t *testing.T) {
	t.Parallel()
	mail := func(b *bundle) int64 { return b.receive(opening()).ConversationID }
	rename := func(b *bundle, id int64) {
		must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("Other")}))(b.t)
	}
	for name, tt := range map[string]struct {
		all   []rules.Condition
		since func(b *bundle, id int64)
		want  string
	}{
		"a subject":                     {[]rules.Condition{when("subject", rules.Contains, "door")}, rename, "0 of 1, unknown 1 [subject]"},
		"a subject that does not count": {[]rules.Condition{when("subject", rules.Contains, "door"), when("status", rules.Is, "closed")}, rename, "0 of 1, unknown 0 []"},
		"a customer's name": {[]rules.Condition{when("customer.first_name", rules.Is, "Ada")}, func(b *bundle, id int64) {
			c := must(b.desk.Customers().Get(b.ctx, b.conversation(id).CustomerID))(b.t)
			must(b.desk.Customers().Update(b.ctx, c.ID, helpdesk.CustomerInput{FirstName: storage.Some("Eve")}))(b.t)
		}, "0 of 1, unknown 1 [customer.first_name]"},
		"another fact of the customer": {[]rules.Condition{when("customer.email", rules.Contains, "ada")}, func(b *bundle, id int64) {
			c := must(b.desk.Customers().Get(b.ctx, b.conversation(id).CustomerID))(b.t)
			must(b.desk.Customers().Update(b.ctx, c.ID, helpdesk.CustomerInput{FirstName: storage.Some("Eve")}))(b.t)
		}, "1 of 1, unknown 0 []"},
		"who the customer was": {[]rules.Condition{when("customer.last_name", rules.Is, "Lovelace")}, func(b *bundle, id int64) {
			other := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Eve"), LastName: storage.Some("Lovelace")}))(b.t)
			must(b.desk.Customers().Merge(b.ctx, b.conversation(id).CustomerID, other.ID))(b.t)
		}, "0 of 1, unknown 1 [customer.last_name]"},
		"that it was this customer": {[]rules.Condition{when("customer_id", rules.NotEmpty)}, func(b *bundle, id int64) {
			other := must(b.desk.Customers().Create(b.ctx, helpdesk.CustomerInput{FirstName: storage.Some("Eve")}))(b.t)
			must(b.desk.Customers().Merge(b.ctx, b.conversation(id).CustomerID, other.ID))(b.t)
		}, "0 of 1, unknown 1 [customer_id]"},
		"a deleted conversation": {nil, func(b *bundle, id int64) { b.deleteConversation(id) }, "0 of 0, unknown 0 [], gone 1"},
		"nothing":                {[]rules.Condition{when("status", rules.Is, "posted")}, func(b *bundle, id int64) { b.set(id, helpdesk.StatusClosed) }, "1 of 1, unknown 0 []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := mail(b)
			b.clock.Add(time.Hour)
			tt.since(b, id)
			b.clock.Add(time.Hour)
			replay, _ := b.replays(helpdesk.ReplayInput{Rule: ruleInput("", atMail, do(rules.SetPriority, "urgent"), tt.all...)})
			got := fmt.Sprintf("%d of %d, unknown %d %v", replay.Changed, replay.Examined, replay.Unknown, replay.Lost)
			if replay.Gone > 0 {
				got += fmt.Sprintf(", gone %d", replay.Gone)
			}
			if got != tt.want {
				t.Errorf("it would have changed %s, want %s", got, tt.want)
			}
		})
	}
}

// A replay says what it would have done, and which rules did it instead. It is its maker's, who can end it.
func TestReplay(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tag := b.tag("vip")
	other := b.rule(ruleInput("other", atMail, do(rules.SetPriority, "high")))
	id := b.receive(opening()).ConversationID
	b.runRules()
	r := ruleInput("r", atMail, do(rules.SetPriority, "urgent"))
	r.Actions = storage.Some([]rules.Action{do(rules.SetPriority, "urgent"), do(rules.AddTags, fmt.Sprint(tag)), do(rules.AddNote, "x")})
	replay, found := b.replays(helpdesk.ReplayInput{Rule: r})
	if len(found) != 1 || replay.Changed != 1 {
		t.Fatalf("it found %+v", found)
	}
	want := []helpdesk.RuleChange{{Field: "priority", From: []string{"high"}, To: []string{"urgent"}}, {Field: "tags", To: []string{fmt.Sprint(tag)}}}
	got := found[0]
	if diff := cmp.Diff(want, got.Changes); diff != "" || got.ConversationID != id || got.Event != "interaction.created" || !slices.Equal(got.Actions, []string{"add_note"}) || !slices.Equal(got.Others, []int64{other.ID}) {
		t.Errorf("it found %+v: %s", got, diff)
	}
	if c := b.conversation(id); c.Priority != helpdesk.PriorityHigh {
		t.Errorf("it changed the conversation: %+v", c)
	}

	stored, _ := b.replays(helpdesk.ReplayInput{RuleID: other.ID, Rule: helpdesk.RuleInput{Actions: storage.Some([]rules.Action{do(rules.SetPriority, "normal")})}})
	if stored.RuleID != other.ID || stored.Changed != 0 || stored.Examined != 1 {
		t.Errorf("the stored rule with another action: %+v", stored)
	}
	agent := b.member(identity.RoleOwner)
	if _, err := agent.Rules().ReplayOf(b.ctx, replay.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another member reads it: %v", err)
	}
	if err := agent.Rules().CancelReplay(b.ctx, replay.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another member ends it: %v", err)
	}
	running := must(b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{Rule: r}))(t)
	ok(t, b.desk.Rules().CancelReplay(b.ctx, running.ID))
	b.replayJobs()
	if _, err := b.desk.Rules().ReplayOf(b.ctx, running.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a canceled replay: %v", err)
	}
	b.clock.Add(8 * 24 * time.Hour)
	must(b.svc.Prune(b.ctx))(t)
	if _, err := b.desk.Rules().ReplayOf(b.ctx, replay.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("an old replay: %v", err)
	}
}

// An automatic reply ends no wait, and a member's does.
func TestReplayAwaiting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(b *bundle, id int64)
		want   int
	}{
		"nobody answers":   {func(*bundle, int64) {}, 1},
		"a member answers": {func(b *bundle, id int64) { b.answer(id, helpdesk.InteractionInput{Body: "x"}) }, 0},
		"a member passes on": {func(b *bundle, id int64) {
			b.answer(id, helpdesk.InteractionInput{Body: "x", To: []string{"c@d.example"}, IsForward: true})
		}, 1},
		"a member jots":  {func(b *bundle, id int64) { b.remark(id) }, 1},
		"a rule answers": {func(b *bundle, _ int64) { b.runRules() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			reply := b.macro("Thanks", "We have it.")
			b.rule(ruleInput("thanks", []string{"conversation.created"}, do(rules.Reply, fmt.Sprint(reply.ID))))
			id := b.receive(opening()).ConversationID
			b.clock.Add(time.Hour)
			tt.answer(b, id)
			b.clock.Add(time.Hour)
			b.update(id, helpdesk.ConversationUpdate{Priority: storage.Some(helpdesk.PriorityHigh)})
			b.clock.Add(time.Hour)
			b.answerMail(id) // so that the wait of now tells nothing
			in := ruleInput("", []string{"conversation.prioritized"}, do(rules.SetPriority, "urgent"), when("awaiting", rules.Is, "true"))
			if replay, _ := b.replays(helpdesk.ReplayInput{Rule: in}); replay.Changed != tt.want || replay.Unknown != 0 {
				t.Errorf("it would have changed %d, and of %d it is not known", replay.Changed, replay.Unknown)
			}
		})
	}
}

// A member's replays are few, and none begins before the log of events.
func TestReplaysKept(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(c *helpdesk.Config) { c.Retention.Events = 40 * 24 * time.Hour })
	in := helpdesk.ReplayInput{Rule: ruleInput("r", atMail, do(rules.SetPriority, "urgent"))}
	early := in
	early.From = b.clock.Now().Add(-41 * 24 * time.Hour)
	if _, err := b.desk.Rules().Replay(b.ctx, early); fieldsOf(err)["from"] == nil {
		t.Errorf("one of what is not known any more: %v", err)
	}
	early.From, early.To = time.Time{}, b.clock.Now().Add(-20*24*time.Hour)
	if replay := must(b.desk.Rules().Replay(b.ctx, early))(t); !replay.From.Equal(b.clock.Now().Add(-40 * 24 * time.Hour)) {
		t.Errorf("it begins at %v", replay.From)
	}
	b.replayJobs()
	var ids []int64
	for range 21 {
		replay, _ := b.replays(in)
		ids = append(ids, replay.ID)
	}
	if _, err := b.desk.Rules().ReplayOf(b.ctx, ids[0]); !fault.Is(err, fault.NotFound) {
		t.Errorf("the oldest one is kept: %v", err)
	}
	must(b.desk.Rules().ReplayOf(b.ctx, ids[1]))(t)
}

// A replay that a crash has ended begins anew, and finds each conversation once.
func TestReplayAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	b.clock.Add(time.Hour)
	b.receive(ledger.Incoming{Message: mailFrom("bob@example.com", "2@example.com")})
	begun := must(b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{Rule: ruleInput("r", atMail, do(rules.SetPriority, "urgent"))}))(t)
	stored := helpdesk.ReplayedConversation{ReplayID: begun.ID, ConversationID: id, Event: atMail[0], At: b.clock.Now(), CreatedAt: b.clock.Now()}
	begun.Examined, begun.Changed, begun.Percent = 1, 1, 50
	ok(t, b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := helpdesk.Nouns().ReplayedConversations.Rows(tx).Insert(ctx, &stored); err != nil {
			return err
		}
		return helpdesk.Nouns().RuleReplays.Rows(tx).Update(ctx, &begun)
	}))
	b.replayJobs()
	done := must(b.desk.Rules().ReplayOf(b.ctx, begun.ID))(t)
	found := must(b.desk.Rules().Replayed(b.ctx, begun.ID, storage.PageRequest{}))(t).Items
	if done.State != helpdesk.ReplayDone || done.Changed != 2 || done.Examined != 2 || len(found) != 2 {
		t.Errorf("it is %+v, and found %+v", done, found)
	}
}

// A member of some mailboxes learns only of conversations that were in these.
func TestReplayWithinReach(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales"), Email: storage.Some("sales@example.org")}))(t)
	moved := b.receive(opening()).ConversationID
	b.clock.Add(time.Hour)
	b.update(moved, helpdesk.ConversationUpdate{MailboxID: storage.Some(other.ID)})
	b.clock.Add(time.Hour)
	b.receive(ledger.Incoming{Message: mailFrom("bob@example.com", "2@example.com")})
	limited := *b
	limited.desk = b.member(identity.RoleOwner)
	m := must(limited.desk.Membership(b.ctx))(t)
	m.MailboxIDs = []int64{other.ID}
	ok(t, b.store.InTx(b.ctx, helpdesk.Scope{AccountID: b.account.ID}, func(ctx context.Context, tx helpdesk.Tx) error {
		return tx.Memberships().Update(ctx, &m)
	}))
	limited.desk = must(b.svc.Desk(b.ctx, b.svc.As(limited.desk.UserID()), b.account.ID))(t)
	mails := helpdesk.ReplayInput{Rule: ruleInput("r", atMail, do(rules.SetPriority, "urgent"))}
	if replay, found := limited.replays(mails); replay.Changed != 0 || len(found) != 0 {
		t.Errorf("of mails to another mailbox, it found %+v %+v", replay, found)
	}
	moves := helpdesk.ReplayInput{Rule: ruleInput("r", []string{"conversation.moved"}, do(rules.SetPriority, "urgent"))}
	if replay, found := limited.replays(moves); replay.Changed != 1 || len(found) != 1 || found[0].ConversationID != moved {
		t.Errorf("of what came to the mailbox, it found %+v %+v", replay, found)
	}
}

// What a replay may be about.
func TestReplayProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	good := ruleInput("r", atMail, do(rules.SetPriority, "urgent"))
	now := b.clock.Now()
	for name, tt := range map[string]struct {
		in   helpdesk.ReplayInput
		want string
	}{
		"a future":       {helpdesk.ReplayInput{Rule: good, To: now.Add(time.Hour)}, "to"},
		"too long ago":   {helpdesk.ReplayInput{Rule: good, From: now.Add(-91 * 24 * time.Hour)}, "from"},
		"backward":       {helpdesk.ReplayInput{Rule: good, From: now.Add(-time.Hour), To: now.Add(-2 * time.Hour)}, "from"},
		"no action":      {helpdesk.ReplayInput{Rule: helpdesk.RuleInput{On: storage.Some(atMail)}}, "actions"},
		"no event":       {helpdesk.ReplayInput{Rule: helpdesk.RuleInput{Actions: good.Actions}}, "on"},
		"a bad operator": {helpdesk.ReplayInput{Rule: ruleInput("r", atMail, do(rules.SetPriority, "urgent"), when("status", rules.Matches, "x"))}, "match[all][0][op]"},
	} {
		_, err := b.desk.Rules().Replay(b.ctx, tt.in)
		if fields := fieldsOf(err); len(fields) != 1 || fields[tt.want] == nil {
			t.Errorf("%s: %v %v", name, err, fields)
		}
	}
	if _, err := b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{RuleID: 99}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown rule: %v", err)
	}
	for range 5 {
		must(b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{Rule: good}))(t)
	}
	if _, err := b.desk.Rules().Replay(b.ctx, helpdesk.ReplayInput{Rule: good}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "5 replays") {
		t.Errorf("a sixth replay: %v", err)
	}
}
