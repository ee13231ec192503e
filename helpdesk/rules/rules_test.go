package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage/fault"
)

func own() []rules.Field {
	return []rules.Field{
		{Name: "fields.amount", Kind: rules.KindNumber, Custom: true, Changes: true, Told: true},
		{Name: "fields.paid", Kind: rules.KindFlag, Custom: true, Changes: true, Told: true},
		{Name: "fields.day", Kind: rules.KindDay, Custom: true, Changes: true, Told: true},
		{Name: "fields.plan", Kind: rules.KindChoice, Options: []string{"free", "gold"}, Custom: true, Changes: true, Told: true},
		{Name: "fields.parts", Kind: rules.KindChoices, Options: []string{"door", "roof", "wall"}, Custom: true, Changes: true, Told: true},
		{Name: "fields.memo", Kind: rules.KindText, Custom: true, Changes: true},
		{Name: "customer.fields.since", Kind: rules.KindDay, Custom: true},
	}
}

func facts() *rules.Facts {
	return rules.NewFacts(map[string][]string{
		"status": {"posted"}, "user_id": {}, "team_id": {"3"}, "mailbox_id": {"7"}, "priority": {"high"}, "subject": {"Die Straße IST zu"},
		"snoozed_until": {"2026-03-01T10:00:00Z"}, "spam": {"false"}, "tags": {"1", "4"}, "awaiting": {"true"}, "inside_hours": {"2"},
		"customer.email": {"Ada@Example.com", "ada@work.example"}, "customer.name": {"Ada"}, "customer.fields.since": {"2026-01-31"}, "company.domains": {"example.com"},
		"interaction.body": {"Line one\nOrder 123-45"}, "interaction.has_attachment": {"true"}, "interaction.to": {"support@example.org"},
		"fields.amount": {"12.5"}, "fields.paid": {}, "fields.day": {"2026-01-31"}, "fields.plan": {"gold"}, "fields.parts": {"door", "roof"}, "fields.memo": {"Ä b"},
	}, map[string]rules.Change{
		"status": {From: []string{"closed"}, To: []string{"posted"}}, "tags": {From: []string{"9"}, To: []string{"4"}}, "subject": {Untold: true},
		"user_id": {From: []string{"5"}}, "fields.memo": {Untold: true},
	})
}

