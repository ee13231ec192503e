package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestInvitation follows the link of an invitation's mail in the way of a browser.
func TestInvitation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		s.ok("POST", "/accounts/1/invitations", url.Values{"email": {"lise@example.org"}, "name": {"Lise"}, "roles[]": {"3"}}, nil)
		var spooled []string
		testenv.Eventually(t, "the invitation is mailed", func() bool {
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
		v := s.visitor()
		path, page, code := v.visit(link, nil)
		if code != http.StatusOK || !strings.Contains(page, `<form method="post"`) {
			t.Fatalf("%d %s", code, page)
		}
		if _, page, code := v.visit(path, url.Values{"name": {`<b>"Lise`}, "password": {"short"}}); code != http.StatusUnprocessableEntity ||
			!strings.Contains(page, "at least 8 characters") || strings.Contains(page, `<b>"Lise`) {
			t.Fatalf("%d %s", code, page)
		}
		v.step(path, url.Values{"name": {"Lise"}, "password": {"correct horse"}}, "/desk/a/1/inbox/unassigned")
		var own object[struct {
			Permissions []string `json:"permissions"`
		}]
		_, text, _ := v.visit("/api/v1/accounts/1/membership", nil)
		if err := json.Unmarshal([]byte(text), &own); err != nil || len(own.Data.Permissions) == 0 {
			t.Error("the new member may do nothing", err, text)
		}
		_, text, _ = v.visit("/api/v1/user/tokens", nil)
		if !strings.Contains(text, `"data":[]`) {
			t.Error("an access token is left that nobody knows:", text)
		}
		if _, _, code := v.visit(path, url.Values{"password": {"correct horse"}}); code != http.StatusNotFound {
			t.Errorf("the second time: %d", code)
		}
	})
}
