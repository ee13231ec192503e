package helpdesk_test

import (
	"encoding/json"
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
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// oneDay is a day of a retention policy.
const oneDay = 24 * time.Hour

// retention creates a retention policy that erases the content of all conversations after 30 days, with changes.
func (b *bundle) retention(in helpdesk.RetentionPolicyInput) helpdesk.RetentionPolicy {
	b.t.Helper()
	set := func(to *storage.Opt[string], text string) {
		if !to.IsSet() {
			*to = storage.Some(text)
		}
	}
	set(&in.Name, "Policy")
	if !in.AfterDays.IsSet() {
		in.AfterDays = storage.Some(30)
	}
	if !in.Action.IsSet() {
		in.Action = storage.Some(helpdesk.RetainNoContent)
	}
	if !in.IsActive.IsSet() {
		in.IsActive = storage.Some(true)
	}
	return must(b.desk.RetentionPolicies().Create(b.ctx, in))(b.t)
}

// nights lets some days pass, in whose nights the policies run.
func (b *bundle) nights(days int) {
	b.t.Helper()
	for range days {
		b.clock.Add(oneDay)
		for {
			claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRetention: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
			if len(claimed) == 0 {
				break
			}
			for _, job := range claimed {
				for range 2 { // again after an interruption
					if err := b.svc.Jobs().Retain(b.ctx, job); err != nil {
						b.t.Error(err)
					}
				}
				if err := b.store.Finish(b.ctx, job); err != nil {
					b.t.Error(err)
				}
			}
		}
	}
}

// ran returns what a policy did in all nights together, as the events tell it.
func (b *bundle) ran(id int64) (sum helpdesk.RetentionRun, runs int) {
	b.t.Helper()
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 10000))(b.t) {
		if e.Type != "retention.ran" || e.Subject != id {
			continue
		}
		var told struct{ Examined, Conversations, Customers, Held, Failed int }
		if err := json.Unmarshal(e.Data, &told); err != nil {
			b.t.Fatal(err)
		}
		runs++
		sum.Examined, sum.Conversations, sum.Customers = sum.Examined+told.Examined, sum.Conversations+told.Conversations, sum.Customers+told.Customers
		sum.Held, sum.Failed = sum.Held+told.Held, sum.Failed+told.Failed
	}
	return sum, runs
}

