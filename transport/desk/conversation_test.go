package desk_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// said returns the last message in a conversation, with its type and status.
func (b *bundle) said(id int64) []string {
	b.Helper()
	page, err := b.desk.Interactions().List(b.Context(), id, storage.PageRequest{})
	if err != nil {
		b.Fatal(err)
	}
	var out []string
	for _, i := range page.Items {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", i.Type, i.Status, i.Body)))
	}
	return out
}

func (b *bundle) hold(d time.Duration) {
	b.Helper()
	if _, err := b.desk.Account().Update(b.Context(), identity.AccountUpdate{Name: "Halden", SendHold: storage.Some(d)}); err != nil {
		b.Fatal(err)
	}
}

// value returns the value of a hidden field.
func value(page, name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return m[1]
}

// goOn follows the redirect of a form, with its toast.
func (b *bundle) goOn(a answer) string {
	b.Helper()
	if a.status != http.StatusSeeOther {
		b.Fatalf("status %d: %s", a.status, a.body)
	}
	var cookies []string
	for _, c := range a.header.Values("Set-Cookie") {
		pair, _, _ := strings.Cut(c, ";")
		cookies = append(cookies, pair)
	}
	path, _, _ := strings.Cut(a.location, "#")
	return b.do(http.MethodGet, path, nil, "Cookie", strings.Join(cookies, "; ")).body
}

func TestSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form  url.Values
		want  []string
		state helpdesk.Status
		toast string
	}{
		"a reply": {
			url.Values{"kind": {"reply"}, "body": {"It is <fixed>."}, "to": {"ada@example.com"}},
			[]string{"user posted It is &lt;fixed&gt;."}, helpdesk.StatusPosted, "Sending reply in 10 s",
		},
		"a reply of the editor": {
			url.Values{"kind": {"reply"}, "rich": {"1"}, "html": {`<p>It is <b>fixed</b>.</p><script>alert(1)</script>`}, "to": {"ada@example.com"}},
			[]string{"user posted <p>It is <b>fixed</b>.</p>"}, helpdesk.StatusPosted, "Sending reply in 10 s",
		},
		"and close": {
			url.Values{"kind": {"reply"}, "body": {"Done."}, "to": {"ada@example.com"}, "then": {"close"}},
			[]string{"user posted Done."}, helpdesk.StatusClosed, "Sending reply in 10 s",
		},
		"a note": {
			url.Values{"kind": {"note"}, "body": {"She called."}},
			[]string{"note posted She called."}, helpdesk.StatusPosted, "Note added",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			b.hold(10 * time.Second)
			conversation := b.asks("ada@example.com", "The door", "It is stuck.")
			page := b.get("/c/1")
			for _, field := range []string{"nonce", "seen", "draft"} {
				c.form.Set(field, value(page.body, field))
			}
			answer := b.post("/c/1/send", c.form)
			if again := b.post("/c/1/send", c.form); again.location != answer.location {
				t.Errorf("sent again, it goes on at %s, not at %s", again.location, answer.location)
			}
			if diff := cmp.Diff(c.want, b.said(conversation.ID)[1:]); diff != "" {
				t.Error(diff)
			}
			if next := b.goOn(answer); !strings.Contains(next, c.toast) {
				t.Errorf("no %q on %s", c.toast, answer.location)
			}
			got, err := b.desk.Conversations().Get(t.Context(), conversation.ID)
			if err != nil || got.Status != c.state {
				t.Error(got.Status, err)
			}
		})
	}
}

// A form that cannot be sent is shown again with its complete content.
func TestSendRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for name, c := range map[string]struct {
		form url.Values
		want []string
	}{
		"nothing": {url.Values{"kind": {"reply"}, "to": {"ada@example.com"}}, []string{"Your reply has not been sent.", "This is required"}},
		"an address that is none": {
			url.Values{"kind": {"reply"}, "to": {"ada"}, "body": {"It is done."}},
			[]string{"Your reply has not been sent.", "mail address", `value="ada"`, "It is done."},
		},
	} {
		c.form.Set("nonce", name)
		answer := b.post("/c/1/send", c.form)
		if answer.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", name, answer.status)
		}
		for _, want := range c.want {
			if !strings.Contains(answer.body, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
	if got := b.said(1); len(got) != 1 {
		t.Errorf("it was kept: %q", got)
	}
}

// An answer that crosses a newer message stays here until its author has read that.
func TestSendCrossing(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	page := b.get("/c/1").body
	form := url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Pull harder."}, "nonce": {value(page, "nonce")}, "seen": {value(page, "seen")}}
	if _, err := b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "It opened!"}); err != nil {
		t.Fatal(err)
	}
	refused := b.post("/c/1/send", form)
	if refused.status != http.StatusConflict {
		t.Fatalf("status %d", refused.status)
	}
	for _, want := range []string{"answered while you were writing", "It opened!", "Pull harder.", "Send anyway"} {
		if !strings.Contains(refused.body, want) {
			t.Errorf("no %q", want)
		}
	}
	if diff := cmp.Diff([]string{"customer posted It is stuck.", "customer posted It opened!"}, b.said(1)); diff != "" {
		t.Error(diff)
	}
	form.Set("anyway", "1")
	b.goOn(b.post("/c/1/send", form))
	if got := b.said(1); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// Undo turns the answer into the same draft again, and reopens what was closed with it.
