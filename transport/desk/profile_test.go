package desk_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// me returns the owner as stored.
func (b *bundle) me() identity.User {
	b.Helper()
	all, err := b.desk.Members().Users(b.Context(), []int64{b.owner.ID})
	if err != nil || len(all) != 1 {
		b.Fatal(all, err)
	}
	return all[0]
}

// A member's preferences are stored with their user, in all browsers; what the form does not have stays.
func TestPreferences(t *testing.T) {
	t.Parallel()
	all := identity.Preferences{Language: "fr", TimeZone: "Asia/Tokyo", AfterSending: identity.AfterSendingNext, LeaveUnassigned: true}
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		want   identity.Preferences
		says   []string // in a browser without cookies
	}{
		"all": {url.Values{"language": {"de"}, "zone": {"America/New_York"}, "replies": {"1"}, "after": {"list"}, "assigns": {"1"}, "assign": {"1"}}, http.StatusSeeOther,
			identity.Preferences{Language: "de", TimeZone: "America/New_York", AfterSending: identity.AfterSendingList},
			[]string{`lang="de"`, `<option value="de" lang="de" selected>`, `<option value="America/New_York" selected>New York</option>`, `value="list" checked`}},
		"the browser's": {url.Values{"language": {""}, "zone": {""}, "replies": {"1"}, "after": {"stay"}, "assigns": {"1"}}, http.StatusSeeOther,
			identity.Preferences{AfterSending: identity.AfterSendingStay, LeaveUnassigned: true}, []string{`lang="en"`, "As in the browser: English", `value="stay" checked`}},
		"without the part on replies": {url.Values{"language": {"pl"}, "zone": {"UTC"}}, http.StatusSeeOther,
			identity.Preferences{Language: "pl", TimeZone: "UTC", AfterSending: identity.AfterSendingNext, LeaveUnassigned: true}, []string{`lang="pl"`}},
		"an unknown zone":     {url.Values{"zone": {"Mars/Olympus"}}, http.StatusUnprocessableEntity, all, []string{`lang="fr"`, `<option value="Asia/Tokyo" selected>`}},
		"the server's zone":   {url.Values{"zone": {"Local"}}, http.StatusUnprocessableEntity, all, nil},
		"no language":         {url.Values{"language": {"<script>"}}, http.StatusUnprocessableEntity, all, nil},
		"a place of its own":  {url.Values{"replies": {"1"}, "after": {"home"}}, http.StatusUnprocessableEntity, all, nil},
		"another name of one": {url.Values{"language": {"fr"}, "zone": {"Asia/Calcutta"}}, http.StatusSeeOther, identity.Preferences{Language: "fr", TimeZone: "Asia/Calcutta", AfterSending: identity.AfterSendingNext, LeaveUnassigned: true}, []string{`<option value="Asia/Calcutta" selected>`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			admin, err := b.service.Admin(t.Context(), b.service.As(b.owner.ID))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := admin.UpdateMe(t.Context(), identity.UserUpdate{Preferences: identity.PreferencesUpdate{
				Language: storage.Some("fr"), TimeZone: storage.Some("Asia/Tokyo"), AfterSending: storage.Some(identity.AfterSendingNext), AssignOnReply: storage.Some(false),
			}}); err != nil {
				t.Fatal(err)
			}
			if got := b.post("/settings/preferences", tt.form); got.status != tt.status {
				t.Errorf("%d, want %d", got.status, tt.status)
			}
			if diff := cmp.Diff(tt.want, b.me().Preferences); diff != "" {
				t.Error(diff)
			}
			page := b.get("/settings/profile").body
			for _, says := range tt.says {
				if !strings.Contains(page, says) {
					t.Errorf("the page lacks %q", says)
				}
			}
		})
	}
}

// A reply takes a conversation that nobody has, as its author prefers, and calling it back gives it up again.
func TestReplyAssigns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leave     bool
		kind      string
		assignee  int64 // before: 0 nobody, 1 the author, 2 a colleague
		then      string
		want      int64
		undoneTo  int64
		wantState helpdesk.Status
	}{
		"a reply":                  {false, "reply", 0, "", 1, 0, helpdesk.StatusPosted},
		"a reply that closes":      {false, "reply", 0, "close", 1, 0, helpdesk.StatusClosed},
		"a reply later":            {false, "reply", 0, "later-" + itoa(time.Now().Add(time.Hour).Unix()), 1, 0, helpdesk.StatusPosted},
		"a note":                   {false, "note", 0, "", 0, 0, helpdesk.StatusPosted},
		"a forward":                {false, "forward", 0, "", 0, 0, helpdesk.StatusPosted},
		"a colleague has it":       {false, "reply", 2, "", 2, 2, helpdesk.StatusPosted},
		"the author has it":        {false, "reply", 1, "", 1, 1, helpdesk.StatusPosted},
		"who leaves it unassigned": {true, "reply", 0, "", 0, 0, helpdesk.StatusPosted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			if _, err := b.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", SendHold: storage.Some(time.Minute)}); err != nil {
				t.Fatal(err)
			}
			c := b.asks("ada@example.com", "The door", "It sticks.")
			if tt.assignee != 0 {
				if _, err := b.desk.Conversations().Update(t.Context(), c.ID, helpdesk.ConversationUpdate{UserID: storage.Some(tt.assignee)}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.leave {
				b.post("/settings/preferences", url.Values{"assigns": {"1"}})
			}
			path := "/c/" + itoa(c.ID)
			got := b.post(path+"/send", url.Values{"kind": {tt.kind}, "body": {"Pull."}, "to": {"ada@example.com"}, "then": {tt.then}, "nonce": {"n"}, "anyway": {"1"}})
			if got.status != http.StatusSeeOther {
				t.Fatalf("%d %s", got.status, got.body)
			}
			after, err := b.desk.Conversations().Get(t.Context(), c.ID)
			if err != nil || after.UserID != tt.want || after.Status != tt.wantState {
				t.Errorf("it is %s, of user %d (%v)", after.Status, after.UserID, err)
			}
			undo := regexp.MustCompile(`name="undo" value="([^"]+)"`).FindStringSubmatch(b.goOn(got))
			if undo == nil {
				if tt.kind == "reply" {
					t.Error("it cannot be undone")
				}
				return
			}
			b.post("/undo", url.Values{"undo": {undo[1]}})
			after, err = b.desk.Conversations().Get(t.Context(), c.ID)
			if err != nil || after.UserID != tt.undoneTo || after.Status != helpdesk.StatusPosted {
				t.Errorf("undone, it is %s, of user %d (%v)", after.Status, after.UserID, err)
			}
		})
	}
}

