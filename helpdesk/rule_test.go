package helpdesk_test

import (
	"fmt"
	"slices"
	"strconv"
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
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func when(field string, op rules.Op, values ...string) rules.Condition {
	return rules.Condition{Field: field, Op: op, Values: values}
}

func do(kind rules.ActionType, values ...string) rules.Action {
	return rules.Action{Type: kind, Values: values}
}

func setsField(key string, values ...string) rules.Action {
	return rules.Action{Type: rules.SetField, Field: key, Values: values}
}

// ruleInput is a rule that listens to some events, with a condition for all and an action.
func ruleInput(name string, on []string, action rules.Action, all ...rules.Condition) helpdesk.RuleInput {
	return helpdesk.RuleInput{
		Name: storage.Some(name), On: storage.Some(on), All: storage.Some(all), Actions: storage.Some([]rules.Action{action}),
	}
}

var (
	atMail    = []string{"interaction.created"}
	atChanges = []string{"conversation.updated"}
)

func (b *bundle) rule(in helpdesk.RuleInput) helpdesk.Rule {
	b.t.Helper()
	return must(b.desk.Rules().Create(b.ctx, in))(b.t)
}

// runRules does the jobs of rules until there are none, and returns how many there were.
func (b *bundle) runRules() (jobs int) {
	b.t.Helper()
	for range 50 {
		b.clock.Add(time.Second)
		claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobRules: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
		if len(claimed) == 0 {
			return jobs
		}
		for _, job := range claimed {
			b.clock.Add(time.Second)
			for range 2 { // as after a crash before the job was finished
				ok(b.t, b.svc.Jobs().RunRules(b.ctx, job))
			}
			ok(b.t, b.store.Finish(b.ctx, job))
		}
		jobs += len(claimed)
	}
	b.t.Fatal("the rules do not end")
	return 0
}

func (b *bundle) runs(r helpdesk.Rule) []helpdesk.RuleRun {
	b.t.Helper()
	return must(b.desk.Rules().Runs(b.ctx, r.ID, storage.PageRequest{}))(b.t).Items
}

// outcome returns the outcome and the reason of the only run of a rule.
func (b *bundle) outcome(r helpdesk.Rule) string {
	b.t.Helper()
	runs := b.runs(r)
	if len(runs) != 1 {
		b.t.Fatalf("rule %q has %d runs: %+v", r.Name, len(runs), runs)
	}
	return strings.TrimSpace(string(runs[0].Outcome) + " " + runs[0].Reason)
}

// A rule acts once at a mail, and the history names it with its version and its run.
func TestRule(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tag := b.tag("vip")
	r := b.rule(helpdesk.RuleInput{
		Name: storage.Some("VIP"), On: storage.Some(atMail),
		All:     storage.Some([]rules.Condition{when("customer.email", rules.Contains, "ADA@"), when("interaction.type", rules.Is, "customer")}),
		Actions: storage.Some([]rules.Action{do(rules.SetPriority, "urgent"), do(rules.AddTags, fmt.Sprint(tag))}),
	})
	id := b.receive(opening()).ConversationID
	if n := b.runRules(); n != 1 {
		t.Errorf("%d jobs", n)
	}
	if c := b.conversation(id); c.Priority != helpdesk.PriorityUrgent || b.tagsOf(id) != "vip" {
		t.Errorf("the conversation is %+v", c)
	}
	run := b.runs(r)[0]
	want := []helpdesk.RuleChange{{Field: "priority", From: []string{"normal"}, To: []string{"urgent"}}, {Field: "tags", To: []string{fmt.Sprint(tag)}}}
	if diff := cmp.Diff(want, run.Changes); diff != "" {
		t.Error(diff)
	}
	if len(run.Conditions) != 2 || !run.Conditions[0].Held || run.Version != 1 || run.Event != "interaction.created" || run.Outcome != helpdesk.RunChanged {
		t.Errorf("the run is %+v", run)
	}
	history := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange, Newest: true}, storage.PageRequest{}))(t).Items
	var by []helpdesk.HistoryEntry
	for _, e := range history {
		if e.Actor.Type == subscription.ActorRule {
			by = append(by, e)
		}
	}
	if len(by) != 1 || by[0].Actor.ID != r.ID || by[0].Why.RuleVersion != 1 || by[0].Why.RuleRunID != run.ID || by[0].UserID != 0 || len(by[0].Changes) != 2 {
		t.Errorf("the history is %+v", by)
	}
	if got := b.kindsBy(subscription.ActorRule); !slices.Equal(got, []string{"conversation.updated", "conversation.prioritized"}) {
		t.Errorf("its events are %v", got)
	}
}