// events counts the events of a type.
func (b *bundle) eventCount(kind string) (n int) {
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 10000))(b.t) {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// from files a mail of somebody.
func (b *bundle) from(id, email string) int64 {
	b.t.Helper()
	return b.receive(ledger.Incoming{Message: message.Message{
		MessageID: id + "@example.com", From: []mailaddr.Address{{Email: email}}, To: []mailaddr.Address{{Email: "support@example.org"}}, Subject: "About " + id, Text: "Text of " + id,
	}}).ConversationID
}

// TestRetentionDue checks when the time of a conversation is over.
func TestRetentionDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	old := now.Add(-30 * oneDay)
	for name, c := range map[string]struct {
		conversation helpdesk.Conversation
		action       helpdesk.RetentionAction
		due          bool
	}{
		"just over":                   {helpdesk.Conversation{UpdatedAt: old}, helpdesk.RetainNoContent, true},
		"not yet":                     {helpdesk.Conversation{UpdatedAt: old.Add(time.Microsecond)}, helpdesk.RetainNoContent, false},
		"in the future":               {helpdesk.Conversation{UpdatedAt: now.Add(oneDay)}, helpdesk.RetainNothing, false},
		"on hold":                     {helpdesk.Conversation{UpdatedAt: old, HeldAt: old}, helpdesk.RetainNothing, false},
		"snoozed":                     {helpdesk.Conversation{UpdatedAt: old, SnoozedUntil: now.Add(oneDay)}, helpdesk.RetainNothing, false},
		"erased":                      {helpdesk.Conversation{UpdatedAt: old, ErasedAt: old}, helpdesk.RetainNoContent, false},
		"erased, its customer":        {helpdesk.Conversation{UpdatedAt: old, ErasedAt: old}, helpdesk.RetainNoCustomer, false},
		"erased, to be deleted":       {helpdesk.Conversation{UpdatedAt: old, ErasedAt: old}, helpdesk.RetainNothing, true},
		"erased, and changed again":   {helpdesk.Conversation{UpdatedAt: old, ErasedAt: old.Add(-oneDay)}, helpdesk.RetainNoContent, true},
		"open and awaiting an answer": {helpdesk.Conversation{UpdatedAt: old, Status: helpdesk.StatusPosted, AwaitingSince: old}, helpdesk.RetainNothing, true},
	} {
		p := helpdesk.RetentionPolicy{AfterDays: 30, Action: c.action}
		if got := p.Due(c.conversation, now); got != c.due {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestRetentionErasesContent erases what was written in old conversations, once, and keeps what is counted.
func TestRetentionErasesContent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var wrote []int64
	for _, id := range []string{"one", "two", "three"} {
		wrote = append(wrote, b.from(id, id+"@customers.example"))
	}
	b.answer(wrote[0], helpdesk.InteractionInput{Body: "Dear one"})
	b.close(wrote[0])
	must(b.desk.Conversations().Hold(b.ctx, wrote[1], helpdesk.HoldInput{Held: true, Reason: "Lawsuit"}))(t)
	p := b.retention(helpdesk.RetentionPolicyInput{})
	before := b.conversation(wrote[0])
	b.nights(20)
	must(b.desk.Conversations().Update(b.ctx, wrote[2], helpdesk.ConversationUpdate{Priority: storage.Some(helpdesk.PriorityHigh)}))(t)
	b.nights(11)
	after := b.conversation(wrote[0])
	if after.Subject+after.Preview != "" || after.ErasedAt.IsZero() || after.Number != before.Number || after.CustomerID != before.CustomerID || !after.CreatedAt.Equal(before.CreatedAt) {
		t.Errorf("%+v", after)
	}
	said := b.interactions(wrote[0])
	if len(said) != 2 {
		t.Fatalf("%d interactions", len(said))
	}
	for _, i := range said {
		if i.Body != "<p>Erased.</p>" || i.Subject != "" || len(i.To) > 0 || i.MessageID != "" {
			t.Errorf("%+v", i)
		}
	}
	if said[0].CustomerID != before.CustomerID {
		t.Error("the message has another customer")
	}
	for _, id := range wrote[1:] {
		if b.conversation(id).Subject == "" {
			t.Errorf("conversation %d was erased", id)
		}
	}
	b.nights(40) // everything that is not on hold is over, and nothing is done twice
	sum, runs := b.ran(p.ID)
	if sum.Conversations != 2 || sum.Held == 0 || sum.Failed != 0 || runs != 71 {
		t.Errorf("%d runs: %+v", runs, sum)
	}
	if n := b.eventCount("conversation.erased"); n != 2 {
		t.Errorf("%d events", n)
	}
	if held := b.conversation(wrote[1]); held.Subject != "About two" || held.HoldReason != "Lawsuit" {
		t.Errorf("%+v", held)
	}
	log := must(b.desk.Account().AuditLog(b.ctx, helpdesk.AuditFilter{Action: "conversation.erased"}, storage.PageRequest{}))(t)
	if len(log.Items) != 2 || log.Items[0].UserID != b.desk.UserID() {
		t.Errorf("the audit log has %+v", log.Items)
	}
	entries := must(b.desk.Conversations().History(b.ctx, wrote[0], helpdesk.HistoryQuery{}, storage.PageRequest{}))(t).Items
	at := slices.IndexFunc(entries, func(e helpdesk.HistoryEntry) bool { return slices.Contains(e.Events, "conversation.erased") })
	if at < 0 {
		t.Fatal("the history does not tell the erasure")
	}
	last := entries[at]
	if last.Actor.Type != "retention_policy" || last.Actor.ID != p.ID {
		t.Errorf("the history says %+v", last)
	}
}

// TestRetentionDeletes deletes what matches, and nothing else.
func TestRetentionDeletes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	gone, kept := b.from("spam", "a@customers.example"), b.from("ham", "b@customers.example")
	must(b.desk.Conversations().Update(b.ctx, gone, helpdesk.ConversationUpdate{Spam: storage.Some(true)}))(t)
	spam := storage.Some([]rules.Condition{{Field: "spam", Op: rules.Is, Values: []string{"true"}}})
	p := b.retention(helpdesk.RetentionPolicyInput{All: spam, Action: storage.Some(helpdesk.RetainNothing), AfterDays: storage.Some(7)})
	b.nights(10)
	if _, err := b.desk.Conversations().Get(b.ctx, gone); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	b.conversation(kept)
	stored := must(b.desk.RetentionPolicies().Get(b.ctx, p.ID))(t)
	if sum, _ := b.ran(p.ID); sum.Conversations != 1 || stored.Run.EndedAt.IsZero() || stored.Run.Examined == 0 {
		t.Errorf("%+v, the last run %+v", sum, stored.Run)
	}
}

// TestRetentionErasesCustomers erases those alone of whom nothing is younger, on hold or not meant.
func TestRetentionErasesCustomers(t *testing.T) {
	t.Parallel()
	e := newToErase(t)
	old := e.from("old", "old@customers.example")
	held := e.from("held", "held@customers.example")
	again := e.from("again", "held@customers.example")
	must(e.desk.Conversations().Hold(e.ctx, held, helpdesk.HoldInput{Held: true}))(t)
	meant := storage.Some([]rules.Condition{{Field: "subject", Op: rules.IsNot, Values: []string{"About else"}}})
	p := e.retention(helpdesk.RetentionPolicyInput{Action: storage.Some(helpdesk.RetainNoCustomer), All: meant})
	e.nights(20)
	e.note(e.others, "They have not opened it.") // eve takes part in it
	other := e.from("else", "else@customers.example")
	e.nights(11)
	id := must(e.desk.Conversations().Get(e.ctx, old))(t)
	if id.CustomerEmail != helpdesk.ErasedCustomer || id.Subject != "" {
		t.Errorf("%+v", id)
	}
	for _, kept := range []int64{held, again, e.own, e.others, other} {
		if c := e.conversation(kept); c.Subject == "" || c.CustomerEmail == helpdesk.ErasedCustomer {
			t.Errorf("conversation %d: %+v", kept, c)
		}
	}
	if !strings.Contains(e.everything(), word) {
		t.Error("eve is gone")
	}
	e.nights(60)
	if rest := e.everything(); strings.Contains(rest, word) {
		t.Errorf("eve was not erased: %s", rest)
	}
	sum, _ := e.ran(p.ID)
	if e.eventCount("customer.erased") != sum.Customers || sum.Customers != 3 || sum.Failed != 0 {
		t.Errorf("%+v", sum)
	}
	for _, kept := range []int64{held, again, other} {
		if c := e.conversation(kept); c.Subject == "" {
			t.Errorf("conversation %d was erased", kept)
		}
	}
}

// TestConversationHold checks what a hold prevents, and who may end it.
func TestConversationHold(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.from("one", "one@customers.example")
	other := b.from("other", "one@customers.example")
	message := b.interactions(id)[0]
	c := must(b.desk.Conversations().Hold(b.ctx, id, helpdesk.HoldInput{Held: true, Reason: " Case\n7 "}))(t)
	if !c.IsHeld() || c.HeldByID != b.desk.UserID() || c.HoldReason != "Case 7" {
		t.Errorf("%+v", c)
	}
	onHold := func(what string, err error) {
		t.Helper()
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Conflict || f.Code != helpdesk.OnHold {
			t.Errorf("%s: %v", what, err)
		}
	}
	onHold("delete", b.desk.Conversations().Delete(b.ctx, id))
	onHold("delete several", b.desk.Conversations().DeleteAll(b.ctx, []int64{other, id}))
	onHold("delete a message", b.desk.Interactions().Delete(b.ctx, id, message.ID))
	onHold("delete the customer", b.desk.Customers().Delete(b.ctx, c.CustomerID, true))
	onHold("erase the customer", b.desk.Customers().Erase(b.ctx, c.CustomerID))
	if b.conversation(other).Subject != "About other" || b.eventCount("customer.erased") != 0 {
		t.Error("something is gone")
	}
	list := func(held bool) (ids []int64) {
		for _, c := range must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Held: storage.Some(held)}, storage.PageRequest{}))(t).Items {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if diff := cmp.Diff([][]int64{{id}, {other}}, [][]int64{list(true), list(false)}); diff != "" {
		t.Error(diff)
	}
	b.note(id, "A note.")
	if merged := must(b.desk.Conversations().Merge(b.ctx, id, other))(t); !merged.IsHeld() || merged.HoldReason != "Case 7" {
		t.Errorf("merged: %+v", merged)
	}
	last := b.interactions(other)
	parted := must(b.desk.Conversations().Split(b.ctx, other, helpdesk.SplitInput{InteractionIDs: []int64{last[len(last)-1].ID}}))(t)
	if !parted.IsHeld() {
		t.Error("what was split off is not on hold")
	}
	collaborator := b.member(identity.RoleCollaborator)
	if _, err := collaborator.Conversations().Hold(b.ctx, other, helpdesk.HoldInput{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("released: %v", err)
	}
	must(b.desk.Conversations().Hold(b.ctx, other, helpdesk.HoldInput{}))(t)
	if err := b.desk.Conversations().Delete(b.ctx, other); err != nil {
		t.Error(err)
	}
}

// TestRetentionPreview looks, and changes nothing.
func TestRetentionPreview(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var first helpdesk.Conversation
	for i := range 25 {
		id := b.from(string(rune('a'+i)), string(rune('a'+i/2))+"@customers.example")
		if i == 0 {
			first = b.conversation(id)
		}
		if i == 24 {
			must(b.desk.Conversations().Hold(b.ctx, id, helpdesk.HoldInput{Held: true}))(t)
		}
		b.clock.Add(time.Minute)
	}
	b.clock.Add(2 * oneDay)
	before := b.everything()
	in := helpdesk.RetentionPolicyInput{AfterDays: storage.Some(2), Action: storage.Some(helpdesk.RetainNothing)}
	got := must(b.desk.RetentionPolicies().Preview(b.ctx, 0, in))(t)
	if got.Conversations != 24 || got.Held != 1 || len(got.Examples) != 10 || got.Examples[0].ID != first.ID || !got.Oldest.Equal(first.UpdatedAt) || got.AtLeast {
		t.Errorf("%+v", got)
	}
	in.Action = storage.Some(helpdesk.RetainNoCustomer)
	if got := must(b.desk.RetentionPolicies().Preview(b.ctx, 0, in))(t); got.Customers != 12 || got.Conversations != 24 {
		t.Errorf("customers: %+v", got)
	}
	in.AfterDays = storage.Some(3)
	if got := must(b.desk.RetentionPolicies().Preview(b.ctx, 0, in))(t); got.Conversations+got.Customers+got.Held != 0 {
		t.Errorf("too early: %+v", got)
	}
	if b.everything() != before {
		t.Error("a preview changed something")
	}
}

// TestRetentionRights checks whose rights a policy has, and what happens when they end.
func TestRetentionRights(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	maker := b.member(identity.RoleAdmin)
	b.limit(maker)
	maker = b.again(maker)
	begin := func(mailbox int64, subject string) int64 {
		return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "b@customers.example", MailboxID: mailbox, Subject: subject}))(t).ID
	}
	reached := maker.Scope().Mailboxes[0]
	near, far := begin(reached, "Near"), begin(b.mailbox.ID, "Far")
	in := helpdesk.RetentionPolicyInput{Name: storage.Some("Mine"), AfterDays: storage.Some(5), Action: storage.Some(helpdesk.RetainNoCustomer), IsActive: storage.Some(true)}
	if _, err := maker.RetentionPolicies().Create(b.ctx, in); !fault.Is(err, fault.Forbidden) {
		t.Errorf("erasing customers: %v", err)
	}
	in.Action = storage.Some(helpdesk.RetainNothing)
	p := must(maker.RetentionPolicies().Create(b.ctx, in))(t)
	b.nights(7)
	if _, err := b.desk.Conversations().Get(b.ctx, near); !fault.Is(err, fault.NotFound) {
		t.Errorf("near: %v", err)
	}
	b.conversation(far)
	kept := begin(reached, "Kept")
	ok(t, b.desk.Members().Remove(b.ctx, membershipOf(t, b.ctx, maker).ID))
	b.nights(7)
	b.conversation(kept)
	stored := must(b.desk.RetentionPolicies().Get(b.ctx, p.ID))(t)
	if stored.IsActive || stored.Reason != helpdesk.RetentionOrphaned {
		t.Errorf("%+v", stored)
	}
}