// Whether a condition holds, for each kind of field and each operator.
func TestMatches(t *testing.T) {
	t.Parallel()
	used := map[rules.Op]bool{}
	for _, tt := range []struct {
		field  string
		op     rules.Op
		values []string
		want   bool
	}{
		{"status", rules.Is, []string{"posted"}, true}, {"status", rules.Is, []string{"closed"}, false}, {"status", rules.IsNot, []string{"closed"}, true},
		{"status", rules.AnyOf, []string{"closed", "posted"}, true}, {"status", rules.NoneOf, []string{"closed", "pending"}, true}, {"status", rules.NoneOf, []string{"posted"}, false},
		{"status", rules.Changed, nil, true}, {"status", rules.ChangedTo, []string{"posted"}, true}, {"status", rules.ChangedFrom, []string{"closed"}, true}, {"status", rules.ChangedFrom, []string{"posted"}, false},
		{"user_id", rules.Empty, nil, true}, {"user_id", rules.NotEmpty, nil, false}, {"user_id", rules.IsNot, []string{"5"}, true}, {"user_id", rules.ChangedFrom, []string{"5"}, true}, {"user_id", rules.ChangedTo, []string{"5"}, false},
		{"team_id", rules.Is, []string{"03"}, true}, {"team_id", rules.Changed, nil, false},
		{"priority", rules.Greater, []string{"normal"}, true}, {"priority", rules.Greater, []string{"high"}, false}, {"priority", rules.Less, []string{"urgent"}, true},
		{"subject", rules.Contains, []string{"strasse"}, true}, {"subject", rules.StartsWith, []string{"die ", "x"}, true}, {"subject", rules.StartsWith, []string{"ist"}, false},
		{"subject", rules.Is, []string{"die straße ist ZU"}, true}, {"subject", rules.NotContains, []string{"auf"}, true}, {"subject", rules.Matches, []string{`IST\b`}, true},
		{"subject", rules.Matches, []string{`ist`}, false}, {"subject", rules.Matches, []string{`(?i)ist`}, true}, {"subject", rules.Changed, nil, true},
		{"snoozed_until", rules.Before, []string{"2026-03-01T11:30:00+01:00"}, true}, {"snoozed_until", rules.After, []string{"2026-03-01T10:00:00Z"}, false}, {"snoozed_until", rules.Is, []string{"2026-03-01T11:00:00+01:00"}, true},
		{"spam", rules.Is, []string{"FALSE"}, true}, {"spam", rules.IsNot, []string{"false"}, false}, {"awaiting", rules.Is, []string{"true"}, true},
		{"tags", rules.Contains, []string{"4", "8"}, true}, {"tags", rules.AnyOf, []string{"8"}, false}, {"tags", rules.NoneOf, []string{"8"}, true}, {"tags", rules.NotContains, []string{"1"}, false},
		{"tags", rules.ChangedTo, []string{"4"}, true}, {"tags", rules.ChangedTo, []string{"1"}, false}, {"tags", rules.ChangedFrom, []string{"9"}, true}, {"tags", rules.NotEmpty, nil, true},
		{"inside_hours", rules.Is, []string{"2"}, true}, {"inside_hours", rules.IsNot, []string{"1"}, true}, {"inside_hours", rules.Is, []string{"1"}, false},
		{"customer.email", rules.Contains, []string{"@work"}, true}, {"customer.email", rules.Is, []string{"ada@example.com"}, true}, {"customer.email", rules.NoneOf, []string{"ada@example.com"}, false},
		{"customer.fields.since", rules.After, []string{"2026-01-30"}, true}, {"customer.fields.since", rules.Before, []string{"2026-01-31"}, false}, {"company.domains", rules.AnyOf, []string{"EXAMPLE.com"}, true},
		{"company.name", rules.Empty, nil, false}, {"company.name", rules.IsNot, []string{"x"}, false}, // not known
		{"interaction.body", rules.Contains, []string{"order 123"}, true}, {"interaction.body", rules.Matches, []string{`\d{3}-\d{2}`}, true}, {"interaction.body", rules.Matches, []string{`(?m)^Order`}, true},
		{"interaction.has_attachment", rules.Is, []string{"true"}, true}, {"interaction.type", rules.Is, []string{"customer"}, false}, {"interaction.to", rules.StartsWith, []string{"Support@"}, true},
		{"fields.amount", rules.Greater, []string{"12"}, true}, {"fields.amount", rules.Less, []string{"12.5"}, false}, {"fields.amount", rules.Is, []string{"12.50"}, true},
		{"fields.paid", rules.Is, []string{"false"}, false}, {"fields.paid", rules.Empty, nil, true}, {"fields.day", rules.Is, []string{"2026-01-31"}, true},
		{"fields.plan", rules.Is, []string{"gold"}, true}, {"fields.plan", rules.Is, []string{"gone"}, false}, {"fields.parts", rules.Contains, []string{"roof"}, true}, {"fields.parts", rules.NotContains, []string{"wall"}, true},
		{"fields.memo", rules.Is, []string{"a\u0308 B"}, true}, {"fields.memo", rules.Changed, nil, true}, {"fields.gone", rules.Empty, nil, false}, {"status", rules.Greater, []string{"posted"}, false},
		{"team_id", rules.IsNot, []string{"0"}, false}, // what it named is gone
	} {
		used[tt.op] = true
		c := rules.Condition{Field: tt.field, Op: tt.op, Values: tt.values}
		set := rules.Compile(rules.NewVocabulary(own()...), []rules.Rule{{ID: 1, On: []string{"e"}, All: []rules.Condition{c}}})
		r := set.Next(nil, []string{"e"}, 7)
		if got := r.Matches(facts()); got != tt.want || r.Conditions(facts())[0].Held != got {
			t.Errorf("%s %s %v: %t", tt.field, tt.op, tt.values, got)
		}
	}
	for _, op := range rules.Ops() {
		if !used[op] {
			t.Errorf("%s has no test", op)
		}
	}
}