// Each server knows at once what rules were made, changed and removed on another one.
func TestRuleOnTwoServers(t *testing.T) {
	t.Parallel()
	var cfg helpdesk.Config
	b := newBundle(t, func(c *helpdesk.Config) { cfg = *c })
	other := *b
	other.svc = must(helpdesk.New(cfg))(t)
	other.desk = must(other.svc.Desk(b.ctx, other.svc.As(b.owner.ID), b.account.ID))(t)
	mail := func(id string) int64 {
		return other.receive(ledger.Incoming{Message: mailFrom("ann@example.com", id)}).ConversationID
	}
	mail("first")
	r := b.rule(ruleInput("first", atMail, do(rules.SetPriority, "high")))
	c := mail("second")
	b.runRules()
	if got := b.conversation(c).Priority; got != helpdesk.PriorityHigh || len(b.runs(r)) != 1 {
		t.Errorf("the priority is %s after a mail to another server", got)
	}
	must(b.desk.Rules().Update(b.ctx, r.ID, helpdesk.RuleInput{State: storage.Some(helpdesk.RuleOff)}))(t)
	mail("third")
	if n := b.runRules(); n != 0 {
		t.Errorf("%d jobs though no rule listens", n)
	}
}

// kindsBy returns the types of the events of a kind of actors.
func (b *bundle) kindsBy(actor subscription.ActorType) (kinds []string) {
	b.t.Helper()
	events := must(b.store.Events(b.ctx, b.account.ID, 0, 10000))(b.t)
	for _, e := range events {
		if subscription.ChangedBy(e).Actor.Type == actor {
			kinds = append(kinds, e.Type)
		}
	}
	return kinds
}