// TestRetentionInput checks what a policy may not be.
func TestRetentionInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.retention(helpdesk.RetentionPolicyInput{})
	good := helpdesk.RetentionPolicyInput{Name: storage.Some("Good"), AfterDays: storage.Some(1), Action: storage.Some(helpdesk.RetainNothing)}
	for field, change := range map[string]func(*helpdesk.RetentionPolicyInput){
		"name":       func(in *helpdesk.RetentionPolicyInput) { in.Name = storage.Some("POLICY") },
		"after_days": func(in *helpdesk.RetentionPolicyInput) { in.AfterDays = storage.Some(0) },
		"action":     func(in *helpdesk.RetentionPolicyInput) { in.Action = storage.Some[helpdesk.RetentionAction]("burn") },
		"match[all][0][field]": func(in *helpdesk.RetentionPolicyInput) {
			in.All = storage.Some([]rules.Condition{{Field: "interaction.body", Op: rules.Contains, Values: []string{"x"}}})
		},
	} {
		in := good
		change(&in)
		_, err := b.desk.RetentionPolicies().Create(b.ctx, in)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Invalid || len(f.Fields[field]) == 0 {
			t.Errorf("%s: %v", field, err)
		}
	}
	p := must(b.desk.RetentionPolicies().Create(b.ctx, good))(t)
	if p.IsActive {
		t.Error("a new policy is active")
	}
	b.nights(3)
	if _, runs := b.ran(p.ID); runs != 0 {
		t.Errorf("%d runs", runs)
	}
}

