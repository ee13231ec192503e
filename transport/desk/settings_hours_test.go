package desk_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
)

// A new page can be saved as it is; what is wrong stays in the form, with its reason.
func TestBusinessHours(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	if page := b.get("/settings/hours/new").body; !strings.Contains(page, "09:00–17:00") || !strings.Contains(page, "<svg") {
		t.Errorf("the new page: %s", page)
	}
	form := url.Values{"name": {"Office"}, "zone": {"Europe/Berlin"}, "mon": {"9-12, 13:00 - 17:30"}, "fri": {"22:00-02:00"}, "holidays": {"2026-12-24 - 2026-12-26 Christmas"}}
	if got := b.post("/settings/hours", form); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings/hours/1" {
		t.Fatalf("%d %s\n%s", got.status, got.location, got.body)
	}
	page := b.get("/settings/hours/1").body
	for _, text := range []string{"09:00–12:00, 13:00–17:30", "22:00–02:00", "Christmas", "now · "} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
	for name, tt := range map[string]struct{ field, value, says string }{
		"hours that are none": {"tue", "<b>soon</b>", "&lt;b&gt;soon&lt;/b&gt;"},
		"overlapping hours":   {"mon", "9-12, 11-13", "These hours overlap."},
		"no holiday":          {"holidays", "Christmas", "This is not a date and a name: Christmas"},
		"no name":             {"name", "", "required"},
	} {
		bad := url.Values{}
		for k, v := range form {
			bad[k] = v
		}
		bad.Set(tt.field, tt.value)
		for _, path := range []string{"/settings/hours", "/settings/hours/1"} {
			if got := b.post(path, bad); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.says) || !strings.Contains(got.body, "aria-invalid") {
				t.Errorf("%s at %s: %d", name, path, got.status)
			}
		}
	}
	form.Set("mon", "0-24")
	b.post("/settings/hours/1", form)
	c, err := b.desk.Calendars().Get(t.Context(), 1)
	if diff := cmp.Diff([]hours.Span{{From: 0, To: hours.Midnight}}, c.Week[1]); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if !strings.Contains(b.get("/settings/hours").body, "Office") {
		t.Error("the list lacks it")
	}
	if got := b.post("/settings/hours/1/delete", nil); got.location != "/desk/a/1/settings/hours" {
		t.Error(got.location)
	}
}

// Languages are added without losing what was written, previewed, and saved in one form.
func TestAutoReplies(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.post("/settings/hours", url.Values{"name": {"Office"}, "zone": {"UTC"}, "mon": {"9-17"}})
	if page := b.get("/settings/auto-replies/new").body; !strings.Contains(page, "We are closed at the moment") || !strings.Contains(page, "Outside business hours") {
		t.Errorf("the new page: %s", page)
	}
	form := url.Values{
		"name": {"Nights"}, "when": {"outside"}, "calendar": {"1"}, "on": {"new"}, "once": {"24"}, "active": {"1"}, "lang": {"en"},
		"subject-en": {"Closed"}, "body-en": {"Hi {{customer.first_name}} <x>"}, "do": {"add"}, "add": {"de"},
	}
	got := b.post("/settings/auto-replies", form)
	for _, text := range []string{"Hi {{customer.first_name}} &lt;x&gt;", `name="body-de"`, "Wir haben gerade geschlossen", "Hi Ada &lt;x&gt;"} {
		if !strings.Contains(got.body, text) {
			t.Errorf("after adding a language, %q is not on the page", text)
		}
	}
	form["lang"], form["do"] = []string{"en", "de"}, []string{"save"}
	form.Set("body-de", "")
	if got = b.post("/settings/auto-replies", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "The text is missing.") {
		t.Errorf("without a text: %d", got.status)
	}
	form.Set("do", "drop de")
	if got = b.post("/settings/auto-replies", form); strings.Contains(got.body, `name="body-de"`) {
		t.Error("the language is not gone")
	}
	form.Set("do", "save")
	form.Set("body-de", "Hallo")
	if got = b.post("/settings/auto-replies", form); got.location != "/desk/a/1/settings/auto-replies" {
		t.Fatalf("%d %s", got.status, got.location)
	}
	page, err := b.desk.AutoReplies().List(t.Context(), storage.PageRequest{Limit: 10})
	if err != nil || len(page.Items) != 1 || len(page.Items[0].Translations) != 2 || page.Items[0].CalendarID != 1 {
		t.Fatalf("%+v, %v", page.Items, err)
	}
	if got := b.get("/settings/auto-replies").body; !strings.Contains(got, "Outside Office · New conversations · Deutsch, English") {
		t.Errorf("the list: %s", got)
	}
	if got := b.post("/settings/hours/1/delete", nil); got.location != "/desk/a/1/settings/hours/1" {
		t.Errorf("its hours are gone: %s", got.location)
	}
	form.Set("when", "always")
	b.post("/settings/auto-replies/1", form)
	if a, err := b.desk.AutoReplies().Get(t.Context(), 1); err != nil || a.CalendarID != 0 || a.Version != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if got := b.post("/settings/auto-replies/1/delete", nil); got.location != "/desk/a/1/settings/auto-replies" {
		t.Error(got.location)
	}
}

// A thread shows an automatic reply as such, with its name, and the customer still waits.
func TestAutomaticInThread(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.post("/settings/auto-replies", url.Values{"name": {"Nights & days"}, "when": {"always"}, "on": {"new"}, "once": {"24"}, "active": {"1"}, "lang": {"en"}, "body-en": {"We have your message."}})
	in, raw := b.service.Intake(), []ledger.Raw{{Raw: []byte("Help")}}
	if err := in.Take(t.Context(), 1, b.box.ID, "smtp", raw, nil); err != nil {
		t.Fatal(err)
	}
	m := ledger.Incoming{Identity: []byte("1"), Message: message.Message{MessageID: "1@example.com", From: []mailaddr.Address{{Email: "ada@example.com"}}, Subject: "Help", Text: "Help"}}
	row, err := in.File(t.Context(), 1, 1, m)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	jobs, err := b.store.Claim(t.Context(), map[string]int{helpdesk.JobAutoReply: 1}, now, now.Add(time.Minute))
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if err := b.service.Jobs().AutoReply(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	page := b.get("/c/" + strconv.FormatInt(row.ConversationID, 10)).body
	for _, text := range []string{"Automatic reply", "Nights &amp; days", "/settings/auto-replies/1", "We have your message."} {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not in the thread", text)
		}
	}
	if c, err := b.desk.Conversations().Get(t.Context(), row.ConversationID); err != nil || c.AwaitingSince.IsZero() {
		t.Error("the customer does not wait", err)
	}
}