// What each action does.
func TestRuleActions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		actions func(b *bundle) []rules.Action
		want    func(b *bundle, c helpdesk.Conversation) bool
	}{
		"set_status":   {func(*bundle) []rules.Action { return []rules.Action{do(rules.SetStatus, "pending")} }, func(_ *bundle, c helpdesk.Conversation) bool { return c.Status == helpdesk.StatusPending }},
		"set_priority": {func(*bundle) []rules.Action { return []rules.Action{do(rules.SetPriority, "low")} }, func(_ *bundle, c helpdesk.Conversation) bool { return c.Priority == helpdesk.PriorityLow }},
		"assign_user": {func(b *bundle) []rules.Action { return []rules.Action{do(rules.AssignUser, fmt.Sprint(b.owner.ID))} }, func(b *bundle, c helpdesk.Conversation) bool {
			b.tell()
			return c.UserID == b.owner.ID && slices.Contains(b.told(b.desk), helpdesk.NotifyAssigned)
		}},
		"assign_team": {func(b *bundle) []rules.Action {
			return []rules.Action{do(rules.AssignTeam, fmt.Sprint(b.team("Sales", b.desk)))}
		}, func(_ *bundle, c helpdesk.Conversation) bool { return c.TeamID != 0 }},
		"unassign": {func(b *bundle) []rules.Action {
			return []rules.Action{do(rules.AssignUser, fmt.Sprint(b.owner.ID)), do(rules.SetPriority, "high"), do(rules.Unassign)}
		}, func(_ *bundle, c helpdesk.Conversation) bool {
			return c.UserID == 0 && c.Priority == helpdesk.PriorityHigh
		}},
		"add_tags": {func(b *bundle) []rules.Action {
			return []rules.Action{do(rules.AddTags, fmt.Sprint(b.tag("one")), fmt.Sprint(b.tag("two")))}
		}, func(b *bundle, c helpdesk.Conversation) bool { return b.tagsOf(c.ID) == "one two" }},
		"remove_tags": {func(b *bundle) []rules.Action {
			one, two := fmt.Sprint(b.tag("one")), fmt.Sprint(b.tag("two"))
			return []rules.Action{do(rules.AddTags, one, two), do(rules.RemoveTags, one)}
		}, func(b *bundle, c helpdesk.Conversation) bool { return b.tagsOf(c.ID) == "two" }},
		"set_field": {func(b *bundle) []rules.Action {
			b.field("amount", helpdesk.FieldNumber)
			return []rules.Action{setsField("amount", "12.50")}
		}, func(b *bundle, c helpdesk.Conversation) bool {
			set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(b.t)
			return slices.Equal(set.Values[c.ID]["amount"], []string{"12.5"})
		}},
		"snooze": {func(*bundle) []rules.Action { return []rules.Action{do(rules.Snooze, "24")} }, func(b *bundle, c helpdesk.Conversation) bool {
			return c.SnoozedUntil.After(b.clock.Now().Add(23 * time.Hour))
		}},
		"mark_spam": {func(*bundle) []rules.Action { return []rules.Action{do(rules.MarkSpam)} }, func(_ *bundle, c helpdesk.Conversation) bool { return c.IsSpam() && c.Status == helpdesk.StatusClosed }},
		"move": {func(b *bundle) []rules.Action {
			box := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(b.t)
			return []rules.Action{do(rules.Move, fmt.Sprint(box.ID))}
		}, func(b *bundle, c helpdesk.Conversation) bool { return c.MailboxID != b.mailbox.ID }},
		"add_note": {func(*bundle) []rules.Action { return []rules.Action{do(rules.AddNote, "Look <b>here</b>")} }, func(b *bundle, c helpdesk.Conversation) bool {
			all := b.interactions(c.ID)
			n := all[len(all)-1]
			return len(all) == 2 && n.Type == helpdesk.TypeNote && n.UserID == 0 && strings.Contains(n.Body, "<b>here</b>")
		}},
		"reply": {func(b *bundle) []rules.Action {
			reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Thanks", Body: "<p>Hello {{customer.first_name}}, {{agent.name}}</p>", Shared: storage.Some(true)}))(b.t)
			return []rules.Action{do(rules.Reply, fmt.Sprint(reply.ID))}
		}, func(b *bundle, c helpdesk.Conversation) bool {
			all := b.interactions(c.ID)
			i := all[len(all)-1]
			return len(all) == 2 && i.Automatic() && i.Body == "<p>Hello Ada, Support</p>" && i.UserID == 0 && begin(b, i.ID).Automatic && !c.AwaitingSince.IsZero()
		}},
		"notify": {func(b *bundle) []rules.Action { return []rules.Action{do(rules.Notify, fmt.Sprint(b.owner.ID))} }, func(b *bundle, _ helpdesk.Conversation) bool {
			b.tell()
			return slices.Contains(b.told(b.desk), helpdesk.NotifyRule)
		}},
		"webhook": {func(b *bundle) []rules.Action {
			return []rules.Action{do(rules.Webhook, fmt.Sprint(b.hook("tag.created").ID))}
		}, func(b *bundle, c helpdesk.Conversation) bool {
			w := must(b.desk.Webhooks().List(b.ctx, storage.PageRequest{}))(b.t).Items[0]
			calls := b.take(w, 1, 1)
			return len(calls) == 1 && strings.Contains(string(calls[0].Body), fmt.Sprintf(`"conversation_id":%d`, c.ID))
		}},
		"follow": {func(b *bundle) []rules.Action { return []rules.Action{do(rules.Follow, fmt.Sprint(b.owner.ID))} }, func(b *bundle, c helpdesk.Conversation) bool {
			all := must(b.desk.Conversations().Followers(b.ctx, []int64{c.ID}))(b.t)
			return len(all) == 1 && all[0].UserID == b.owner.ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			r := b.rule(helpdesk.RuleInput{Name: storage.Some(name), On: storage.Some(atMail), Actions: storage.Some(tt.actions(b)),
				All: storage.Some([]rules.Condition{when("interaction.type", rules.Is, "customer")})})
			id := b.receive(opening()).ConversationID
			b.runRules()
			if got := b.outcome(r); got != "changed" {
				t.Errorf("the outcome is %s", got)
			}
			if c := b.conversation(id); !tt.want(b, c) {
				t.Errorf("the conversation is %+v, its interactions %+v", c, b.interactions(id))
			}
			// What a test says beforehand is what happens; a test of what is done already says so.
			if got := must(b.desk.Rules().Test(b.ctx, r.ID, id, "interaction.created"))(t); name == "set_priority" && got.Outcome != helpdesk.RunNothing {
				t.Errorf("tested again: %+v", got)
			}
		})
	}
	if len(rules.ActionTypes()) != 16 {
		t.Error("an action has no test")
	}
}

