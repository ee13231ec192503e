package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/storage/testenv"
)

// The page shows every operation and schema, loads no other resources, and complies with its own policy.
func TestDocs(t *testing.T) {
	t.Parallel()
	table := documented(t)
	h := table.Handler()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	page := rec.Body.String()
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", rec.Code, rec.Header())
	}
	hash := func(tag string) string {
		_, content, _ := strings.Cut(page, "<"+tag+">")
		content, _, _ = strings.Cut(content, "</"+tag+">")
		sum := sha256.Sum256([]byte(content))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	policy := "default-src 'none'; style-src 'sha256-" + hash("style") + "'; script-src 'sha256-" + hash("script") + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := rec.Header().Get("Content-Security-Policy"); got != policy {
		t.Errorf("policy %s, that of style and script is %s", got, policy)
	}
	ids, links := map[string]bool{}, map[string]bool{}
	document, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range document.Descendants() {
		if n.Data == "img" || n.Data == "link" || n.Data == "iframe" {
			t.Errorf("the page has a %s", n.Data)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("the id %s is there twice", a.Val)
				}
				ids[a.Val] = true
			case "href":
				links[a.Val] = true
			case "src", "style", "onclick", "srcset":
				t.Errorf("the page has an attribute %s", a.Key)
			}
		}
	}
	for link := range links {
		if link != "openapi.json" && link != "asyncapi.json" && link != "https://www.standardwebhooks.com/" && !ids[strings.TrimPrefix(link, "#")] {
			t.Errorf("the link %s leads nowhere", link)
		}
	}
	for _, r := range table.Routes() {
		if !ids[r.ID] {
			t.Errorf("the page leaves out %s", r.ID)
		}
	}
	for _, want := range []string{
		"Lovelace", "customers.create", "Safe changes", `curl &#34;$API/user&#34;`, "Idempotency-Key", "application/x-www-form-urlencoded", "multipart/form-data",
		`<a href="#schema-Customer">Customer</a>`, `422, 429, default`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	again := httptest.NewRequest("GET", "/api/v1/docs", nil)
	again.Header.Set("If-None-Match", rec.Header().Get("ETag"))
	cached := httptest.NewRecorder()
	h.ServeHTTP(cached, again)
	if cached.Code != 304 {
		t.Errorf("If-None-Match: %d", cached.Code)
	}
}

// The examples are commands that a shell understands, with the bodies that the document has.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		testenv.Skip(t, "there is no sh")
	}
	rec := httptest.NewRecorder()
	documented(t).Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	document, err := html.Parse(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("API=https://h/api TOKEN=t\ncurl() { for a in \"$@\"; do printf '%s\\0' \"$a\"; done; printf '\\n\\0'; }\n")
	commands := 0
	for n := range document.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data == "pre" && strings.HasPrefix(n.Data, "curl ") {
			commands++
			script.WriteString(n.Data + "\n")
		}
	}
	out, err := exec.CommandContext(t.Context(), shell, "-euc", script.String()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	ran := strings.Split(strings.TrimSuffix(string(out), "\n\x00"), "\x00\n\x00")
	if len(ran) != commands || commands < 200 {
		t.Errorf("%d commands, of which %d ran", commands, len(ran))
	}
	walked := walkedPaths(t)
	for _, command := range ran {
		args := strings.Split(command, "\x00")
		if asked := askedBy(args); !walked[asked] {
			t.Errorf("no walk asks for %s", asked)
		}
		if !slices.ContainsFunc(args, func(a string) bool { u, err := url.Parse(a); return err == nil && u.Host == "h" }) {
			t.Errorf("no address: %q", args)
		}
		if i := slices.Index(args, "-d"); i >= 0 && !json.Valid([]byte(args[i+1])) {
			t.Errorf("no JSON: %s", args[i+1])
		}
	}
}

// walkedPaths returns the methods and paths of the requests in the walks.
func walkedPaths(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("testdata/walk*.http")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"GET /languages": true} // whose answer is too long for a walk
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range parseWalk(t, string(text)) {
			words := strings.Fields(s.request)
			if len(words) > 1 {
				path, _, _ := strings.Cut(words[1], "?")
				all[words[0]+" "+path] = true
			}
		}
	}
	return all
}

// askedBy returns the method and the path of a curl command.
func askedBy(args []string) string {
	method, path, sends := "GET", "", false
	for i, a := range args {
		switch {
		case a == "-X":
			method = args[i+1]
		case a == "-d" || a == "-F":
			sends = true
		case strings.HasPrefix(a, "https://h/api"):
			path, _, _ = strings.Cut(strings.TrimPrefix(a, "https://h/api"), "?")
		}
	}
	if sends && method == "GET" {
		method = "POST"
	}
	return method + " " + strings.NewReplacer("<", "{", ">", "}").Replace(path)
}

// A real browser shows the page and sends no other requests.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	table := documented(t)
	server := httptest.NewServer(table.Handler())
	defer server.Close()
	page := testenv.Browse(t, server.URL+"/api/v1/docs")
	for _, r := range table.Routes() {
		if !strings.Contains(page.DOM, `id="`+r.ID+`"`) {
			t.Errorf("the page lacks %s", r.ID)
		}
	}
	if len(page.Requests) > 0 {
		t.Errorf("the page asks for %q", page.Requests)
	}
}
