package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
)

// A priority is set in a conversation and in a list, shown in both if it is not normal, and undone.
func TestPriority(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	b.asks("bob@example.com", "The gate", "It is open.")
	now := func() helpdesk.Priority {
		c, err := b.desk.Conversations().Get(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return c.Priority
	}
	for name, c := range map[string]struct {
		path string
		form url.Values
	}{
		"in the conversation": {"/c/1/priority", url.Values{"priority": {"urgent"}}},
		"from the list":       {"/bulk", url.Values{"id": {"1"}, "act": {"priority-urgent"}}},
	} {
		next := b.goOn(b.post(c.path, c.form))
		if !strings.Contains(next, "Changed priority of 1 conversation") || now() != helpdesk.PriorityUrgent {
			t.Errorf("%s: %s", name, now())
		}
		for path, want := range map[string][2]bool{ // whether the door and the gate are there
			"/inbox/all": {true, true}, "/inbox/all?priority=urgent": {true, false}, "/inbox/all?priority=pressing": {true, false},
			"/inbox/all?priority=low": {false, false}, "/inbox/all?priority=normal": {false, true}, "/search?q=door&priority=urgent": {true, false},
		} {
			page := b.get(path).body
			if got := [2]bool{strings.Contains(page, "The door"), strings.Contains(page, "The gate")}; got != want {
				t.Errorf("%s, %s: %v", name, path, got)
			}
		}
		if page := b.get("/inbox/all").body; strings.Count(page, `<span class="state bad">`) != 1 {
			t.Errorf("%s: the list does not show it once", name)
		}
		if page := b.get("/c/1").body; !strings.Contains(page, `<span class="state bad">`) || !strings.Contains(page, "changed the priority") {
			t.Errorf("%s: the conversation does not show it", name)
		}
		if b.goOn(b.post("/undo", url.Values{"undo": {value(next, "undo")}})); now() != helpdesk.PriorityNormal {
			t.Errorf("%s: undone, it is %s", name, now())
		}
	}
	if page := b.get("/c/1").body; strings.Contains(page, `<span class="state bad">`) {
		t.Error("a normal priority has a badge")
	}
	for name, answer := range map[string]answer{
		"no priority":    b.post("/c/1/priority", url.Values{}),
		"another word":   b.post("/bulk", url.Values{"id": {"1"}, "act": {"priority-<b>"}}),
		"a wrong filter": b.get("/inbox/all?priority=%22%3E"),
	} {
		if answer.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", name, answer.status)
		}
	}
}
