package desk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// tell runs the jobs that create notifications.
func (b *bundle) tell() {
	b.Helper()
	now := time.Now()
	jobs, err := b.store.Claim(b.Context(), map[string]int{helpdesk.JobNotify: 100}, now, now.Add(time.Minute))
	if err != nil {
		b.Fatal(err)
	}
	for _, job := range jobs {
		if err := b.service.Jobs().Notify(b.Context(), job); err != nil {
			b.Fatal(err)
		}
		if err := b.store.Finish(b.Context(), job); err != nil {
			b.Fatal(err)
		}
	}
}

// deskOf opens the desk of a member.
func (b *bundle) deskOf(user int64) *helpdesk.Desk {
	b.Helper()
	d, err := b.service.Desk(b.Context(), b.service.As(user), 1)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// staffed is an office whose second member is an agent.
func staffed(t *testing.T) *bundle {
	t.Helper()
	b := office(t)
	roles, err := b.desk.Roles().All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles {
		if r.Key == identity.RoleAgent {
			b.limit(r.ID)
			return b
		}
	}
	t.Fatal("there is no role of agents")
	return nil
}

// limit gives the second member a role, in some mailboxes; none means all.
func (b *bundle) limit(role int64, boxes ...int64) {
	b.Helper()
	page, err := b.desk.Members().List(b.Context(), storage.PageRequest{})
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range page.Items {
		if m.UserID == b.owner.ID {
			continue
		}
		if role == 0 {
			role = m.RoleIDs[0]
		}
		if _, err := b.desk.Members().Update(b.Context(), m.ID, identity.MembershipUpdate{RoleIDs: []int64{role}, MailboxIDs: storage.Some(boxes)}); err != nil {
			b.Fatal(err)
		}
	}
}

const tomas = 2 // the second member's user

// give assigns a conversation to the second member.
func (b *bundle) give(c helpdesk.Conversation) {
	b.Helper()
	if _, err := b.desk.Conversations().Update(b.Context(), c.ID, helpdesk.ConversationUpdate{UserID: storage.Some[int64](tomas)}); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) adds(c helpdesk.Conversation, kind helpdesk.InteractionType, body string) helpdesk.Interaction {
	b.Helper()
	i, err := b.desk.Interactions().Create(b.Context(), c.ID, helpdesk.InteractionInput{Type: kind, Body: body})
	if err != nil {
		b.Fatal(err)
	}
	return i
}

// spoken is the text of an element, spaces made one.
func spoken(n *html.Node) string {
	var text []string
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text = append(text, strings.Fields(d.Data)...)
		}
	}
	return strings.Join(text, " ")
}

// told returns the rows of a page of notifications: the text, the subject, and whether they are unread.
func told(t *testing.T, page answer) []string {
	t.Helper()
	what := func(li *html.Node) string { return spoken(find(li, "class", "says")[0]) }
	var rows []string
	for _, li := range find(parse(t, page.body), "class", "told unread") {
		rows = append(rows, "unread: "+what(li))
	}
	for _, li := range find(parse(t, page.body), "class", "told") {
		rows = append(rows, what(li))
	}
	return rows
}

