package main

import (
	"flag"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/metrics"
)

// TestSecretKeys rotates the key: the first seals, and all open.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 40)
	phrase := "a pass phrase with blanks, and one comma"
	load := func(text string) [][]byte {
		t.Helper()
		s, err := (&Settings{SecretKey: text}).loadKeys()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		before, after string
		opens         bool
	}{
		{first, first, true},
		{first, second + "," + first, true},
		{first, second + " \n" + first + "\n", true},
		{second + "," + first, second, true}, // the first has sealed it
		{second + "," + first, first, false},
		{first, second, false},
		{phrase, phrase, true},
		{phrase, second + "," + phrase, false}, // a key with commas and blanks cannot be part of a list
	} {
		before, after := load(c.before), load(c.after)
		got := slices.ContainsFunc(after, func(key []byte) bool { return string(key) == string(before[0]) })
		if got != c.opens {
			t.Errorf("sealed with %q, opened with %q: %v", c.before, c.after, got)
		}
	}
	for _, bad := range []string{"short", strings.Repeat(" ", 10)} {
		if err := (&Settings{SecretKey: bad}).check(); err == nil || !strings.Contains(err.Error(), "HELPWRIGHT_SECRET_KEY") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestOperationsShowNoCommandLine: flags may have passwords.
func TestOperationsShowNoCommandLine(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/debug/vars", "/debug/pprof/cmdline"} {
		rec := httptest.NewRecorder()
		operations(metrics.New(metrics.Config{Build: build()}), newLogs(io.Discard, "", "")).ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if strings.Contains(rec.Body.String(), os.Args[0]) || flag.Parsed() && strings.Contains(rec.Body.String(), "-test.") {
			t.Errorf("%s shows the command line: %s", path, rec.Body)
		}
	}
}