// TestRetentionGoesOn ends attempts after each transaction: the next one goes on, and everything is counted once.
func TestRetentionGoesOn(t *testing.T) {
	t.Parallel()
	for _, action := range helpdesk.RetentionActions() {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			var store *tired
			b := newBundle(t, func(cfg *helpdesk.Config) {
				store = &tired{Store: cfg.Store, left: -1}
				cfg.Store = store
			})
			for i := range 6 {
				b.from(string(rune('a'+i)), string(rune('a'+i/2))+"@customers.example")
			}
			b.clock.Add(3 * oneDay)
			p := b.retention(helpdesk.RetentionPolicyInput{Action: storage.Some(action), AfterDays: storage.Some(1)})
			b.clock.Add(oneDay)
			claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRetention: 1}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(t)
			attempts := 0
			for err := errors.New("not tried"); err != nil; attempts++ {
				store.left = 3
				if err = b.svc.Jobs().Retain(b.ctx, claimed[0]); err != nil && !fault.Is(err, fault.Unavailable) || attempts > 200 {
					t.Fatal(err)
				}
			}
			store.left = -1
			sum, runs := b.ran(p.ID)
			want := helpdesk.RetentionRun{Examined: sum.Examined, Conversations: 6}
			if action == helpdesk.RetainNoCustomer {
				want.Customers = 3
			}
			if diff := cmp.Diff(want, sum); diff != "" || runs != 1 || attempts < 3 {
				t.Errorf("%d runs, %d attempts: %s", runs, attempts, diff)
			}
		})
	}
}