// Members see their own notifications only; a click marks one as read and opens its subject.
func TestNotificationPages(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	door := b.asks("ada@example.com", "The door", "It is stuck.")
	b.tell()
	b.give(door)
	b.tell()
	note := b.adds(door, helpdesk.TypeNote, `Ask @tomas@example.org.`)
	b.tell()
	page := b.get("/notifications", "As", "other")
	if diff := cmp.Diff([]string{
		"unread: Unread, Maja Lindqvist mentioned you in a note The door · ada@example.com",
		"unread: Unread, Maja Lindqvist assigned this to you The door · ada@example.com",
		"unread: Unread, New and unassigned The door · ada@example.com",
	}, told(t, page)); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(page.body, `aria-label="Notifications, 3 unread"`) {
		t.Error("the bell does not say how many are unread")
	}
	own := b.get("/notifications")
	if strings.Contains(own.body, "The door") || !strings.Contains(own.body, `aria-label="Notifications"`) || !strings.Contains(own.body, "No notifications yet") {
		t.Error("the owner is told of what they did themselves")
	}
	if got := b.post("/notifications/3/open", nil); got.status != http.StatusNotFound {
		t.Errorf("another's: status %d", got.status)
	}
	at := fmt.Sprintf("/desk/a/1/c/1?m=%d#m%d", note.ID, note.ID)
	if got := b.post("/notifications/3/open", nil, "As", "other"); got.status != http.StatusSeeOther || got.location != at {
		t.Errorf("opened: %d %s, not %s", got.status, got.location, at)
	}
	if got := b.get("/notifications?unread=1", "As", "other"); len(told(t, got)) != 2 || !strings.Contains(got.body, "2 unread") {
		t.Errorf("unread ones: %q", told(t, got))
	}
	if got := b.post("/notifications/read", url.Values{"up_to": {"1"}, "back": {"/desk/a/1/c/1"}}, "As", "other"); got.location != "/desk/a/1/c/1" {
		t.Errorf("read up to one: %d %s", got.status, got.location)
	}
	if n, err := b.deskOf(tomas).Notifications().Unread(t.Context()); err != nil || n != 1 {
		t.Errorf("up to the first, %d are unread, %v", n, err)
	}
	b.post("/notifications/read", nil, "As", "other")
	if n, _ := b.deskOf(tomas).Notifications().Unread(t.Context()); n != 1 {
		t.Error("a form without a number reads what was not shown")
	}
	b.post("/notifications/read", url.Values{"up_to": {"3"}}, "As", "other")
	if got := b.get("/notifications?unread=1", "As", "other"); !strings.Contains(got.body, "All caught up") || strings.Contains(got.body, "Mark all as read") {
		t.Error("all is read, and the page does not say so")
	}
}

// A member who loses access to a mailbox sees no notifications about it, old or new.
func TestNotificationsOfMailboxes(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	second, err := b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Name: storage.Some("Orders"), Email: storage.Some("orders@example.org")})
	if err != nil {
		t.Fatal(err)
	}
	door := b.asks("ada@example.com", "The door", "It is stuck.")
	b.give(door)
	b.tell()
	if got := told(t, b.get("/notifications", "As", "other")); len(got) != 1 {
		t.Fatalf("told of %q", got)
	}
	b.limit(0, second.ID)
	for path, want := range map[string]int{"/notifications": http.StatusOK, "/c/1/mentionable": http.StatusNotFound, "/notifications/browser": http.StatusOK} {
		if got := b.get(path, "As", "other"); got.status != want || strings.Contains(got.body, "The door") || strings.Contains(got.body, "1 unread") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/notifications/1/open", "/c/1/follow"} {
		if got := b.post(path, url.Values{"follow": {"1"}}, "As", "other"); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got.status)
		}
	}
	if got := b.get("/c/1/mentionable"); got.status != http.StatusOK || strings.TrimSpace(got.body) != "[]" {
		t.Errorf("who cannot see it is offered: %s", got.body)
	}
}

// Lists are read in pages.
func TestNotificationsAreManyPages(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	for n := range 60 {
		b.asks("ada@example.com", fmt.Sprintf("Number %d", n), "It is stuck.")
	}
	b.tell()
	first := b.get("/notifications", "As", "other")
	more := find(parse(t, first.body), "class", "button")
	next := ""
	for _, a := range more {
		if strings.Contains(attribute(a, "href"), "after=") {
			next = attribute(a, "href")
		}
	}
	rest := b.get(strings.TrimPrefix(next, "/desk/a/1"), "As", "other")
	if n := len(told(t, first)) + len(told(t, rest)); n != 60 || !strings.Contains(rest.body, "Number 0<") || strings.Contains(rest.body, "Number 59<") {
		t.Errorf("%d in two pages, the second at %q", n, next)
	}
	panel := b.get("/notifications", "As", "other", "Desk-Target", "notices bell").body
	if strings.Count(panel, "<template ") != 2 || strings.Count(panel, `class="told`) != 8 || !strings.Contains(panel, "Number 59<") {
		t.Error("the panel of the bell is not whole")
	}
}

