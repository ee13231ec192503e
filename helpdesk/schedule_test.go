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
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// later schedules an answer in a day.
func (b *bundle) later(id int64) helpdesk.Interaction {
	b.t.Helper()
	return b.answer(id, helpdesk.InteractionInput{SendAt: b.clock.Now().Add(24 * time.Hour), Body: "Pull on Monday."})
}

// state is an interaction's state: its status, and whether it is scheduled.
func (b *bundle) state(id, interactionID int64) string {
	b.t.Helper()
	i, err := b.desk.Interactions().Get(b.ctx, id, interactionID)
	switch {
	case errors.Is(err, helpdesk.ErrNotFound):
		return "gone"
	case err != nil:
		b.t.Fatal(err)
	case i.Scheduled():
		return "later"
	}
	return string(i.Status)
}

// why are the reasons that answers became drafts again for.
func (b *bundle) why() (all []string) {
	b.t.Helper()
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(b.t) {
		var r helpdesk.Returned
		if e.Type == "interaction.returned" && json.Unmarshal(e.Data, &r) == nil {
			all = append(all, r.Reason)
		}
	}
	return all
}

// Until it leaves, a conversation is not answered; then it is, at that moment.
func TestSendLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.hold(30 * time.Second)
	id := b.receive(opening()).ConversationID
	before := b.conversation(id)
	b.clock.Add(time.Minute)
	i := b.later(id)
	c := b.conversation(id)
	if c.AwaitingSince != before.AwaitingSince || c.Preview != before.Preview || b.unread(id) != 0 || i.MessageID != "" || i.Audience() != nil {
		t.Errorf("while it waits: %+v, %+v", c, i)
	}
	if d := b.deliveries(i.ID); len(d) != 1 || d[0].State != sending.Queued || !d[0].NextAttemptAt.Equal(i.SendAt) {
		t.Errorf("it waits as %+v", d)
	}
	drafts := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{DraftBy: b.owner.ID}, storage.PageRequest{}))(t).Items
	if len(drafts) != 1 || must(b.desk.Conversations().Counts(b.ctx))(t).Drafts != 1 {
		t.Errorf("among the drafts: %+v", drafts)
	}
	b.note(id, "While it waits")
	b.clock.Add(24*time.Hour - time.Second)
	if mail := begin(b, i.ID); len(mail.Due) != 0 || !mail.NextTry.Equal(i.SendAt) || b.jobsDue() != 0 {
		t.Errorf("too early: %+v", mail)
	}
	b.clock.Add(time.Hour) // the server was down
	if n := b.jobsDue(); n != 1 {
		t.Errorf("%d jobs are due", n)
	}
	mail := begin(b, i.ID)
	if len(mail.Due) != 1 || !mail.Date.Equal(b.clock.Now()) || mail.MessageID == "" || !cmp.Equal(mail.References, []string{"1@example.com"}) {
		t.Errorf("it leaves as %+v", mail)
	}
	if again := begin(b, i.ID); again.MessageID != mail.MessageID || !again.Date.Equal(mail.Date) {
		t.Errorf("another try is another mail: %+v", again)
	}
	c = b.conversation(id)
	all := b.interactions(id)
	if last := all[len(all)-1]; last.ID != i.ID || !last.PostedAt.Equal(b.clock.Now()) || last.Scheduled() {
		t.Errorf("it stands as %+v", last)
	}
	if !c.AwaitingSince.IsZero() || c.Preview != "Pull on Monday." {
		t.Errorf("afterwards: %+v", c)
	}
	if diff := cmp.Diff([]string{"interaction.scheduled", "interaction.posted"}, slices.DeleteFunc(b.kinds("interaction."), func(k string) bool { return k == "interaction.created" })); diff != "" {
		t.Error(diff)
	}
	if _, err := b.desk.Interactions().CancelSending(b.ctx, id, i.ID); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("called back on its way: %v", err)
	}
}

