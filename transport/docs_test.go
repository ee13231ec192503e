package transport_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/transport"
)

// The page shows every operation and schema, asks for nothing but itself, and its
// policy lets it.
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
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := rec.Header().Get("Content-Security-Policy"); got != policy {
		t.Errorf("policy %s, the style is %s", got, policy)
	}
	ids, links := map[string]bool{}, map[string]bool{}
	document, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range document.Descendants() {
		if n.Data == "script" || n.Data == "img" || n.Data == "link" || n.Data == "iframe" {
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
		if link != "openapi.json" && !ids[strings.TrimPrefix(link, "#")] {
			t.Errorf("the link %s leads nowhere", link)
		}
	}
	for _, r := range table.Routes() {
		if !ids[r.ID] {
			t.Errorf("the page leaves out %s", r.ID)
		}
	}
	for _, want := range []string{
		"Lovelace", "customers.create", "Idempotency-Key", "application/x-www-form-urlencoded", "multipart/form-data",
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

// Whatever a document says is text on the page.
func TestDocsEscape(t *testing.T) {
	t.Parallel()
	table := transport.New(transport.Config{Logger: discard})
	table.AddDocument([]byte(`{"info":{"title":"<script>alert(1)</script>"},"paths":{"/<b>":{"get":{"operationId":"\"><i>","summary":"</style>"}}},
		"components":{"schemas":{"Self":{"properties":{"self":{"$ref":"#/components/schemas/Self"},"x":{"type":["null","string"],"examples":["</pre>"]}}}}}}`))
	rec := httptest.NewRecorder()
	table.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	page := rec.Body.String()
	for _, bad := range []string{"<script", "<b>", "<i>", `"></pre>`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if rec.Code != 200 || !strings.Contains(page, "string or null") {
		t.Errorf("%d", rec.Code)
	}
	broken := transport.New(transport.Config{Logger: discard})
	broken.AddDocument([]byte(`{`))
	rec = httptest.NewRecorder()
	broken.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	if rec.Code != 500 {
		t.Errorf("a broken document: %d", rec.Code)
	}
}

// A real browser shows the page and asks for nothing else.
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
