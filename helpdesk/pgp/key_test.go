package pgp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/pgp"
)

var (
	made = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	now  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func at(when time.Time) *packet.Config {
	return &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return when }}
}

// entity makes a key of Ada, modified by change.
func entity(t testing.TB, cfg *packet.Config, change ...func(*openpgp.Entity)) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("Ada Lovelace", "", "Ada@example.com", cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(e)
	}
	return e
}

func public(t testing.TB, e *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := e.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func armored(t testing.TB, kind string, packets []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, map[string]string{"Comment": "of a test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(packets); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

func TestParse(t *testing.T) {
	t.Parallel()
	e := entity(t, at(made), func(e *openpgp.Entity) {
		if err := e.AddUserId("Countess", "", "countess@example.org", at(made)); err != nil {
			t.Fatal(err)
		}
	})
	packets := public(t, e)
	want := pgp.PublicKey{
		UserID: "Ada Lovelace <Ada@example.com>", Emails: []string{"Ada@example.com", "countess@example.org"},
		Fingerprint: strings.ToUpper(fmt.Sprintf("%x", e.PrimaryKey.Fingerprint)),
	}
	sorted := func(k pgp.PublicKey) pgp.PublicKey { // the library writes user ids in any order
		if len(k.Emails) == 2 && k.Emails[0] > k.Emails[1] {
			k.Emails = []string{k.Emails[1], k.Emails[0]}
		}
		return k
	}
	for name, content := range map[string][]byte{
		"packets":          packets,
		"armored":          armored(t, openpgp.PublicKeyType, packets),
		"with CR LF":       bytes.ReplaceAll(armored(t, openpgp.PublicKeyType, packets), []byte("\n"), []byte("\r\n")),
		"with text around": append([]byte("Here it is:\n\n"), append(armored(t, openpgp.PublicKeyType, packets), "Bye\n"...)...),
	} {
		got, err := pgp.Parse(content, now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(got.Packets, packets) {
			t.Errorf("%s: other packets", name)
		}
		got.Packets = nil
		if diff := cmp.Diff(want, sorted(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The expiry is that of the primary key or of the last subkey, whichever is first.
func TestExpiry(t *testing.T) {
	t.Parallel()
	lasting := func(years uint32) *packet.Config {
		cfg := at(made)
		cfg.KeyLifetimeSecs = years * 365 * 24 * 3600
		return cfg
	}
	for name, tt := range map[string]struct {
		key  *openpgp.Entity
		want time.Time
	}{
		"never":          {entity(t, at(made)), time.Time{}},
		"of both":        {entity(t, lasting(2)), made.AddDate(2, 0, 0)},
		"of the primary": {entity(t, lasting(2), func(e *openpgp.Entity) { must(t, e.AddEncryptionSubkey(lasting(10))) }), made.AddDate(2, 0, 0)},
		"of the subkey": {entity(t, at(made), func(e *openpgp.Entity) {
			e.Subkeys = nil
			must(t, e.AddEncryptionSubkey(lasting(3)))
		}), made.Add(3 * 365 * 24 * time.Hour)},
		"of the last subkey": {entity(t, at(made), func(e *openpgp.Entity) {
			e.Subkeys = nil
			must(t, e.AddEncryptionSubkey(lasting(3)))
			must(t, e.AddEncryptionSubkey(lasting(2)))
		}), made.Add(3 * 365 * 24 * time.Hour)},
	} {
		got, err := pgp.Parse(public(t, tt.key), now)
		if err != nil || got.ExpiresAt.Sub(tt.want).Abs() > 24*time.Hour {
			t.Errorf("%s: %v, %v; want %v", name, got.ExpiresAt, err, tt.want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	good := entity(t, at(made))
	packets := public(t, good)
	block := armored(t, openpgp.PublicKeyType, packets)
	short := at(made)
	short.KeyLifetimeSecs = 3600
	var secret bytes.Buffer
	must(t, good.SerializePrivate(&secret, at(made)))
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":                   {nil, "is empty"},
		"blanks":                    {[]byte(" \r\n"), "is empty"},
		"text":                      {[]byte("hello"), "is no OpenPGP key"},
		"zeros":                     {make([]byte, 100), "is no OpenPGP key"},
		"too large":                 {make([]byte, pgp.MaxSize+1), "is too large for a key"},
		"two keys":                  {append(bytes.Clone(packets), public(t, entity(t, at(made)))...), "holds more than one key"},
		"two blocks":                {append(bytes.Clone(block), block...), "holds more than one armored block"},
		"private":                   {secret.Bytes(), "holds a private key: give the public one only, and consider the private one known"},
		"private block":             {armored(t, openpgp.PrivateKeyType, secret.Bytes()), "holds a private key: give the public one only, and consider the private one known"},
		"private in a public block": {armored(t, openpgp.PublicKeyType, secret.Bytes()), "holds a private key: give the public one only, and consider the private one known"},
		"a message":                 {armored(t, "PGP MESSAGE", packets), "is no OpenPGP public key"},
		"an armor header only":      {[]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n"), "has armor that cannot be read"},
		"armor with a wrong letter": {bytes.Replace(block, []byte("\n\n"), []byte("\n\n!!!!"), 1), "has armor that cannot be read"},
		"cut off":                   {packets[:len(packets)-20], "is no OpenPGP key"},
		"expired":                   {public(t, entity(t, short)), "is expired"},
		"of tomorrow":               {public(t, entity(t, at(now.AddDate(0, 0, 1)))), "is from the future"},
		"revoked": {public(t, entity(t, at(made), func(e *openpgp.Entity) {
			must(t, e.Revoke(packet.KeyRetired, "", at(made)))
		})), "is revoked"},
		"sign-only": {public(t, entity(t, at(made), func(e *openpgp.Entity) { e.Subkeys = nil })), "has no subkey to encrypt with"},
		"revoked subkey": {public(t, entity(t, at(made), func(e *openpgp.Entity) {
			must(t, e.Subkeys[0].Revoke(packet.KeyCompromised, "", at(made)))
		})), "has no subkey to encrypt with that is not revoked"},
		"expired subkey": {public(t, entity(t, at(made), func(e *openpgp.Entity) {
			e.Subkeys = nil
			must(t, e.AddEncryptionSubkey(short))
		})), "has no subkey to encrypt with that is not expired"},
		"a primary key without anything": {packets[:53], "is damaged, or of a kind that is not supported"},
		"many packets":                   {bytes.Repeat([]byte{0xcd, 0x01, 'x'}, 2000), "has too many packets for a key"},
	} {
		_, err := pgp.Parse(tt.content, now)
		if refused, ok := errors.AsType[*pgp.Error](err); !ok || refused.Reason != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// A text encrypted to an accepted key can be decrypted with its private key.
func TestUsable(t *testing.T) {
	t.Parallel()
	e := entity(t, at(made))
	key, err := pgp.Parse(public(t, e), now)
	must(t, err)
	list, err := openpgp.ReadKeyRing(bytes.NewReader(key.Packets))
	must(t, err)
	var mail bytes.Buffer
	w, err := openpgp.Encrypt(&mail, list, nil, nil, nil, at(now))
	must(t, err)
	_, err = io.WriteString(w, "Hello")
	must(t, err)
	must(t, w.Close())
	m, err := openpgp.ReadMessage(&mail, openpgp.EntityList{e}, nil, at(now))
	must(t, err)
	if text, err := io.ReadAll(m.UnverifiedBody); err != nil || string(text) != "Hello" {
		t.Errorf("%q, %v", text, err)
	}
}

func FuzzParse(f *testing.F) {
	e := entity(f, at(made))
	f.Add(public(f, e))
	f.Add(armored(f, openpgp.PublicKeyType, public(f, e)))
	f.Add([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nxjM=\n-----END PGP PUBLIC KEY BLOCK-----"))
	f.Fuzz(func(t *testing.T, content []byte) {
		key, err := pgp.Parse(content, now)
		if err != nil {
			if refused, ok := errors.AsType[*pgp.Error](err); !ok || refused.Reason == "" {
				t.Errorf("%#v", err)
			}
			return
		}
		again, err := pgp.Parse(key.Packets, now)
		if err != nil || again.Fingerprint != key.Fingerprint || again.UserID != key.UserID || len(key.Fingerprint) < 40 {
			t.Errorf("%+v, then %+v, %v", key, again, err)
		}
	})
}

func ExampleParse() {
	text, _ := os.ReadFile("testdata/ada.asc")
	key, err := pgp.Parse(text, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	fmt.Println(key.UserID, key.Emails, err)
	_, err = pgp.Parse([]byte("my key"), time.Now())
	fmt.Println("The key", err)
	// Output:
	// Ada Lovelace <ada@example.com> [ada@example.com] <nil>
	// The key is no OpenPGP key
}
