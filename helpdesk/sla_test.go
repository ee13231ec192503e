package helpdesk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// gold promises a reply in two hours, later ones in four, and a solution in sixteen.
func gold(change ...func(*helpdesk.SLAInput)) helpdesk.SLAInput {
	in := helpdesk.SLAInput{
		Name: storage.Some("Gold"), FirstReply: storage.Some(120), NextReply: storage.Some(240), Resolution: storage.Some(960),
		Pauses: storage.Some([]helpdesk.SLAPause{helpdesk.PausePending, helpdesk.PauseSnoozed}),
	}
	for _, f := range change {
		f(&in)
	}
	return in
}

func (b *bundle) promise(change ...func(*helpdesk.SLAInput)) helpdesk.SLA {
	b.t.Helper()
	return must(b.desk.SLAs().Create(b.ctx, gold(change...)))(b.t)
}

// promised writes the targets of a conversation: "first_reply running 2h0m0s", with the time from now on until it is due.
func (b *bundle) promised(id int64) string {
	b.t.Helper()
	var all []string
	for _, o := range b.conversation(id).Targets() {
		text := fmt.Sprint(o.Kind, " ", o.State)
		if !o.DueAt.IsZero() && !o.Ended() {
			text += fmt.Sprint(" ", o.DueAt.Sub(b.clock.Now()).Round(time.Minute))
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// becomeDue runs the jobs that say what is due, each twice, and returns their number.
func (b *bundle) becomeDue() (jobs int) {
	b.t.Helper()
	for {
		claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobSLA: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
		if len(claimed) == 0 {
			return jobs
		}
		for _, job := range claimed {
			for range 2 { // as after a crash before the job was finished
				ok(b.t, b.svc.Jobs().TellDue(b.ctx, job))
			}
			ok(b.t, b.store.Finish(b.ctx, job))
		}
		jobs += len(claimed)
	}
}

// measured runs the jobs that compute targets again.
func (b *bundle) measured() {
	b.t.Helper()
	for _, job := range b.jobs(helpdesk.JobMeasure) {
		ok(b.t, b.svc.Jobs().MeasureAll(b.ctx, job))
	}
}

// outcomes returns the events of SLAs about a conversation, oldest first.
func (b *bundle) outcomes(id int64) (all []string) {
	b.t.Helper()
	page := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{Limit: 100}))(b.t)
	for _, e := range page.Items {
		for _, kind := range e.Events {
			if helpdesk.SLAOutcomeEvent(kind) {
				all = append(all, fmt.Sprint(kind, " ", e.Why.Target.Kind, " by ", e.Actor.Type))
			}
		}
	}
	return all
}

// question receives a mail and returns its conversation.
func (b *bundle) question(id string) int64 {
	b.t.Helper()
	return b.receive(ledger.Incoming{Message: mailFrom("ada@example.com", id+"@example.com")}).ConversationID
}

// What becomes of a conversation's targets in its life.
func TestSLATargets(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	old := b.question("old")
	b.promise()
	id := b.question("new")
	check := func(what, want string) {
		t.Helper()
		if got := b.promised(id); got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	check("asked", "first_reply running 2h0m0s, resolution running 16h0m0s")
	if c := b.conversation(id); !c.DueAt.Equal(b.clock.Now().Add(2*time.Hour)) || b.promised(old) != "" {
		t.Errorf("due at %v; the older one has %q", c.DueAt, b.promised(old))
	}
	b.clock.Add(time.Hour)
	b.jot(b.desk, id, "a note")
	check("a note", "first_reply running 1h0m0s, resolution running 15h0m0s")
	b.update(id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(b.clock.Now().Add(9 * time.Hour))})
	check("snoozed", "first_reply paused, resolution paused")
	if c := b.conversation(id); !c.DueAt.IsZero() {
		t.Errorf("snoozed, and due at %v", c.DueAt)
	}
	b.clock.Add(3 * time.Hour)
	b.update(id, helpdesk.ConversationUpdate{SnoozedUntil: storage.Null[time.Time]()})
	check("awake", "first_reply running 1h0m0s, resolution running 15h0m0s")
	b.clock.Add(30 * time.Minute)
	b.answer(id, helpdesk.InteractionInput{Body: "Hello"})
	check("answered", "first_reply met, resolution running 14h30m0s")
	b.close(id)
	check("closed", "first_reply met, resolution met")
	b.clock.Add(40 * 24 * time.Hour)
	b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusPosted)})
	check("opened again", "first_reply met, resolution met")
	want := []string{"sla.met first_reply by sla", "sla.met resolution by sla"}
	if diff := cmp.Diff(want, b.outcomes(id)); diff != "" {
		t.Error(diff)
	}
	b.close(old)
	b.clock.Add(time.Hour)
	b.answer(old, helpdesk.InteractionInput{Body: "Hello"})
	if got := b.promised(old); got != "" {
		t.Errorf("one that began before has %s", got)
	}
}

