package kb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// What a page's policy would refuse is refused in html_head, and named.
func TestHTMLHead(t *testing.T) {
	t.Parallel()
	b := memory(t)
	own := b.site(t, kb.SiteInput{Name: "own", CustomDomain: storage.Some("h.example.org")})
	shared := b.site(t, kb.SiteInput{Name: "shared"})
	save := func(site kb.Site, in kb.SiteInput) string {
		e, err := b.Editor(t.Context(), erin, site.ID)
		if err != nil {
			t.Fatal(err)
		}
		in.AccountID, in.Name = 1, site.Name
		_, err = e.UpdateSite(t.Context(), in)
		if f, ok := errors.AsType[*fault.Error](err); ok {
			return strings.Join(f.Fields["html_head"], "; ")
		} else if err != nil {
			t.Fatal(err)
		}
		return ""
	}
	for _, test := range []struct {
		head            string
		onOwn, onShared string // part of the problem; "": it is taken
	}{
		{`<!-- x --><meta name="a" content="b"><title>x</title>`, "", ""},
		{`<style>body{font-family:Inter}</style>`, "", ""},
		{`<link rel="icon" href="https://x.example/i.png">`, "", ""},
		{`<link rel="stylesheet" href="/files/1/x/a.css">`, "", ""},
		{`<link rel="stylesheet" href="https://fonts.example/css2">`, "", ""},
		{`<link rel="manifest" href="/m.json">`, "<link>", "<link>"},
		{`<link rel="stylesheet" href="//fonts.example/css2">`, "<link>", "<link>"},
		{`<script src="https://x.example/a.js"></script>`, "", "<script>"},
		{`<script>1</script>`, "", "<script>"},
		{`<script type="application/ld+json">{}</script>`, "", ""},
		{`<script src="javascript:1"></script>`, "<script>", "<script>"},
		{`<base href="https://x.example/">`, "<base>", "<base>"},
		{`<meta http-equiv="refresh" content="0;url=https://x.example">`, "<meta>", "<meta>"},
		{`<iframe src="https://x.example"></iframe>`, "<iframe>", "<iframe>"},
		{`<link rel="icon" href="/a" onload="1">`, "onload", "onload"},
		{`<img src=x onerror=1>`, "<img>", "<img>"},
		{`<object data=x></object>`, "<object>", "<object>"},
	} {
		for i, site := range []kb.Site{own, shared} {
			want := []string{test.onOwn, test.onShared}[i]
			got := save(site, kb.SiteInput{HTMLHead: storage.Some(test.head)})
			if (want == "") != (got == "") || !strings.Contains(got, want) {
				t.Errorf("%s on %s: %q, want %q", test.head, site.Name, got, want)
			}
		}
	}
	if got := save(own, kb.SiteInput{HTMLHead: storage.Some("<script>1</script>")}); got != "" {
		t.Fatal(got)
	}
	if got := save(own, kb.SiteInput{CustomDomain: storage.Null[string](), Path: storage.Some("moved")}); !strings.Contains(got, "<script>") {
		t.Errorf("moved to the shared host: %q", got)
	}
}
