package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

// keysRun runs a command of keys.
func (s *process) keysRun(want int, args ...string) string {
	s.t.Helper()
	out, err := s.command(append([]string{"keys"}, args...)...)
	code := 0
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // exec returns it as it is
		code = failed.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	if code != want {
		s.t.Errorf("keys %q: exit code %d, want %d: %s", args, code, want, out)
	}
	return out
}

// hasLines checks that an output has lines that match.
func hasLines(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)` + pattern).MatchString(out) {
			t.Errorf("nothing is like %q in\n%s", pattern, out)
		}
	}
}

// TestKeysCommands changes the secret key of a server that has sealed something, and drops the old one.
func TestKeysCommands(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		for range 3 {
			s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {"https://example.org"}, "events[]": {"*"}}, nil)
		}
		old, _, _ := strings.Cut(strings.Split(s.keysRun(0, "list"), "\n")[1], " ")
		added, _, _ := strings.Cut(s.keysRun(0, "add"), "\n")
		hasLines(t, s.keysRun(0, "list"), old+` +seals +3 +1 of 1`, added+` +opens +0 +0 of 1`)
		hasLines(t, s.keysRun(exitFail, "rotate", added), "1 of 1 running servers do not have the key "+added)
		hasLines(t, s.keysRun(exitFail, "drop", old), "3 stored secrets are sealed with "+old)
		s.stop()
		s.start()
		hasLines(t, s.keysRun(0, "rotate", added), "3 secrets are sealed with "+added, "1 running servers still seal with "+old)
		hasLines(t, s.keysRun(exitFail, "drop", old), "1 running servers seal with "+old)
		s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {"https://example.org"}, "events[]": {"*"}}, nil) // it seals with the old one
		s.stop()
		s.start()
		hasLines(t, s.keysRun(0, "list"), added+` +seals +3 +1 of 1`, old+` +opens +1 +1 of 1`)
		out, _ := s.command("doctor")
		hasLines(t, out, "former key "+old+": 1 stored secrets need it")
		hasLines(t, s.keysRun(0, "rotate"), "1 secrets are sealed with "+added, "no stored secret needs "+old)
		hasLines(t, s.keysRun(exitFail, "drop", added), "4 stored secrets")
		s.keysRun(exitFail, "drop", "00000000")
		hasLines(t, s.keysRun(0, "drop", old), "the key "+old+" is removed")
		s.stop()
		s.start()
		s.ok("POST", "/accounts/1/webhooks/1/rotate-secret", nil, nil)
		if out := s.keysRun(0, "list"); strings.Contains(out, old) {
			t.Error(out)
		}
		path := filepath.Join(s.dir, "data", "secret.key")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
		s.stop()
		if err := os.WriteFile(path, []byte(strings.Repeat("x", 32)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ = s.command("doctor")
		hasLines(t, out, "FAIL  keys of the stored secrets: 5 secrets are sealed with the key "+added)
		hasLines(t, s.keysRun(0, "list"), added+` +is missing +5 +0 of 0`)
	})
}

// With the key in the settings a command only seals anew.
func TestKeysOfSettings(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	s := newServer(t, "HELPWRIGHT_SECRET_KEY="+first)
	s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {"https://example.org"}, "events[]": {"*"}}, nil)
	s.keysRun(exitUsage, "add")
	other := *s
	other.env = append(other.env, "HELPWRIGHT_SECRET_KEY="+second+","+first)
	hasLines(t, other.keysRun(exitFail, "rotate"), "1 of 1 running servers do not have the key "+keyID(second))
	s.stop()
	hasLines(t, other.keysRun(0, "rotate"), "1 secrets are sealed with "+keyID(second), "no stored secret needs "+keyID(first))
	if out := other.keysRun(0, "list"); strings.Count(out, "\n") != 3 {
		t.Errorf("the text of both is shown as a key:\n%s", out)
	}
}

// racing changes an item between the look at it and its replacement.
type racing struct {
	storage.Vault
	change func()
}

// ReplaceValue implements [storage.Vault].
func (r racing) ReplaceValue(ctx context.Context, key string, old, value []byte) (bool, error) {
	r.change()
	return r.Vault.ReplaceValue(ctx, key, old, value)
}

// Certificates are sealed anew, and one that is renewed meanwhile stays the new one.
func TestCertificatesAreResealed(t *testing.T) {
	t.Parallel()
	sealers := map[string]storage.KeyedSealer{}
	for _, letters := range []string{"a", "ba", "b"} {
		var keys [][]byte
		for _, letter := range letters {
			keys = append(keys, []byte(strings.Repeat(string(letter), 32)))
		}
		sealer, err := keyedSealer(keys)
		if err != nil {
			t.Fatal(err)
		}
		sealers[letters] = sealer
	}
	store, ctx := memstore.New(), t.Context()
	put := func(sealer storage.Sealer, key, text string) {
		t.Helper()
		sealed, err := sealer.Seal([]byte(text), key)
		if err == nil {
			err = store.SetItem(ctx, storage.VaultItem{Key: key, Value: sealed})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		put(sealers["a"], fmt.Sprintf("acme/x/%d", i), "old")
	}
	put(sealers["a"], "servers/1", "not a certificate")
	raced := racing{store, func() { put(sealers["ba"], "acme/x/1", "renewed") }}
	if done, err := certs.Reseal(ctx, raced, sealers["ba"]); done != 2 || err != nil {
		t.Errorf("%d were sealed anew: %v", done, err)
	}
	for key, want := range map[string]string{"acme/x/0": "old", "acme/x/1": "renewed", "acme/x/2": "old"} {
		item, err := store.Item(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sealers["b"].Open(item.Value, key); string(got) != want || err != nil {
			t.Errorf("%s is %q: %v", key, got, err)
		}
	}
	found, err := certs.CountSealed(ctx, store, sealers["b"])
	if id := sealers["b"].KeyIDs()[0]; len(found) != 1 || found[id] != 3 || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// TestSealingServers finds a use of a sealer whose values "keys rotate" would leave behind.
func TestSealingServers(t *testing.T) {
	t.Parallel()
	known := map[string]string{
		"helpdesk/dkim.go":                        "Domain.SealedKey",
		"helpdesk/erasure.go":                     "Account.SealedErasureKeys",
		"helpdesk/mailbox_inbound.go":             "Mailbox.Inbound",
		"helpdesk/portal_key.go":                  "PortalKey.SealedSecret",
		"helpdesk/second_factor.go":               "User.SealedSecondFactor",
		"helpdesk/webhook.go":                     "Webhook.SealedSecret",
		"helpdesk/sealed.go":                      "all of these",
		"cmd/helpwright/internal/certs/vault.go":  "certificates",
		"cmd/helpwright/internal/certs/shared.go": "certificates",
		"helpdesk/webpush/push.go":                "the key of push notifications",
		"helpdesk/passkey.go":                     "an attempt with a passkey, in a cookie for five minutes",
		"helpdesk/identity.go":                    "an attempt to sign in, in a cookie for ten minutes",
		"helpdesk/transfer/insert.go":             "fields of these, for the importing server",
		"storage/transfer/secrets.go":             "sealed with the passphrase of an archive",
		"transport/idempotency.go":                "sealed with the client's key, for a day",
	}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "examples" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if regexp.MustCompile(`(?i)sealer\.Seal\(`).Match(text) {
			if _, ok := known[path]; !ok {
				t.Errorf("%s seals something: declare it in helpdesk/sealed.go, and here", path)
			}
			delete(known, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range known {
		t.Errorf("%s seals nothing any more", path)
	}
}
