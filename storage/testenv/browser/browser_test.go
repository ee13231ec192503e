package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/helpwright/helpwright/storage/testenv/browser"
)

// Problems must be detected; otherwise every page would pass.
func TestProblemsAreSeen(t *testing.T) {
	t.Parallel()
	pages := map[string]struct{ body, problem string }{
		"sound":     {`<p>Hello</p><script src="/good.js"></script>`, ""},
		"thrown":    {`<script src="/throw.js"></script>`, "an exception"},
		"rejected":  {`<script src="/reject.js"></script>`, "an exception"},
		"console":   {`<script src="/console.js"></script>`, `the console: "broken"`},
		"script":    {`<script>1</script>`, "Content Security Policy"},
		"style":     {`<p style="color:red">x</p>`, "Content Security Policy"},
		"image":     {`<img src="https://elsewhere.example/x.png" alt="">`, "another host"},
		"missing":   {`<img src="/missing.png" alt="">`, "status 404"},
		"fetch":     {`<script src="/fetch.js"></script>`, "another host"},
		"forbidden": {`<img src="http://127.0.0.1:1/x.png" alt="">`, "Content Security Policy"},
	}
	scripts := map[string]string{
		"/good.js": "1", "/throw.js": `throw new Error("broken")`, "/reject.js": `Promise.reject(new Error("broken"))`,
		"/console.js": `console.error("broken")`, "/fetch.js": `fetch("//elsewhere.example/").catch(() => {})`, "/favicon.ico": "",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if script, ok := scripts[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = fmt.Fprint(w, script)
			return
		}
		p, ok := pages[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' https:; connect-src 'self' http://elsewhere.example")
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title>%s</html>`, p.body)
	}))
	t.Cleanup(server.Close)
	chromium := browser.Start(t)
	for name, p := range pages {
		tab := chromium.Tab(t, browser.View{}) // a request of one page may fail while the next one is shown
		tab.Open(server.URL + "/" + name)
		found := strings.Join(tab.Problems(), "\n")
		if p.problem == "" && found != "" || !strings.Contains(found, p.problem) {
			t.Errorf("%s: %q, want %q", name, found, p.problem)
		}
		tab.Do(chromedp.Navigate("about:blank")) // a name may turn out to be unknown only now
		tab.Problems()
	}
}

// A page may replace an element, as the desk does when an event comes, while a test clicks on it or reads it.
func TestReplacedElements(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title><p></p><script src="/s.js"></script></html>`)
		case "/s.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = fmt.Fprint(w, `setInterval(() => { document.querySelector("p").innerHTML = "<button>Press</button>" }, 2)`)
		}
	}))
	t.Cleanup(server.Close)
	tab := browser.Start(t).Tab(t, browser.View{})
	tab.Open(server.URL)
	for range 20 {
		tab.Click("button")
		if got := tab.Text("button"); got != "Press" {
			t.Errorf("read: %q", got)
		}
	}
}
