package transport_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// Lists are compressed for clients with a token that accept gzip; other answers, and those to a session's cookie, never.
func TestCompressedLists(t *testing.T) {
	t.Parallel()
	type row struct {
		Text string `json:"text"`
	}
	text := strings.Repeat("the same again ", 200)
	table := transport.New(transport.Config{})
	nobody := func(context.Context, *transport.Request) (string, error) { return "", nil }
	list := func(text string) func(context.Context, string, transport.Paging) (storage.Page[row], error) {
		return func(context.Context, string, transport.Paging) (storage.Page[row], error) {
			return storage.Page[row]{Items: []row{{text}}}, nil
		}
	}
	transport.HandlePage(table, nobody, transport.Operation{ID: "long", Method: http.MethodGet, Path: "/long"}, list(text))
	transport.HandlePage(table, nobody, transport.Operation{ID: "short", Method: http.MethodGet, Path: "/short"}, list("short"))
	transport.Handle(table, nobody, transport.Operation{ID: "one", Method: http.MethodGet, Path: "/one"}, func(context.Context, string, struct{}) (row, error) { return row{text}, nil })
	handler := table.Handler()
	bearer := map[string]string{"Authorization": "Bearer x"}
	for name, test := range map[string]struct {
		path, accept string
		who          map[string]string
		zipped       bool
	}{
		"gzip":              {"/long", "gzip", bearer, true},
		"of a browser":      {"/long", "gzip, deflate, br, zstd", bearer, true},
		"in capitals":       {"/long", "GZip;Q=0.5", bearer, true},
		"anything":          {"/long", "br, *;q=0.1", bearer, true},
		"not named":         {"/long", "br", bearer, false},
		"nothing":           {"/long", "", bearer, false},
		"refused":           {"/long", "gzip;q=0, *", bearer, false},
		"refused with all":  {"/long", "*;q=0.000", bearer, false},
		"a weight too much": {"/long", "gzip;q=2", bearer, false},
		"no number":         {"/long", "gzip;q=NaN", bearer, false},
		"another name":      {"/long", "gzipped", bearer, false},
		"by cookie":         {"/long", "gzip", map[string]string{"Cookie": "helpwright_session=hwt_x"}, false},
		"short":             {"/short", "gzip", bearer, false},
		"with an ETag":      {"/one", "gzip", bearer, false},
	} {
		r := httptest.NewRequest("GET", "/api/v1"+test.path, nil)
		if test.accept != "" {
			r.Header.Set("Accept-Encoding", test.accept)
		}
		for key, value := range test.who {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding") == "gzip"; w.Code != http.StatusOK || got != test.zipped {
			t.Errorf("%s: %d, compressed %v", name, w.Code, got)
			continue
		}
		if list := test.path != "/one"; list != strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s: Vary %q", name, w.Header().Values("Vary"))
		}
		if !test.zipped {
			continue
		}
		plain, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		size := w.Body.Len()
		body, err := io.ReadAll(plain)
		if err != nil || string(body) != `{"data":[{"text":"`+text+`"}]}` || size > 300 {
			t.Errorf("%s: %d bytes, %q, %v", name, size, body, err)
		}
	}
}
