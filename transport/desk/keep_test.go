package desk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
)

// submit sends the composer's form as a browser without scripts does, with files.
func (b *bundle) submit(path string, fields url.Values, files ...string) answer {
	b.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, all := range fields {
		for _, one := range all {
			if err := w.WriteField(name, one); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, name := range files {
		part, err := w.CreateFormFile("file", name)
		switch {
		case err != nil:
		case strings.HasSuffix(name, ".png"):
			err = png.Encode(part, image.NewGray(image.Rect(0, 0, 1, 1)))
		default:
			_, err = part.Write([]byte("hello"))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.web.URL+"/desk/a/1"+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Origin", b.web.URL)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		b.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Location"), text.String(), res.Header}
}

// Without scripts every button of the composer submits the whole form, and no text may be lost, whatever the button does.
func TestButtonsKeepText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path   string // %d: the draft, and its file
		fields url.Values
		kind   string
		files  []string // of the draft afterwards, which is another one if it becomes a note
	}{
		"remove a file":         {"/c/1/i/%d/files/%d/remove", nil, "reply", []string{"new.txt"}},
		"remove, of a forward":  {"/c/1/i/%d/files/%d/remove", nil, "forward", []string{"new.txt"}},
		"remove, of a note":     {"/c/1/i/%d/files/%d/remove", nil, "note", []string{"new.txt"}},
		"remove what is gone":   {"/c/1/i/%d/files/99/remove", nil, "reply", []string{"old.txt", "new.txt"}},
		"insert a saved reply":  {"/c/1/insert", url.Values{"reply": {"1"}}, "reply", []string{"old.txt", "new.txt"}},
		"insert one that went":  {"/c/1/insert", url.Values{"reply": {"99"}}, "reply", []string{"old.txt", "new.txt"}},
		"save the text":         {"/c/1/save-reply", url.Values{"reply_name": {"Doors"}}, "reply", []string{"old.txt", "new.txt"}},
		"save it without name":  {"/c/1/save-reply", url.Values{"reply_name": {""}}, "reply", []string{"old.txt", "new.txt"}},
		"save the draft":        {"/c/1/draft", nil, "reply", []string{"old.txt", "new.txt"}},
		"save it as a note":     {"/c/1/draft", nil, "note", []string{"old.txt", "new.txt"}},
		"save one to nobody":    {"/c/1/draft", url.Values{"to": {"nobody"}}, "reply", []string{"old.txt"}},
		"save with a past time": {"/c/1/draft", url.Values{"later_at": {"2001-01-01T00:00"}}, "reply", []string{"old.txt", "new.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			b.asks("ada@example.com", "The door", "It is stuck.")
			if _, err := b.desk.SavedReplies().Create(t.Context(), helpdesk.SavedReplyInput{Name: "Hi", Body: "Hi."}); err != nil {
				t.Fatal(err)
			}
			draft, err := b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Old text"})
			if err != nil {
				t.Fatal(err)
			}
			file, err := b.desk.Attachments().Create(t.Context(), 1, draft.ID, helpdesk.Upload{Filename: "old.txt", Content: strings.NewReader("old")})
			if err != nil {
				t.Fatal(err)
			}
			fields := url.Values{"kind": {tt.kind}, "draft": {fmt.Sprint(draft.ID)}, "to": {"ada@example.com"}, "cc": {"cc@example.com"}, "body": {"Unsaved text"}, "nonce": {"1"}, "seen": {"1"}, "in": {"mine"}}
			for name, value := range tt.fields {
				fields[name] = value
			}
			path := tt.path
			if n := strings.Count(path, "%d"); n > 0 {
				path = fmt.Sprintf(path, []any{draft.ID, file.ID}[:n]...)
			}
			got := b.submit(path, fields, "new.txt")
			page := got.body
			if got.status == http.StatusSeeOther {
				at, _ := url.Parse(got.location)
				if at.Fragment != "write" || at.Query().Get("in") != "mine" || tt.kind != "reply" && at.Query().Get("write") != tt.kind {
					t.Errorf("it goes on at %s", got.location)
				}
				page = b.do(http.MethodGet, got.location, nil).body
			}
			if !strings.Contains(page, "Unsaved text") || tt.kind != "note" && !strings.Contains(page, `value="cc@example.com"`) || !strings.Contains(page, fmt.Sprintf(`name="kind" value="%s" checked`, tt.kind)) {
				t.Errorf("%d: the composer has lost something", got.status)
			}
			files, err := b.desk.Attachments().List(t.Context(), 1, b.last(1).ID)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range files {
				names = append(names, f.Filename)
			}
			if !slices.Equal(names, tt.files) {
				t.Errorf("the draft has the files %v, not %v", names, tt.files)
			}
		})
	}
}