func TestUndoSending(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.hold(time.Minute)
	b.asks("ada@example.com", "The door", "It is stuck.")
	answer := b.post("/c/1/send", url.Values{
		"kind": {"reply"}, "to": {"ada@example.com"}, "cc": {"bob@example.com"}, "body": {"Done."}, "then": {"close"}, "nonce": {"1"}, "seen": {"1"},
		"next": {"/desk/a/1/inbox/all"},
	})
	if answer.location != "/desk/a/1/inbox/all" {
		t.Error(answer.location)
	}
	undo := value(b.goOn(answer), "undo")
	b.goOn(b.post("/undo", url.Values{"undo": {undo}}))
	if diff := cmp.Diff([]string{"customer posted It is stuck.", "user draft Done."}, b.said(1)); diff != "" {
		t.Error(diff)
	}
	page := b.get("/c/1").body
	for _, want := range []string{`name="cc" value="bob@example.com"`, "Done.", "Draft saved"} {
		if !strings.Contains(page, want) {
			t.Errorf("the draft lacks %q", want)
		}
	}
	if c, err := b.desk.Conversations().Get(t.Context(), 1); err != nil || c.Status != helpdesk.StatusPosted {
		t.Error(c.Status, err)
	}
}

func TestBulk(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	for _, subject := range []string{"One", "Two", "Three"} {
		b.asks("ada@example.com", subject, "Hello.")
	}
	statuses := func() []helpdesk.Status {
		var out []helpdesk.Status
		for id := range int64(3) {
			c, err := b.desk.Conversations().Get(t.Context(), id+1)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, c.Status)
		}
		return out
	}
	const open, closed = helpdesk.StatusPosted, helpdesk.StatusClosed
	next := b.goOn(b.post("/bulk", url.Values{"id": {"1", "3"}, "act": {"close"}, "back": {"/desk/a/1/inbox/all"}}))
	if !strings.Contains(next, "Closed 2 conversations") {
		t.Error("the toast is missing")
	}
	if diff := cmp.Diff([]helpdesk.Status{closed, open, closed}, statuses()); diff != "" {
		t.Error(diff)
	}
	undo := value(next, "undo")
	// Somebody changes one of them before the undo: it is left.
	if _, err := b.desk.Conversations().Update(t.Context(), 3, helpdesk.ConversationUpdate{Subject: storage.Some("Third")}); err != nil {
		t.Fatal(err)
	}
	if next = b.goOn(b.post("/undo", url.Values{"undo": {undo}})); !strings.Contains(next, "Undone, except for 1 conversation") {
		t.Error("nothing says what was left")
	}
	if diff := cmp.Diff([]helpdesk.Status{open, open, closed}, statuses()); diff != "" {
		t.Error(diff)
	}
	b.goOn(b.post("/bulk", url.Values{"id": {"1", "2"}, "act": {"assign-me"}}))
	if c, err := b.desk.Conversations().Get(t.Context(), 2); err != nil || c.UserID != b.owner.ID {
		t.Error(c.UserID, err)
	}
	if got := b.post("/bulk", url.Values{"id": {"1"}, "act": {"explode"}}); got.status != http.StatusBadRequest {
		t.Errorf("an unknown act: status %d", got.status)
	}
}

// A form of another site changes nothing.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for name, header := range map[string][]string{
		"another origin":      {"Origin", "https://evil.example"},
		"another site":        {"Sec-Fetch-Site", "cross-site"},
		"a neighbour's":       {"Sec-Fetch-Site", "same-site"},
		"none that is opaque": {"Origin", "null"},
	} {
		if got := b.post("/c/1/send", url.Values{"kind": {"note"}, "body": {"x"}, "nonce": {name}}, header...); got.status != http.StatusForbidden {
			t.Errorf("%s: status %d", name, got.status)
		}
	}
	if got := b.said(1); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A page answers with its requested parts.
