package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// runRules does the jobs of rules.
func (b *bundle) runRules(t *testing.T) {
	t.Helper()
	for range 10 {
		now := time.Now().Add(time.Minute)
		jobs, err := b.store.Claim(t.Context(), map[string]int{helpdesk.JobRules: 10}, now, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			if err := b.service.Jobs().RunRules(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if err := b.store.Finish(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		if len(jobs) == 0 {
			return
		}
	}
	t.Fatal("the rules do not end")
}

// vip is the form of a rule that raises the priority.
func vip(more ...string) url.Values {
	f := url.Values{
		"name": {"VIP"}, "state": {"active"}, "on": {"interaction.created"}, "do": {"save"},
		"all": {"0", "1"}, "all-0-is": {"interaction.type"}, "all-0-op": {"any_of"}, "all-0-value": {"customer"},
		"all-1-is": {"subject"}, "all-1-op": {"contains"}, "all-1-value": {"door\r\n\r\ngate"},
		"then": {"0"}, "then-0-is": {"set_priority"}, "then-0-value": {"high"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		f[more[i]] = []string{more[i+1]}
	}
	return f
}

// A rule is built line by line without a script, and what is wrong stands beside its line.
func TestRuleForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		says   []string // the page that is shown
		lacks  string
	}{
		"saved":                {vip(), http.StatusSeeOther, nil, ""},
		"a condition is added": {vip("do", "add all", "add-all", "tags"), http.StatusOK, []string{`name="all-2-is" value="tags"`, ">door\ngate</textarea>", `name="all-2-value" value="1"`, ">VIP tag</bdi>", `value="VIP"`}, ""},
		"one of any":           {vip("do", "add any", "add-any", "spam"), http.StatusOK, []string{`name="any-0-is" value="spam"`, `<select class="rule-value" name="any-0-value"`}, ""},
		"a date":               {vip("do", "add all", "add-all", "snoozed_until"), http.StatusOK, []string{`type="datetime-local" name="all-2-value"`}, ""},
		"an action is added":   {vip("do", "add then", "add-then", "add_note"), http.StatusOK, []string{`name="then-1-is" value="add_note"`, `<textarea class="rule-value" name="then-1-value"`}, ""},
		"a field is set":       {vip("do", "add then", "add-then", "set_field plan"), http.StatusOK, []string{`name="then-1-field" value="plan"`, `<option value="gold">Gold</option>`, "Set Plan to …"}, ""},
		"a condition is removed": {vip("do", "drop all-0"), http.StatusOK, []string{`name="all-0-is" value="subject"`, "a message or note is written"},
			`value="interaction.type"><`},
		"without a value":    {vip("all-1-value", ""), http.StatusUnprocessableEntity, []string{"Choose or write a value."}, ""},
		"without an action":  {vip("then", ""), http.StatusUnprocessableEntity, []string{`class="wrong"`}, ""},
		"without a name":     {vip("name", " "), http.StatusUnprocessableEntity, []string{"This is required"}, ""},
		"without an event":   {vip("on", ""), http.StatusUnprocessableEntity, []string{`class="wrong"`}, ""},
		"no expression":      {vip("all-1-op", "matches", "all-1-value", "("), http.StatusUnprocessableEntity, []string{"This is not a regular expression."}, ""},
		"nothing is typed":   {vip("all-1-op", "empty", "all-1-value", "left over"), http.StatusSeeOther, nil, ""},
		"no such field":      {vip("all-1-is", "<b>"), http.StatusUnprocessableEntity, []string{"&lt;b&gt;"}, ""},
		"a tag that is gone": {vip("then-0-is", "add_tags", "then-0-value", "99"), http.StatusUnprocessableEntity, []string{"has been deleted, or is not yours to see", ">deleted</bdi>"}, ""},
		"time":               {vip("on", "time", "since", "customer_wrote", "hours", "24", "all-0-is", "awaiting", "all-0-op", "is", "all-0-value", "true"), http.StatusSeeOther, nil, ""},
		"time in the form": {vip("do", "add all", "add-all", "tags", "on", "time", "since", "we_wrote", "hours", "1"), http.StatusOK,
			[]string{`name="on" value="time" checked`, `name="hours" value="1"`, `value="we_wrote" selected`, "</b> 1 hour after somebody on the team replied, <b>if</b>"}, ""},
		"no time":             {vip("on", "time", "since", "customer_wrote", "hours", "0"), http.StatusUnprocessableEntity, []string{"Write a number of hours, from 1 to 8784."}, ""},
		"so long ago":         {vip("on", "time", "since", "customer_wrote", "hours", "8000"), http.StatusUnprocessableEntity, []string{"Choose fewer hours."}, ""},
		"no button in a form": {vip("do", "add all", "add-all", ""), http.StatusOK, []string{`name="all-1-is"`}, `name="all-2-is"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			if _, err := b.desk.Tags().Create(t.Context(), helpdesk.TagInput{Name: "VIP tag"}); err != nil {
				t.Fatal(err)
			}
			b.post("/settings/fields", url.Values{"label": {"Plan"}, "applies_to": {"conversation"}, "type": {"select"}, "more": {"Gold"}})
			got := b.post("/settings/rules", tt.form)
			if got.status != tt.status {
				t.Errorf("%d, want %d\n%s", got.status, tt.status, got.body)
			}
			for _, says := range tt.says {
				if !strings.Contains(strings.ReplaceAll(got.body, "set Plan", "Set Plan"), says) {
					t.Errorf("the page lacks %q", says)
				}
			}
			if tt.lacks != "" && strings.Contains(got.body, tt.lacks) {
				t.Errorf("the page has %q", tt.lacks)
			}
			page, err := b.desk.Rules().List(t.Context(), storage.PageRequest{})
			if err != nil || len(page.Items) != map[bool]int{true: 1}[tt.status == http.StatusSeeOther] {
				t.Errorf("%d rules, %v", len(page.Items), err)
			}
		})
	}
}

// Templates about time say what they do.
func TestRuleTimeTemplates(t *testing.T) {
	t.Parallel()
	b := office(t)
	for id, says := range map[string]string{
		"unanswered": "</b> 24 hours after a customer wrote, without an answer, <b>if</b> Status is none of Closed, <b>then</b> tell ….",
		"silence":    "</b> 168 hours after somebody on the team replied, <b>if</b> Waiting for a reply is No and Status",
	} {
		if page := b.get("/settings/rules/new?template=" + id).body; !strings.Contains(strings.ReplaceAll(page, "is not Closed", "is none of Closed"), says) {
			i := strings.Index(page, "rule-said")
			t.Errorf("%s lacks %q: %s", id, says, page[i:min(i+300, len(page))])
		}
	}
}

// A rule is kept as the form has it, changed, moved, read in the list as a sentence, and deleted.
func TestRulePages(t *testing.T) {
	t.Parallel()
	b := office(t)
	for name, form := range map[string]url.Values{"VIP": vip(), "Other": vip("name", "Other", "state", "dry")} {
		if got := b.post("/settings/rules", form); got.location != "/desk/a/1/settings/rules" {
			t.Fatalf("%s: %d %s\n%s", name, got.status, got.location, got.body)
		}
	}
	list := func() (rules []helpdesk.Rule) {
		page, err := b.desk.Rules().List(t.Context(), storage.PageRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return page.Items
	}
	at := slices.IndexFunc(list(), func(r helpdesk.Rule) bool { return r.Name == "VIP" })
	first := list()[at]
	want := []rules.Condition{
		{Field: "interaction.type", Op: rules.AnyOf, Values: []string{"customer"}}, {Field: "subject", Op: rules.Contains, Values: []string{"door", "gate"}},
	}
	if diff := cmp.Diff(want, first.All); diff != "" {
		t.Error(diff)
	}
	page := b.get("/settings/rules").body
	for _, text := range []string{"</b> a customer writes, <b>if</b> Subject of the conversation contains “door” or “gate”, <b>then</b> set the priority to High.", "Watches only", "Urgent words raise the priority"} {
		if !strings.Contains(page, text) {
			t.Errorf("the list lacks %q", text)
		}
	}
	before := list()
	b.post("/settings/rules/"+itoa(before[0].ID)+"/move", url.Values{"do": {"up"}})
	b.post("/settings/rules/"+itoa(before[0].ID)+"/move", url.Values{"do": {"down"}})
	if after := list(); after[0].ID != before[1].ID || after[1].ID != before[0].ID {
		t.Error("the rule did not move")
	}
	b.post("/settings/rules/"+itoa(first.ID), vip("name", "Important", "state", "off", "stop", "1"))
	if r, err := b.desk.Rules().Get(t.Context(), first.ID); err != nil || r.Name != "Important" || r.State != helpdesk.RuleOff || !r.Stop {
		t.Errorf("%+v, %v", r, err)
	}
	for _, path := range []string{"/settings/rules", "/settings/rules/1", "/settings/rules/1/move", "/settings/rules/1/delete"} {
		if got := b.post(path, vip(), "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("%s by a collaborator: %d", path, got.status)
		}
	}
	if got := b.post("/settings/rules/"+itoa(first.ID)+"/delete", nil); got.location != "/desk/a/1/settings/rules" || len(list()) != 1 {
		t.Error(got.location)
	}
}

// Each template is a form that only lacks what it names of the account.
func TestRuleTemplates(t *testing.T) {
	t.Parallel()
	b := office(t)
	list := b.get("/settings/rules").body
	ids := []string{"urgent", "company", "hours", "invoices", "machines", "address", "mailbox", "sender", "answer", "alarm", "reopened", "spam"}
	for _, id := range ids {
		if !strings.Contains(list, "/settings/rules/new?template="+id) {
			t.Errorf("the list lacks %s", id)
		}
		if got := b.get("/settings/rules/new?template=" + id); got.status != http.StatusOK || !strings.Contains(got.body, `name="then-0-is"`) {
			t.Errorf("%s: %d", id, got.status)
		}
	}
	if got := b.get("/settings/rules/new?template=nonsense"); got.status != http.StatusOK || strings.Contains(got.body, `name="then-0-is"`) {
		t.Error(got.status)
	}
}

// What a rule did is named in the thread and on its page, which also says what it would do.
func TestRuleAtWork(t *testing.T) {
	t.Parallel()
	b := office(t)
	form := vip("then", "0")
	form["then"] = []string{"0", "1"}
	form["then-1-is"], form["then-1-value"] = []string{"add_note"}, []string{"Call <them>"}
	b.post("/settings/rules", form)
	c := b.asks("ada@example.com", "The door", "It is stuck.")
	b.runRules(t)
	thread := b.get("/c/" + itoa(c.ID)).body
	for _, text := range []string{
		`<a href="/desk/a/1/settings/rules/1">Rule “VIP”</a> changed the priority from Normal to High`, "Call &lt;them&gt;", `<a class="state" href="/desk/a/1/settings/rules/1">`,
	} {
		if !strings.Contains(thread, text) {
			t.Errorf("the thread lacks %q\n%q", text, happenings(thread))
		}
	}
	page := b.get("/settings/rules/1").body
	for _, text := range []string{"#" + itoa(c.Number) + " The door", "Priority: Normal → High", "acted</span>", `href="/desk/a/1/c/` + itoa(c.ID) + `"`} {
		if !strings.Contains(page, text) {
			t.Errorf("the runs lack %q", text)
		}
	}
	other := b.asks("ada@example.com", "The gate", "It is stuck.")
	for number, says := range map[string][]string{
		itoa(other.Number):   {"The rule would do this:", "Priority: Normal → High"},
		"#" + itoa(c.Number): {"The rule would do this:", "add the note …", "Message type is message of a customer"}, // not its own note
		"9999":               {"There is no conversation #9999."},
		"<b>":                {"There is no conversation #0."},
	} {
		got := b.post("/settings/rules/1/test", url.Values{"number": {number}}).body
		for _, text := range says {
			if !strings.Contains(got, text) {
				t.Errorf("a test with %s lacks %q", number, text)
			}
		}
	}
	if now, err := b.desk.Conversations().Get(t.Context(), other.ID); err != nil || now.Priority != helpdesk.PriorityNormal {
		t.Error("a test changed the conversation", err)
	}
	b.post("/settings/rules/1", vip("all-1-value", "window"))
	if got := b.post("/settings/rules/1/test", url.Values{"number": {itoa(c.Number)}}).body; !strings.Contains(got, "Nothing would happen") || !strings.Contains(got, `<li class="failed">`) {
		t.Error("it is not said which condition does not hold")
	}
	if err := b.desk.Rules().Delete(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if said := happenings(b.get("/c/" + itoa(c.ID)).body); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "A rule changed the priority") }) {
		t.Errorf("%q", said)
	}
}

// The form of a rule tells what the rule would have done, and keeps what was not saved.
func TestRuleReplayPage(t *testing.T) {
	t.Parallel()
	b := office(t)
	b.asks("ada@example.com", "The door is stuck", "Help!")
	b.asks("ada@example.com", "An invoice", "Please pay.")
	to := b.post("/settings/rules", vip("do", "replay", "state", "dry", "all-1-value", "door")).location
	if !strings.Contains(to, "/settings/rules/new?replay=1") {
		t.Fatalf("it leads to %s", to)
	}
	to = to[strings.Index(to, "/settings"):]
	for _, want := range []string{"Looking at the last 30 days: 0 %", `data-alive="errand replayed"`, `value="VIP"`, `value="dry" checked`} {
		if page := b.get(to).body; !strings.Contains(page, want) {
			t.Errorf("while it runs, the page lacks %s", want)
		}
	}
	now := time.Now().Add(time.Minute)
	jobs, err := b.store.Claim(t.Context(), map[string]int{helpdesk.JobReplay: 1}, now, now.Add(time.Minute))
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if err := b.service.Jobs().ReplayRule(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	page := b.get(to).body
	for _, want := range []string{"Last 30 days: 1 of 2 conversations", "The door is stuck</bdi></a>", "Priority: Normal → High", "door</textarea>", `formaction`, `value="replay"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "data-alive") || strings.Contains(page, "An invoice</bdi>") {
		t.Error("it still waits, or lists too much")
	}
	if code := b.post("/settings/rules", vip("do", "replay", "then", "")).status; code != http.StatusUnprocessableEntity {
		t.Errorf("a rule without an action: %d", code)
	}
	if page := b.get("/settings/rules/new?replay=99"); page.status != http.StatusOK {
		t.Errorf("a replay that is gone: %d", page.status)
	}
}
