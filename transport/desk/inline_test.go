package desk_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// inlineMails are mails whose files their text shows, or does not.
const inlineMails = "../../helpdesk/ingest/testdata/inline"

// mails files a mail of inlineMails and returns its interaction.
func (b *bundle) mails(name string) helpdesk.Interaction {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join(inlineMails, name+".eml"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	intake, sum := b.service.Intake(), sha256.Sum256(raw)
	if err := intake.Take(b.Context(), b.desk.AccountID(), b.box.ID, "smtp", []ledger.Raw{{Raw: raw}}, nil); err != nil {
		b.Fatal(err)
	}
	waiting, err := intake.Waiting(b.Context(), b.desk.AccountID(), b.box.ID, 0, 1)
	if err != nil || len(waiting) != 1 {
		b.Fatal(err, waiting)
	}
	row, err := intake.File(b.Context(), b.desk.AccountID(), waiting[0].ID, ledger.Incoming{Message: m.Message, Identity: sum[:]})
	if err != nil {
		b.Fatal(err)
	}
	i, err := b.desk.Interactions().Get(b.Context(), row.ConversationID, row.InteractionID)
	if err != nil {
		b.Fatal(err)
	}
	return i
}

// Each file of a mail is in its list of files, or an image of its text, and never neither.
func TestInlineFiles(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(inlineMails + "/*.eml")
	if err != nil || len(found) < 20 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".eml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			i := b.mails(name)
			page := b.get(fmt.Sprintf("/c/%d", i.ConversationID)).body
			_, list, _ := strings.Cut(page, `<ul class="files">`)
			list, _, _ = strings.Cut(list, "</ul>")
			text := page
			if at := fmt.Sprintf("/c/%d/i/%d/body", i.ConversationID, i.ID); strings.Contains(page, at) {
				text = b.get(at).body
			}
			files, err := b.desk.Attachments().List(t.Context(), i.ConversationID, i.ID)
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				at := fmt.Sprintf("/desk/a/1/c/%d/i/%d/files/%d", i.ConversationID, i.ID, f.ID)
				listed, shown := strings.Contains(list, `href="`+at+`"`), strings.Contains(text, `src="`+at+`?key=`)
				if listed == f.IsInline || f.IsInline && !shown {
					t.Errorf("%s is inline: %t, listed: %t, shown: %t", f.Filename, f.IsInline, listed, shown)
				}
			}
		})
	}
}

// A browser shows the photos that the text does not, by their names.
func TestListedPhotosInBrowser(t *testing.T) {
	t.Parallel()
	window := browser.Start(t)
	for name, photo := range map[string]string{"01b-cid-photo-not-referenced": "photo.jpg", "01e-mms-photo-only": "Resized_2024(1).jpeg", "heic-named": "IMG_1.HEIC"} {
		t.Run(name, func(t *testing.T) {
			b := newBundle(t, nil)
			i := b.mails(name)
			tab := window.Tab(t, browser.View{NoScript: true})
			tab.Open(fmt.Sprintf("%s/desk/a/1/c/%d", b.web.URL, i.ConversationID))
			tab.Wait("ul.files a")
			if got := tab.Text("ul.files a"); !strings.Contains(got, photo) {
				t.Errorf("listed: %q", got)
			}
		})
	}
}
