package desk_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func TestSavedReplyForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	see := func(path string, form url.Values, header ...string) {
		t.Helper()
		if got := b.post("/settings/replies"+path, form, header...); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings/replies" {
			t.Errorf("%s: %d %s\n%s", path, got.status, got.location, got.body)
		}
	}
	rich := "<p>Hello {{customer.first_name}}, <b>thank you</b>.</p>"
	see("", url.Values{"name": {"Thanks"}, "rich": {"1"}, "html": {rich}, "shared": {"1"}})
	see("", url.Values{"name": {"Mine"}, "body": {"Line one\r\nLine two"}})
	text := func(id int64) string {
		r, err := b.desk.SavedReplies().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r.Body
	}
	if !strings.Contains(text(1), "<b>thank you</b>") || !strings.Contains(text(2), "Line one") || strings.Contains(text(2), "\r") {
		t.Errorf("%q %q", text(1), text(2))
	}
	was := text(1)
	see("/1", url.Values{"name": {"Many thanks"}, "body": {"Hello {{customer.first_name}}, thank you.\r\n"}, "shared": {"1"}})
	if got := text(1); got != was {
		t.Errorf("a text that stays loses its formatting without scripts: %q", got)
	}
	for name, tt := range map[string]struct {
		path string
		form url.Values
		says string
	}{
		"without a name":      {"", url.Values{"body": {"x"}}, "This is required"},
		"without a text":      {"/1", url.Values{"name": {"Empty"}, "shared": {"1"}}, "This is required"},
		"unknown placeholder": {"/1", url.Values{"name": {"X"}, "body": {"{{customer.iban}}"}, "shared": {"1"}}, "{{customer.iban}}"},
		"a name twice":        {"", url.Values{"name": {"many THANKS"}, "body": {"kept words"}, "shared": {"1"}}, "kept words"},
	} {
		if got := b.post("/settings/replies"+tt.path, tt.form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d without %q", name, got.status, tt.says)
		}
	}
	for _, path := range []string{"/1", "/1/delete"} {
		if got := b.post("/settings/replies"+path, url.Values{"name": {"Mine now"}, "body": {"x"}, "shared": {"1"}}, "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("a shared one, %s by who may not: %d", path, got.status)
		}
		if got := b.post("/settings/replies"+strings.Replace(path, "1", "2", 1), url.Values{"name": {"Mine now"}, "body": {"x"}}, "As", "other"); got.status == http.StatusSeeOther {
			t.Errorf("somebody else's, %s: %d", path, got.status)
		}
	}
	if got := b.get("/settings/replies/2", "As", "other"); got.status != http.StatusNotFound {
		t.Errorf("somebody else's page: %d", got.status)
	}
	if got := b.get("/settings/replies", "As", "other"); strings.Contains(got.body, "Line one") || !strings.Contains(got.body, "Many thanks") {
		t.Error("the list of a member is not theirs")
	}
	see("/2/delete", nil)
	see("/1/delete", nil)
}

// A saved reply has files that its page adds, shows and removes, together with the text.
func TestReplyFileForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	fields := url.Values{"name": {"Terms"}, "body": {"Here they are."}}
	names := func(id int64) (out []string) {
		t.Helper()
		files, err := b.desk.SavedReplies().Files(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			out = append(out, f.Filename)
		}
		return out
	}
	b.submit("/settings/replies", fields, "a.txt")
	fields.Set("body", "Here they are, all of them.")
	b.submit("/settings/replies/1", fields, "b.txt")
	if diff := cmp.Diff([]string{"a.txt", "b.txt"}, names(1)); diff != "" {
		t.Fatal(diff)
	}
	page := b.get("/settings/replies/1").body
	if !strings.Contains(page, "all of them") || !strings.Contains(page, "/settings/replies/1/files/2/remove") {
		t.Error("the page does not show the files")
	}
	if !strings.Contains(b.get("/settings/replies").body, "2 files") {
		t.Error("the list does not say how many files there are")
	}
	if got := b.get("/settings/replies/1/files/1"); got.status != http.StatusOK || got.body == "" {
		t.Errorf("the file: %d %q", got.status, got.body)
	}
	got := b.submit("/settings/replies/1", fields, "run.exe")
	if got.location != "/desk/a/1/settings/replies/1" || !strings.Contains(b.goOn(got), "The reply was saved without run.exe") {
		t.Errorf("a file that is refused: %d %s", got.status, got.location)
	}
	fields.Set("body", "Kept with the button.")
	if got := b.submit("/settings/replies/1/files/1/remove", fields, "c.txt"); got.location != "/desk/a/1/settings/replies/1" {
		t.Errorf("%d %s %s", got.status, got.location, got.body)
	}
	if diff := cmp.Diff([]string{"b.txt", "c.txt"}, names(1)); diff != "" {
		t.Error(diff)
	}
	if r, err := b.desk.SavedReplies().Get(t.Context(), 1); err != nil || !strings.Contains(r.Body, "Kept with the button") {
		t.Error(r.Body, err)
	}
	for _, path := range []string{"/settings/replies/1/files/2", "/settings/replies/1"} {
		if got := b.get(path, "As", "other"); got.status != http.StatusNotFound {
			t.Errorf("%s of somebody else's reply: %d", path, got.status)
		}
	}
	if got := b.post("/settings/replies/1/files/2/remove", fields, "As", "other"); got.status != http.StatusNotFound {
		t.Errorf("removing somebody else's file: %d", got.status)
	}
}