func TestParts(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for target, want := range map[string][]string{
		"main":           {"main"},
		"sidebar list":   {"sidebar", "list"},
		"toast nonsense": {"toast"},
	} {
		got := b.get("/inbox/all", "Desk-Target", target)
		var ids []string
		for _, m := range regexp.MustCompile(`data-swap="([^"]*)"`).FindAllStringSubmatch(got.body, -1) {
			ids = append(ids, m[1])
		}
		if diff := cmp.Diff(want, ids); diff != "" || strings.Contains(got.body, "<html") {
			t.Errorf("%s: %s", target, diff)
		}
		if !slices.Contains(got.header.Values("Vary"), "Desk-Target") {
			t.Errorf("%s: Vary does not say so", target)
		}
	}
}

// Only members get in, and sign-in never redirects to another site.
func TestSignIn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	own := newBundle(t, func(c *deskConfig) { c.Authenticate = nil })
	if got := own.get("/inbox/all?tag=1"); got.status != http.StatusSeeOther || got.location != "/desk/sign-in?next=%2Fdesk%2Fa%2F1%2Finbox%2Fall%3Ftag%3D1" {
		t.Errorf("%d %s", got.status, got.location)
	}
	for next, want := range map[string]string{
		"": "/desk/", "/desk/a/1/c/1": "/desk/a/1/c/1", "https://evil.example/desk/": "/desk/", "//evil.example/desk/": "/desk/", "/\\evil.example": "/desk/",
		"/elsewhere": "/desk/", "javascript:alert(1)": "/desk/", "/desk/\r\nSet-Cookie: x=1": "/desk/",
	} {
		got := own.do(http.MethodPost, "/desk/sign-in", url.Values{"email": {"maja@example.org"}, "password": {"correct horse"}, "next": {next}})
		if got.location != want {
			t.Errorf("after %q it goes on at %q", next, got.location)
		}
	}
	wrong := own.do(http.MethodPost, "/desk/sign-in", url.Values{"email": {"maja@example.org"}, "password": {"wrong"}})
	if wrong.status != http.StatusUnauthorized || !strings.Contains(wrong.body, "The email address or password is incorrect.") || strings.Contains(wrong.body, `value="wrong"`) {
		t.Errorf("a wrong password: %d", wrong.status)
	}
	if got := b.do(http.MethodGet, "/desk/a/2/inbox/all", nil); got.status != http.StatusNotFound {
		t.Errorf("another account: %d", got.status)
	}
}