// A form submitted again, as by a browser that has lost the answer, counts once. If it was changed since, it is a new text:
// it is shown again, and can be sent, too.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	id := b.asks("ada@example.com", "The door", "It is stuck.").ID
	said := len(b.said(id))
	for _, kind := range []string{"reply", "note"} {
		fields := url.Values{"kind": {kind}, "to": {"ada@example.com"}, "body": {"Push it."}, "nonce": {"n" + kind}, "anyway": {"1"}}
		for range 3 {
			b.goOn(b.submit("/c/1/send", fields, "plan.txt"))
		}
		if said++; len(b.said(id)) != said {
			t.Fatalf("%s: %q", kind, b.said(id))
		}
		for name, change := range map[string]url.Values{"text": {"body": {"Pull it."}}, "file": {}} {
			files := map[string]string{"text": "plan.txt", "file": "other.txt"}[name]
			again := url.Values{}
			for key, value := range fields {
				again[key] = value
			}
			for key, value := range change {
				again[key] = value
			}
			got := b.submit("/c/1/send", again, files)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, again.Get("body")) || !strings.Contains(got.body, "has already been sent") {
				t.Errorf("%s, another %s: %d", kind, name, got.status)
			}
			if len(b.said(id)) != said {
				t.Fatalf("%s, another %s: %q", kind, name, b.said(id))
			}
			again["nonce"] = regexp.MustCompile(`name="nonce" value="([^"]+)"`).FindStringSubmatch(got.body)[1:]
			b.goOn(b.submit("/c/1/send", again, files))
			if said++; len(b.said(id)) != said {
				t.Fatalf("%s, another %s sent by itself: %q", kind, name, b.said(id))
			}
		}
	}
}

// A window that does not know that its draft was sent cannot change the mail.
func TestDraftWasSent(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	id := b.asks("ada@example.com", "The door", "It is stuck.").ID
	b.submit("/c/1/draft", url.Values{"kind": {"reply"}, "to": {"ada@example.com"}, "body": {"Push it."}})
	draft := b.last(id)
	fields := url.Values{"kind": {"reply"}, "draft": {fmt.Sprint(draft.ID)}, "to": {"ada@example.com"}, "body": {"Push it."}, "nonce": {"1"}, "seen": {fmt.Sprint(draft.ID)}}
	b.goOn(b.submit("/c/1/send", fields))
	fields["body"], fields["nonce"] = []string{"Push it and pull"}, []string{"2"}
	for _, path := range []string{"/c/1/draft", "/c/1/files", "/c/1/discard", "/c/1/send"} {
		got := b.submit(path, fields, "plan.txt")
		if got.status != http.StatusUnprocessableEntity && got.status != http.StatusConflict {
			t.Errorf("%s: %d", path, got.status)
		}
		if path == "/c/1/send" && (!strings.Contains(got.body, "Push it and pull") || !strings.Contains(got.body, "has already been sent")) {
			t.Error("the page does not show again what was written, and why it was not sent")
		}
	}
	files, err := b.desk.Attachments().List(t.Context(), id, draft.ID)
	if err != nil {
		t.Fatal(err)
	}
	if last := b.last(id); last.ID != draft.ID || last.Status != helpdesk.StatusPosted || strings.Contains(last.Body, "pull") || len(files) != 0 {
		t.Errorf("%s, %q with %d files", last.Status, last.Body, len(files))
	}
}

// Text for a draft that was deleted in another window is shown again and can be sent.
func TestDeletedDraft(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"reply": "user posted", "note": "note posted"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			id := b.asks("ada@example.com", "The door", "It is stuck.").ID
			draft, err := b.desk.Interactions().Create(t.Context(), id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Old text"})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.desk.Interactions().Delete(t.Context(), id, draft.ID); err != nil {
				t.Fatal(err)
			}
			fields := url.Values{"kind": {kind}, "draft": {fmt.Sprint(draft.ID)}, "to": {"ada@example.com"}, "body": {"Unsaved text"}, "nonce": {"1"}, "seen": {fmt.Sprint(b.last(id).ID)}}
			got := b.submit("/c/1/send", fields)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Unsaved text") || !strings.Contains(got.body, `name="draft" value=""`) {
				t.Fatalf("%d: the text is not shown again, for a new draft", got.status)
			}
			fields["draft"] = []string{"0"}
			b.goOn(b.submit("/c/1/send", fields))
			last := b.last(id)
			if got := strings.TrimSpace(string(last.Type) + " " + string(last.Status)); got != want || !strings.Contains(last.Body, "Unsaved text") {
				t.Errorf("%s: %q", got, last.Body)
			}
		})
	}
}

// Files that were uploaded while a note was written are the note's, and so are the images in its text.
func TestNoteTakesFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	id := b.asks("ada@example.com", "The door", "It is stuck.").ID
	upload := func(draft int64, name, inline string) (got struct {
		Draft int64
		URL   string
	}) {
		a := b.submit("/c/1/files", url.Values{"kind": {"note"}, "draft": {fmt.Sprint(draft)}, "inline": {inline}}, name)
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Draft == 0 {
			t.Fatal(a.status, a.body, err)
		}
		return got
	}
	picture := upload(0, "door.png", "1")
	upload(picture.Draft, "report.txt", "")
	b.goOn(b.submit("/c/1/send", url.Values{
		"kind": {"note"}, "rich": {"1"}, "html": {`<p>See <img src="` + picture.URL + `" alt="the door"></p>`}, "draft": {fmt.Sprint(picture.Draft)}, "nonce": {"1"},
	}, "more.txt"))
	note := b.last(id)
	if note.Type != helpdesk.TypeNote || len(b.said(id)) != 2 {
		t.Fatalf("%q was said, last a %s", b.said(id), note.Type)
	}
	files, err := b.desk.Attachments().List(t.Context(), id, note.ID)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Filename)
	}
	if diff := cmp.Diff([]string{"door.png", "report.txt", "more.txt"}, names); diff != "" {
		t.Fatal(diff)
	}
	if want := helpdesk.AttachmentSource(note.ID, files[0].ID, ""); !strings.Contains(note.Body, want) {
		t.Errorf("%s is not in %s", want, note.Body)
	}
	if page := b.get("/c/1").body; !strings.Contains(page, fmt.Sprintf("/c/1/i/%d/files/%d", note.ID, files[0].ID)) {
		t.Error("the page does not show the image")
	}
}
