package desk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpanded(t *testing.T) {
	t.Parallel()
	all := []string{"a.x", "a.y", "b.x", "bc.x"}
	for name, tt := range map[string]struct{ chosen, want []string }{
		"single ones":             {[]string{"b.x", "a.x"}, []string{"a.x", "b.x"}},
		"an area":                 {[]string{"a.*"}, []string{"a.x", "a.y"}},
		"an area and some of it":  {[]string{"a.y", "a.*"}, []string{"a.x", "a.y"}},
		"an area, not its prefix": {[]string{"b.*"}, []string{"b.x"}},
		"one of a later version":  {[]string{"d.x"}, []string{"d.x"}},
		"an unknown area":         {[]string{"d.*"}, nil},
	} {
		if diff := cmp.Diff(tt.want, expanded(tt.chosen, all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every area of events has a name of its own in words.
func TestEventAreas(t *testing.T) {
	t.Parallel()
	v := &visit{words: speak("en")}
	for _, e := range knownEvents() {
		for _, g := range byArea([]tick{{ID: e.Name}}, nil, v.eventArea) {
			if g.Name == g.Area {
				t.Errorf("%s has no name", g.Area)
			}
		}
	}
	all := []tick{{ID: "a.x"}, {ID: "b.x"}, {ID: "a.y"}}
	want := []choiceGroup{
		{Area: "a", Name: "A", Whole: true, Items: []tick{{ID: "a.x", On: true}, {ID: "a.y", On: true}}},
		{Area: "b", Name: "A", Items: []tick{{ID: "b.x"}}},
	}
	if diff := cmp.Diff(want, byArea(all, []string{"a.x", "a.y"}, func(string) string { return "A" })); diff != "" {
		t.Error(diff)
	}
}
