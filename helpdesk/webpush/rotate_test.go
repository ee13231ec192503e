package webpush

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
)

func sealerOf(t *testing.T, keys ...string) storage.KeyedSealer {
	t.Helper()
	all := make([][]byte, len(keys))
	for i, key := range keys {
		all[i] = bytes.Repeat([]byte(key), 32)
	}
	sealer, err := storage.NewSealer(all...)
	if err != nil {
		t.Fatal(err)
	}
	return sealer.(storage.KeyedSealer)
}

// Rotating the secret key seals the server's key anew, and devices notice nothing. Once the server's key itself is renewed, all
// servers have the same new one within a minute, and push services refuse what is sent to the devices that know the former one.
func TestRotates(t *testing.T) {
	t.Parallel()
	vault, now := memstore.New(), time.Unix(1_800_000_000, 0)
	known := "" // the key that the device has subscribed with
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[bool]int{true: http.StatusCreated, false: http.StatusForbidden}[strings.HasSuffix(r.Header.Get("Authorization"), "k="+known)])
	}))
	defer service.Close()
	server := func(keys ...string) *Push {
		return NewPush(PushConfig{Vault: vault, Sealer: sealerOf(t, keys...), Contact: "mailto:ops@example.org", Client: service.Client(), Now: func() time.Time { return now }})
	}
	_, s := browser(t)
	device := helpdesk.PushDevice{Endpoint: service.URL, PublicKey: s.PublicKey, Auth: s.Auth}
	key := func(p *Push) string {
		t.Helper()
		text, err := p.PublicKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	send := func(p *Push) error { return p.Push(t.Context(), device, []byte("hello"), time.Hour) }
	if done, err := Reseal(t.Context(), vault, sealerOf(t, "b", "a")); done || err != nil {
		t.Errorf("resealed nothing: %v, %v", done, err)
	}
	if id, err := SealedWith(t.Context(), vault, sealerOf(t, "a")); id != "" || err != nil {
		t.Errorf("sealed with %q, %v", id, err)
	}

	first, second := server("a", "b"), server("b", "a")
	known = key(first)
	if done, err := Reseal(t.Context(), vault, sealerOf(t, "b", "a")); !done || err != nil {
		t.Errorf("resealed: %v, %v", done, err)
	}
	if done, err := Reseal(t.Context(), vault, sealerOf(t, "b", "a")); done || err != nil {
		t.Errorf("resealed twice: %v, %v", done, err)
	}
	if id, err := SealedWith(t.Context(), vault, sealerOf(t, "a")); id != sealerOf(t, "b").KeyIDs()[0] || err != nil {
		t.Errorf("sealed with %q, %v", id, err)
	}
	now = now.Add(2 * time.Minute)
	for name, p := range map[string]*Push{"the one that made it": first, "another": second, "without the old key": server("b")} {
		if key(p) != known || send(p) != nil {
			t.Errorf("%s: key %s, %v", name, key(p), send(p))
		}
	}

	if err := Renew(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	if key(first) != known || send(first) != nil {
		t.Error("a server that has the key reads it all the time")
	}
	now = now.Add(2 * time.Minute)
	fresh := key(second) // sealed with the new secret key
	if fresh == known || key(first) != fresh || key(server("b")) != fresh {
		t.Errorf("keys %s, %s and %s after %s", fresh, key(first), key(server("b")), known)
	}
	if err := send(second); !fault.Is(err, fault.NotFound) { // the help desk removes such a device
		t.Errorf("a device with the former key: %v", err)
	}
	known = fresh // it has subscribed again
	if err := send(second); err != nil {
		t.Error(err)
	}
}
