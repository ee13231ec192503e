package pgp_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage/testenv"
)

// signatureOf signs with a key at some time.
func signatureOf(t testing.TB, e *openpgp.Entity, text string, when time.Time) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, openpgp.DetachSign(&b, []*openpgp.Entity{e}, strings.NewReader(text), at(when)))
	return b.Bytes()
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const text = "Content-Type: text/plain\r\n\r\nHello"
	ada, bob := entity(t, at(made)), entity(t, at(made))
	short := at(made)
	short.KeyLifetimeSecs = 3600
	expired := entity(t, short)
	revoked := entity(t, at(made))
	early := signatureOf(t, revoked, text, made.Add(time.Hour))
	must(t, revoked.Revoke(packet.KeyCompromised, "", at(made.AddDate(0, 3, 0))))
	passing := at(now.Add(-2 * time.Hour))
	passing.SigLifetimeSecs = 3600
	var outdated bytes.Buffer
	must(t, openpgp.DetachSign(&outdated, []*openpgp.Entity{ada}, strings.NewReader(text), passing))
	six := at(made)
	six.V6Keys, six.Algorithm = true, packet.PubKeyAlgoEd25519
	modern := entity(t, six)
	good := signatureOf(t, ada, text, now)
	for name, tt := range map[string]struct {
		keys      []*openpgp.Entity
		content   string
		signature []byte
		want      pgp.Verdict
	}{
		"good":                     {[]*openpgp.Entity{bob, ada}, text, good, pgp.Valid},
		"armored":                  {[]*openpgp.Entity{ada}, text, armored(t, openpgp.SignatureType, good), pgp.Valid},
		"v6":                       {[]*openpgp.Entity{modern}, text, signatureOf(t, modern, text, now), pgp.Valid},
		"one of two":               {[]*openpgp.Entity{ada}, text, append(signatureOf(t, bob, "x", now), good...), pgp.Valid},
		"one byte more":            {[]*openpgp.Entity{ada}, text + " ", good, pgp.Invalid},
		"one byte less":            {[]*openpgp.Entity{ada}, text[:len(text)-1], good, pgp.Invalid},
		"of another":               {[]*openpgp.Entity{bob}, text, good, pgp.UnknownKey},
		"without keys":             {nil, text, good, pgp.UnknownKey},
		"with an expired key":      {[]*openpgp.Entity{expired}, text, signatureOf(t, expired, text, made.Add(time.Minute)), pgp.UnusableKey},
		"with a key revoked later": {[]*openpgp.Entity{revoked}, text, early, pgp.UnusableKey},
		"out of its time":          {[]*openpgp.Entity{ada}, text, outdated.Bytes(), pgp.Invalid},
		"nothing":                  {[]*openpgp.Entity{ada}, text, nil, pgp.Unreadable},
		"text":                     {[]*openpgp.Entity{ada}, text, []byte("hello"), pgp.Unreadable},
		"a key":                    {[]*openpgp.Entity{ada}, text, public(t, ada), pgp.Unreadable},
		"cut off":                  {[]*openpgp.Entity{ada}, text, good[:len(good)-3], pgp.Unreadable},
		"armor that breaks off":    {[]*openpgp.Entity{ada}, text, armored(t, openpgp.SignatureType, good)[:80], pgp.Unreadable},
		"more than anybody needs":  {[]*openpgp.Entity{ada}, text, bytes.Repeat(good, 6), pgp.Unreadable},
		"too long":                 {[]*openpgp.Entity{ada}, text, bytes.Repeat(good, 1000), pgp.Unreadable},
	} {
		var keys [][]byte
		for _, e := range tt.keys {
			keys = append(keys, public(t, e))
		}
		got, fingerprint := pgp.Verify(append(keys, []byte("no key")), []byte(tt.content), tt.signature, now)
		if got != tt.want || (fingerprint != "") != (got == pgp.Valid) {
			t.Errorf("%s: %s %q, want %s", name, got, fingerprint, tt.want)
		}
	}
}

// Signatures of other programs, of every kind of key that they make by default.
func TestVerifyOthers(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	ada := gnupg.NewKey("ada@example.com", "future-default")
	bob := gnupg.NewKey("bob@example.com", "default")
	text := []byte("Content-Type: text/plain; charset=utf-8\r\n\r\nGr\xfc\xdfe  \r\n\r\n")
	later := time.Now().Add(time.Minute)
	for _, options := range [][]string{{"--detach-sign"}, {"--armor", "--detach-sign"}, {"--armor", "--textmode", "--detach-sign"}} {
		signature := gnupg.Run(text, append([]string{"--local-user", "ada@example.com"}, options...)...)
		for name, tt := range map[string]struct {
			keys [][]byte
			want pgp.Verdict
		}{"of hers": {[][]byte{packets(t, bob), packets(t, ada)}, pgp.Valid}, "of his": {[][]byte{packets(t, bob)}, pgp.UnknownKey}} {
			if got, _ := pgp.Verify(tt.keys, text, signature, later); got != tt.want {
				t.Errorf("%v with a key %s: %s", options, name, got)
			}
		}
		if got, _ := pgp.Verify([][]byte{packets(t, ada)}, bytes.Replace(text, []byte("text"), []byte("Text"), 1), signature, later); got != pgp.Invalid {
			t.Errorf("%v of another text: %s", options, got)
		}
	}
}

func packets(t testing.TB, key []byte) []byte {
	t.Helper()
	k, err := pgp.Parse(key, time.Now().Add(time.Minute))
	must(t, err)
	return k.Packets
}

func FuzzVerify(f *testing.F) {
	e := entity(f, at(made))
	key, text := public(f, e), []byte("Hello")
	good := signatureOf(f, e, "Hello", now)
	f.Add(good)
	f.Add(armored(f, openpgp.SignatureType, good))
	f.Add(append(signatureOf(f, e, "x", now), good...))
	f.Fuzz(func(t *testing.T, signature []byte) {
		got, fingerprint := pgp.Verify([][]byte{key}, text, signature, now)
		if (fingerprint != "") != (got == pgp.Valid) {
			t.Errorf("%s %q", got, fingerprint)
		}
		if other, _ := pgp.Verify([][]byte{key}, []byte("Other"), signature, now); got == pgp.Valid && other == pgp.Valid {
			t.Error("one signature is valid for two texts")
		}
	})
}
