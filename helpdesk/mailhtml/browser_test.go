package mailhtml_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// shown is a mail's HTML as an agent sees it.
func shown(s string) string {
	return mailhtml.HoldImages(mailhtml.Fold(mailhtml.Direct(mailhtml.Clean(s)), true), mailhtml.Remote)
}

// In a real browser no script runs, nothing breaks out, and with the images blocked the sender does not learn that the mail
// was read.
func TestBrowser(t *testing.T) {
	t.Parallel()
	var pieces []string
	for _, s := range testenv.HostileHTML() {
		pieces = append(pieces, shown(s), shown(`<p>Hi<blockquote>`+s), mailhtml.FromText(s), mailhtml.FromInput(s))
	}
	if got := testenv.Hostile(t, pieces); len(got) > 0 {
		t.Errorf("the browser asked for %q", got)
	}
}

// The same with the real mails, 1,200 of them on one page.
func TestBrowserMails(t *testing.T) {
	t.Parallel()
	var pieces []string
	err := filepath.WalkDir(testenv.Corpus(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".eml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m, err := mail.Parse(raw, mail.Limits{}); err == nil && m.HTML != "" {
			pieces = append(pieces, shown(m.HTML))
		}
		return nil
	})
	if err != nil || len(pieces) < 100 {
		t.Fatal(len(pieces), err)
	}
	for _, url := range testenv.Hostile(t, pieces) {
		if !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "cid:") { // the latter become our own URLs
			t.Errorf("the browser asked for %s", url)
		}
	}
}
