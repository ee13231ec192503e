package helpdesk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// timedInput is a rule that acts some hours after a moment.
func timedInput(name string, after helpdesk.RuleAfter, action rules.Action, all ...rules.Condition) helpdesk.RuleInput {
	in := ruleInput(name, []string{helpdesk.RuleTime}, action, all...)
	in.After = storage.Some(after)
	return in
}

// pass lets time pass, an hour at a time, with the jobs of rules that become due.
func (b *bundle) pass(d time.Duration) {
	b.t.Helper()
	for end := b.clock.Now().Add(d); b.clock.Now().Before(end); {
		b.clock.Add(min(time.Hour, end.Sub(b.clock.Now())))
		b.tickRules()
		b.runRules()
	}
}

// tickRules looks at the clocks that are due, each twice, as after a crash before its job was finished.
func (b *bundle) tickRules() {
	b.t.Helper()
	for range 50 {
		claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRuleClock: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
		if len(claimed) == 0 {
			return
		}
		for _, job := range claimed {
			for range 2 {
				ok(b.t, b.svc.Jobs().TickRule(b.ctx, job))
			}
			ok(b.t, b.store.Finish(b.ctx, job))
		}
	}
	b.t.Fatal("the clock does not rest")
}

// acted returns at which hours after a time a rule ran, and what came of it.
func (b *bundle) acted(r helpdesk.Rule, since time.Time) string {
	b.t.Helper()
	var all []string
	for _, run := range b.runs(r) {
		all = append(all, fmt.Sprintf("%d:%s", int(run.CreatedAt.Sub(since).Hours()), run.Outcome))
		if run.Event != helpdesk.RuleTime {
			b.t.Errorf("a run at %s", run.Event)
		}
	}
	slices.Reverse(all)
	return strings.Join(all, " ")
}

// From which moments the hours of a rule count, and what begins or ends them.
func TestTimeRule(t *testing.T) {
	t.Parallel()
	note := do(rules.AddNote, "It is time.")
	for name, tt := range map[string]struct {
		since   helpdesk.RuleSince
		all     []rules.Condition
		happens func(b *bundle, id int64) // 3 hours after the mail
		want    string                    // 10 hours after the moment
	}{
		"created":               {helpdesk.SinceCreated, nil, nil, "10:changed"},
		"created, closed":       {helpdesk.SinceCreated, []rules.Condition{when("status", rules.Is, "posted")}, func(b *bundle, id int64) { b.set(id, helpdesk.StatusClosed) }, ""},
		"customer wrote":        {helpdesk.SinceCustomerWrote, nil, nil, "10:changed"},
		"customer wrote again":  {helpdesk.SinceCustomerWrote, nil, func(b *bundle, id int64) { b.answerMail(id) }, "13:changed"},
		"customer was answered": {helpdesk.SinceCustomerWrote, []rules.Condition{when("awaiting", rules.Is, "true")}, func(b *bundle, id int64) { b.answer(id, helpdesk.InteractionInput{Body: "x"}) }, ""},
		"a note is no answer":   {helpdesk.SinceCustomerWrote, nil, func(b *bundle, id int64) { b.remark(id) }, "10:changed"},
		"we wrote":              {helpdesk.SinceWeWrote, nil, func(b *bundle, id int64) { b.answer(id, helpdesk.InteractionInput{Body: "x"}) }, "13:changed"},
		"we wrote nothing":      {helpdesk.SinceWeWrote, nil, func(b *bundle, id int64) { b.remark(id) }, ""},
		"only a draft": {helpdesk.SinceWeWrote, nil, func(b *bundle, id int64) {
			b.answer(id, helpdesk.InteractionInput{Body: "x", Status: helpdesk.StatusDraft})
		}, ""},
		"status of a beginning": {helpdesk.SinceStatusChanged, nil, nil, "10:changed"},
		"status changed":        {helpdesk.SinceStatusChanged, nil, func(b *bundle, id int64) { b.set(id, helpdesk.StatusPending) }, "13:changed"},
		"assigned":              {helpdesk.SinceAssigned, nil, func(b *bundle, id int64) { b.toUser(id, storage.Some(b.owner.ID)) }, "13:changed"},
		"assigned to nobody":    {helpdesk.SinceAssigned, nil, nil, ""},
		"assigned and taken away": {helpdesk.SinceAssigned, nil, func(b *bundle, id int64) {
			b.toUser(id, storage.Some(b.owner.ID))
			b.clock.Add(time.Minute)
			b.toUser(id, storage.Null[int64]())
		}, ""},
		"its message":     {helpdesk.SinceCustomerWrote, []rules.Condition{when("interaction.body", rules.Contains, "does not open")}, nil, "10:changed"},
		"no such message": {helpdesk.SinceCustomerWrote, []rules.Condition{when("interaction.body", rules.Contains, "zebra")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			r := b.rule(timedInput("r", helpdesk.RuleAfter{Since: tt.since, Hours: 10}, note, tt.all...))
			began := b.clock.Now()
			id := b.receive(opening()).ConversationID
			b.pass(3 * time.Hour)
			if tt.happens != nil {
				tt.happens(b, id)
			}
			b.pass(40 * time.Hour)
			if got := b.acted(r, began); got != tt.want {
				t.Errorf("it ran at %q, want %q", got, tt.want)
			}
			notes := 0
			for _, i := range b.interactions(id) {
				if i.Type == helpdesk.TypeNote && i.Source == helpdesk.SourceAuto {
					notes++
				}
			}
			if want := len(strings.Fields(tt.want)); notes != want {
				t.Errorf("%d notes, want %d", notes, want)
			}
		})
	}
}

