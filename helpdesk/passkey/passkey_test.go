package passkey_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/passkey"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv/authenticator"
)

const origin = "https://help.example.org"

func verifier(t testing.TB) *passkey.Verifier {
	t.Helper()
	v, err := passkey.New(passkey.Config{Address: origin + "/desk"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Passkeys work at names with https, and on localhost.
func TestOrigin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://help.example.org":          origin,
		"https://Help.Example.org:443/desk": origin,
		"https://help.example.org:8443/a":   "https://help.example.org:8443",
		"http://localhost:8080":             "http://localhost:8080",
		"http://desk.localhost":             "http://desk.localhost",
		"http://help.example.org":           "",
		"http://127.0.0.1:8080":             "",
		"https://192.0.2.1":                 "",
		"https://[2001:db8::1]":             "",
		"http://localhost.example.org":      "",
		"ftp://localhost":                   "",
		"help.example.org":                  "",
		"":                                  "",
		"https://":                          "",
		"https://exa mple.org":              "",
	} {
		got, err := passkey.Origin(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", address, got, err)
		}
		if _, err := passkey.New(passkey.Config{Address: address}); (err == nil) != (want != "") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// registered is an authenticator with a passkey of a user.
func registered(t testing.TB, v *passkey.Verifier, a *authenticator.Authenticator) identity.PasskeyKey {
	t.Helper()
	options, secret, err := v.BeginRegistration([]byte("handle"), "ada@example.org", "Ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.Create(options)
	if err != nil {
		t.Fatal(err)
	}
	key, err := v.FinishRegistration([]byte("handle"), secret, answer)
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return key
}

// An authenticator's answer is accepted only if it is for this page and this challenge, and signed after verifying its
// holder.
func TestSignIn(t *testing.T) {
	t.Parallel()
	type device = authenticator.Authenticator
	for name, test := range map[string]struct {
		lie    func(a *device)
		want   bool
		cloned bool
	}{
		"honest":                   {func(*device) {}, true, false},
		"without a counter":        {func(a *device) { a.Count, a.Still = 0, true }, true, false},
		"counting back":            {func(a *device) { a.Count = 1 }, true, true},
		"not counting":             {func(a *device) { a.Still = true }, true, true},
		"counting far ahead":       {func(a *device) { a.Count = 1<<32 - 2 }, true, false},
		"for another page":         {func(a *device) { a.Origin = "https://evil.example" }, false, false},
		"for a page below":         {func(a *device) { a.Origin = "https://a.help.example.org" }, false, false},
		"for the page without TLS": {func(a *device) { a.Origin = "http://help.example.org" }, false, false},
		"for the page on a port":   {func(a *device) { a.Origin = origin + ":8443" }, false, false},
		"for another server":       {func(a *device) { a.RPID = "evil.example" }, false, false},
		"for the domain above":     {func(a *device) { a.RPID = "example.org" }, false, false},
		"another challenge":        {func(a *device) { a.Challenge = base64.RawURLEncoding.EncodeToString(make([]byte, 32)) }, false, false},
		"holder not verified":      {func(a *device) { a.Flags = authenticator.Present }, false, false},
		"holder not there":         {func(a *device) { a.Flags = authenticator.Verified }, false, false},
		"backup became possible": {func(a *device) {
			a.Flags = authenticator.Present | authenticator.Verified | authenticator.BackupEligible
		}, false, false},
		"backed up, not possible": {func(a *device) { a.Flags = authenticator.Present | authenticator.Verified | authenticator.BackedUp }, false, false},
		"another user":            {func(a *device) { a.Handle = []byte("another") }, false, false},
		"no user":                 {func(a *device) { a.Handle = []byte{} }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, a := verifier(t), &device{Origin: origin, Count: 5}
			if name == "without a counter" {
				a.Count, a.Still = 0, true
			}
			key := registered(t, v, a)
			options, secret, err := v.BeginSignIn()
			if err != nil {
				t.Fatal(err)
			}
			test.lie(a)
			answer, err := a.Get(options)
			if err != nil {
				t.Fatal(err)
			}
			after, cloned, err := v.FinishSignIn(secret, answer, func(id []byte) (identity.PasskeyKey, error) {
				if !bytes.Equal(id, key.CredentialID) {
					t.Error("another credential")
				}
				return key, nil
			})
			if (err == nil) != test.want || cloned != test.cloned || err != nil && !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%v, cloned: %v", err, cloned)
			}
			if test.want && !cloned && after.SignCount != int64(a.Count) {
				t.Errorf("counted %d", after.SignCount)
			}
		})
	}
}

// The same holds for making a passkey.
func TestRegistration(t *testing.T) {
	t.Parallel()
	type device = authenticator.Authenticator
	for name, test := range map[string]struct {
		lie  func(a *device)
		want bool
	}{
		"honest":              {func(*device) {}, true},
		"backed up":           {func(a *device) { a.Flags = 4 + 1 + authenticator.BackupEligible + authenticator.BackedUp }, true},
		"another page":        {func(a *device) { a.Origin = "https://evil.example" }, false},
		"another server":      {func(a *device) { a.RPID = "evil.example" }, false},
		"another challenge":   {func(a *device) { a.Challenge = base64.RawURLEncoding.EncodeToString(make([]byte, 32)) }, false},
		"holder not verified": {func(a *device) { a.Flags = authenticator.Present }, false},
	} {
		v, a := verifier(t), &device{Origin: origin}
		options, secret, err := v.BeginRegistration([]byte("handle"), "ada@example.org", "Ada", nil)
		if err != nil {
			t.Fatal(err)
		}
		test.lie(a)
		answer, err := a.Create(options)
		if err != nil {
			t.Fatal(err)
		}
		key, err := v.FinishRegistration([]byte("handle"), secret, answer)
		if (err == nil) != test.want || err == nil && (len(key.CredentialID) == 0 || len(key.PublicKey) == 0 || key.BackedUp != (name == "backed up")) {
			t.Errorf("%s: %+v %v", name, key, err)
		}
		if err != nil {
			continue
		}
		for what, s := range map[string][]byte{"nothing kept": nil, "garbage": []byte("{"), "no challenge": []byte("{}")} {
			if _, err := v.FinishRegistration([]byte("handle"), s, answer); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s: %v", what, err)
			}
		}
		options, _, err = v.BeginRegistration([]byte("handle"), "ada@example.org", "Ada", []identity.PasskeyKey{key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Create(options); !errors.Is(err, authenticator.ErrExcluded) {
			t.Errorf("%s: a second passkey on the same device: %v", name, err)
		}
	}
}

// No answer of a browser does harm.
func FuzzAnswer(f *testing.F) {
	v, a := verifier(f), &authenticator.Authenticator{Origin: origin}
	options, secret, _ := v.BeginRegistration([]byte("handle"), "a", "A", nil)
	made, _ := a.Create(options)
	key := registered(f, v, a)
	options, signing, _ := v.BeginSignIn()
	got, _ := a.Get(options)
	for _, seed := range [][]byte{made, got, nil, []byte("{}"), []byte(`{"response":{"attestationObject":"o2NmbXQ"}}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) > identity.MaxPasskeyAnswer {
			return
		}
		if _, err := v.FinishRegistration([]byte("handle"), secret, answer); err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Error(err)
		}
		_, _, err := v.FinishSignIn(signing, answer, func([]byte) (identity.PasskeyKey, error) { return key, nil })
		if err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Error(err)
		}
	})
}