// A test of a rule changes nothing, and says what the rule then does.
func TestTestRule(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tag := fmt.Sprint(b.tag("vip"))
	r := b.rule(helpdesk.RuleInput{
		Name: storage.Some("VIP"), On: storage.Some(atMail), State: storage.Some(helpdesk.RuleOff),
		Any:     storage.Some([]rules.Condition{when("subject", rules.Matches, "^The.*stuck$"), when("customer.name", rules.Is, "nobody")}),
		Actions: storage.Some([]rules.Action{do(rules.AddTags, tag), do(rules.SetStatus, "closed"), do(rules.AddNote, "Done")}),
	})
	id := b.receive(opening()).ConversationID
	before, events := b.everything(), len(must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t))
	trial := must(b.desk.Rules().Test(b.ctx, r.ID, id, ""))(t)
	if b.everything() != before || events != len(must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t)) || b.runRules() != 0 {
		t.Error("a test has changed something")
	}
	want := helpdesk.RuleTrial{
		Outcome: helpdesk.RunChanged, Actions: []string{"add_note"},
		Changes:    []helpdesk.RuleChange{{Field: "status", From: []string{"posted"}, To: []string{"closed"}}, {Field: "tags", To: []string{tag}}},
		Conditions: []rules.Held{{Condition: when("subject", rules.Matches, "^The.*stuck$"), Any: true, Held: true}, {Condition: when("customer.name", rules.Is, "nobody"), Any: true}},
	}
	if diff := cmp.Diff(want, trial); diff != "" {
		t.Error(diff)
	}
	b.field("plan", helpdesk.FieldText)
	f := must(b.desk.Fields().List(b.ctx, nil, storage.PageRequest{}))(t).Items[0]
	must(b.desk.Fields().Update(b.ctx, f.ID, helpdesk.FieldInput{Label: "Plan", RequiredToClose: storage.Some(true)}))(t)
	if trial = must(b.desk.Rules().Test(b.ctx, r.ID, id, "interaction.created"))(t); trial.Outcome != helpdesk.RunFailed || !strings.Contains(trial.Reason, "fields[plan] is required") {
		t.Errorf("it would be %+v", trial)
	}
}

