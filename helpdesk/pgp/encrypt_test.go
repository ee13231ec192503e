package pgp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/pgp"
	"github.com/helpwright/helpwright/storage/testenv"
)

func encrypt(t testing.TB, text string, keys ...[]byte) []byte {
	t.Helper()
	to, err := pgp.NewRecipients(keys, now)
	must(t, err)
	var out bytes.Buffer
	w, err := to.Encrypt(&out)
	must(t, err)
	_, err = io.WriteString(w, text)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// packetTags lists the packets of an armored message with their versions.
func packetTags(t testing.TB, message []byte) string {
	t.Helper()
	block, err := armor.Decode(bytes.NewReader(message))
	must(t, err)
	var tags []string
	for r := packet.NewOpaqueReader(block.Body); ; {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(tags, " ")
		}
		must(t, err)
		tags = append(tags, fmt.Sprintf("%d.%d", p.Tag, p.Contents[0]))
	}
}

func decrypt(t testing.TB, message []byte, e *openpgp.Entity) string {
	t.Helper()
	block, err := armor.Decode(bytes.NewReader(message))
	must(t, err)
	m, err := openpgp.ReadMessage(block.Body, openpgp.EntityList{e}, nil, at(now))
	must(t, err)
	text, err := io.ReadAll(m.UnverifiedBody)
	must(t, err)
	if m.IsSigned || m.LiteralData.FileName != "" || m.LiteralData.Time != 0 {
		t.Errorf("the message tells more than its text: %+v", m.LiteralData)
	}
	return string(text)
}