// A change of the priority or of the SLA computes the targets again, and the history says so.
func TestSLAChanges(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	silver := b.promise(func(in *helpdesk.SLAInput) { in.Name, in.Resolution = storage.Some("Silver"), storage.Null[int]() })
	vip := b.promise(func(in *helpdesk.SLAInput) {
		in.Name, in.FirstReply, in.Position = storage.Some("VIP"), storage.Some(60), storage.Some[int64](1)
		in.All, in.Resolution = storage.Some([]rules.Condition{when("priority", rules.Is, "urgent")}), storage.Null[int]()
	})
	b.measured()
	id := b.question("one")
	if c := b.conversation(id); c.SLAID != silver.ID {
		t.Fatalf("it is under %d", c.SLAID)
	}
	b.update(id, helpdesk.ConversationUpdate{Priority: storage.Some(helpdesk.PriorityUrgent)})
	if got := b.promised(id); got != "first_reply running 1h0m0s" || b.conversation(id).SLAID != vip.ID {
		t.Errorf("urgent: %s", got)
	}
	must(b.desk.SLAs().Update(b.ctx, vip.ID, helpdesk.SLAInput{FirstReply: storage.Some(90)}))(t)
	b.measured()
	if got := b.promised(id); got != "first_reply running 1h30m0s" {
		t.Errorf("more time: %s", got)
	}
	var changes []string
	page := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(t)
	for _, e := range page.Items {
		if _, due := e.Changes["due_at"]; due {
			_, promise := e.Changes["sla_id"]
			changes = append(changes, fmt.Sprint(e.Actor.Type, " ", promise))
		}
	}
	if diff := cmp.Diff([]string{"user true", "sla false"}, changes); diff != "" {
		t.Errorf("the history: %s", diff)
	}
	b.answer(id, helpdesk.InteractionInput{Body: "Hello"})
	must(b.desk.SLAs().Update(b.ctx, vip.ID, helpdesk.SLAInput{FirstReply: storage.Some(1)}))(t)
	b.measured()
	if got := b.promised(id); got != "first_reply met" {
		t.Errorf("what was met: %s", got)
	}
	ok(t, b.desk.SLAs().Delete(b.ctx, vip.ID))
	b.measured()
	if c := b.conversation(id); c.SLAID != silver.ID {
		t.Errorf("after its SLA was deleted it is under %d", c.SLAID)
	}
}