// A rule that cannot close a conversation does nothing at all, and says why; the others act.
func TestRuleFails(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	f := b.field("plan", helpdesk.FieldText)
	must(b.desk.Fields().Update(b.ctx, f.ID, helpdesk.FieldInput{Label: "Plan", RequiredToClose: storage.Some(true)}))(t)
	first := b.rule(ruleInput("first", atMail, do(rules.SetPriority, "high")))
	closes := b.rule(helpdesk.RuleInput{Name: storage.Some("closes"), On: storage.Some(atMail), Actions: storage.Some([]rules.Action{
		do(rules.AddNote, "Closing"), do(rules.SetStatus, "closed"),
	}), Stop: storage.Some(true)})
	sets := b.rule(helpdesk.RuleInput{Name: storage.Some("sets"), On: storage.Some(atMail), Actions: storage.Some([]rules.Action{
		do(rules.SetStatus, "closed"), setsField("plan", "Free"),
	}), All: storage.Some([]rules.Condition{when("priority", rules.Is, "high")})})
	id := b.receive(opening()).ConversationID
	b.runRules()
	got := []string{b.outcome(first), b.outcome(closes), b.outcome(sets)}
	want := []string{"changed", "failed fields[plan] is required to close a conversation", "changed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c := b.conversation(id); c.Status != helpdesk.StatusClosed || c.Priority != helpdesk.PriorityHigh || len(b.interactions(id)) != 1 {
		t.Errorf("the conversation is %+v", c)
	}
	if err := b.desk.Fields().Delete(b.ctx, f.ID); !fault.Is(err, fault.Conflict) || !slices.Equal(fieldsOf(err)["used_by"], []string{"sets"}) {
		t.Errorf("deleting its field: %v", err)
	}
}

// The rules run in order over what the former ones left; a rule can end that; a dry one changes nothing.
func TestRuleOrder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	is := func(p string) rules.Condition { return when("priority", rules.Is, p) }
	low := b.rule(ruleInput("low", atMail, do(rules.SetPriority, "low"), is("normal")))
	dry := ruleInput("dry", atMail, do(rules.SetPriority, "urgent"), is("low"))
	dry.State, dry.Stop = storage.Some(helpdesk.RuleDry), storage.Some(true)
	would := b.rule(dry)
	stop := ruleInput("high", atMail, do(rules.SetPriority, "high"), is("low"))
	stop.Stop = storage.Some(true)
	high := b.rule(stop)
	never := b.rule(ruleInput("never", atMail, do(rules.SetPriority, "urgent")))
	id := b.receive(opening()).ConversationID
	b.runRules()
	if got := b.conversation(id).Priority; got != helpdesk.PriorityHigh || len(b.runs(never)) != 0 {
		t.Errorf("the priority is %s", got)
	}
	if run := b.runs(would)[0]; !run.Dry || run.Outcome != helpdesk.RunChanged || run.Changes[0].To[0] != "urgent" || b.outcome(low) != "changed" || b.outcome(high) != "changed" {
		t.Errorf("the dry run is %+v", run)
	}
	ordered := must(b.desk.Rules().Order(b.ctx, []int64{never.ID, high.ID, would.ID, low.ID}))(t)
	if ordered[0].Position != 1 || ordered[3].ID != low.ID || ordered[3].Position != 4 {
		t.Errorf("ordered: %+v", ordered)
	}
	low = must(b.desk.Rules().Update(b.ctx, low.ID, helpdesk.RuleInput{Position: storage.Some(int64(2))}))(t)
	var names []string
	for _, r := range must(b.desk.Rules().List(b.ctx, storage.PageRequest{}))(t).Items {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "never low high dry" || low.Position != 2 || low.Version != 1 {
		t.Errorf("the order is %s", got)
	}
	if err := second(b.desk.Rules().Order(b.ctx, []int64{low.ID, low.ID, high.ID, would.ID})); !fault.Is(err, fault.Invalid) {
		t.Errorf("ordering some twice: %v", err)
	}
	must(b.desk.Rules().Update(b.ctx, never.ID, helpdesk.RuleInput{State: storage.Some(helpdesk.RuleOff)}))(t)
	c := b.begin("Again", helpdesk.StatusPosted, storage.Opt[int64]{})
	b.runRules()
	if len(b.runs(never)) != 0 || b.conversation(c).Priority != helpdesk.PriorityNormal {
		t.Error("a rule ran that was switched off")
	}
}

