package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// TestInvitation follows the link of an invitation's mail in the way of a browser.
func TestInvitation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		s.ok("POST", "/accounts/1/invitations", url.Values{"email": {"lise@example.org"}, "name": {"Lise"}, "roles[]": {"3"}}, nil)
		var spooled []string
		eventually(t, "the invitation is mailed", 10*time.Second, func() bool {
			spooled, _ = filepath.Glob(filepath.Join(s.dir, "data", "outbox", "*.eml"))
			return len(spooled) == 1
		})
		raw, err := os.ReadFile(spooled[0])
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.Parse(raw, mail.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		link := regexp.MustCompile(`http://\S+/invitations/hwi_[A-Z2-7]+`).FindString(m.Text)
		if !strings.HasPrefix(link, "http://"+s.http+"/") {
			t.Fatalf("link %q in %q", link, m.Text)
		}
		open := func(form url.Values) (int, string) {
			t.Helper()
			get := func() (*http.Response, error) { return http.Get(link) } //nolint:noctx,gosec // a test
			if form != nil {
				get = func() (*http.Response, error) { return http.PostForm(link, form) } //nolint:noctx,gosec // a test
			}
			res, err := get()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return res.StatusCode, string(body)
		}
		if code, page := open(nil); code != http.StatusOK || !strings.Contains(page, `<form method="post">`) {
			t.Fatalf("%d %s", code, page)
		}
		if code, page := open(url.Values{"name": {`<b>"Lise`}, "password": {"short"}}); code != http.StatusUnprocessableEntity ||
			!strings.Contains(page, "8 to 200 characters") || strings.Contains(page, "<b>") {
			t.Fatalf("%d %s", code, page)
		}
		code, page := open(url.Values{"name": {"Lise"}, "password": {"correct horse"}})
		token := regexp.MustCompile(`hwp_[A-Z2-7]+`).FindString(page)
		if code != http.StatusOK || token == "" {
			t.Fatalf("%d %s", code, page)
		}
		s.token = token
		var own object[struct {
			Permissions []string `json:"permissions"`
		}]
		s.ok("GET", "/accounts/1/membership", nil, &own)
		if len(own.Data.Permissions) == 0 {
			t.Error("the new member may do nothing")
		}
		if code, _ := open(url.Values{"password": {"correct horse"}}); code != http.StatusNotFound {
			t.Errorf("the second time: %d", code)
		}
	})
}