// A conversation sleeps until the time that was chosen, and undo wakes it.
func TestSnooze(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	until := func() time.Time {
		c, err := b.desk.Conversations().Get(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return c.SnoozedUntil
	}
	at := time.Now().Add(50 * time.Hour).UTC().Truncate(time.Minute)
	for name, form := range map[string]url.Values{
		"a button":       {"until": {fmt.Sprint(at.Unix())}},
		"another time":   {"until": {""}, "at": {at.Format("2006-01-02T15:04")}},
		"from the list":  {"id": {"1"}, "act": {fmt.Sprintf("snooze-%d", at.Unix())}},
		"of a list, own": {"id": {"1"}, "act": {"snooze-"}, "at": {at.Format("2006-01-02T15:04")}},
	} {
		path := "/c/1/snooze"
		if form.Has("act") {
			path = "/bulk"
		}
		next := b.goOn(b.post(path, form))
		if !strings.Contains(next, "Snoozed 1 conversation") || !until().Equal(at) {
			t.Errorf("%s: until %s", name, until())
		}
		if got := b.get("/inbox/all").body; strings.Contains(got, "The door") {
			t.Errorf("%s: it is in the inbox", name)
		}
		if got := b.get("/inbox/snoozed").body; !strings.Contains(got, "The door") || !strings.Contains(got, "Until ") {
			t.Errorf("%s: it is not among those that sleep", name)
		}
		if b.goOn(b.post("/undo", url.Values{"undo": {value(next, "undo")}})); !until().IsZero() {
			t.Errorf("%s: undone, it sleeps until %s", name, until())
		}
	}
	if got := b.post("/c/1/snooze", url.Values{"until": {""}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without a time: status %d", got.status)
	}
}

// A text can be saved as a reply, and inserted into another answer with its placeholders filled.
func TestSavedReplies(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("Ada Lovelace <ada@example.com>", "The door", "It is stuck.")
	form := url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Hello {{customer.first_name}}, pull."}, "reply_name": {"Doors"}, "shared": {"1"}}
	if next := b.goOn(b.post("/c/1/save-reply", form)); !strings.Contains(next, "Reply saved") || !strings.Contains(next, "Doors") {
		t.Error("nothing says that it was saved")
	}
	if got := b.get("/c/1/replies/1"); !strings.Contains(got.body, "Hello Ada, pull.") {
		t.Errorf("%d %s", got.status, got.body)
	}
	b.asks("Bob Ray <bob@example.com>", "The gate", "It is stuck too.")
	b.goOn(b.post("/c/2/insert", url.Values{"kind": {"reply"}, "to": {"bob@example.com"}, "body": {"First."}, "reply": {"1"}}))
	if got := strings.Join(b.said(2), "\n"); !strings.Contains(got, "user draft First.") || !strings.Contains(got, "Hello Bob, pull.") {
		t.Error(got)
	}
	if _, err := b.desk.SavedReplies().CreateFile(t.Context(), 1, helpdesk.Upload{Filename: "door.txt", Content: strings.NewReader("Pull.")}); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/c/1").body; !strings.Contains(got, "data-reply data-attach") || !strings.Contains(got, "with attachments") {
		t.Error("nothing says that the reply has files")
	}
	if got := b.goOn(b.post("/c/1/insert", url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"x"}, "reply": {"1"}})); strings.Count(got, "<bdi>door.txt</bdi>") != 1 {
		t.Error("the file of a saved reply that was inserted is not attached")
	}
	got := b.post("/c/2/replies/1/files", url.Values{"kind": {"reply"}, "to": {"bob@example.com"}, "body": {"First."}, "draft": {"4"}})
	if got.status != http.StatusOK || !strings.Contains(got.body, "door.txt") || !strings.Contains(got.body, "/remove") {
		t.Errorf("files for the module: %d %s", got.status, got.body)
	}
	if got := b.post("/c/2/replies/9/files", url.Values{"kind": {"reply"}, "body": {"x"}}); got.status != http.StatusNotFound {
		t.Errorf("files of no reply: status %d", got.status)
	}
	form.Set("body", "Hello {{customer.password}}")
	if got := b.post("/c/1/save-reply", form); got.status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown placeholder: status %d", got.status)
	}
}

// Members see who is present at a conversation, in the list and on its page.
func TestPresence(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	operator := b.service.Operator()
	other, err := operator.CreateUser(t.Context(), identity.UserInput{Name: "Tomás Pereira", Email: "tomas@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.AddMember(t.Context(), 1, other.ID, identity.RoleOwner); err != nil {
		t.Fatal(err)
	}
	theirs, err := b.service.Desk(t.Context(), b.service.As(other.ID), 1)
	if err != nil {
		t.Fatal(err)
	}
	for doing, want := range map[helpdesk.Doing][2]string{
		helpdesk.Replying: {"Tomás is replying", "Tomás is writing a reply, too."}, helpdesk.Reading: {"The door", "Tomás is reading"},
	} {
		if _, err := theirs.Conversations().Present(t.Context(), 1, doing); err != nil {
			t.Fatal(err)
		}
		if got := b.post("/c/1/presence", url.Values{"doing": {"replying"}}); got.status != http.StatusNoContent {
			t.Errorf("status %d", got.status)
		}
		for i, path := range []string{"/inbox/all", "/c/1"} {
			if got := b.get(path).body; !strings.Contains(got, want[i]) || strings.Contains(got, "Maja is") {
				t.Errorf("%s, while they are %s: no %q", path, doing, want[i])
			}
		}
	}
	for path, want := range map[string]int{
		"/c/1/presence?doing=dancing": http.StatusUnprocessableEntity,
		"/c/9/presence?doing=reading": http.StatusNoContent, // deleted while its page was open
	} {
		path, query, _ := strings.Cut(path, "?")
		form, _ := url.ParseQuery(query)
		if got := b.post(path, form); got.status != want {
			t.Errorf("%s: status %d, want %d", path, got.status, want)
		}
	}
}

// A new conversation that is sent twice is there once, and comes back with all that was written when it cannot be sent.
func TestNewConversation(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.hold(time.Minute)
	form := url.Values{
		"kind": {"reply"}, "to": {"Ada <ada@example.com>"}, "cc": {"bob@example.com"}, "subject": {"The door"}, "body": {"It is mended."},
		"mailbox": {fmt.Sprint(b.box.ID)}, "nonce": {value(b.get("/new").body, "nonce")},
	}
	first, again := b.post("/new", form), b.post("/new", form)
	if first.location != "/desk/a/1/c/1" || again.location != first.location {
		t.Errorf("%d %s, then %s", first.status, first.location, again.location)
	}
	if diff := cmp.Diff([]string{"user posted It is mended."}, b.said(1)); diff != "" {
		t.Error(diff)
	}
	if next := b.goOn(again); !strings.Contains(next, "Sending reply in 60 s") {
		t.Error("the toast is missing")
	}
	form.Set("nonce", "another")
	form.Set("to", "nobody")
	got := b.post("/new", form)
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "It is mended.") || !strings.Contains(got.body, `value="The door"`) {
		t.Errorf("a wrong address: %d", got.status)
	}
}