// Events while an answer is scheduled.
func TestWhileItWaits(t *testing.T) {
	t.Parallel()
	reply := func(change func(m *ledger.Incoming)) func(*bundle, helpdesk.Interaction) {
		return func(b *bundle, _ helpdesk.Interaction) {
			m := opening()
			m.MessageID, m.References, m.Text = "2@example.com", []string{"1@example.com"}, "Forget it."
			change(&m)
			b.receive(m)
		}
	}
	update := func(in helpdesk.InteractionUpdate) func(*bundle, helpdesk.Interaction) {
		return func(b *bundle, i helpdesk.Interaction) {
			must(b.desk.Interactions().Update(b.ctx, i.ConversationID, i.ID, in))(b.t)
		}
	}
	status := func(s helpdesk.Status) func(*bundle, helpdesk.Interaction) {
		return func(b *bundle, i helpdesk.Interaction) {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{i.ConversationID}, helpdesk.BulkUpdate{Status: storage.Some(s)}))(b.t)
		}
	}
	colleague := func(in helpdesk.InteractionInput) func(*bundle, helpdesk.Interaction) {
		return func(b *bundle, i helpdesk.Interaction) {
			in.Body = "I have it."
			must(b.member(identity.RoleAgent).Interactions().Create(b.ctx, i.ConversationID, in))(b.t)
		}
	}
	for name, tt := range map[string]struct {
		act  func(b *bundle, i helpdesk.Interaction)
		want string // state a day later
		why  string
	}{
		"nothing":                 {func(*bundle, helpdesk.Interaction) {}, "sent", ""},
		"the customer writes":     {reply(func(*ledger.Incoming) {}), "draft", helpdesk.ReturnedByCustomer},
		"a machine writes":        {reply(func(m *ledger.Incoming) { m.AutoSubmitted = true }), "sent", ""},
		"the customer, elsewhere": {reply(func(m *ledger.Incoming) { m.References = nil }), "sent", ""},
		"the customer, by the portal": {func(b *bundle, i helpdesk.Interaction) {
			must(b.portal(ada.Email).CreateInteraction(b.ctx, i.ConversationID, helpdesk.PortalMessage{Body: "Forget it."}))(b.t)
		}, "draft", helpdesk.ReturnedByCustomer},
		"the customer, by the API": {colleague(helpdesk.InteractionInput{Type: helpdesk.TypeCustomer}), "draft", helpdesk.ReturnedByCustomer},
		"a colleague answers":      {colleague(helpdesk.InteractionInput{Type: helpdesk.TypeUser}), "draft", helpdesk.ReturnedByAnswer},
		"a colleague answers later": {func(b *bundle, i helpdesk.Interaction) {
			colleague(helpdesk.InteractionInput{Type: helpdesk.TypeUser, SendAt: b.clock.Now().Add(time.Hour)})(b, i)
		}, "draft", helpdesk.ReturnedByAnswer},
		"a colleague posts a draft": {func(b *bundle, i helpdesk.Interaction) {
			other := b.member(identity.RoleAgent)
			d := must(other.Interactions().Create(b.ctx, i.ConversationID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "x"}))(b.t)
			must(other.Interactions().Update(b.ctx, i.ConversationID, d.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(b.t)
		}, "draft", helpdesk.ReturnedByAnswer},
		"a colleague begins an answer": {colleague(helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft}), "sent", ""},
		"a colleague's note":           {colleague(helpdesk.InteractionInput{Type: helpdesk.TypeNote}), "sent", ""},
		"its author answers":           {func(b *bundle, i helpdesk.Interaction) { b.answer(i.ConversationID, helpdesk.InteractionInput{}) }, "sent", ""},
		"closing":                      {status(helpdesk.StatusClosed), "sent", ""},
		"pending":                      {status(helpdesk.StatusPending), "sent", ""},
		"snoozing":                     {func(b *bundle, i helpdesk.Interaction) { b.snoozed(i.ConversationID) }, "sent", ""},
		"spam": {func(b *bundle, i helpdesk.Interaction) {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{i.ConversationID}, helpdesk.BulkUpdate{Spam: storage.Some(true)}))(b.t)
		}, "draft", helpdesk.ReturnedBySpam},
		"another mailbox": {func(b *bundle, i helpdesk.Interaction) {
			box := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(b.t)
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{i.ConversationID}, helpdesk.BulkUpdate{MailboxID: storage.Some(box.ID)}))(b.t)
		}, "sent", ""},
		"merged": {func(b *bundle, i helpdesk.Interaction) {
			other := b.receive(ledger.Incoming{Message: message.Message{MessageID: "b@example.com", From: []mailaddr.Address{bob}, Subject: "Again", Text: "Stuck."}}).ConversationID
			must(b.desk.Conversations().Merge(b.ctx, other, i.ConversationID))(b.t)
		}, "draft", helpdesk.ReturnedByMerge},
		"split": {func(b *bundle, i helpdesk.Interaction) {
			must(b.desk.Conversations().Split(b.ctx, i.ConversationID, helpdesk.SplitInput{InteractionIDs: []int64{b.note(i.ConversationID, "x").ID}}))(b.t)
		}, "draft", helpdesk.ReturnedBySplit},
		"deleted": {func(b *bundle, i helpdesk.Interaction) {
			if err := b.desk.Interactions().Delete(b.ctx, i.ConversationID, i.ID); err != nil {
				b.t.Fatal(err)
			}
		}, "gone", ""},
		"deleted with all": {func(b *bundle, i helpdesk.Interaction) {
			if err := b.desk.Conversations().Delete(b.ctx, i.ConversationID); err != nil {
				b.t.Fatal(err)
			}
		}, "gone", ""},
		"called back": {func(b *bundle, i helpdesk.Interaction) {
			must(b.desk.Interactions().CancelSending(b.ctx, i.ConversationID, i.ID))(b.t)
		}, "draft", ""},
		"edited":       {update(helpdesk.InteractionUpdate{Body: storage.Some("Push.")}), "sent", ""},
		"a later time": {update(helpdesk.InteractionUpdate{SendAt: storage.Some(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))}), "later", ""},
		"sent now":     {update(helpdesk.InteractionUpdate{SendAt: storage.Null[time.Time]()}), "posted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			i := b.later(id)
			b.clock.Add(time.Minute)
			tt.act(b, i)
			waits, err := b.desk.Conversations().Get(b.ctx, id)
			if err == nil && tt.want == "draft" && tt.why != helpdesk.ReturnedByAnswer && waits.AwaitingSince.IsZero() {
				t.Error("nobody waits")
			}
			b.clock.Add(24 * time.Hour)
			got := b.state(id, i.ID)
			if mail, err := b.svc.Outgoing().Begin(b.ctx, b.account.ID, i.ID, 1); err == nil && len(mail.Due) == 1 && got == "later" {
				got = "sent"
			}
			if got != tt.want || strings.Join(b.why(), " ") != tt.why {
				t.Errorf("it is %s because of %q, not %s because of %q", got, b.why(), tt.want, tt.why)
			}
			if got != "draft" {
				return
			}
			if draft := must(b.desk.Interactions().Get(b.ctx, id, i.ID))(t); draft.Body != i.Body || len(b.deliveries(i.ID)) != 0 {
				t.Errorf("the draft says %q, and has %d deliveries", draft.Body, len(b.deliveries(i.ID)))
			}
		})
	}
}

