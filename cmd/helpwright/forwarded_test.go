package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestMailsNameNoForwardedHost sends the headers of a proxy that forwards the client's own, and a Host of the client's
// choice. Without a base URL Location follows the trusted proxy; a mail that an attacker requests for another user never
// does.
func TestMailsNameNoForwardedHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env      []string
		location string
	}{
		"trusted": {[]string{"HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1"}, "https://evil.example/api/v1/accounts/1/invitations/"},
		"nobody":  {nil, "http://HTTP/api/v1/accounts/1/invitations/"},
		"chosen":  {[]string{"HELPWRIGHT_TRUSTED_PROXIES=127.0.0.1", "HELPWRIGHT_BASE_URL=http://desk.example"}, "http://desk.example/api/v1/accounts/1/invitations/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.env...)
			post := func(path string, form url.Values) *http.Response {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.http+path, strings.NewReader(form.Encode()))
				if err != nil {
					t.Fatal(err)
				}
				r.Host = "evil.example"
				for name, value := range map[string]string{
					"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + s.token, "Sec-Fetch-Site": "same-origin",
					"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example;proto=https",
				} {
					r.Header.Set(name, value)
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				return answer
			}
			invited := post("/api/v1/accounts/1/invitations", url.Values{"email": {"lise@example.org"}, "name": {"Lise"}, "roles[]": {"3"}})
			if want := strings.ReplaceAll(test.location, "HTTP", s.http); invited.StatusCode != http.StatusCreated || !strings.HasPrefix(invited.Header.Get("Location"), want) {
				t.Errorf("%s, Location %q, not %q", invited.Status, invited.Header.Get("Location"), want)
			}
			mailed := func(what, word string) string {
				t.Helper()
				var found string
				testenv.Eventually(t, what+" is mailed", func() bool {
					files, _ := filepath.Glob(filepath.Join(s.dir, "data", "outbox", "*.eml"))
					for _, file := range files {
						if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) {
							found = string(text)
						}
					}
					return found != ""
				})
				return found
			}
			texts := mailed("the invitation", "/invitations/hwi_")
			if name != "chosen" { // whose links lead elsewhere
				s.joins("lise@example.org")
				if asked := post("/desk/forgot", url.Values{"email": {"lise@example.org"}}); asked.StatusCode != http.StatusOK {
					t.Errorf("asking for a password: %s", asked.Status)
				}
				texts += mailed("the link to choose a password", "/desk/reset?token")
			}
			if strings.Contains(texts, "evil") {
				t.Errorf("a mail names the host of a request:\n%s", texts)
			}
		})
	}
}