// Rules that undo one another end: none runs twice on one chain, and a chain has at most five links.
func TestRuleChain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	up := b.rule(ruleInput("up", []string{"conversation.prioritized"}, do(rules.SetPriority, "high"), when("priority", rules.ChangedTo, "low")))
	down := b.rule(ruleInput("down", []string{"conversation.prioritized"}, do(rules.SetPriority, "low"), when("priority", rules.ChangedTo, "high")))
	id := b.begin("Ping", helpdesk.StatusPosted, storage.Opt[int64]{})
	b.runRules()
	b.prioritized(id, helpdesk.PriorityHigh)
	if n := b.runRules(); n != 3 {
		t.Errorf("%d jobs", n)
	}
	first, again := b.runs(down)[1], b.runs(down)[0]
	if first.Outcome != helpdesk.RunChanged || b.outcome(up) != "changed" || again.Outcome != helpdesk.RunSkipped || again.Reason != "The rule has led to this event itself: “down” → “up” → “down”." {
		t.Errorf("the runs are %+v and %+v", first, again)
	}
	if diff := cmp.Diff([]int64{down.ID, up.ID}, again.Chain); diff != "" {
		t.Error(diff)
	}
	// Ten rules, each at what the former one did.
	for n := range 10 {
		b.rule(ruleInput(strconv.Itoa(n), []string{"conversation.updated"}, do(rules.AddTags, fmt.Sprint(b.tag(fmt.Sprint("t", n+1)))),
			when("tags", rules.ChangedTo, fmt.Sprint(b.tagNamed(fmt.Sprint("t", n))))))
	}
	must(b.desk.Conversations().AddTags(b.ctx, id, []int64{b.tagNamed("t0")}))(t)
	if n := b.runRules(); n != helpdesk.MaxRuleDepth+1 {
		t.Errorf("%d jobs", n)
	}
	if got := b.tagsOf(id); got != "t1 t0 t2 t3 t4 t5" {
		t.Errorf("the tags are %s", got)
	}
	last := must(b.desk.Rules().List(b.ctx, storage.PageRequest{}))(t).Items[2+helpdesk.MaxRuleDepth]
	if got := b.outcome(last); got != "failed Rules have led to this event 5 times in a row: “0” → “1” → “2” → “3” → “4” → “5”." {
		t.Errorf("the last one: %s", got)
	}
}

// tagNamed returns the tag with a name, which it creates.
func (b *bundle) tagNamed(name string) int64 {
	b.t.Helper()
	for _, tag := range must(b.desk.Tags().List(b.ctx, storage.PageRequest{}))(b.t).Items {
		if tag.Name == name {
			return tag.ID
		}
	}
	return b.tag(name)
}