// The form of encryption is one that all recipients support, and each of them can read it.
func TestEncryptFor(t *testing.T) {
	t.Parallel()
	modern := func(v6 bool) *packet.Config {
		cfg := at(made)
		cfg.AEADConfig, cfg.V6Keys = &packet.AEADConfig{}, v6
		if v6 {
			cfg.Algorithm = packet.PubKeyAlgoEd25519
		}
		return cfg
	}
	old, other, four, six := entity(t, at(made)), entity(t, at(made)), entity(t, modern(false)), entity(t, modern(true))
	rsa := at(made)
	rsa.Algorithm, rsa.RSABits = packet.PubKeyAlgoRSA, 2048
	twice := entity(t, at(made), func(e *openpgp.Entity) {
		must(t, e.AddEncryptionSubkey(at(made.AddDate(0, 1, 0))))
		must(t, e.AddEncryptionSubkey(at(made.AddDate(0, 2, 0))))
		must(t, e.Subkeys[2].Revoke(packet.KeyCompromised, "", at(made.AddDate(0, 3, 0))))
	})
	for name, tt := range map[string]struct {
		to   []*openpgp.Entity
		want string // tag and version of the packets
	}{
		"v4":                           {[]*openpgp.Entity{old}, "1.3 18.1"},
		"v4 with RSA":                  {[]*openpgp.Entity{entity(t, rsa)}, "1.3 18.1"},
		"v4 that reads AEAD":           {[]*openpgp.Entity{four}, "1.6 18.2"},
		"v6":                           {[]*openpgp.Entity{six}, "1.6 18.2"},
		"v6 and v4 that reads AEAD":    {[]*openpgp.Entity{four, six}, "1.6 1.6 18.2"},
		"v6 and v4 that does not":      {[]*openpgp.Entity{six, old}, "1.3 1.3 18.1"},
		"the same key twice":           {[]*openpgp.Entity{old, other, old}, "1.3 1.3 18.1"},
		"several subkeys, one revoked": {[]*openpgp.Entity{twice}, "1.3 18.1"},
	} {
		var keys [][]byte
		for _, e := range tt.to {
			keys = append(keys, public(t, e))
		}
		text := "Grüße\r\n" + name
		message := encrypt(t, text, keys...)
		if diff := cmp.Diff(tt.want, packetTags(t, message)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, e := range tt.to {
			if got := decrypt(t, message, e); got != text {
				t.Errorf("%s: %q", name, got)
			}
		}
		if bytes.Count(message, []byte("\n")) != bytes.Count(message, []byte("\r\n")) || !bytes.HasSuffix(message, []byte("-----END PGP MESSAGE-----\r\n")) {
			t.Errorf("%s: newlines of\n%s", name, message)
		}
	}
	// The newest subkey that is in force, by its key id.
	block, err := armor.Decode(bytes.NewReader(encrypt(t, "x", public(t, twice))))
	must(t, err)
	p, err := packet.Read(block.Body)
	must(t, err)
	if got := p.(*packet.EncryptedKey).KeyId; got != twice.Subkeys[1].PublicKey.KeyId {
		t.Errorf("encrypted to %X", got)
	}
}

// No recipient is left out silently.
func TestEncryptRefused(t *testing.T) {
	t.Parallel()
	short := at(made)
	short.KeyLifetimeSecs = 3600
	good := public(t, entity(t, at(made)))
	for name, tt := range map[string]struct {
		keys [][]byte
		want string
	}{
		"none":            {nil, "is missing"},
		"one expired":     {[][]byte{good, public(t, entity(t, short))}, "is expired"},
		"one no key":      {[][]byte{good, []byte("hello")}, "is no OpenPGP key"},
		"one sign-only":   {[][]byte{good, public(t, entity(t, at(made), func(e *openpgp.Entity) { e.Subkeys = nil }))}, "has no subkey to encrypt with"},
		"one not yet due": {[][]byte{public(t, entity(t, at(now.AddDate(0, 0, 1))))}, "is from the future"},
	} {
		_, err := pgp.NewRecipients(tt.keys, now)
		if refused, ok := errors.AsType[*pgp.Error](err); !ok || refused.Reason != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	to, err := pgp.NewRecipients([][]byte{good}, now)
	must(t, err)
	w, err := to.Encrypt(&full{room: 2000})
	must(t, err)
	_, written := w.Write(make([]byte, 1<<20))
	if err := errors.Join(written, w.Close()); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// Other programs read it: with keys that they made, and several of them in one message.
func TestEncryptForOthers(t *testing.T) {
	t.Parallel()
	gnupg := testenv.NewGnuPG(t)
	secret := filepath.Join(t.TempDir(), "secret")
	sequoia := testenv.SQOP(t, nil, "generate-key", "Sequoia <s@example.com>")
	must(t, os.WriteFile(secret, sequoia, 0o600))
	keys := [][]byte{
		gnupg.NewKey("Curve <c@example.com>", "future-default"), gnupg.NewKey("RSA <r@example.com>", "default"),
		testenv.SQOP(t, sequoia, "extract-cert"),
	}
	later := time.Now().Add(time.Minute)
	to, err := pgp.NewRecipients(keys, later)
	must(t, err)
	for _, size := range []int{0, 1, 76, 5 << 20} {
		text := strings.Repeat("ü", size)
		var out bytes.Buffer
		w, err := to.Encrypt(&out)
		must(t, err)
		_, err = io.WriteString(w, text)
		must(t, err)
		must(t, w.Close())
		if got := gnupg.Run(out.Bytes(), "--decrypt"); string(got) != text {
			t.Errorf("GnuPG reads %d bytes of %d", len(got), len(text))
		}
		if got := testenv.SQOP(t, out.Bytes(), "decrypt", secret); string(got) != text {
			t.Errorf("Sequoia reads %d bytes of %d", len(got), len(text))
		}
	}
}

func BenchmarkEncrypt(b *testing.B) {
	key := public(b, entity(b, at(made)))
	text := bytes.Repeat([]byte("Some words about it. "), 5<<20/21)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		to, err := pgp.NewRecipients([][]byte{key}, now)
		must(b, err)
		w, err := to.Encrypt(io.Discard)
		must(b, err)
		_, err = w.Write(text)
		must(b, err)
		must(b, w.Close())
	}
}

func ExampleRecipients_Encrypt() {
	key, _ := os.ReadFile("testdata/ada.asc")
	to, err := pgp.NewRecipients([][]byte{key}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println("The key", err)
		return
	}
	var message bytes.Buffer
	w, _ := to.Encrypt(&message)
	_, _ = io.WriteString(w, "Dear Ada")
	_ = w.Close()
	first, _, _ := strings.Cut(message.String(), "\r\n")
	fmt.Println(first)
	// Output: -----BEGIN PGP MESSAGE-----
}
