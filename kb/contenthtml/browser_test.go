package contenthtml_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// No script of an article runs in a real browser, and nothing escapes from the article's place.
func TestBrowser(t *testing.T) {
	t.Parallel()
	var pieces []string
	for _, s := range testenv.HostileHTML() {
		pieces = append(pieces, contenthtml.Clean(s), contenthtml.Clean("<table><td><h2>"+s))
		if md, err := contenthtml.FromMarkdown("# A\n\n" + s + "\n\n- [x](" + s + ")\n"); err == nil {
			pieces = append(pieces, md)
		}
	}
	for _, url := range testenv.Hostile(t, pieces) {
		if !strings.HasSuffix(url, ".png") { // articles may show images from other hosts
			t.Errorf("the browser asked for %s", url)
		}
	}
}