// A rule acts with the rights of its maker, within that member's mailboxes; when they end, it is switched off.
func TestRuleRights(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	box := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(t)
	role := must(b.desk.Roles().Create(b.ctx, identity.RoleInput{Name: "Makers", Permissions: storage.Some([]identity.Permission{
		identity.RulesCreate, identity.RulesUpdate, identity.RulesView, identity.ConversationsView, identity.ConversationsUpdate,
	})}))(t)
	maker := b.joined("maker", role.ID, []int64{b.mailbox.ID})
	must(maker.Rules().Create(b.ctx, ruleInput("raise", atMail, do(rules.SetPriority, "high"))))(t)
	for name, in := range map[string]helpdesk.RuleInput{
		"assigns": ruleInput("a", atMail, do(rules.Unassign)), "replies": ruleInput("b", atMail, do(rules.Reply, "1")),
		"reads messages": ruleInput("c", atMail, do(rules.SetPriority, "high"), when("interaction.body", rules.Contains, "x")),
		"reads people":   ruleInput("d", atMail, do(rules.SetPriority, "high"), when("customer.name", rules.Contains, "x")),
	} {
		if _, err := maker.Rules().Create(b.ctx, in); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := maker.Rules().Create(b.ctx, ruleInput("far", atMail, do(rules.Move, fmt.Sprint(box.ID)))); !fault.Is(err, fault.NotFound) {
		t.Errorf("moving out of reach: %v", err)
	}
	r := must(b.desk.Rules().List(b.ctx, storage.PageRequest{}))(t).Items[0]
	near := b.receive(opening()).ConversationID
	b.runRules()
	if got := b.outcome(r); got != "changed" || b.conversation(near).Priority != helpdesk.PriorityHigh {
		t.Errorf("within reach: %s", got)
	}
	first := b.mailbox
	b.mailbox = box
	far := b.receive(ledger.Incoming{Message: mailFrom("grace@example.com", "far@example.com")}).ConversationID
	b.runRules()
	if run := b.runs(r)[0]; run.Outcome != helpdesk.RunSkipped || b.conversation(far).Priority != helpdesk.PriorityNormal {
		t.Errorf("out of reach: %+v", run)
	}
	if run := must(maker.Rules().Runs(b.ctx, r.ID, storage.PageRequest{}))(t).Items[0]; run.ConversationID != 0 || run.Conditions != nil || run.Reason != "" {
		t.Errorf("out of reach, the maker sees %+v", run)
	}
	b.mailbox = first
	must(b.desk.Roles().Update(b.ctx, role.ID, identity.RoleInput{Name: "Makers", Permissions: storage.Some([]identity.Permission{identity.RulesView, identity.RulesUpdate})}))(t)
	b.clock.Add(time.Minute)
	b.receive(ledger.Incoming{Message: mailFrom("ann@example.com", "ann@example.com")})
	b.runRules()
	if r = must(b.desk.Rules().Get(b.ctx, r.ID))(t); r.State != helpdesk.RuleOff || r.Reason != helpdesk.RuleOrphaned || r.Version != 2 || len(b.runs(r)) != 2 {
		t.Errorf("without rights: %+v", r)
	}
	b.receive(ledger.Incoming{Message: mailFrom("bob@example.com", "bob@example.com")})
	if n := b.runRules(); n != 0 {
		t.Errorf("%d jobs, though no rule listens", n)
	}
}

// What rules refuse.
func TestRuleInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.field("plan", helpdesk.FieldSelect, helpdesk.FieldOption{Value: "free"})
	fine := func() helpdesk.RuleInput { return ruleInput("x", atMail, do(rules.SetPriority, "high")) }
	with := func(change func(*helpdesk.RuleInput)) helpdesk.RuleInput {
		in := fine()
		change(&in)
		return in
	}
	match := func(c rules.Condition) helpdesk.RuleInput {
		return ruleInput("x", atMail, do(rules.SetPriority, "high"), c)
	}
	acts := func(a rules.Action) helpdesk.RuleInput { return ruleInput("x", atMail, a) }
	many := make([]rules.Condition, rules.MaxConditions+1)
	for name, tt := range map[string]struct {
		in    helpdesk.RuleInput
		field string
	}{
		"no name":            {with(func(in *helpdesk.RuleInput) { in.Name = storage.Some("") }), "name"},
		"no events":          {with(func(in *helpdesk.RuleInput) { in.On = storage.Some([]string{}) }), "on"},
		"another event":      {with(func(in *helpdesk.RuleInput) { in.On = storage.Some([]string{"tag.created"}) }), "on[0]"},
		"no actions":         {with(func(in *helpdesk.RuleInput) { in.Actions = storage.Some([]rules.Action{}) }), "actions"},
		"a state":            {with(func(in *helpdesk.RuleInput) { in.State = storage.Some(helpdesk.RuleState("on")) }), "state"},
		"too many":           {with(func(in *helpdesk.RuleInput) { in.All = storage.Some(many) }), "match"},
		"a field":            {match(when("nothing", rules.Is, "x")), "match[all][0][field]"},
		"an operator":        {match(when("status", rules.Greater, "posted")), "match[all][0][op]"},
		"no value":           {match(when("status", rules.Is)), "match[all][0][value]"},
		"two values":         {match(when("status", rules.Is, "posted", "closed")), "match[all][0][value]"},
		"an option":          {match(when("fields.plan", rules.Is, "gold")), "match[all][0][value]"},
		"a pattern":          {match(when("subject", rules.Matches, "(?=x)")), "match[all][0][value]"},
		"a large pattern":    {match(when("subject", rules.Matches, "(a{100}){100}")), "match[all][0][value]"},
		"a long value":       {match(when("subject", rules.Is, strings.Repeat("x", rules.MaxValue+1))), "match[all][0][value]"},
		"an id":              {match(when("user_id", rules.Is, "me")), "match[all][0][value]"},
		"an action":          {acts(do("explode")), "actions[0][type]"},
		"a status":           {acts(do(rules.SetStatus, "draft")), "actions[0][value]"},
		"another field":      {acts(setsField("colour", "red")), "actions[0][field]"},
		"another option":     {acts(setsField("plan", "gold")), "actions[0][value]"},
		"a note of nothing":  {acts(do(rules.AddNote, "<p> </p>")), "actions[0][value]"},
		"a snooze of nobody": {acts(do(rules.Snooze, "0")), "actions[0][value]"},
	} {
		if _, err := b.desk.Rules().Create(b.ctx, tt.in); !fault.Is(err, fault.Invalid) || fieldsOf(err)[tt.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]helpdesk.RuleInput{
		"a tag": acts(do(rules.AddTags, "77")), "a user": acts(do(rules.AssignUser, "77")), "a team": acts(do(rules.AssignTeam, "77")),
		"a mailbox": acts(do(rules.Move, "77")), "a reply": acts(do(rules.Reply, "77")), "a webhook": acts(do(rules.Webhook, "77")),
		"a calendar": match(when("inside_hours", rules.Is, "77")), "a customer": match(when("customer_id", rules.Is, "77")), "a company": match(when("company.id", rules.Is, "77")),
	} {
		if _, err := b.desk.Rules().Create(b.ctx, in); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s that is missing: %v", name, err)
		}
	}
	b.rule(fine())
	if _, err := b.desk.Rules().Create(b.ctx, with(func(in *helpdesk.RuleInput) { in.Name = storage.Some("X") })); fieldsOf(err)["name"] == nil {
		t.Errorf("the same name: %v", err)
	}
}

