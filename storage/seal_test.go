package storage_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/storage"
)

func sealer(t testing.TB, keys ...[]byte) storage.Sealer {
	t.Helper()
	s, err := storage.NewSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	s := sealer(t, storage.NewSecretKey())
	for _, secret := range [][]byte{nil, {}, []byte("x"), []byte("pässwörd"), {0, 255, 0}, bytes.Repeat([]byte("long"), 5000)} {
		sealed, err := s.Seal(secret, "mailbox/12/password")
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Open(sealed, "mailbox/12/password")
		if err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%q became %q: %v", secret, got, err)
		}
		again, _ := s.Seal(secret, "mailbox/12/password")
		if bytes.Equal(again, sealed) {
			t.Error("the same secret sealed twice looks the same")
		}
		if len(secret) > 3 && bytes.Contains(sealed, secret[:4]) {
			t.Error("the secret can be read")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := sealer(t, storage.NewSecretKey())
	sealed, err := s.Seal([]byte("secret"), "mailbox/12/password")
	if err != nil {
		t.Fatal(err)
	}
	for _, context := range []string{"", "mailbox/13/password", "mailbox/12/passwor", "mailbox/12/password "} {
		if _, err := s.Open(sealed, context); err == nil {
			t.Errorf("opened in the place %q", context)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := s.Open(changed, "mailbox/12/password"); err == nil {
			t.Errorf("opened with byte %d changed", i)
		}
		if _, err := s.Open(sealed[:i], "mailbox/12/password"); err == nil {
			t.Errorf("opened when cut to %d bytes", i)
		}
	}
	if _, err := sealer(t, storage.NewSecretKey()).Open(sealed, "mailbox/12/password"); err == nil {
		t.Error("opened with another key")
	}
}

// A new first key encrypts; older keys still decrypt.
func TestRotation(t *testing.T) {
	t.Parallel()
	older, newer := storage.NewSecretKey(), storage.NewSecretKey()
	sealed, err := sealer(t, older).Seal([]byte("secret"), "c")
	if err != nil {
		t.Fatal(err)
	}
	both := sealer(t, newer, older)
	if got, err := both.Open(sealed, "c"); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	again, err := both.Seal([]byte("secret"), "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer(t, newer).Open(again, "c"); err != nil {
		t.Errorf("sealed with the old key: %v", err)
	}
	if _, err := sealer(t, older).Open(again, "c"); err == nil {
		t.Error("sealed with the old key")
	}
}

// A sealed value names the key that it needs, even to a sealer that does not have it. The bytes are those of a release
// before ids were visible: they must continue to open.
func TestKeyIDs(t *testing.T) {
	t.Parallel()
	older, newer := bytes.Repeat([]byte("o"), 32), bytes.Repeat([]byte("n"), 32)
	before, _ := hex.DecodeString("d99b89303a875ac99079229a16b51020328f5bc76bee873f2a2aac7c00ca15b1cc4a85f7dde4")
	both, ok := sealer(t, newer, older, newer).(storage.KeyedSealer)
	if !ok {
		t.Fatal("the sealer does not tell keys apart")
	}
	if got, err := both.Open(before, "mailbox/12/password"); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	ids := both.KeyIDs()
	if len(ids) != 2 || ids[0] == ids[1] || both.KeyOf(before) != ids[1] {
		t.Errorf("keys %q, the value needs %q", ids, both.KeyOf(before))
	}
	again, err := both.Seal([]byte("secret"), "c")
	if err != nil || both.KeyOf(again) != ids[0] {
		t.Errorf("sealed with %q: %v", both.KeyOf(again), err)
	}
	other, _ := sealer(t, storage.NewSecretKey()).(storage.KeyedSealer)
	if got := other.KeyOf(again); got != ids[0] {
		t.Errorf("a sealer without the key says %q", got)
	}
	if got := both.KeyOf(again[:3]); got != "" {
		t.Errorf("three bytes need %q", got)
	}
}

func TestNewSealerRefuses(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][][]byte{"no key": nil, "a short key": {make([]byte, 31)}, "a short old key": {make([]byte, 32), make([]byte, 5)}} {
		if _, err := storage.NewSealer(keys...); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestNewSecretKey(t *testing.T) {
	t.Parallel()
	a, b := storage.NewSecretKey(), storage.NewSecretKey()
	if len(a) != 32 || bytes.Equal(a, b) {
		t.Errorf("%x %x", a, b)
	}
}

// Foreign bytes are refused without a panic.
func FuzzOpen(f *testing.F) {
	key := bytes.Repeat([]byte("k"), 32)
	s := sealer(f, key)
	good, err := s.Seal([]byte("secret"), "context")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3})
	f.Add(good[:4])
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if got, err := s.Open(sealed, "context"); err == nil && !bytes.Equal(sealed, good) {
			t.Errorf("%x opens to %q", sealed, got)
		}
	})
}

func ExampleNewSealer() {
	s, err := storage.NewSealer(storage.NewSecretKey())
	if err != nil {
		fmt.Println(err)
		return
	}
	sealed, _ := s.Seal([]byte("hunter2"), "mailbox/12/password")
	secret, err := s.Open(sealed, "mailbox/12/password")
	fmt.Println(string(secret), err)
	_, err = s.Open(sealed, "mailbox/13/password")
	fmt.Println(err != nil)
	// Output:
	// hunter2 <nil>
	// true
}