// All of All, and one of Any.
func TestAllAndAny(t *testing.T) {
	t.Parallel()
	yes, no := rules.Condition{Field: "spam", Op: rules.Is, Values: []string{"false"}}, rules.Condition{Field: "spam", Op: rules.Is, Values: []string{"true"}}
	for _, tt := range []struct {
		all, some []rules.Condition
		want      bool
	}{
		{nil, nil, true}, {[]rules.Condition{yes, yes}, nil, true}, {[]rules.Condition{yes, no}, nil, false},
		{nil, []rules.Condition{no, yes}, true}, {nil, []rules.Condition{no}, false}, {[]rules.Condition{no}, []rules.Condition{yes}, false},
	} {
		r := rules.Compile(rules.NewVocabulary(), []rules.Rule{{On: []string{"e"}, All: tt.all, Any: tt.some}}).Next(nil, []string{"e"}, 1)
		if got := r.Matches(facts()); got != tt.want {
			t.Errorf("%v %v: %t", tt.all, tt.some, got)
		}
	}
}

// A set gives the rules of some events and a mailbox, in order, each once.
func TestSet(t *testing.T) {
	t.Parallel()
	in := func(ids ...string) []rules.Condition {
		return []rules.Condition{{Field: "mailbox_id", Op: rules.AnyOf, Values: ids}}
	}
	set := rules.Compile(rules.NewVocabulary(), []rules.Rule{
		{ID: 1, On: []string{"a"}}, {ID: 2, On: []string{"b"}, All: in("7")}, {ID: 3, On: []string{"a", "b"}}, {ID: 4, On: []string{"a"}, All: in("8", "7")}, {ID: 5, On: []string{"c"}},
		{ID: 6, On: []string{"a"}, Any: in("8")}, {ID: 7, On: []string{"a"}, All: []rules.Condition{{Field: "mailbox_id", Op: rules.IsNot, Values: []string{"7"}}}},
	})
	for _, tt := range []struct {
		events  []string
		mailbox int64
		want    []int64
	}{
		{[]string{"a"}, 7, []int64{1, 3, 4, 6, 7}}, {[]string{"a"}, 9, []int64{1, 3, 6, 7}}, {[]string{"b", "a"}, 7, []int64{1, 2, 3, 4, 6, 7}}, {[]string{"b"}, 8, []int64{3}}, {[]string{"d"}, 7, nil},
	} {
		var got []int64
		for r := set.Next(nil, tt.events, tt.mailbox); r != nil; r = set.Next(r, tt.events, tt.mailbox) {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v in %d: %s", tt.events, tt.mailbox, diff)
		}
		if len(tt.events) == 1 && set.Listens(tt.events[0], tt.mailbox) != (len(got) > 0) {
			t.Errorf("%v in %d: listens", tt.events, tt.mailbox)
		}
	}
	if !set.Uses([]string{"b"}, "mailbox_") || set.Uses([]string{"c"}, "mailbox_") {
		t.Error("it uses another field")
	}
}