// A list that is narrowed becomes a view that shows the same, to whoever opens it.
func TestSavedViewForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	tag, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: "Refund"})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
	closed := []helpdesk.Status{helpdesk.StatusClosed}
	for name, tt := range map[string]struct {
		form url.Values
		want helpdesk.ViewFilter
	}{
		"mine, tagged":       {url.Values{"list": {"mine"}, "tag": {"1"}, "priority": {"urgent"}}, helpdesk.ViewFilter{Agent: "me", Statuses: open, Snoozed: &no, TagIDs: []int64{tag.ID}, Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent}}},
		"closed":             {url.Values{"list": {"all"}, "status": {"closed"}}, helpdesk.ViewFilter{Statuses: closed}},
		"words":              {url.Values{"list": {"search"}, "q": {" refund "}}, helpdesk.ViewFilter{Words: "refund"}},
		"of a colleague":     {url.Values{"list": {"mailbox-1"}, "user": {"2"}, "status": {"closed"}}, helpdesk.ViewFilter{Agent: "2", Statuses: closed, MailboxID: 1}},
		"unassigned, oldest": {url.Values{"list": {"unassigned"}, "sort": {"oldest"}}, helpdesk.ViewFilter{Agent: "unassigned", Statuses: open, Snoozed: &no, Sort: helpdesk.ByUpdated, Ascending: true}},
		"drafts":             {url.Values{"list": {"drafts"}, "tag": {"1"}}, helpdesk.ViewFilter{Draft: "me", TagIDs: []int64{tag.ID}}},
		"own by a link":      {url.Values{"list": {"all"}, "user": {"me"}, "status": {"closed"}}, helpdesk.ViewFilter{Agent: "me", Statuses: closed}},
	} {
		tt.form.Set("view_name", name)
		got := b.post("/views", tt.form)
		id, _ := strconv.ParseInt(strings.TrimPrefix(got.location, "/desk/a/1/inbox/view-"), 10, 64)
		view, err := b.desk.Views().Get(ctx, id)
		if err != nil {
			t.Errorf("%s: %d %s %v", name, got.status, got.location, err)
			continue
		}
		if diff := cmp.Diff(tt.want, view.Filter); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := b.get("/inbox/view-" + strconv.FormatInt(id, 10)); got.status != http.StatusOK || !strings.Contains(got.body, name) {
			t.Errorf("%s: its page: %d", name, got.status)
		}
	}
	if got := b.post("/views", url.Values{"list": {"mine"}, "view_name": {"x"}}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("by who may not: %d", got.status)
	}
	if got := b.post("/views", url.Values{"list": {"nonsense"}, "view_name": {"x"}}); got.status != http.StatusNotFound {
		t.Errorf("of no list: %d", got.status)
	}
	b.post("/settings/views/1", url.Values{"name": {"Renamed"}})
	if view, err := b.desk.Views().Get(ctx, 1); err != nil || view.Name != "Renamed" || len(view.Filter.Statuses)+len(view.Filter.Words)+len(view.Filter.Draft) == 0 {
		t.Error(view, err)
	}
	b.post("/settings/views/1/delete", nil)
	if page, err := b.desk.Views().List(ctx, storage.PageRequest{Limit: 100}); err != nil || len(page.Items) != 6 {
		t.Error(len(page.Items), err)
	}
}

// A view has its own defaults, which the address can override.
func TestViewDefaults(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	done := b.asks("ada@example.net", "Finished", "Thank you")
	b.asks("bo@example.net", "Unfinished", "Please")
	if _, err := b.desk.Conversations().UpdateAll(ctx, []int64{done.ID}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Done", Filter: helpdesk.ViewFilter{Statuses: []helpdesk.Status{helpdesk.StatusClosed}}}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]bool{"": {true, false}, "?status=open": {false, true}, "?status=all": {true, true}, "?sort=oldest": {true, false}} {
		got := b.get("/inbox/view-1" + query)
		shown := [2]bool{strings.Contains(got.body, "Finished"), strings.Contains(got.body, "Unfinished")}
		if shown != want {
			t.Errorf("%q shows %v, want %v", query, shown, want)
		}
	}
	if got := b.get("/inbox/all").body; !strings.Contains(got, `<span dir="auto">Done</span><small>1</small>`) {
		t.Error("the sidebar does not say how many there are")
	}
}

