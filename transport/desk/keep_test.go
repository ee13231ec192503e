package desk_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

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
		if err == nil {
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

// Without scripts every button of the composer sends all that was written, and none of it
// may be lost, whatever the button is for.
func TestButtonsKeepWhatWasWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path   string // %d: the draft, and its file
		fields url.Values
		kind   string
		files  []string // of the draft afterwards
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
			if _, err := b.desk.CreateSavedReply(t.Context(), helpdesk.SavedReplyInput{Name: "Hi", Body: "Hi."}); err != nil {
				t.Fatal(err)
			}
			draft, err := b.desk.CreateInteraction(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Old text"})
			if err != nil {
				t.Fatal(err)
			}
			file, err := b.desk.CreateAttachment(t.Context(), 1, draft.ID, helpdesk.Upload{Filename: "old.txt", Content: strings.NewReader("old")})
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
			if !strings.Contains(page, "Unsaved text") || !strings.Contains(page, `value="cc@example.com"`) || !strings.Contains(page, fmt.Sprintf(`name="kind" value="%s" checked`, tt.kind)) {
				t.Errorf("%d: the composer has lost something", got.status)
			}
			files, err := b.desk.Attachments(t.Context(), 1, draft.ID)
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
