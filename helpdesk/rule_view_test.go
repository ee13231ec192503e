package helpdesk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// expressed is what a list of conversations can be filtered by, and what a rule's conditions say for it.
type expressed struct {
	name  string
	query helpdesk.ConversationQuery
	all   []rules.Condition
}

// What a rule matches, a list shows: for everything that a filter can express, over random conversations.
func TestRulesMatchWhatListsShow(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // repeatable
	w := newMixed(b, random)
	var filters []expressed
	one := func(name string, q helpdesk.ConversationQuery, all ...rules.Condition) {
		filters = append(filters, expressed{name, q, all})
	}
	id := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, s := range []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed} {
		one("status "+string(s), helpdesk.ConversationQuery{Statuses: []helpdesk.Status{s}}, when("status", rules.Is, string(s)))
	}
	one("statuses", helpdesk.ConversationQuery{Statuses: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}}, when("status", rules.AnyOf, "posted", "pending"))
	for _, p := range helpdesk.Priorities() {
		one("priority "+string(p), helpdesk.ConversationQuery{Priorities: []helpdesk.Priority{p}}, when("priority", rules.Is, string(p)))
	}
	one("more than normal", helpdesk.ConversationQuery{Priorities: []helpdesk.Priority{helpdesk.PriorityHigh, helpdesk.PriorityUrgent}}, when("priority", rules.Greater, "normal"))
	one("mailbox", helpdesk.ConversationQuery{MailboxID: w.box.ID}, when("mailbox_id", rules.Is, id(w.box.ID)))
	one("customer", helpdesk.ConversationQuery{CustomerID: w.customers[0]}, when("customer_id", rules.Is, id(w.customers[0])))
	one("company", helpdesk.ConversationQuery{CompanyID: w.company}, when("company.id", rules.Is, id(w.company)))
	one("user", helpdesk.ConversationQuery{UserID: storage.Some(b.owner.ID)}, when("user_id", rules.Is, id(b.owner.ID)))
	one("nobody", helpdesk.ConversationQuery{UserID: storage.Null[int64]()}, when("user_id", rules.Empty), when("team_id", rules.Empty))
	one("team", helpdesk.ConversationQuery{TeamID: storage.Some(w.team)}, when("team_id", rules.Is, id(w.team)))
	one("no team", helpdesk.ConversationQuery{TeamID: storage.Null[int64]()}, when("team_id", rules.Empty))
	one("tag", helpdesk.ConversationQuery{TagIDs: []int64{w.tags[0]}}, when("tags", rules.Contains, id(w.tags[0])))
	one("tags", helpdesk.ConversationQuery{TagIDs: w.tags}, when("tags", rules.AnyOf, id(w.tags[0]), id(w.tags[1])))
	for _, yes := range []bool{true, false} {
		snoozed := map[bool]rules.Op{true: rules.NotEmpty, false: rules.Empty}[yes]
		one(fmt.Sprint("awaiting ", yes), helpdesk.ConversationQuery{Awaiting: storage.Some(yes)}, when("awaiting", rules.Is, fmt.Sprint(yes)))
		one(fmt.Sprint("snoozed ", yes), helpdesk.ConversationQuery{Snoozed: storage.Some(yes)}, when("snoozed_until", snoozed))
		one(fmt.Sprint("spam ", yes), helpdesk.ConversationQuery{Spam: storage.Some(yes)}, when("spam", rules.Is, fmt.Sprint(yes)))
	}
	field := func(key string, q helpdesk.FieldQuery, all ...rules.Condition) {
		one(fmt.Sprint(key, q), helpdesk.ConversationQuery{Fields: helpdesk.FieldQueries{key: q}}, all...)
	}
	field("memo", helpdesk.FieldQuery{Values: []string{"STRASSE"}}, when("fields.memo", rules.Is, "STRASSE"))
	field("memo", helpdesk.FieldQuery{Values: []string{"straße", "äa"}}, when("fields.memo", rules.AnyOf, "straße", "äa"))
	field("plan", helpdesk.FieldQuery{Values: []string{"gold"}}, when("fields.plan", rules.Is, "gold"))
	field("parts", helpdesk.FieldQuery{Values: []string{"door", "roof"}}, when("fields.parts", rules.Contains, "door", "roof"))
	field("paid", helpdesk.FieldQuery{Values: []string{"true"}}, when("fields.paid", rules.Is, "true"))
	field("amount", helpdesk.FieldQuery{Values: []string{"2.50"}}, when("fields.amount", rules.Is, "2.5"))
	field("amount", helpdesk.FieldQuery{From: "1", To: "3"}, when("fields.amount", rules.Greater, "0.99"), when("fields.amount", rules.Less, "3.01"))
	field("day", helpdesk.FieldQuery{From: "2026-01-02", To: "2026-01-03"}, when("fields.day", rules.After, "2026-01-01"), when("fields.day", rules.Before, "2026-01-04"))
	field("due", helpdesk.FieldQuery{From: "2026-01-02", To: "2026-01-02"}, when("fields.due", rules.After, "2026-01-01T23:59:59Z"), when("fields.due", rules.Before, "2026-01-03T00:00:00Z"))
	for range 40 { // and several together
		a, c := filters[random.IntN(10)], filters[10+random.IntN(len(filters)-10)]
		q := c.query
		if len(q.Statuses)+len(q.Priorities) > 0 {
			continue
		}
		q.Statuses, q.Priorities = a.query.Statuses, a.query.Priorities
		if a.query.MailboxID != 0 || a.query.CustomerID != 0 {
			continue
		}
		one(a.name+" and "+c.name, q, slices.Concat(a.all, c.all)...)
	}
	for _, f := range filters {
		r := b.rule(helpdesk.RuleInput{Name: storage.Some(f.name), On: storage.Some(atChanges), All: storage.Some(f.all), Actions: storage.Some([]rules.Action{do(rules.AddNote, "x")}), State: storage.Some(helpdesk.RuleOff)})
		var shown, matched []int64
		for _, c := range must(b.desk.Conversations().List(b.ctx, f.query, storage.PageRequest{Limit: 100}))(t).Items {
			shown = append(shown, c.ID)
		}
		for _, c := range w.all {
			if must(b.desk.Rules().Test(b.ctx, r.ID, c, "conversation.updated"))(t).Outcome != "" {
				matched = append(matched, c)
			}
		}
		slices.Sort(shown)
		if diff := cmp.Diff(shown, matched); diff != "" || len(shown) == len(w.all) {
			t.Errorf("%s: (-listed +matched) %s", f.name, diff)
		}
		ok(t, b.desk.Rules().Delete(b.ctx, r.ID))
	}
}