// A new conversation belongs to its author, unless another assignee, or none, was chosen.
func TestNewConversationIsAssigned(t *testing.T) {
	t.Parallel()
	b := office(t)
	team, err := b.desk.Teams().Create(t.Context(), helpdesk.TeamInput{Name: "Repairs", MemberIDs: storage.Some([]int64{b.desk.UserID()})})
	if err != nil {
		t.Fatal(err)
	}
	page := b.get("/new").body
	if !strings.Contains(page, fmt.Sprintf(`<option value="team-%d">Repairs</option>`, team.ID)) || !strings.Contains(page, `<option value="user-2">`) {
		t.Error("the page does not offer the team, or a colleague")
	}
	for choice, want := range map[string][2]int64{
		"": {b.desk.UserID(), 0}, "me": {b.desk.UserID(), 0}, "nobody": {0, 0}, "user-2": {2, 0}, fmt.Sprint("team-", team.ID): {0, team.ID},
	} {
		form := url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "subject": {"x"}, "body": {"Hello."}, "nonce": {"n" + choice}, "assignee": {choice}}
		got := b.post("/new", form)
		id, _ := strconv.ParseInt(strings.TrimPrefix(got.location, "/desk/a/1/c/"), 10, 64)
		c, err := b.desk.Conversations().Get(t.Context(), id)
		if diff := cmp.Diff(want, [2]int64{c.UserID, c.TeamID}); err != nil || diff != "" {
			t.Errorf("%q: %d %v %s", choice, got.status, err, diff)
		}
		form.Set("nonce", "wrong"+choice)
		form.Set("to", "nobody")
		if got := b.post("/new", form); choice != "" && choice != "me" && !strings.Contains(got.body, fmt.Sprintf(`value=%q selected`, choice)) {
			t.Errorf("%q: the choice is lost with a wrong address: %d", choice, got.status)
		}
	}
	if got := b.post("/new", url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"x"}, "nonce": {"gone"}, "assignee": {"team-99"}}); got.status < 400 || got.status >= 500 {
		t.Errorf("a team that is not there: %d", got.status)
	}
}

// The changes that accompany an answer are undone with it, and bulk actions on too many conversations are refused as a
// whole.
func TestUndoPendingAndTooMany(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.hold(time.Minute)
	b.asks("ada@example.com", "The door", "It is stuck.")
	form := url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Wait."}, "then": {"pending"}, "nonce": {"1"}, "anyway": {"1"}}
	undo := value(b.goOn(b.post("/c/1/send", form)), "undo")
	if c, err := b.desk.Conversations().Get(t.Context(), 1); err != nil || c.Status != helpdesk.StatusPending {
		t.Error(c.Status, err)
	}
	b.goOn(b.post("/undo", url.Values{"undo": {undo}}))
	if c, err := b.desk.Conversations().Get(t.Context(), 1); err != nil || c.Status != helpdesk.StatusPosted {
		t.Error(c.Status, err)
	}
	many := url.Values{"act": {"close"}}
	for id := range helpdesk.MaxBulk + 1 {
		many.Add("id", fmt.Sprint(id+1))
	}
	if got := b.post("/bulk", many); got.status < 400 || got.status >= 500 {
		t.Errorf("too many: status %d", got.status)
	}
	for _, undo := range []string{"", "x", strings.Repeat("A", 5000)} {
		if got := b.post("/undo", url.Values{"undo": {undo}}); got.status != http.StatusNotFound {
			t.Errorf("an undo of nothing: status %d", got.status)
		}
	}
}