func (b *bundle) set(id int64, s helpdesk.Status) {
	b.t.Helper()
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Status: storage.Some(s)}))(b.t)
}

func (b *bundle) toUser(id int64, user storage.Opt[int64]) {
	b.t.Helper()
	must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{UserID: user}))(b.t)
}

// remark adds a note.
func (b *bundle) remark(id int64) {
	b.t.Helper()
	must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x"}))(b.t)
}

// answerMail receives another mail of the customer in a conversation.
func (b *bundle) answerMail(id int64) {
	b.t.Helper()
	first := b.interactions(id)[0]
	m := mailFrom("ada@example.com", fmt.Sprint("again", b.clock.Now().Unix(), "@example.com"))
	m.References, m.InReplyTo = []string{first.MessageID}, []string{first.MessageID}
	if got := b.receive(ledger.Incoming{Message: m}).ConversationID; got != id {
		b.t.Fatalf("the mail came to conversation %d", got)
	}
}

// A rule that is switched on leaves alone what was due before; what becomes due later counts from before.
func TestTimeRuleBegins(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var ids []int64
	for n := range 6 { // the last one 2 hours ago
		ids = append(ids, b.receive(ledger.Incoming{Message: mailFrom(fmt.Sprint(n, "@example.com"), fmt.Sprint(n, "@example.com"))}).ConversationID)
		b.pass(2 * time.Hour)
	}
	high := func() (all []int64) {
		for i, id := range ids {
			if b.conversation(id).Priority == helpdesk.PriorityHigh {
				all = append(all, int64(i))
			}
		}
		return all
	}
	r := b.rule(timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: 5}, do(rules.SetPriority, "high")))
	b.pass(30 * time.Hour)
	if got := high(); !slices.Equal(got, []int64{4, 5}) {
		t.Errorf("it acted on %v", got)
	}
	must(b.desk.Rules().Update(b.ctx, r.ID, helpdesk.RuleInput{State: storage.Some(helpdesk.RuleOff)}))(t)
	ids = append(ids, b.receive(opening()).ConversationID)
	b.pass(10 * time.Hour)
	must(b.desk.Rules().Update(b.ctx, r.ID, helpdesk.RuleInput{State: storage.Some(helpdesk.RuleActive)}))(t)
	must(b.desk.Rules().Update(b.ctx, r.ID, helpdesk.RuleInput{Name: storage.Some("another name")}))(t)
	b.pass(10 * time.Hour)
	if got := high(); !slices.Equal(got, []int64{4, 5}) {
		t.Errorf("switched on again, it acted on %v", got)
	}
}

