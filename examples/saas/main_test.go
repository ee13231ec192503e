package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestionsLandInTheDesk asks a question as a user of the application, and reads it as its agent.
func TestQuestionsLandInTheDesk(t *testing.T) {
	t.Chdir(t.TempDir())
	a, err := open(t.Context(), "file:"+filepath.Join(t.TempDir(), "saas.db")+"?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(a.routes())
	defer web.Close()
	do := func(method, path, who string, form url.Values) string {
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "who", Value: who})
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Status + " " + res.Header.Get("Location") + " " + string(text)
	}
	if got := do(http.MethodPost, "/", "ada", url.Values{"question": {"How do I add a seat?"}}); !strings.Contains(got, "<nil>") {
		t.Error(got)
	}
	for who, want := range map[string]string{"boss": "How do I add a seat?", "ada": "303 See Other /?next=", "nobody": "303 See Other /?next="} {
		if got := do(http.MethodGet, "/desk/a/1/inbox/unassigned", who, nil); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s, want %q", who, got, want)
		}
	}
	if got := do(http.MethodGet, "/desk/a/1/c/1", "boss", nil); !strings.Contains(got, "Team, 12 seats") {
		t.Error("the panel is missing")
	}
}