// A browser notification contains the event and the subject, as plain text.
func TestBrowserNotice(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	door := b.asks("ada@example.com", "The <b>door</b>", "A secret of the body.")
	b.give(door)
	b.tell()
	got := b.get("/notifications/browser?after=nonsense", "As", "other")
	var list []map[string]any
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.header.Get("Content-Type") != "application/json" {
		t.Fatal(err, got.body)
	}
	want := []map[string]any{{
		"id": 1.0, "title": "Maja Lindqvist assigned this to you", "text": "The <b>door</b>", "open": "/desk/a/1/notifications/1/open", "about": "/desk/a/1/c/1",
	}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if got := b.get("/notifications/browser?after=1", "As", "other"); strings.TrimSpace(got.body) != "[]" {
		t.Errorf("told twice: %s", got.body)
	}
	if got := b.get("/notifications/browser"); strings.TrimSpace(got.body) != "[]" {
		t.Errorf("another is told: %s", got.body)
	}
}

// Subjects, names and notes of others can do nothing on these pages.
func TestHostileNotifications(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	admin, err := b.service.Admin(t.Context(), b.service.As(b.owner.ID))
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range hostile {
		name := []rune(strings.ToValidUTF8(body, ""))
		if _, err := admin.UpdateMe(t.Context(), identity.UserUpdate{Name: storage.Some(string(name[:min(200, len(name))]))}); err != nil {
			t.Logf("%d as a name: %v", i, err)
		}
		c := b.asks("ada@example.com", "x", "It is stuck.")
		if changed, err := b.desk.Conversations().Update(t.Context(), c.ID, helpdesk.ConversationUpdate{Subject: storage.Some(string(name[:min(900, len(name))]))}); err != nil {
			t.Logf("%d as a subject: %v", i, err)
		} else {
			c = changed
		}
		b.give(c)
		if _, err := b.desk.Interactions().Create(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: `<a href="mailto:member-2@mention.invalid">@` + body + "</a>"}); err != nil {
			t.Logf("%d as a note: %v", i, err)
		}
		b.tell()
		for _, page := range []answer{b.get("/notifications", "As", "other", "Desk-Target", "notices"), b.get("/c/"+fmt.Sprint(c.ID), "As", "other")} {
			inspect(t, parse(t, page.body), "script[desk.js] input form button")
		}
	}
	page := b.get("/notifications", "As", "other")
	inspect(t, parse(t, page.body), "script[desk.js] input form button")
	if len(told(t, page)) < len(hostile) {
		t.Errorf("%d were told", len(told(t, page)))
	}
}

// The table in the settings is stored; kinds that the member may not see are left alone.
func TestNotificationSettings(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	if got := b.get("/settings/notifications"); strings.Count(got.body, `<input type="checkbox" name="`) != 21 || strings.Count(got.body, " checked>") != 20 {
		t.Errorf("the owner's table: %d boxes, %d ticked", strings.Count(got.body, `<input type="checkbox" name="`), strings.Count(got.body, " checked>"))
	}
	if got := b.get("/settings/notifications", "As", "other"); strings.Contains(got.body, "Mailbox needs attention") {
		t.Error("an agent is asked about mailboxes")
	}
	form := url.Values{"assigned": {"desk", "mail"}, "replied": {"browser"}, "mailbox": {"mail"}}
	for range 2 {
		if got := b.post("/settings/notifications", form, "As", "other"); got.status != http.StatusSeeOther || got.location != "/desk/a/1/settings/notifications" {
			t.Errorf("saved: %d %s", got.status, got.location)
		}
	}
	chosen, err := b.deskOf(tomas).Notifications().Choices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []helpdesk.NotifyChoice{
		{Kind: "assigned", Channels: []helpdesk.NotificationChannel{"desk", "mail"}}, {Kind: "unassigned"}, {Kind: "replied", Channels: []helpdesk.NotificationChannel{"browser"}},
		{Kind: "mentioned"}, {Kind: "failed"}, {Kind: "mailbox", Channels: []helpdesk.NotificationChannel{"desk", "browser", "mail"}}, {Kind: "rule"},
	}
	if diff := cmp.Diff(want, chosen.Choices); diff != "" {
		t.Error(diff)
	}
	if got := b.post("/settings/notifications", url.Values{"assigned": {"pigeon"}}, "As", "other"); got.status != http.StatusSeeOther {
		t.Errorf("an unknown channel: %d", got.status)
	}
	if again, _ := b.deskOf(tomas).Notifications().Choices(t.Context()); cmp.Diff(chosen, again) != "" {
		t.Error("an unknown channel changes something")
	}
}

