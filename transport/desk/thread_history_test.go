package desk_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// happenings returns the lines about changes on a page, with those of a fold in brackets after its summary.
func happenings(page string) (lines []string) {
	text := func(part string) string {
		said := regexp.MustCompile(`(?s)<span>(.*?)</span>`).FindStringSubmatch(part)
		return html.UnescapeString(said[1])
	}
	for _, part := range regexp.MustCompile(`(?s)<li class="changes">.*?</details></li>|<li class="event">.*?</li>`).FindAllString(page, -1) {
		if !strings.Contains(part, "<details>") {
			lines = append(lines, text(part))
			continue
		}
		summary, rest, _ := strings.Cut(part, "</summary>")
		var all []string
		for _, one := range regexp.MustCompile(`(?s)<li class="event">.*?</li>`).FindAllString(rest, -1) {
			all = append(all, text(one))
		}
		lines = append(lines, text(summary)+" ["+strings.Join(all, "; ")+"]")
	}
	return lines
}

// What happened to a conversation is said between its messages, with names.
func TestHistoryInThread(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	team, err := b.desk.Teams().Create(b.Context(), helpdesk.TeamInput{Name: "Doors"})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := b.desk.Tags().Create(b.Context(), helpdesk.TagInput{Name: "wood"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	me := b.desk.UserID()
	must(b.desk.Conversations().Update(b.Context(), 1, helpdesk.ConversationUpdate{Subject: storage.Some("The door"), UserID: storage.Some(me)}))
	must(b.desk.Interactions().Create(b.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Look"}))
	must(b.desk.Conversations().Update(b.Context(), 1, helpdesk.ConversationUpdate{
		Subject: storage.Some("The oak door"), TeamID: storage.Some(team.ID), UserID: storage.Null[int64](), Priority: storage.Some(helpdesk.PriorityUrgent),
	}))
	must(b.desk.Conversations().SetTags(b.Context(), 1, []int64{tag.ID}))
	must(b.desk.Conversations().UpdateAll(b.Context(), []int64{1}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))
	want := []string{
		"Maja Lindqvist took this over",
		"Maja Lindqvist closed this, and 4 more changes [Maja Lindqvist assigned this to Doors; Maja Lindqvist changed the priority from Normal to Urgent; " +
			"Maja Lindqvist changed the subject; Maja Lindqvist added tags: wood; Maja Lindqvist closed this]",
	}
	if diff := cmp.Diff(want, happenings(b.get("/c/1").body)); diff != "" {
		t.Error(diff)
	}
	b.post("/c/1/tags", url.Values{})
	if err := b.desk.Tags().Delete(b.Context(), tag.ID); err != nil {
		t.Fatal(err)
	}
	if page := b.get("/c/1").body; !strings.Contains(page, "added tags: a deleted tag") {
		t.Errorf("a deleted tag has no name: %q", happenings(page))
	}
}

// Changes of fields are lines, with the values of those that people do not write.
func TestFieldsInHistory(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	options := []helpdesk.FieldOption{{Value: "gold", Label: "Gold"}, {Value: "silver", Label: "Silver"}}
	for _, in := range []helpdesk.FieldInput{
		{Key: "tier", Label: "Tier", Type: helpdesk.FieldSelect, Options: storage.Some(options)},
		{Key: "kinds", Label: "Kinds", Type: helpdesk.FieldMultiselect, Options: storage.Some(options)},
		{Key: "street", Label: "Street", Type: helpdesk.FieldText},
		{Key: "doors", Label: "Doors", Type: helpdesk.FieldNumber},
		{Key: "urgent", Label: "Hurry", Type: helpdesk.FieldBoolean},
	} {
		in.AppliesTo = helpdesk.FieldOfConversation
		if _, err := b.desk.Fields().Create(b.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for _, values := range []helpdesk.FieldTexts{
		{"tier": {"gold"}, "kinds": {"silver", "gold"}, "street": {"Elm Street 1"}, "doors": {"2.5"}, "urgent": {"true"}},
		{"tier": nil, "street": nil},
	} {
		if _, err := b.desk.Conversations().Update(b.Context(), 1, helpdesk.ConversationUpdate{Fields: values}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"Maja Lindqvist cleared Tier, and 6 more changes [Maja Lindqvist set Doors to 2.5; Maja Lindqvist set Kinds to Gold, Silver; Maja Lindqvist changed Street; " +
			"Maja Lindqvist set Tier to Gold; Maja Lindqvist set Hurry to Yes; Maja Lindqvist changed Street; Maja Lindqvist cleared Tier]",
	}
	if diff := cmp.Diff(want, happenings(b.get("/c/1").body)); diff != "" {
		t.Error(diff)
	}
}