// mailFrom is a mail from an address.
func mailFrom(address, id string) message.Message {
	return message.Message{MessageID: id, From: []mailaddr.Address{{Email: address}}, Subject: "Hello", Text: "Hello"}
}

// A rule's reply answers nobody whom a machine must not answer; its other actions stand.
func TestRuleReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mail  func(m *ledger.Incoming)
		reply bool
	}{
		"a customer's mail": {func(*ledger.Incoming) {}, true}, "an automatic one": {func(m *ledger.Incoming) { m.AutoSubmitted = true }, false},
		"of a list": {func(m *ledger.Incoming) { m.ListID = "list.example.com" }, false}, "from nobody who reads": {func(m *ledger.Incoming) { m.From[0].Email = "no-reply@example.com" }, false},
		"from ourselves": {func(m *ledger.Incoming) { m.From[0].Email = "two@example.org" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(t)
			reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Thanks", Body: "Thanks", Shared: storage.Some(true)}))(t)
			r := b.rule(helpdesk.RuleInput{Name: storage.Some("r"), On: storage.Some([]string{"conversation.created"}), Actions: storage.Some([]rules.Action{
				do(rules.Reply, fmt.Sprint(reply.ID)), do(rules.SetPriority, "high"),
			})})
			m := opening()
			m.From = slices.Clone(m.From)
			tt.mail(&m)
			id := b.receive(m).ConversationID
			b.runRules()
			if got := len(b.interactions(id)) == 2; got != tt.reply || b.conversation(id).Priority != helpdesk.PriorityHigh {
				t.Errorf("answered: %t, %+v", got, b.runs(r))
			}
			if run := b.runs(r)[0]; (run.Reason == "") != tt.reply || slices.Contains(run.Actions, "reply") != tt.reply {
				t.Errorf("the run is %+v", run)
			}
		})
	}
}
