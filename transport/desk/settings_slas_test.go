package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// standard is the form of an SLA.
func standard(more ...string) url.Values {
	f := url.Values{
		"name": {"Standard"}, "do": {"save"}, "calendar": {""}, "first_reply-hours": {"2"}, "first_reply-minutes": {"30"}, "soon": {"80"}, "pauses": {"pending", "snoozed"},
		"all": {"0"}, "all-0-is": {"subject"}, "all-0-op": {"contains"}, "all-0-value": {"door"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		f[more[i]] = []string{more[i+1]}
	}
	return f
}

// The form of an SLA works without a script.
func TestSLAForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		says   string // the page that is shown
	}{
		"saved":                  {standard(), http.StatusSeeOther, ""},
		"a condition is added":   {standard("do", "add all", "add-all", "priority"), http.StatusOK, `name="all-1-is" value="priority"`},
		"a condition is removed": {standard("do", "drop all-0"), http.StatusOK, `name="first_reply-hours" value="2"`},
		"without a value":        {standard("all-0-value", ""), http.StatusUnprocessableEntity, "Choose or write a value."},
		"without a promise":      {standard("first_reply-hours", "", "first_reply-minutes", "0"), http.StatusUnprocessableEntity, "Promise at least one of these."},
		"without a name":         {standard("name", " "), http.StatusUnprocessableEntity, "This is required"},
		"what passes":            {standard("all-0-is", "interaction.body"), http.StatusUnprocessableEntity, `class="wrong"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			got := b.post("/settings/slas", tt.form)
			if got.status != tt.status || !strings.Contains(got.body, tt.says) {
				t.Errorf("%d, want %d and %q\n%s", got.status, tt.status, tt.says, got.body)
			}
			page, err := b.desk.SLAs().List(t.Context(), storage.PageRequest{})
			if err != nil || len(page.Items) != map[bool]int{true: 1}[tt.status == http.StatusSeeOther] {
				t.Errorf("%d SLAs, %v", len(page.Items), err)
			}
		})
	}
}

// What is due is said in lists, in the list Due, in the conversation and in its history; an SLA is moved, changed and deleted.
func TestSLAPages(t *testing.T) {
	t.Parallel()
	b := office(t)
	if strings.Contains(b.get("/inbox/all").body, `/inbox/due"`) {
		t.Error("the list Due is offered without an SLA")
	}
	b.post("/settings/slas", standard())
	other := standard("name", "Other")
	other.Del("all")
	b.post("/settings/slas", other)
	c := b.asks("ada@example.com", "The door", "It is stuck.")
	has := func(path string, texts ...string) {
		t.Helper()
		page := b.get(path).body
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
	}
	has("/settings/slas", "Subject of the conversation contains “door”", "First reply: 2 h 30 min", "Every conversation")
	has("/settings/slas/1", `name="first_reply-hours" value="2"`, `name="pauses" value="pending" checked`)
	has("/settings/slas/new", `name="first_reply-hours" value="2"`)
	has("/inbox/due", "The door", "First reply due in 2 h", `/inbox/due"`)
	has("/inbox/all", "First reply due in 2 h")
	has("/c/"+itoa(c.ID), "First reply due in 2 h", `href="/desk/a/1/settings/slas/1"><bdi>SLA “Standard”`)
	if _, err := b.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "It opens now."}); err != nil {
		t.Fatal(err)
	}
	has("/c/"+itoa(c.ID), "First reply: met")
	if said := happenings(b.get("/c/" + itoa(c.ID)).body); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "First reply was in time") }) {
		t.Errorf("%q", said)
	}
	b.post("/settings/slas/2/move", url.Values{"do": {"up"}})
	page, err := b.desk.SLAs().List(t.Context(), storage.PageRequest{})
	if err != nil || len(page.Items) != 2 || page.Items[0].Name != "Other" {
		t.Errorf("moved: %+v, %v", page.Items, err)
	}
	b.post("/settings/slas/1", standard("name", "Gold", "first_reply-hours", "1", "first_reply-minutes", ""))
	if s, err := b.desk.SLAs().Get(t.Context(), 1); err != nil || s.Name != "Gold" || s.FirstReply != 60 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, path := range []string{"/settings/slas", "/settings/slas/1", "/settings/slas/1/move", "/settings/slas/1/delete"} {
		if got := b.post(path, standard(), "As", "other"); got.status != http.StatusForbidden && got.status != http.StatusNotFound {
			t.Errorf("%s by a collaborator: %d", path, got.status)
		}
	}
	if got := b.post("/settings/slas/1/delete", nil); got.location != "/desk/a/1/settings/slas" {
		t.Error(got.location)
	}
}