// Where the desk leads after sending is a preference: the composer changes it if the member chose something else there.
func TestAfterSending(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stored       identity.AfterSending
		chosen, seen string
		then         string
		leads        string
		want         identity.AfterSending
	}{
		"nothing chosen":              {"", "", "", "", "/desk/a/1/c/1?in=inbox%2Fall#m", ""},
		"the list, chosen now":        {"", "list", "stay", "", "/desk/a/1/inbox/all", identity.AfterSendingList},
		"as stored":                   {"next", "next", "next", "", "/desk/a/1/c/9", identity.AfterSendingNext},
		"stored, and no choice":       {"list", "", "", "", "/desk/a/1/inbox/all", identity.AfterSendingList},
		"closing leads on":            {"", "stay", "stay", "close", "/desk/a/1/c/9", ""},
		"a page from before":          {"list", "next", "next", "", "/desk/a/1/c/9", identity.AfterSendingList},
		"nonsense":                    {"list", "<b>", "x", "", "/desk/a/1/inbox/all", identity.AfterSendingList},
		"stay, after having the list": {"list", "stay", "list", "", "/desk/a/1/c/1?in=inbox%2Fall#m", identity.AfterSendingStay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := office(t)
			c := b.asks("ada@example.com", "The door", "It sticks.")
			if tt.stored != "" {
				b.post("/settings/preferences", url.Values{"replies": {"1"}, "after": {string(tt.stored)}})
			}
			form := url.Values{"kind": {"reply"}, "body": {"Pull."}, "to": {"ada@example.com"}, "then": {tt.then}, "nonce": {"n"}, "anyway": {"1"},
				"in": {"inbox/all"}, "next": {"/desk/a/1/c/9"}, "list": {"/desk/a/1/inbox/all"}}
			if tt.chosen != "" {
				form.Set("after", tt.chosen)
				form.Set("after_shown", tt.seen)
			}
			got := b.post("/c/"+itoa(c.ID)+"/send", form)
			if got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, tt.leads) {
				t.Errorf("%d to %s, want %s", got.status, got.location, tt.leads)
			}
			if stored := b.me().Preferences.AfterSending; stored != tt.want {
				t.Errorf("stored is %q, want %q", stored, tt.want)
			}
		})
	}
}

// upload sends a form with a file.
func (b *bundle) upload(path, field, name string, content []byte, header ...string) answer {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, name)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = part.Write(content)
	_ = form.Close()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.web.URL+"/desk/a/1"+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Origin", b.web.URL)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.answered(r)
}

// A picture is uploaded, shown to colleagues where the member is, served as nothing but a picture, and removed.
func TestPicture(t *testing.T) {
	t.Parallel()
	b := office(t)
	m := image.NewRGBA(image.Rect(0, 0, 300, 200))
	m.Set(150, 100, color.White)
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"page.html": []byte("<!doctype html><script>alert(1)</script>"), "face.svg": []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), "empty.png": nil, "large.png": make([]byte, helpdesk.MaxPicture+1),
		"huge.png": make([]byte, helpdesk.MaxPicture+1<<20),
	} {
		if got := b.upload("/settings/picture", "picture", name, content); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `class="wrong"`) {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	if got := b.upload("/settings/picture", "file", "face.png", file.Bytes()); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without a file: %d", got.status)
	}
	if got := b.upload("/settings/picture", "picture", "face.png", file.Bytes()); got.status != http.StatusSeeOther {
		t.Fatalf("%d %s", got.status, got.body)
	}
	at := regexp.MustCompile(`/people/1/[0-9a-f]{16}\.jpg`).FindString(b.get("/settings/members", "As", "other").body)
	if at == "" {
		t.Fatal("a colleague does not see it")
	}
	got := b.get(at, "As", "other")
	if got.status != http.StatusOK || !strings.HasPrefix(got.body, "\xff\xd8\xff") {
		t.Errorf("%d, %.10q", got.status, got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/jpeg", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Cache-Control": "private, max-age=31536000, immutable",
	} {
		if is := got.header.Get(name); is != want {
			t.Errorf("%s is %q", name, is)
		}
	}
	for _, path := range []string{"/people/2/x.jpg", "/people/99/x.jpg", "/people/x/x.jpg"} {
		if got := b.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := b.post("/settings/picture", url.Values{"remove": {"1"}}); got.status != http.StatusSeeOther || b.me().Picture != "" {
		t.Errorf("%d, and it is still %q", got.status, b.me().Picture)
	}
	if got := b.get(at); got.status != http.StatusNotFound {
		t.Errorf("removed: %d", got.status)
	}
}
