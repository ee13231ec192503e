package desk_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// comes takes a mail in with the raw bytes given.
func (b *bundle) comes(raw string) (conversation, interaction int64) {
	b.Helper()
	intake := b.service.Intake()
	if err := intake.Take(b.Context(), b.desk.AccountID(), b.box.ID, "smtp", []ledger.Raw{{Raw: []byte(raw)}}, nil); err != nil {
		b.Fatal(err)
	}
	waiting, err := intake.Waiting(b.Context(), b.desk.AccountID(), b.box.ID, 0, 1)
	if err != nil || len(waiting) != 1 {
		b.Fatal(err, waiting)
	}
	sum := sha256.Sum256([]byte(raw))
	row, err := intake.File(b.Context(), b.desk.AccountID(), waiting[0].ID, ledger.Incoming{
		Message: message.Message{
			MessageID: fmt.Sprintf("%x@example.com", sum[:4]), From: []mailaddr.Address{{Email: "ada@example.com"}}, Subject: "The door", Text: "It is stuck.",
		}, Identity: sum[:],
	})
	if err != nil {
		b.Fatal(err)
	}
	return row.ConversationID, row.InteractionID
}

// The source of a mail is text, whatever it has in it, and bounded; the file is all of it.
func TestSource(t *testing.T) {
	t.Parallel()
	const head = "From: ada@example.com\r\nSubject: <script>alert(1)</script>\r\n\r\n"
	for name, tt := range map[string]struct {
		raw        string
		has, lacks []string
	}{
		"a mail":       {head + "Hi.\r\n", []string{"From: ada@example.com", "&lt;script&gt;alert(1)", "source.eml"}, []string{"<script>alert(1)", "Only the beginning is shown"}},
		"other bytes":  {head + "\xff\xfe\x00\u202e x", []string{"\uFFFD"}, []string{"\xff", "\x00"}},
		"a large mail": {head + strings.Repeat("0123456789abcdef", 1<<16) + "THE END", []string{"Only the beginning is shown", "1 MB"}, []string{"THE END"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			c, i := b.comes(tt.raw)
			at := fmt.Sprintf("/c/%d/i/%d", c, i)
			if got := b.get(at); !strings.Contains(got.body, at+"/source") || !strings.Contains(got.body, at+"/html") {
				t.Error("the details lead nowhere")
			}
			page := b.get(at + "/source")
			for _, want := range tt.has {
				if page.status != http.StatusOK || !strings.Contains(page.body, want) {
					t.Errorf("%d: the page lacks %q", page.status, want)
				}
			}
			for _, not := range tt.lacks {
				if strings.Contains(page.body, not) {
					t.Errorf("the page has %q", not)
				}
			}
			whole := b.get(at + "/source.eml")
			if whole.body != tt.raw || whole.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(whole.header.Get("Content-Disposition"), "attachment") {
				t.Errorf("the file: %d bytes, %v", len(whole.body), whole.header)
			}
			if got := b.get(at + "/html"); got.header.Get("Content-Type") != "text/plain; charset=utf-8" || got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("the HTML: %v", got.header)
			}
		})
	}
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	if got := b.get("/c/1/i/1/source"); got.status != http.StatusOK || !strings.Contains(got.body, "No source available") || strings.Contains(got.body, "source.eml") {
		t.Errorf("of no mail: %d", got.status)
	}
	if got := b.get("/c/1/i/1/source.eml"); got.status != http.StatusNotFound {
		t.Errorf("the file of no mail: %d", got.status)
	}
}
