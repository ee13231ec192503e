package desk_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/desk"
)

// Rows, filters and actions of a list are escaped wherever others wrote them.
func TestRowsAreEscaped(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	ctx := t.Context()
	const hostile = `"><script>alert(1)</script>&'`
	tag, err := b.desk.Tags().Create(ctx, helpdesk.TagInput{Name: hostile})
	if err != nil {
		t.Fatal(err)
	}
	c := b.asks(`"`+strings.ReplaceAll(hostile, `"`, `\"`)+`" <ada@example.com>`, hostile, hostile)
	if _, err := b.desk.Conversations().SetTags(ctx, c.ID, []int64{tag.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.desk.Conversations().Update(ctx, c.ID, helpdesk.ConversationUpdate{UserID: storage.Some(b.owner.ID)}); err != nil {
		t.Fatal(err)
	}
	b.post("/settings/profile", url.Values{"name": {hostile}, "email": {"maja@example.org"}})
	body := b.get("/inbox/all").body
	if strings.Contains(body, "<script>alert") || strings.Contains(body, `">&lt;script&gt;alert(1)&lt;/script&gt;&'`) {
		t.Error("a text is not escaped")
	}
	if n := strings.Count(body, "&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;"); n < 8 {
		t.Errorf("the text is shown %d times", n)
	}
}

// Links of the application keep only addresses that a browser may open, and unknown icons do not break the page.
func TestApplicationLinks(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *desk.Config) {
		cfg.Links = []desk.Link{
			{Text: "Shop", URL: "https://shop.example/a?b=c&d", Icon: "globe"}, {Text: "Phone", URL: "/phone", Icon: "no such icon"},
			{Text: "Mail", URL: "mailto:a@b.example"}, {Text: "Script", URL: "javascript:alert(1)"},
		}
	})
	res := b.get("/inbox/all")
	for text, address := range map[string]string{"Shop": "https://shop.example/a?b=c&amp;d", "Phone": "/phone", "Mail": "mailto:a@b.example", "Script": "#ZgotmplZ"} {
		link := regexp.MustCompile(`<a href="([^"]*)"[^>]* title="` + text + `">`).FindStringSubmatch(res.body)
		if link == nil || link[1] != address {
			t.Errorf("%s: %q", text, link)
		}
	}
}
