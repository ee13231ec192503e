package transport_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/transport"
)

// Texts of a document are escaped on the page.
func TestDocsEscape(t *testing.T) {
	t.Parallel()
	table := transport.New(transport.Config{Logger: discard})
	table.AddDocument([]byte(`{"info":{"title":"<script>alert(1)</script>"},"paths":{"/<b>":{"get":{"operationId":"\"><i>","summary":"</style>"}}},
		"components":{"schemas":{"Self":{"properties":{"self":{"$ref":"#/components/schemas/Self"},"x":{"type":["null","string"],"examples":["</pre>"]}}}}}}`), "")
	rec := httptest.NewRecorder()
	table.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	page := rec.Body.String()
	for _, bad := range []string{"<script>alert", "<b>", "<i>", `"></pre>`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if rec.Code != 200 || !strings.Contains(page, "string or null") || strings.Contains(page, "Guides") {
		t.Errorf("%d", rec.Code)
	}
	broken := transport.New(transport.Config{Logger: discard})
	broken.AddDocument([]byte(`{`), "")
	rec = httptest.NewRecorder()
	broken.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/docs", nil))
	if rec.Code != 500 {
		t.Errorf("a broken document: %d", rec.Code)
	}
}
