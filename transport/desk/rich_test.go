package desk_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
)

// The editor starts with the stored formatting: in attributes, templates strip the tags of template.HTML.
func TestEditorsKeepFormatting(t *testing.T) {
	t.Parallel()
	b := office(t)
	const body = `<p>Pull <b>hard</b>, see <a href="https://example.org/a?b=1&c=2">this</a>.</p>`
	c := b.asks("ada@example.com", "Door", "It is stuck.")
	draft := helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: body}
	if _, err := b.desk.Interactions().Create(t.Context(), c.ID, draft); err != nil {
		t.Fatal(err)
	}
	for path, form := range map[string]url.Values{
		"/settings/replies":               {"name": {"Pull"}, "rich": {"1"}, "html": {body}, "shared": {"1"}},
		"/settings/signature":             {"rich": {"1"}, "html": {body}},
		"/settings/mailboxes/1/signature": {"rich": {"1"}, "html": {body}},
	} {
		if got := b.post(path, form); got.status != http.StatusSeeOther {
			t.Fatalf("%s: %d", path, got.status)
		}
	}
	for _, path := range []string{"/c/" + strconv.FormatInt(c.ID, 10), "/settings/replies/1", "/settings/profile", "/settings/mailboxes/1"} {
		page := b.get(path).body
		if !strings.Contains(page, `name="html" value="&lt;p&gt;Pull &lt;b&gt;hard&lt;/b&gt;`) {
			_, field, _ := strings.Cut(page, `name="html"`)
			t.Errorf("%s: the editor begins with %.200s", path, field)
		}
	}
}
