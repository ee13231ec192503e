package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/rules"
)

// A field whose former value is lost leaves a rule undecided only if it depends on it.
func TestUndecided(t *testing.T) {
	t.Parallel()
	when := func(field string, op rules.Op, values ...string) rules.Condition {
		return rules.Condition{Field: field, Op: op, Values: values}
	}
	lost := when("subject", rules.Contains, "straße")
	yes, no := when("status", rules.Is, "posted"), when("status", rules.Is, "closed")
	for name, tt := range map[string]struct {
		all, any []rules.Condition
		want     []string
	}{
		"it alone":                  {[]rules.Condition{lost}, nil, []string{"subject"}},
		"with one that holds":       {[]rules.Condition{yes, lost}, nil, []string{"subject"}},
		"with one that does not":    {[]rules.Condition{lost, no}, nil, nil},
		"any, one holds":            {nil, []rules.Condition{lost, yes}, nil},
		"any, the other does not":   {nil, []rules.Condition{no, lost}, []string{"subject"}},
		"any, none of them lost":    {[]rules.Condition{lost}, []rules.Condition{no}, nil},
		"all and any":               {[]rules.Condition{lost}, []rules.Condition{when("fields.memo", rules.Is, "x"), no}, []string{"subject", "fields.memo"}},
		"nothing is lost":           {[]rules.Condition{yes}, nil, nil},
		"that it changed":           {[]rules.Condition{when("subject", rules.Changed)}, nil, nil},
		"of what is never known":    {[]rules.Condition{when("interaction.subject", rules.Is, "x")}, nil, nil},
		"of a field that is gone":   {[]rules.Condition{when("fields.gone", rules.Is, "x")}, nil, nil},
		"all conditions of nothing": {nil, nil, nil},
	} {
		f := facts()
		f.Lose("subject")
		f.Lose("fields.memo")
		set := rules.Compile(rules.NewVocabulary(own()...), []rules.Rule{{On: []string{"e"}, All: tt.all, Any: tt.any}})
		if diff := cmp.Diff(tt.want, set.Next(nil, []string{"e"}, 7).Undecided(f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Actions surely change something if it is not only what is lost that they would change.
func TestCertain(t *testing.T) {
	t.Parallel()
	memo := rules.Action{Type: rules.SetField, Field: "memo", Values: []string{"x"}}
	for name, tt := range map[string]struct {
		actions []rules.Action
		want    bool
	}{
		"what is lost":             {[]rules.Action{memo}, false},
		"something else as well":   {[]rules.Action{memo, {Type: rules.SetPriority, Values: []string{"low"}}}, true},
		"a note as well":           {[]rules.Action{memo, {Type: rules.AddNote, Values: []string{"x"}}}, true},
		"what is as it is to be":   {[]rules.Action{memo, {Type: rules.SetPriority, Values: []string{"high"}}}, false},
		"nothing that was unknown": {[]rules.Action{{Type: rules.SetPriority, Values: []string{"low"}}}, true},
	} {
		f := facts()
		f.Lose("fields.memo")
		if got := rules.PlanOf(f, tt.actions, time.Time{}).Certain(f); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f := facts()
	f.Lose("fields.memo")
	f.Set("fields.memo", "x")
	if plan := rules.PlanOf(f, []rules.Action{memo}, time.Time{}); !plan.Nothing() {
		t.Errorf("what is known again: %+v", plan)
	}
}
