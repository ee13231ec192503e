package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// TestUserCommands administers users while the server runs: changes take effect with the next request.
func TestUserCommands(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		run := func(want int, args ...string) string {
			t.Helper()
			out, err := s.command(append([]string{"user"}, args...)...)
			code := 0
			if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec returns it as it is
				code = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != want {
				t.Errorf("%q: exit code %d, want %d: %s", args, code, want, out)
			}
			return out
		}
		has := func(out string, parts ...string) {
			t.Helper()
			for _, part := range parts {
				if !strings.Contains(out, part) {
					t.Errorf("no %q in\n%s", part, out)
				}
			}
		}
		made := run(0, "create", "--email", "lise@example.org", "--name", "Lise", "--password", "correct horse", "--account", "1", "--role", "admin")
		lines := strings.Split(strings.TrimSpace(made), "\n")
		token := lines[len(lines)-1]
		asLise := func(want int) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.http+apiBase+"/user", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("status %d, want %d", res.StatusCode, want)
			}
		}
		asLise(200)
		has(run(0, "list"), "ID", "owner@localhost", "lise@example.org", "Lise", "yes", "no")
		has(run(0, "show", "Lise@Example.org"), "lise@example.org", "1 My help desk", "disabled", "no")
		has(run(0, "disable", "lise@example.org"), "is disabled")
		asLise(401)
		has(run(0, "list"), "since 20")
		has(run(1, "reset-password", "lise@example.org"), "Enable the user first")
		has(run(0, "enable", "lise@example.org"), "is enabled")
		asLise(200)
		has(run(1, "delete", "owner@localhost"), "last owner")
		has(run(0, "delete", "lise@example.org"), "is deleted")
		asLise(401)
		has(run(1, "show", "lise@example.org"), "there is no user")
	})
}
