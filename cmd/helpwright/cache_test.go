package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// cached asks nginx.
type cached struct {
	t       *testing.T
	address string
}

// answerOfCache is an answer with what nginx says of it: "" if it does not look for it in the cache.
type answerOfCache struct {
	status      int
	cache, body string
}

func (c cached) get(path string, fields ...string) answerOfCache {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+c.address+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Host = "help.example.org"
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answerOfCache{res.StatusCode, res.Header.Get("X-Cache"), string(body)}
}

// TestNginxCache runs nginx with the configuration of the manual: pages of help centres are kept as long as their
// Cache-Control says, and nothing else is.
func TestNginxCache(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("manual/run/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```nginx\n")
	site, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("there is no configuration")
	}
	site = replaced(t, "the manual", site, "/var/cache/nginx/helpwright", filepath.Join(t.TempDir(), "cache"))
	s := newServer(t, "HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1,::1", "HELPWRIGHT_BASE_URL=https://help.example.org")
	id := s.knowledge()
	var closedSite object[struct{ ID int64 }]
	s.ok("POST", "/sites", url.Values{"account_id": {"1"}, "name": {"Team"}, "path": {"team"}, "visibility": {"private"}}, &closedSite)
	c := cached{t, freeAddress(t)}
	startNginxWith(t, "the manual", site, c.address, s.http)
	testenv.Eventually(t, "nginx answers", func() bool {
		res, err := http.Get("http://" + c.address + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	expect := func(what string, got answerOfCache, status int, cache, text string) {
		t.Helper()
		if got.status != status || got.cache != cache || !strings.Contains(got.body, text) {
			t.Errorf("%s: %d, X-Cache %q, %q in it: %t; want %d, %q", what, got.status, got.cache, text, strings.Contains(got.body, text), status, cache)
		}
	}
	const page = "/help/en"
	kept := time.Now()
	expect("the first request", c.get(page), http.StatusOK, "MISS", "Basics")
	expect("the second request", c.get(page), http.StatusOK, "HIT", "Basics")
	expect("another coding", c.get(page, "Accept-Encoding", "br"), http.StatusOK, "MISS", "")
	expect("another coding again", c.get(page, "Accept-Encoding", "br"), http.StatusOK, "HIT", "")
	expect("with cookies", c.get(page, "Cookie", "helpwright_session=secret"), http.StatusOK, "BYPASS", "Basics")
	expect("with other cookies", c.get(page+"?a=b", "Cookie", "a=b"), http.StatusOK, "BYPASS", "Basics")
	expect("without cookies afterwards", c.get(page+"?a=b"), http.StatusOK, "MISS", "Basics")
	for _, path := range []string{"/desk", "/desk/sign-in", apiBase + "/accounts", apiBase + "/docs", fmt.Sprintf("%s/sites/%d/articles", apiBase, id), "/mcp"} {
		for range 2 {
			if got := c.get(path); got.cache != "" || got.status == http.StatusBadGateway {
				t.Errorf("%s: %d, X-Cache %q", path, got.status, got.cache)
			}
		}
	}
	for _, path := range []string{"/team/en", "/team/sign-in", "/help/en/contact", "/help/en/search?q=pay", "/readyz", "/invitations/none", "/nowhere"} {
		for range 2 {
			if got := c.get(path); got.cache == "HIT" && path != "/help/en/contact" {
				t.Errorf("%s is kept: %d", path, got.status)
			}
		}
	}

	s.ok("PUT", fmt.Sprintf("/sites/%d", id), url.Values{"account_id": {"1"}, "name": {"Everything"}, "path": {"help"}}, nil)
	testenv.Eventually(t, "the server shows the change", func() bool { return strings.Contains(c.get(page, "Cookie", "a=b").body, "Everything") })
	if time.Since(kept) < 50*time.Second { // otherwise this machine is too slow to see it
		expect("before the minute is over", c.get(page), http.StatusOK, "HIT", "Basics")
	}
	time.Sleep(time.Until(kept.Add(62 * time.Second))) // nginx counts in seconds
	expect("after a minute", c.get(page), http.StatusOK, "EXPIRED", "Everything")
	expect("afterwards", c.get(page), http.StatusOK, "HIT", "Everything")
}
