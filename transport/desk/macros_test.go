package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// A form without scripts builds a macro, sends it with a reply, leaves it out, and applies it to several conversations.
func TestMacroForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	for _, subject := range []string{"The door", "The pump", "The lid"} {
		b.asks("ada@example.com", subject, "Is it broken?")
	}
	edited := b.post("/settings/replies", url.Values{"name": {"Low"}, "do": {"add then"}, "add-then": {"set_priority"}})
	if edited.status != http.StatusOK || !strings.Contains(edited.body, `name="then-0-value"`) || !strings.Contains(edited.body, `value="Low"`) {
		t.Errorf("adding an action: %d\n%s", edited.status, edited.body)
	}
	if strings.Contains(edited.body, `<option value="reply"`) || strings.Contains(edited.body, `<option value="webhook"`) {
		t.Error("the builder offers what macros do not have")
	}
	b.goOn(b.post("/settings/replies", url.Values{
		"name": {"Low"}, "body": {"Later."}, "shared": {"1"}, "then": {"0"}, "then-0-is": {"set_priority"}, "then-0-value": {"low"},
	}))
	if r, err := b.desk.SavedReplies().Get(t.Context(), 1); err != nil || len(r.Actions) != 1 || r.Actions[0].Values[0] != "low" {
		t.Fatalf("the macro is %+v, %v", r, err)
	}
	priority := func(id int64) helpdesk.Priority {
		c, err := b.desk.Conversations().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return c.Priority
	}
	if got := b.post("/c/1/insert", url.Values{"kind": {"reply"}, "reply": {"1"}}); !strings.Contains(got.location, "macro=1") {
		t.Errorf("inserting leads to %s", got.location)
	}
	if got := b.get("/c/1?macro=1"); !strings.Contains(got.body, "set the priority to Low") || !strings.Contains(got.body, `name="macro" value="1"`) {
		t.Error("the composer does not say what goes with the reply")
	}
	if got := b.post("/c/1/draft", url.Values{"kind": {"reply"}, "body": {"x"}, "macro": {"1"}, "do": {"drop macro"}}); strings.Contains(got.location, "macro=") {
		t.Errorf("leaving the actions out leads to %s", got.location)
	}
	b.goOn(b.post("/bulk", url.Values{"id": {"1", "2"}, "act": {"macro-1"}}))
	if priority(1) != helpdesk.PriorityLow || priority(2) != helpdesk.PriorityLow {
		t.Errorf("priorities are %s and %s", priority(1), priority(2))
	}
	if got := b.post("/bulk", url.Values{"id": {"1", "2"}, "act": {"macro"}}); !strings.Contains(got.location, "/macro?") || !strings.Contains(got.location, "id=2") {
		t.Errorf("choosing a macro leads to %s", got.location)
	}
	if got := b.get("/macro?id=1&id=2"); got.status != http.StatusOK || !strings.Contains(got.body, `value="macro-1"`) || !strings.Contains(got.body, "set the priority to Low") {
		t.Errorf("the page of macros: %d\n%s", got.status, got.body)
	}
	if got := b.get("/c/3/do/macro"); got.status != http.StatusOK || !strings.Contains(got.body, `name="id" value="3"`) {
		t.Errorf("the command: %d", got.status)
	}
}

// A reply whose macro cannot be applied is not sent, and says which action it is.
func TestMacroNotPossible(t *testing.T) {
	t.Parallel()
	b := office(t)
	b.asks("ada@example.com", "The door", "Is it broken?")
	tag, err := b.desk.Tags().Create(t.Context(), helpdesk.TagInput{Name: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.desk.SavedReplies().Create(t.Context(), helpdesk.SavedReplyInput{
		Name: "Tag", Shared: storage.Some(true), Actions: storage.Some([]rules.Action{{Type: rules.AddTags, Values: []string{itoa(tag.ID)}}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Tags().Delete(t.Context(), tag.ID); err != nil {
		t.Fatal(err)
	}
	got := b.post("/c/1/send", url.Values{"kind": {"reply"}, "body": {"Kept words."}, "nonce": {"n"}, "anyway": {"1"}, "macro": {itoa(m.ID)}})
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Not possible: add the tags") || !strings.Contains(got.body, "Kept words.") {
		t.Errorf("sending: %d\n%s", got.status, got.body)
	}
}