// A member follows and unfollows a conversation; the page lists the followers.
func TestFollowing(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	b.asks("ada@example.com", "The door", "It is stuck.")
	following := func(header ...string) string {
		t.Helper()
		section := find(parse(t, b.get("/c/1", header...).body), "class", "following")
		if len(section) != 1 {
			t.Fatal("nothing says who follows")
		}
		return spoken(section[0])
	}
	for _, step := range []struct {
		what, follow, own, other string
		as                       []string
	}{
		{"at first", "", "Following Follow", "Following Follow", nil},
		{"one does", "1", "Following T Tomás Follow", "Following T Tomás Unfollow", []string{"As", "other"}},
		{"both do", "1", "Following ML Maja Lindqvist T Tomás Unfollow", "Following ML Maja Lindqvist T Tomás Unfollow", nil},
		{"one stops", "0", "Following ML Maja Lindqvist Unfollow", "Following ML Maja Lindqvist Follow", []string{"As", "other"}},
	} {
		if step.follow != "" {
			if got := b.post("/c/1/follow", url.Values{"follow": {step.follow}, "back": {"/desk/a/1/c/1?in=all"}}, step.as...); got.status != http.StatusSeeOther || got.location != "/desk/a/1/c/1?in=all" {
				t.Errorf("%s: %d %s", step.what, got.status, got.location)
			}
		}
		if diff := cmp.Diff([]string{step.own, step.other}, []string{following(), following("As", "other")}); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
	}
}

// A note mentions whom the picker offers, and is shown with a chip that is no link.
func TestMentions(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	b.asks("ada@example.com", "The door", `<a href="mailto:member-2@mention.invalid">@Tomás</a>`)
	var offered []map[string]any
	if err := json.Unmarshal([]byte(b.get("/c/1/mentionable").body), &offered); err != nil {
		t.Fatal(err)
	}
	if len(offered) != 1 || offered[0]["name"] != "Tomás" || offered[0]["email"] != "tomas@example.org" {
		t.Errorf("offered: %v", offered)
	}
	picked := `<p>See <a href="mailto:member-2@mention.invalid">@Tomás</a>&nbsp;please</p>`
	b.post("/c/1/send", url.Values{"kind": {"note"}, "rich": {"1"}, "html": {picked}, "nonce": {"1"}})
	b.post("/c/1/send", url.Values{"kind": {"note"}, "body": {"And @tomas@example.org again"}, "nonce": {"2"}})
	b.tell()
	if diff := cmp.Diff(2, strings.Count(b.get("/c/1").body, `<span class="mention">@Tomás</span>`)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(2, strings.Count(b.get("/c/1", "As", "other").body, `<span class="mention me">@Tomás</span>`)); diff != "" {
		t.Error(diff)
	}
	if n := len(told(t, b.get("/notifications?unread=1", "As", "other"))); n != 3 {
		t.Errorf("told %d times", n)
	}
}

// Forms of other sites do nothing.
func TestCrossSiteNotifications(t *testing.T) {
	t.Parallel()
	b := staffed(t)
	b.give(b.asks("ada@example.com", "The door", "It is stuck."))
	b.tell()
	for _, path := range []string{"/notifications/1/open", "/notifications/read", "/c/1/follow", "/settings/notifications"} {
		if got := b.post(path, url.Values{"up_to": {"9"}, "follow": {"1"}}, "As", "other", "Origin", "https://evil.example"); got.status != http.StatusForbidden {
			t.Errorf("%s: status %d", path, got.status)
		}
	}
	if n, err := b.deskOf(tomas).Notifications().Unread(t.Context()); err != nil || n != 1 {
		t.Errorf("%d are unread, %v", n, err)
	}
}

// An older message that a notification leads to is shown, however long the thread is.
func TestMessageAsked(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	c := b.asks("ada@example.com", "The door", "It is stuck.")
	for n := range 40 {
		b.adds(c, helpdesk.TypeNote, fmt.Sprintf("Note %d", n))
	}
	for path, want := range map[string]bool{"/c/1": false, "/c/1?m=5": true, "/c/1?m=40": true, "/c/1?m=999": false, "/c/1?m=x": false} {
		if got := len(find(parse(t, b.get(path).body), "id", "m5")); (got == 1) != want {
			t.Errorf("%s: there %d times", path, got)
		}
	}
	for _, li := range find(parse(t, b.get("/c/1?m=5").body), "id", "m5") {
		if strings.Contains(spoken(li), "Note 3 Note 3") || len(find(li, "class", "read")) != 0 {
			t.Error("it is folded")
		}
	}
}