// What actions come to.
func TestPlan(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	act := func(kind rules.ActionType, values ...string) rules.Action {
		return rules.Action{Type: kind, Values: values}
	}
	for _, tt := range []struct {
		actions []rules.Action
		want    map[string]rules.Change
		does    int
	}{
		{[]rules.Action{act(rules.SetPriority, "high"), act(rules.AddTags, "1"), act(rules.RemoveTags, "77")}, nil, 0},
		{[]rules.Action{act(rules.SetPriority, "low"), act(rules.SetPriority, "urgent")}, map[string]rules.Change{"priority": {From: []string{"high"}, To: []string{"urgent"}}}, 0},
		{[]rules.Action{act(rules.AddTags, "2"), act(rules.RemoveTags, "4")}, map[string]rules.Change{"tags": {From: []string{"4"}, To: []string{"2"}}}, 0},
		{[]rules.Action{act(rules.MarkSpam)}, map[string]rules.Change{"spam": {From: []string{"false"}, To: []string{"true"}}, "status": {From: []string{"posted"}, To: []string{"closed"}}}, 0},
		{[]rules.Action{act(rules.Unassign)}, map[string]rules.Change{"team_id": {From: []string{"3"}}}, 0},
		{[]rules.Action{act(rules.Snooze, "3")}, map[string]rules.Change{"snoozed_until": {From: []string{"2026-03-01T10:00:00Z"}, To: []string{"2026-02-01T15:00:00Z"}}}, 0},
		{[]rules.Action{{Type: rules.SetField, Field: "plan"}}, map[string]rules.Change{"fields.plan": {From: []string{"gold"}}}, 0},
		{[]rules.Action{act(rules.AddNote, "x"), act(rules.Follow, "1")}, nil, 2},
	} {
		got := rules.PlanOf(facts(), tt.actions, now)
		if diff := cmp.Diff(tt.want, got.Changes); diff != "" || len(got.Does) != tt.does || got.Nothing() != (tt.want == nil && tt.does == 0) {
			t.Errorf("%v: %s", tt.actions, diff)
		}
	}
	if f := facts(); len(rules.PlanOf(f, []rules.Action{act(rules.RemoveTags, "1", "4")}, now).Changes) != 1 {
		t.Error("no change")
	} else if tags, _ := f.Values("tags"); !slices.Equal(tags, []string{"1", "4"}) {
		t.Error("planning changed the facts")
	}
}

// Each field has operators, whose valid values are in their normal form when they are checked again.
func TestCheck(t *testing.T) {
	t.Parallel()
	v := rules.NewVocabulary(own()...)
	for _, name := range v.Names() {
		f, _ := v.Field(name)
		for _, op := range rules.Ops() {
			c := rules.Condition{Field: name, Op: op}
			if least, _ := op.Values(); least > 0 {
				c.Values = []string{sample(f, op)}
			}
			var problems, again fault.Collector
			clean, _, _ := rules.Check(&problems, v, []rules.Condition{c}, nil, nil)
			if fits := slices.Contains(f.Ops(), op); fits != (problems.Err() == nil) {
				t.Errorf("%s %s: %v", name, op, problems.Err())
			} else if !fits {
				continue
			}
			same, _, _ := rules.Check(&again, v, clean, nil, nil)
			if diff := cmp.Diff(clean, same); diff != "" || again.Err() != nil {
				t.Errorf("%s %s: %s %v", name, op, diff, again.Err())
			}
		}
	}
}

func sample(f rules.Field, op rules.Op) string {
	switch {
	case op == rules.Matches:
		return "x+"
	case len(f.Options) > 0:
		return f.Options[0]
	}
	return map[rules.Kind]string{rules.KindFlag: "TRUE", rules.KindDay: "2026-01-31", rules.KindMoment: "2026-01-31T10:00:00+01:00", rules.KindNumber: "01.50"}[f.Kind] + map[bool]string{true: "7"}[f.Kind == rules.KindID || f.Kind == rules.KindIDs || f.Kind == rules.KindHours || f.Kind == rules.KindText || f.Kind == rules.KindTexts]
}