// Each event about a target is written once, by whatever server, however often a job runs.
func TestSLAEventsOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.svc
	b.with(func(*helpdesk.Config) {})
	b.promise(func(in *helpdesk.SLAInput) { in.Resolution = storage.Null[int]() })
	rule := b.rule(helpdesk.RuleInput{
		Name: storage.Some("Late"), On: storage.Some([]string{"sla.breached"}), Actions: storage.Some([]rules.Action{do(rules.SetPriority, "urgent")}),
	})
	id := b.question("one")
	b.clock.Add(95 * time.Minute)
	if n := b.becomeDue(); n != 0 || b.outcomes(id) != nil {
		t.Errorf("%d jobs too early: %v", n, b.outcomes(id))
	}
	b.clock.Add(time.Minute)
	b.becomeDue()
	if diff := cmp.Diff([]string{"sla.due_soon first_reply by sla"}, b.outcomes(id)); diff != "" {
		t.Error(diff)
	}
	list := func(due helpdesk.Due) (n int) {
		return len(must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Due: due, Sort: helpdesk.ByDue}, storage.PageRequest{}))(t).Items)
	}
	if list(helpdesk.DueSoon) != 1 || list(helpdesk.DueBreached) != 0 || list(helpdesk.DueToday) != 1 || list(helpdesk.DueAny) != 1 {
		t.Error("the lists of what is due soon")
	}
	b.clock.Add(time.Hour)
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobSLA, AccountID: b.account.ID, Subject: id}}
	done := make(chan error, 8)
	for n := range cap(done) {
		svc := []*helpdesk.Service{b.svc, first}[n%2]
		go func() { done <- svc.Jobs().TellDue(b.ctx, job) }()
	}
	for range cap(done) {
		ok(t, <-done)
	}
	b.becomeDue()
	if diff := cmp.Diff([]string{"sla.due_soon first_reply by sla", "sla.breached first_reply by sla"}, b.outcomes(id)); diff != "" {
		t.Error(diff)
	}
	if list(helpdesk.DueSoon) != 0 || list(helpdesk.DueBreached) != 1 {
		t.Error("the lists of what is overdue")
	}
	b.runRules()
	if b.conversation(id).Priority != helpdesk.PriorityUrgent || len(b.runs(rule)) != 1 {
		t.Errorf("the rule ran %d times", len(b.runs(rule)))
	}
	b.answer(id, helpdesk.InteractionInput{Body: "Sorry"})
	if got := b.outcomes(id); len(got) != 2 || b.promised(id) != "first_reply breached" || !b.conversation(id).DueAt.IsZero() {
		t.Errorf("answered too late: %v, %s", got, b.promised(id))
	}
}

// Automatic replies meet nothing, merged conversations wait since the older question, and spam waits for nobody.
func TestSLAOfOddConversations(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.promise(func(in *helpdesk.SLAInput) { in.Resolution = storage.Null[int]() })
	b.autoReply(helpdesk.AutoReplyInput{})
	id := b.question("one")
	if b.answerAll(); len(b.automatic(id)) != 1 || !strings.HasPrefix(b.promised(id), "first_reply running") {
		t.Errorf("after an automatic reply: %s", b.promised(id))
	}
	b.clock.Add(30 * time.Minute)
	second := b.question("two")
	must(b.desk.Conversations().Merge(b.ctx, id, second))(t)
	if got := b.promised(second); got != "first_reply running 1h30m0s" {
		t.Errorf("merged: %s", got)
	}
	b.update(second, helpdesk.ConversationUpdate{Spam: storage.Some(true)})
	if got := b.promised(second); got != "first_reply paused" {
		t.Errorf("spam: %s", got)
	}
	c := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "bob@example.com", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Hello"}}}))(t)
	if got := b.promised(c.ID); got != "" {
		t.Errorf("begun by us: %s", got)
	}
}

