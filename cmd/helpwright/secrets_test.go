package main

import (
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSecretKeys rotates the key: the first seals, and all open.
func TestSecretKeys(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 40)
	phrase := "a pass phrase with blanks, and one comma"
	load := func(text string) secrets {
		t.Helper()
		s, err := (&Settings{SecretKey: text}).loadSecrets()
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
		{phrase, second + "," + phrase, false}, // a key with commas and blanks cannot stand in a list
	} {
		before, after := load(c.before), load(c.after)
		sealed, err := before.sealer.Seal([]byte("secret"), "context")
		if err != nil {
			t.Fatal(err)
		}
		got, err := after.sealer.Open(sealed, "context")
		if opens := err == nil && string(got) == "secret"; opens != c.opens {
			t.Errorf("sealed with %q, opened with %q: %v", c.before, c.after, err)
		}
		known := slices.ContainsFunc(after.signing, func(key []byte) bool { return string(key) == string(before.signing[0]) })
		if known != c.opens {
			t.Errorf("signed with %q, verified with %q: %v", c.before, c.after, known)
		}
		known = slices.ContainsFunc(after.sites, func(key []byte) bool { return string(key) == string(before.sites[0]) })
		if known != c.opens {
			t.Errorf("a page signed with %q, verified with %q: %v", c.before, c.after, known)
		}
	}
	for _, bad := range []string{"short", strings.Repeat(" ", 10)} {
		if err := (&Settings{SecretKey: bad}).check(); err == nil || !strings.Contains(err.Error(), "HELPWRIGHT_SECRET_KEY") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestVarsShowNoCommandLine: flags may have passwords.
func TestVarsShowNoCommandLine(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/debug/vars", "/debug/pprof/cmdline"} {
		rec := httptest.NewRecorder()
		(&app{}).profiles().ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if strings.Contains(rec.Body.String(), os.Args[0]) || flag.Parsed() && strings.Contains(rec.Body.String(), "-test.") {
			t.Errorf("%s shows the command line: %s", path, rec.Body)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(rec.Body.Bytes(), &all); path == "/debug/vars" && (err != nil || all["memstats"] == nil) {
			t.Errorf("%v, %d variables", err, len(all))
		}
	}
}
