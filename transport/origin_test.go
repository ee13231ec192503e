package transport_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport"
)

func TestValidOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"*": true, "https://app.example.com": true, "http://localhost:3000": true, "https://[::1]:8443": true,
		"": false, "app.example.com": false, "https://app.example.com/": false, "https://app.example.com/x": false, "https://*.example.com": false,
		"HTTPS://app.example.com": false, "https://App.example.com": false, "ftp://app.example.com": false, "https://": false, "null": false, "https://u@app.example.com": false,
	} {
		if got := transport.ValidOrigin(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// sharedWith is an API that pages of some origins may call.
func sharedWith(t *testing.T, origins []string) http.Handler {
	t.Helper()
	return newTable(newStore(), transport.Config{Origins: origins}).Handler()
}

// Pages of the configured origins may call the API with a token, and read what programs read; all others may not.
func TestOrigins(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	for name, tt := range map[string]struct {
		origins []string
		method  string
		origin  string
		header  string // that the page wants to send
		want    [3]string
	}{
		"preflight":                       {[]string{app}, "PUT", app, "authorization,if-match", [3]string{"204", app, "authorization,if-match"}},
		"preflight of another":            {[]string{app}, "PUT", "https://evil.example", "authorization", [3]string{"204", "", ""}},
		"preflight with a field unknown":  {[]string{app}, "PUT", app, "x-secret", [3]string{"204", "", ""}},
		"preflight with a method unknown": {[]string{app}, "TRACE", app, "authorization", [3]string{"204", "", ""}},
		"preflight of all":                {[]string{"*"}, "DELETE", "https://any.example", "authorization", [3]string{"204", "*", "authorization"}},
		"preflight where nobody is named": {nil, "PUT", app, "authorization", [3]string{"204", "", ""}},
		"request":                         {[]string{app}, "", app, "", [3]string{"401", app, ""}},
		"request of another":              {[]string{app}, "", "https://evil.example", "", [3]string{"401", "", ""}},
		"request without an origin":       {[]string{app}, "", "", "", [3]string{"401", "", ""}},
		"request where nobody is named":   {nil, "", app, "", [3]string{"401", "", ""}},
	} {
		req := httptest.NewRequest(http.MethodGet, one, nil)
		if tt.method != "" {
			req.Method = http.MethodOptions
			req.Header.Set("Access-Control-Request-Method", tt.method)
			req.Header.Set("Access-Control-Request-Headers", tt.header)
		}
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		rec := httptest.NewRecorder()
		sharedWith(t, tt.origins).ServeHTTP(rec, req)
		h := rec.Header()
		got := [3]string{http.StatusText(rec.Code), h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Headers")}
		want := tt.want
		want[0] = map[string]string{"204": "No Content", "401": "Unauthorized"}[want[0]]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies are allowed", name)
		}
		if exposed := h.Get("Access-Control-Expose-Headers"); (exposed != "") != (tt.method == "" && got[1] != "") {
			t.Errorf("%s: exposes %q", name, exposed)
		}
	}
}

// A real browser lets the page of an origin that is named read answers, and no other page.
func TestOriginsInBrowser(t *testing.T) {
	t.Parallel()
	var api string
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(strings.ReplaceAll(`<p id="told">waits</p><script>
fetch("API/api/v1/accounts/1/tickets", {headers: {Authorization: "Bearer x"}}).then(r => "read " + r.status + " " + (r.headers.get("X-Request-Id") ? "with its id" : ""),
  () => "refused").then(text => { document.getElementById("told").textContent = text })</script>`, "API", api)))
	}))
	defer page.Close()
	for name, tt := range map[string]struct {
		origins []string
		want    string
	}{
		"named": {[]string{page.URL}, "read 401 with its id"}, "not named": {[]string{"https://app.example.com"}, "refused"}, "nobody is": {nil, "refused"},
	} {
		server := httptest.NewServer(sharedWith(t, tt.origins))
		api = server.URL
		if shown := testenv.Browse(t, page.URL); !strings.Contains(shown.DOM, tt.want) {
			t.Errorf("%s: %s", name, shown.DOM)
		}
		server.Close()
	}
}