// A scheduled answer has not reached the customer: if spam turns out not to be spam, a waiting customer waits again, also in
// bulk.
func TestSpamWhileAnswerWaits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var ids []int64
	for _, mail := range []string{"1@example.com", "2@example.com"} {
		in := opening()
		in.MessageID = mail
		ids = append(ids, b.receive(in).ConversationID)
	}
	first, second := b.later(ids[0]), b.later(ids[1])
	must(b.desk.Conversations().UpdateAll(b.ctx, ids, helpdesk.BulkUpdate{Spam: storage.Some(true)}))(t)
	if got := []string{b.state(ids[0], first.ID), b.state(ids[1], second.ID)}; !slices.Equal(got, []string{"draft", "draft"}) {
		t.Errorf("in spam they are %v", got)
	}
	in := opening()
	in.MessageID, in.From = "3@example.com", []mailaddr.Address{bob}
	id := b.receive(in).ConversationID
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	b.later(id)
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Spam: storage.Some(true)}))(t)
	must(b.desk.Conversations().UpdateAll(b.ctx, append(ids, id), helpdesk.BulkUpdate{Spam: storage.Some(false)}))(t)
	for _, id := range append(ids, id) {
		if b.conversation(id).AwaitingSince.IsZero() {
			t.Errorf("nobody waits in %d", id)
		}
	}
}

// An answer sent now is like any other.
func TestSendNow(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.hold(30 * time.Second)
	id := b.receive(opening()).ConversationID
	i := b.later(id)
	b.clock.Add(time.Hour)
	i = must(b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{SendAt: storage.Null[time.Time]()}))(t)
	if i.MessageID == "" || !i.PostedAt.Equal(b.clock.Now()) || !b.conversation(id).AwaitingSince.IsZero() {
		t.Errorf("%+v", i)
	}
	if d := b.deliveries(i.ID); len(d) != 1 || !d[0].NextAttemptAt.Equal(b.clock.Now().Add(30*time.Second)) {
		t.Errorf("%+v", d)
	}
	_, err := b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{SendAt: storage.Some(b.clock.Now().Add(time.Hour))})
	if !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("put off on its way: %v", err)
	}
	b.clock.Add(30 * time.Second)
	if mail := begin(b, i.ID); len(mail.Due) != 1 {
		t.Errorf("%+v", mail)
	}
	b.clock.Add(24 * time.Hour)
	if mail := begin(b, i.ID); len(mail.Due) != 1 || mail.MessageID != i.MessageID {
		t.Errorf("its first job sends %+v", mail)
	}
}

