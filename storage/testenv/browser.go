package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Page is a page as a browser rendered it.
type Page struct {
	DOM      string   // as HTML, after its scripts have run
	Requests []string // URLs that the page itself requested, including refused ones
}

// Browse opens a page of this machine in Chromium, which can reach no other host.
func Browse(t testing.TB, url string) Page {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		Skip(t, "no browser: there is no chromium")
	}
	dir, err := os.MkdirTemp("", "browser") // not t.TempDir: a helper process may still write after the browser has ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	log := filepath.Join(dir, "net.json")
	args := []string{
		"--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-dev-shm-usage", "--user-data-dir=" + filepath.Join(dir, "profile"), "--log-net-log=" + log,
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--virtual-time-budget=5000", "--dump-dom", url,
	}
	if os.Getuid() == 0 {
		args = slices.Insert(args, 0, "--no-sandbox") // Chromium's sandbox refuses to run as root
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var out, problems bytes.Buffer
	browser := exec.CommandContext(ctx, program, args...)
	browser.Stdout, browser.Stderr = &out, &problems
	browser.WaitDelay = time.Second
	if err := browser.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, problems.Bytes())
	}
	return Page{DOM: out.String(), Requests: requests(t, log)}
}

// requests returns the requests in a browser log that the page started, not the browser itself.
func requests(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Constants struct{ LogEventTypes map[string]int }
		Events    []struct {
			Type   int
			Params struct{ Initiator, URL string }
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatalf("the browser's log: %v", err)
	}
	begun, known := log.Constants.LogEventTypes["URL_REQUEST_START_JOB"]
	if !known {
		t.Fatal("the browser's log does not know requests")
	}
	var urls []string
	for _, e := range log.Events {
		if e.Type == begun && strings.HasPrefix(e.Params.Initiator, "http") && !slices.Contains(urls, e.Params.URL) {
			urls = append(urls, e.Params.URL)
		}
	}
	return urls
}

// probe is a page that embeds pieces of foreign HTML and tries to trigger their scripts. It records every call of an unknown
// function, script error or dialog. Marks after the pieces show which of them broke out.
const probe = `<!DOCTYPE html><html><head><meta charset="utf-8"><title>probe</title><script>
const ran = new Set();
window.alert = window.confirm = window.prompt = window.print = x => { ran.add(String(x)); };
window.onerror = x => { if (typeof x === "string") ran.add("error: " + x); }; // else it is one of the events below
</script></head><body>%s<script>
const out = [];
for (const mark of document.querySelectorAll("[data-mark]")) if (mark.parentElement !== document.body) out.push(mark.dataset.mark);
const missing = document.querySelectorAll("[data-mark]").length;
for (const e of document.querySelectorAll("[data-piece], [data-piece] *")) {
	for (const kind of ["click", "mouseover", "mouseenter", "focus", "focusin", "blur", "animationstart", "animationend", "transitionend", "toggle", "load", "error", "submit", "input", "change", "pointerdown", "keydown", "wheel", "play", "begin", "beforetoggle"])
		e.dispatchEvent(new Event(kind, {bubbles: true, cancelable: true}));
	if (e.href && /^(javascript|data|vbscript):/i.test(e.href)) ran.add("link: " + e.href);
}
setTimeout(() => { document.body.innerHTML = ""; document.body.textContent = JSON.stringify({marks: missing, out, ran: [...ran]}); }, 1000);
</script></body></html>`

// Hostile opens pieces of HTML in a real browser, each in the place where a page would show it. It fails the test when a
// script in one runs or when one closes the element around it. It returns the URLs of other hosts that the browser
// requested. A known harmful piece is included, so that a probe that detects nothing fails.
func Hostile(t testing.TB, pieces []string) []string {
	t.Helper()
	if got := probed(t, []string{`<img src="x" onerror="alert('canary')"></div></div>`, "<p>after</p>"}); !strings.Contains(got.text, "canary") || !strings.Contains(got.text, `"out":[`) {
		t.Fatalf("the probe sees nothing: %s", got.text)
	}
	got := probed(t, pieces)
	var result struct {
		Marks    int
		Out, Ran []string
	}
	if err := json.Unmarshal([]byte(got.text), &result); err != nil {
		t.Fatalf("the page broke: %v: %.2000s", err, got.text)
	}
	if result.Marks != len(pieces) || len(result.Out) > 0 || len(result.Ran) > 0 {
		t.Errorf("of %d pieces %d ended; these broke out: %q; this ran: %q", len(pieces), result.Marks, result.Out, result.Ran)
	}
	return got.foreign
}

type probing struct {
	text    string
	foreign []string
}

func probed(t testing.TB, pieces []string) probing {
	t.Helper()
	var body strings.Builder
	for i, piece := range pieces {
		fmt.Fprintf(&body, "<div data-piece><div>%s</div></div><p data-mark=%d></p>\n", piece, i)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/probe" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, probe, body.String())
	}))
	defer server.Close()
	page := Browse(t, server.URL+"/probe")
	_, text, _ := strings.Cut(page.DOM, "<body>")
	text, _, _ = strings.Cut(text, "</body>")
	found := probing{text: html.UnescapeString(text)}
	for _, url := range page.Requests {
		if !strings.HasPrefix(url, server.URL+"/") {
			found.foreign = append(found.foreign, url)
		}
	}
	return found
}