// Twice the text, the rules or the values cost at most about twice as much.
func TestGrowth(t *testing.T) {
	t.Parallel()
	cost := func(n int) time.Duration {
		var all []rules.Rule
		for i := range n / 10 {
			all = append(all, rules.Rule{ID: int64(i), On: []string{"e"}, All: []rules.Condition{
				{Field: "interaction.body", Op: rules.Matches, Values: []string{`(a*)*(a|aa)+b$`}}, {Field: "subject", Op: rules.Contains, Values: []string{"nothing"}},
			}})
		}
		set := rules.Compile(rules.NewVocabulary(), all)
		best := time.Hour
		for range 5 {
			f := rules.NewFacts(map[string][]string{"interaction.body": {strings.Repeat("a", 2000)}, "subject": {"x"}}, nil)
			begin := time.Now()
			for r := set.Next(nil, []string{"e"}, 1); r != nil; r = set.Next(r, []string{"e"}, 1) {
				if r.Matches(f) {
					t.Error("it matches")
				}
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	if once, twice := cost(400), cost(800); twice > 4*once {
		t.Errorf("%s for some, %s for twice as many", once, twice)
	}
}

// Whatever is checked compiles and is compared without harm, and what Check accepts is never broken.
func FuzzRule(f *testing.F) {
	for _, name := range []string{"status", "subject", "tags", "fields.amount", "snoozed_until", "inside_hours", "interaction.body"} {
		for _, op := range []rules.Op{rules.Is, rules.Matches, rules.Contains, rules.Greater, rules.Before, rules.ChangedTo, rules.Empty} {
			for _, value := range []string{"", "posted", "7", "(a+)+$", "2026-01-31T10:00:00Z", "1e400", "\xff", "(?:a{1000}){1000}"} {
				f.Add(name, string(op), value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name, op, value string) {
		v := rules.NewVocabulary(own()...)
		c := []rules.Condition{{Field: name, Op: rules.Op(op), Values: []string{value}}}
		var problems fault.Collector
		clean, _, _ := rules.Check(&problems, v, c, nil, []rules.Action{{Type: rules.ActionType(op), Values: []string{value}}})
		for _, all := range [][]rules.Condition{c, clean} {
			r := rules.Compile(v, []rules.Rule{{On: []string{"e"}, All: all}}).Next(nil, []string{"e"}, 7)
			if r != nil {
				r.Matches(facts())
				r.Conditions(facts())
			}
		}
		var again fault.Collector
		if same, _, _ := rules.Check(&again, v, clean, nil, nil); problems.Err() == nil && (again.Err() != nil || !cmp.Equal(clean, same)) {
			t.Errorf("checked again, %v is %v: %v", clean, same, again.Err())
		}
	})
}

func ExampleSet() {
	set := rules.Compile(rules.NewVocabulary(), []rules.Rule{{
		ID: 1, On: []string{"interaction.created"},
		All:     []rules.Condition{{Field: "customer.email", Op: rules.Contains, Values: []string{"@bank.example"}}},
		Actions: []rules.Action{{Type: rules.SetPriority, Values: []string{"urgent"}}},
	}})
	known := rules.NewFacts(map[string][]string{"customer.email": {"Ada@Bank.example"}, "priority": {"normal"}}, nil)
	if rule := set.Next(nil, []string{"interaction.created"}, 1); rule.Matches(known) {
		plan := rules.PlanOf(known, rule.Actions, time.Now())
		fmt.Println(plan.Changes["priority"].From, "to", plan.Changes["priority"].To)
	}
	// Output: [normal] to [urgent]
}

// Limits are problems, not panics.
func TestLimits(t *testing.T) {
	t.Parallel()
	many := make([]rules.Condition, rules.MaxConditions+1)
	var problems fault.Collector
	rules.Check(&problems, rules.NewVocabulary(), many, nil, make([]rules.Action, rules.MaxActions+1))
	if f, ok := errors.AsType[*fault.Error](problems.Err()); !ok || f.Fields["match"] == nil {
		t.Errorf("too many: %v", problems.Err())
	}
}
