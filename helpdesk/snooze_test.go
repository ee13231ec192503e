package helpdesk_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// snoozed puts a conversation off for an hour.
func (b *bundle) snoozed(id int64) helpdesk.Conversation {
	b.t.Helper()
	all := must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{SnoozedUntil: storage.Some(b.clock.Now().Add(time.Hour))}))(b.t)
	return all[0]
}

// due does the jobs that wake conversations and whose time has come.
func (b *bundle) due() (n int) {
	b.t.Helper()
	jobs := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobWake: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
	for _, job := range jobs {
		if err := b.svc.Jobs().Wake(b.ctx, job); err != nil {
			b.t.Error(err)
		}
	}
	return len(jobs)
}

// Events that wake a conversation, and those that do not.
func TestSnooze(t *testing.T) {
	t.Parallel()
	reply := func(b *bundle, auto bool) {
		m := opening()
		m.MessageID, m.References, m.AutoSubmitted = "2@example.com", []string{"1@example.com"}, auto
		b.receive(m)
	}
	update := func(b *bundle, id int64, in helpdesk.ConversationUpdate) {
		b.t.Helper()
		must(b.desk.Conversations().Update(b.ctx, id, in))(b.t)
	}
	for name, tt := range map[string]struct {
		act    func(b *bundle, id int64)
		asleep bool
		woken  bool // by an event
	}{
		"nothing":          {func(*bundle, int64) {}, true, false},
		"its time":         {func(b *bundle, _ int64) { b.clock.Add(time.Hour); b.due() }, false, true},
		"not yet its time": {func(b *bundle, _ int64) { b.clock.Add(59 * time.Minute); b.due() }, true, false},
		"put off further": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(b.clock.Now().Add(3 * time.Hour))})
			b.clock.Add(time.Hour)
			if b.due() != 1 {
				b.t.Error("the first job has gone")
			}
		}, true, false},
		"put off further, until then": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(b.clock.Now().Add(3 * time.Hour))})
			b.clock.Add(3 * time.Hour)
			b.due()
		}, false, true},
		"the customer's mail": {func(b *bundle, _ int64) { reply(b, false) }, false, true},
		"a machine's mail":    {func(b *bundle, _ int64) { reply(b, true) }, true, false},
		"an answer":           {func(b *bundle, id int64) { b.answer(id, helpdesk.InteractionInput{}) }, true, false},
		"an answer that does not arrive": {func(b *bundle, id int64) {
			report(b, begin(b, b.answer(id, helpdesk.InteractionInput{}).ID), sending.Failed)
		}, false, true},
		"another subject": {func(b *bundle, id int64) { update(b, id, helpdesk.ConversationUpdate{Subject: storage.Some("x")}) }, true, false},
		"null": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Null[time.Time]()})
		}, false, true},
		"closing it": {func(b *bundle, id int64) {
			update(b, id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)})
		}, false, false},
		"deleting it": {func(b *bundle, id int64) {
			other := b.begin("other", helpdesk.StatusPosted, storage.Opt[int64]{})
			must(b.desk.Conversations().Merge(b.ctx, id, other))(b.t)
			b.clock.Add(time.Hour)
			b.due()
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			if c := b.snoozed(id); !c.SnoozedUntil.Equal(b.clock.Now().Add(time.Hour)) {
				t.Fatalf("asleep until %v", c.SnoozedUntil)
			}
			tt.act(b, id)
			if c, err := b.desk.Conversations().Get(b.ctx, id); err == nil && c.SnoozedUntil.IsZero() == tt.asleep {
				t.Errorf("asleep until %v", c.SnoozedUntil)
			}
			if woken := slices.Contains(b.kinds("conversation."), "conversation.woken"); woken != tt.woken {
				t.Errorf("woken: %t, events %v", woken, b.kinds("conversation."))
			}
		})
	}
}

func TestSnoozeProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	open := b.begin("open", helpdesk.StatusPending, storage.Opt[int64]{})
	closed := b.begin("closed", helpdesk.StatusClosed, storage.Opt[int64]{})
	now := b.clock.Now()
	for _, tt := range []struct {
		name  string
		id    int64
		until time.Time
		want  string
	}{
		{"now", open, now, "must be in the future, and at most five years ahead"},
		{"in ten years", open, now.AddDate(10, 0, 0), "must be in the future, and at most five years ahead"},
		{"a closed one", closed, now.Add(time.Hour), "is only allowed for posted or pending conversations"},
	} {
		_, one := b.desk.Conversations().Update(b.ctx, tt.id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(tt.until)})
		_, bulk := b.desk.Conversations().UpdateAll(b.ctx, []int64{tt.id}, helpdesk.BulkUpdate{SnoozedUntil: storage.Some(tt.until)})
		for what, err := range map[string]error{"one": one, "bulk": bulk} {
			if diff := cmp.Diff(fault.Fields{"snoozed_until": {tt.want}}, fieldsOf(err)); diff != "" {
				t.Errorf("%s, %s: %s", tt.name, what, diff)
			}
		}
	}
	_, err := b.member(identity.RoleCollaborator).Conversations().UpdateAll(b.ctx, []int64{open}, helpdesk.BulkUpdate{SnoozedUntil: storage.Some(now.Add(time.Hour))})
	if !errors.Is(err, helpdesk.ErrForbidden) {
		t.Errorf("a collaborator: %v", err)
	}
}

// Snoozed conversations are excluded, from lists that request it and from the counts.
func TestSnoozedCounts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.begin("mine", helpdesk.StatusPosted, storage.Some(b.owner.ID))
	b.begin("free", helpdesk.StatusPending, storage.Opt[int64]{})
	b.snoozed(id)
	want := helpdesk.Counts{Unassigned: 1, Open: 1, Snoozed: 1, Mailboxes: []helpdesk.MailboxCounts{{MailboxID: b.mailbox.ID, Open: 1, Unassigned: 1}}}
	if diff := cmp.Diff(want, must(b.desk.Conversations().Counts(b.ctx))(t)); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		query helpdesk.ConversationQuery
		want  []string
	}{
		{helpdesk.ConversationQuery{}, []string{"free", "mine"}},
		{helpdesk.ConversationQuery{Snoozed: storage.Some(true)}, []string{"mine"}},
		{helpdesk.ConversationQuery{Snoozed: storage.Some(false)}, []string{"free"}},
	} {
		if diff := cmp.Diff(tt.want, found(b, b.desk, tt.query)); diff != "" {
			t.Error(diff)
		}
	}
}