// A calendar that changes moves what runs, and one that an SLA uses stays.
func TestSLACalendars(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	office := b.office()
	s := b.promise(func(in *helpdesk.SLAInput) {
		in.CalendarID, in.Resolution = storage.Some(office.ID), storage.Null[int]()
		in.All = storage.Some([]rules.Condition{when("fields.plan", rules.Is, "gold")})
	}, func(in *helpdesk.SLAInput) { in.All = storage.Some([]rules.Condition(nil)) })
	if err := b.desk.Calendars().Delete(b.ctx, office.ID); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), s.Name) {
		t.Errorf("deleting its calendar: %v", err)
	}
	id := b.question("one")
	var week hours.Week
	for d := range week {
		week[d] = []hours.Span{{From: 15 * 60, To: 18 * 60}}
	}
	must(b.desk.Calendars().Update(b.ctx, office.ID, helpdesk.CalendarInput{Week: storage.Some(week)}))(t)
	b.measured()
	if got := b.promised(id); got != "first_reply running 5h0m0s" { // it is noon
		t.Errorf("other hours: %s", got)
	}
	plan := b.field("plan", helpdesk.FieldText)
	must(b.desk.SLAs().Update(b.ctx, s.ID, helpdesk.SLAInput{All: storage.Some([]rules.Condition{when("fields.plan", rules.Is, "gold")})}))(t)
	if err := b.desk.Fields().Delete(b.ctx, plan.ID); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), s.Name) {
		t.Errorf("deleting its field: %v", err)
	}
	b.measured()
	if got := b.promised(id); got != "" {
		t.Errorf("it no longer matches: %s", got)
	}
	b.update(id, helpdesk.ConversationUpdate{Fields: helpdesk.FieldTexts{"plan": {"gold"}}})
	if got := b.promised(id); got != "first_reply running 5h0m0s" {
		t.Errorf("it matches again: %s", got)
	}
}

// What SLAs refuse, and their order.
func TestSLAInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for name, tt := range map[string]struct {
		change func(*helpdesk.SLAInput)
		field  string
	}{
		"no name":     {func(in *helpdesk.SLAInput) { in.Name = storage.Some("") }, "name"},
		"no promise":  {func(in *helpdesk.SLAInput) { *in = helpdesk.SLAInput{Name: storage.Some("x")} }, "first_reply"},
		"no time":     {func(in *helpdesk.SLAInput) { in.NextReply = storage.Some(0) }, "next_reply"},
		"a long time": {func(in *helpdesk.SLAInput) { in.Resolution = storage.Some(helpdesk.MaxSLAMinutes + 1) }, "resolution"},
		"a pause":     {func(in *helpdesk.SLAInput) { in.Pauses = storage.Some([]helpdesk.SLAPause{"lunch"}) }, "pauses[0]"},
		"soon":        {func(in *helpdesk.SLAInput) { in.DueSoon = storage.Some(101) }, "due_soon"},
		"what passes": {func(in *helpdesk.SLAInput) {
			in.All = storage.Some([]rules.Condition{when("interaction.body", rules.Contains, "x")})
		}, "match[all][0][field]"},
		"a change": {func(in *helpdesk.SLAInput) { in.All = storage.Some([]rules.Condition{when("status", rules.Changed)}) }, "match[all][0][op]"},
	} {
		if _, err := b.desk.SLAs().Create(b.ctx, gold(tt.change)); !fault.Is(err, fault.Invalid) || fieldsOf(err)[tt.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.desk.SLAs().Create(b.ctx, gold(func(in *helpdesk.SLAInput) { in.CalendarID = storage.Some[int64](77) })); !fault.Is(err, fault.NotFound) {
		t.Errorf("a calendar that is missing: %v", err)
	}
	one, two := b.promise(), b.promise(func(in *helpdesk.SLAInput) { in.Name = storage.Some("Silver") })
	if one.DueSoon != 80 || one.Position != 1 || two.Position != 2 {
		t.Errorf("created: %+v, %+v", one, two)
	}
	if _, err := b.desk.SLAs().Create(b.ctx, gold(func(in *helpdesk.SLAInput) { in.Name = storage.Some("GOLD") })); fieldsOf(err)["name"] == nil {
		t.Errorf("the same name: %v", err)
	}
	must(b.desk.SLAs().Order(b.ctx, []int64{two.ID, one.ID}))(t)
	var names []string
	for _, s := range must(b.desk.SLAs().List(b.ctx, storage.PageRequest{}))(t).Items {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"Silver", "Gold"}) {
		t.Errorf("ordered: %v", names)
	}
	if _, err := b.desk.SLAs().Order(b.ctx, []int64{two.ID}); fieldsOf(err)["ids"] == nil {
		t.Errorf("not all: %v", err)
	}
}