// mixed are conversations of all kinds.
type mixed struct {
	all, customers, tags []int64
	box                  helpdesk.Mailbox
	company, team        int64
}

func newMixed(b *bundle, random *rand.Rand) *mixed {
	w := &mixed{tags: []int64{b.tag("one"), b.tag("two")}, team: b.team("Sales", b.desk), company: b.company("Acme", "acme.example").ID}
	w.box = must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(b.t)
	b.field("memo", helpdesk.FieldText)
	b.field("plan", helpdesk.FieldSelect, helpdesk.FieldOption{Value: "gold"}, helpdesk.FieldOption{Value: "free"})
	b.field("parts", helpdesk.FieldMultiselect, helpdesk.FieldOption{Value: "door"}, helpdesk.FieldOption{Value: "roof"}, helpdesk.FieldOption{Value: "wall"})
	b.field("paid", helpdesk.FieldBoolean)
	b.field("amount", helpdesk.FieldNumber)
	b.field("day", helpdesk.FieldDate)
	b.field("due", helpdesk.FieldDatetime)
	some := func(n int, texts ...string) []string { // at most n of them
		var all []string
		for range random.IntN(n + 1) {
			all = append(all, texts[random.IntN(len(texts))])
		}
		return all
	}
	for n := range 40 {
		from := []string{"ada@acme.example", "bob@example.com", "cid@example.com"}[random.IntN(3)]
		c := b.conversation(b.receive(ledger.Incoming{Message: mailFrom(from, fmt.Sprint(n, "@example.com"))}).ConversationID)
		if !slices.Contains(w.customers, c.CustomerID) {
			w.customers = append(w.customers, c.CustomerID)
		}
		if random.IntN(3) == 0 {
			b.answer(c.ID, helpdesk.InteractionInput{Body: "x"})
		}
		up := helpdesk.ConversationUpdate{
			Priority: storage.Some(helpdesk.Priorities()[random.IntN(4)]),
			Fields: helpdesk.FieldTexts{
				"memo": some(1, "Straße", "ÄA", "other"), "plan": some(1, "gold", "free"), "parts": some(2, "door", "roof", "wall"), "paid": some(1, "true", "false"),
				"amount": some(1, "1", "2.5", "3", "4"), "day": some(1, "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"), "due": some(1, "2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
			},
		}
		switch random.IntN(6) {
		case 0:
			up.Status = storage.Some(helpdesk.StatusClosed)
		case 1:
			up.Status = storage.Some(helpdesk.StatusPending)
		case 2:
			up.Spam = storage.Some(true)
		case 3:
			up.SnoozedUntil = storage.Some(b.clock.Now().Add(time.Hour))
		}
		if random.IntN(2) == 0 {
			up.UserID = storage.Some(b.owner.ID)
		}
		if random.IntN(2) == 0 {
			up.TeamID = storage.Some(w.team)
		}
		if random.IntN(2) == 0 {
			up.MailboxID = storage.Some(w.box.ID)
		}
		must(b.desk.Conversations().Update(b.ctx, c.ID, up))(b.t)
		must(b.desk.Conversations().SetTags(b.ctx, c.ID, w.tags[:random.IntN(3)]))(b.t)
		w.all = append(w.all, c.ID)
	}
	b.settle()
	return w
}