// Two servers that run the same jobs at once, again and again, act once.
func TestTimeRuleOnTwoServers(t *testing.T) {
	t.Parallel()
	var cfg helpdesk.Config
	b := newBundle(t, func(c *helpdesk.Config) { cfg = *c })
	other := must(helpdesk.New(cfg))(t)
	r := b.rule(timedInput("r", helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: 1}, do(rules.AddNote, "It is time.")))
	id := b.receive(opening()).ConversationID
	for range 6 {
		b.clock.Add(time.Hour)
		for _, kind := range []string{helpdesk.JobRuleClock, helpdesk.JobRules} {
			for _, job := range must(b.store.Claim(b.ctx, map[string]int{kind: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(t) {
				for _, svc := range []*helpdesk.Service{b.svc, other, b.svc} {
					run := svc.Jobs().RunRules
					if kind == helpdesk.JobRuleClock {
						run = svc.Jobs().TickRule
					}
					ok(t, run(b.ctx, job))
				}
				ok(t, b.store.Finish(b.ctx, job))
			}
		}
	}
	if n := len(b.interactions(id)); n != 2 || len(b.runs(r)) != 1 {
		t.Errorf("%d interactions, %d runs", n, len(b.runs(r)))
	}
	waiting := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRuleClock: 10}, b.clock.Now().Add(48*time.Hour), b.clock.Now().Add(72*time.Hour)))(t)
	if len(waiting) != 1 {
		t.Errorf("%d looks wait", len(waiting))
	}
	ok(t, b.svc.Jobs().TickRule(b.ctx, storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobRuleClock, AccountID: b.account.ID}})) // as after an import
	var in struct{ At time.Time }
	again := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRuleClock: 10}, b.clock.Now().Add(2*time.Hour), b.clock.Now().Add(72*time.Hour)))(t)
	if len(again) != 1 || json.Unmarshal(again[0].Payload, &in) != nil || !in.At.Equal(must(b.desk.Rules().Get(b.ctx, r.ID))(t).ClockAt) {
		t.Errorf("after an import: %+v", again)
	}
}

// Hours can be business hours; a calendar that a rule counts by stays.
func TestTimeRuleCalendar(t *testing.T) {
	t.Parallel()
	b := newBundle(t) // a Sunday at noon
	week := hours.Week{}
	for day := time.Monday; day <= time.Friday; day++ {
		week[day] = []hours.Span{{From: 9 * 60, To: 17 * 60}}
	}
	calendar := must(b.desk.Calendars().Create(b.ctx, helpdesk.CalendarInput{Name: storage.Some("Office"), Timezone: storage.Some("UTC"), Week: storage.Some(week)}))(t)
	r := b.rule(timedInput("In time", helpdesk.RuleAfter{Since: helpdesk.SinceCustomerWrote, Hours: 10, CalendarID: calendar.ID}, do(rules.SetPriority, "high")))
	began := b.clock.Now()
	b.receive(opening())
	b.pass(80 * time.Hour)
	if got := b.acted(r, began); got != "47:changed" { // on Tuesday at eleven
		t.Errorf("it ran at %q", got)
	}
	if err := b.desk.Calendars().Delete(b.ctx, calendar.ID); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "“In time”") {
		t.Errorf("deleting the calendar: %v", err)
	}
}

// What rules about time refuse.
func TestTimeRuleInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	with := func(on []string, after helpdesk.RuleAfter) helpdesk.RuleInput {
		in := timedInput("x", after, do(rules.SetPriority, "high"))
		in.On = storage.Some(on)
		return in
	}
	fine := helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: 1}
	only := []string{helpdesk.RuleTime}
	for name, tt := range map[string]struct {
		in    helpdesk.RuleInput
		field string
	}{
		"with an event":  {with([]string{"conversation.created", helpdesk.RuleTime}, fine), "on"},
		"no moment":      {with(only, helpdesk.RuleAfter{Hours: 1}), "after[since]"},
		"no hours":       {with(only, helpdesk.RuleAfter{Since: helpdesk.SinceCreated}), "after[hours]"},
		"too many hours": {with(only, helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: helpdesk.MaxRuleHours + 1}), "after[hours]"},
		"too long ago":   {with(only, helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: 24 * 91}), "after[hours]"},
		"of an event":    {with(atMail, fine), "after"},
	} {
		if _, err := b.desk.Rules().Create(b.ctx, tt.in); !fault.Is(err, fault.Invalid) || fieldsOf(err)[tt.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.desk.Rules().Create(b.ctx, with(only, helpdesk.RuleAfter{Since: helpdesk.SinceCreated, Hours: 1, CalendarID: 77})); !fault.Is(err, fault.NotFound) {
		t.Errorf("a calendar that is missing: %v", err)
	}
	r := b.rule(with(only, fine))
	r = must(b.desk.Rules().Update(b.ctx, r.ID, helpdesk.RuleInput{On: storage.Some(atMail)}))(t)
	if r.After != (helpdesk.RuleAfter{}) || r.Version != 2 {
		t.Errorf("it no longer waits: %+v", r)
	}
}

// A test is about the last message that a person wrote, not about what a rule did.
func TestTestRuleAfterANote(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.rule(ruleInput("r", atMail, do(rules.AddNote, "Done"), when("interaction.type", rules.Is, "customer")))
	id := b.receive(opening()).ConversationID
	b.runRules()
	if got := must(b.desk.Rules().Test(b.ctx, r.ID, id, ""))(t); got.Outcome != helpdesk.RunChanged {
		t.Errorf("%+v", got)
	}
}