func TestPortalKeyForms(t *testing.T) {
	t.Parallel()
	b := office(t)
	if got := b.post("/settings/portal", url.Values{"name": {"Shop"}, "algorithm": {"HS256"}, "public_key": {"ignored"}}); got.status != http.StatusOK || !strings.Contains(got.body, helpdesk.PortalSecretPrefix) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.get("/settings/portal"); strings.Contains(got.body, helpdesk.PortalSecretPrefix) || !strings.Contains(got.body, "Shop") {
		t.Error("the secret is shown again, or the key is not")
	}
	good := "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
	if got := b.post("/settings/portal", url.Values{"name": {"App"}, "algorithm": {"EdDSA"}, "public_key": {"nonsense"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "nonsense") {
		t.Errorf("a wrong key: %d", got.status)
	}
	if got := b.post("/settings/portal", url.Values{"name": {"App"}, "algorithm": {"EdDSA"}, "public_key": {good}}); got.status != http.StatusSeeOther {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, path := range []string{"/settings/portal", "/settings/portal/1/delete"} {
		if got := b.post(path, url.Values{"name": {"X"}, "algorithm": {"HS256"}}, "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("%s by who may not: %d", path, got.status)
		}
	}
	b.post("/settings/portal/1/delete", nil)
	if page, err := b.desk.PortalKeys().List(t.Context(), storage.PageRequest{Limit: 10}); err != nil || len(page.Items) != 1 {
		t.Error(len(page.Items), err)
	}
}

// The team's notes about customers are kept when customers are merged.
func TestCustomerNoteAndMerge(t *testing.T) {
	t.Parallel()
	b := office(t)
	ctx := t.Context()
	b.asks("ada@example.net", "Door", "It is stuck")
	b.asks("a.lovelace@example.net", "Lock", "It is stuck too")
	conversation, err := b.desk.Conversations().Get(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := conversation.CustomerID
	if conversation, err = b.desk.Conversations().Get(ctx, 2); err != nil {
		t.Fatal(err)
	}
	second := conversation.CustomerID
	at := func(id int64, rest string) string { return "/customers/" + strconv.FormatInt(id, 10) + rest }
	b.post(at(first, "/note"), url.Values{"note": {"Calls early.\r\n<b>Careful</b>\x00\u202e"}, "back": {"/desk/a/1/c/1"}})
	b.post(at(second, "/note"), url.Values{"note": {"Pays late."}})
	if c, err := b.desk.Customers().Get(ctx, first); err != nil || c.Note != "Calls early.\n<b>Careful</b>" {
		t.Errorf("%q %v", c.Note, err)
	}
	if got := b.get("/c/1"); !strings.Contains(got.body, "Calls early.\n&lt;b&gt;Careful") {
		t.Error("the note is not beside the conversation")
	}
	b.post(at(first, "/note"), url.Values{"note": {strings.Repeat("x", helpdesk.MaxNote+1)}})
	if c, err := b.desk.Customers().Get(ctx, first); err != nil || len(c.Note) > 100 {
		t.Errorf("a note that is too long: %d %v", len(c.Note), err)
	}
	for path, form := range map[string]url.Values{"/note": {"note": {"x"}}, "/merge": {"into": {strconv.FormatInt(second, 10)}}} {
		if got := b.post(at(first, path), form, "As", "other"); got.status != http.StatusForbidden {
			t.Errorf("%s by who may not: %d", path, got.status)
		}
	}
	if got := b.get(at(first, "/merge"), "As", "other"); got.status != http.StatusNotFound {
		t.Errorf("the page of who may not: %d", got.status)
	}
	if got := b.get(at(first, "/merge?q=lovelace")); !strings.Contains(got.body, "into="+strconv.FormatInt(second, 10)) || strings.Contains(got.body, "into="+strconv.FormatInt(first, 10)) {
		t.Error("the other is not found, or the customer itself is")
	}
	if got := b.get(at(first, "/merge?into="+strconv.FormatInt(second, 10))); !strings.Contains(got.body, "Pays late.") || !strings.Contains(got.body, "Calls early.") {
		t.Error("both are not shown")
	}
	for name, into := range map[string]string{"itself": strconv.FormatInt(first, 10), "nobody": ""} {
		if got := b.post(at(first, "/merge"), url.Values{"into": {into}}); got.status != http.StatusSeeOther || got.location != "/desk/a/1"+at(first, "/merge") {
			t.Errorf("into %s: %d %s", name, got.status, got.location)
		}
	}
	if got := b.post(at(first, "/merge"), url.Values{"into": {strconv.FormatInt(second, 10)}}); got.location != "/desk/a/1"+at(second, "") {
		t.Errorf("%d %s", got.status, got.location)
	}
	if c, err := b.desk.Customers().Get(ctx, second); err != nil || len(c.Emails) != 2 || c.Note != "Pays late.\n\nCalls early.\n<b>Careful</b>" {
		t.Errorf("%+v %v", c, err)
	}
	if got := b.get(at(first, "")); got.status != http.StatusNotFound {
		t.Errorf("the page of who is gone: %d", got.status)
	}
}