// Authors who have left, or may not answer any more, do not answer.
func TestAuthorLeft(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(b *bundle, member identity.Membership) error{
		"removed": func(b *bundle, m identity.Membership) error { return b.desk.Members().Remove(b.ctx, m.ID) },
		"only reads": func(b *bundle, m identity.Membership) error {
			_, err := b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: []int64{b.roles()[identity.RoleCollaborator]}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			agent := b.member(identity.RoleAgent)
			i := must(agent.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Get lost.", SendAt: b.clock.Now().Add(time.Hour)}))(t)
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
			if err := act(b, membershipOf(t, b.ctx, agent)); err != nil {
				t.Fatal(err)
			}
			b.clock.Add(time.Hour)
			if mail := begin(b, i.ID); len(mail.Due) != 0 {
				t.Fatalf("it leaves: %+v", mail)
			}
			d := b.deliveries(i.ID)[0]
			if d.State != sending.Failed || !strings.HasPrefix(d.Response, "Not sent: whoever told it") || b.conversation(id).Status != helpdesk.StatusPosted {
				t.Errorf("%+v", d)
			}
			must(b.desk.Interactions().RetryDeliveries(b.ctx, id, i.ID))(t)
			if mail := begin(b, i.ID); len(mail.Due) != 1 {
				t.Errorf("read and tried again: %+v", mail)
			}
		})
	}
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	agent := b.member(identity.RoleAgent)
	i := must(agent.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "x", SendAt: b.clock.Now().Add(time.Hour)}))(t)
	if err := b.desk.Members().Remove(b.ctx, membershipOf(t, b.ctx, agent).ID); err != nil {
		t.Fatal(err)
	}
	if i = must(b.desk.Interactions().CancelSending(b.ctx, id, i.ID))(t); i.UserID != b.owner.ID {
		t.Errorf("called back, it is a draft of user %d", i.UserID)
	}
}

func TestSendLaterProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	now := b.clock.Now()
	const when, posted = "must be in the future, and at most a year ahead", "is only allowed for posted answers"
	for name, tt := range map[string]struct {
		in   helpdesk.InteractionInput
		want string
	}{
		"now":          {helpdesk.InteractionInput{Type: helpdesk.TypeUser, SendAt: now}, when},
		"in two years": {helpdesk.InteractionInput{Type: helpdesk.TypeUser, SendAt: now.AddDate(2, 0, 0)}, when},
		"a draft":      {helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, SendAt: now.Add(time.Hour)}, posted},
		"a note":       {helpdesk.InteractionInput{Type: helpdesk.TypeNote, SendAt: now.Add(time.Hour)}, posted},
		"a customer's": {helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, SendAt: now.Add(time.Hour)}, posted},
	} {
		tt.in.Body = "x"
		_, err := b.desk.Interactions().Create(b.ctx, id, tt.in)
		if diff := cmp.Diff(fault.Fields{"send_at": {tt.want}}, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	draft := b.answer(id, helpdesk.InteractionInput{Status: helpdesk.StatusDraft})
	for name, tt := range map[string]struct {
		in   helpdesk.InteractionUpdate
		want string
	}{
		"of a draft": {helpdesk.InteractionUpdate{SendAt: storage.Some(now.Add(time.Hour))}, posted},
		"past":       {helpdesk.InteractionUpdate{SendAt: storage.Some(now), Status: storage.Some(helpdesk.StatusPosted)}, when},
	} {
		_, err := b.desk.Interactions().Update(b.ctx, id, draft.ID, tt.in)
		if diff := cmp.Diff(fault.Fields{"send_at": {tt.want}}, fieldsOf(err)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	i := must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{SendAt: storage.Some(now.Add(time.Hour)), Status: storage.Some(helpdesk.StatusPosted)}))(t)
	if got := must(b.desk.Conversations().Marks(b.ctx, []int64{id}))(t)[id]; !got.SendAt.Equal(i.SendAt) {
		t.Errorf("%+v", got)
	}
	if _, err := b.desk.Interactions().Update(b.ctx, id, i.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusDraft)}); err == nil {
		t.Error("it became a draft by an update")
	}
}
