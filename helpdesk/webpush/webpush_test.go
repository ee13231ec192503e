package webpush

import (
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/netguard"
)

func decode(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// browser is the receiver of the example in RFC 8291 section 5.
func browser(t *testing.T) (*ecdh.PrivateKey, Subscription) {
	t.Helper()
	private, err := ecdh.P256().NewPrivateKey(decode(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	return private, Subscription{Endpoint: "https://push.example.net/x", PublicKey: private.PublicKey().Bytes(), Auth: decode(t, "BTBZMqHH6r4Tts7J_aSIgg")}
}

// decrypt is what a browser does with a body.
func decrypt(t *testing.T, private *ecdh.PrivateKey, s Subscription, body []byte) string {
	t.Helper()
	sender, err := ecdh.P256().NewPublicKey(body[21:headerSize])
	if err != nil {
		t.Fatal(err)
	}
	_ = sender
	seal, nonce, err := receiverKeys(private, sender, s, body[:16])
	if err != nil {
		t.Fatal(err)
	}
	text, err := seal(nonce, body[headerSize:])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\x02")
}

// The example of RFC 8291, appendix A.
func TestEncryptsAsTheStandardSays(t *testing.T) {
	t.Parallel()
	private, s := browser(t)
	if got := base64.RawURLEncoding.EncodeToString(s.PublicKey); got != "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" {
		t.Fatal(got)
	}
	sender, err := ecdh.P256().NewPrivateKey(decode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := encrypt(s, []byte("When I grow up, I want to be a watermelon"), sender, decode(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	want := "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if got := base64.RawURLEncoding.EncodeToString(body); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if got := decrypt(t, private, s, body); got != "When I grow up, I want to be a watermelon" {
		t.Error(got)
	}
}

// The example of RFC 8292 section 2.4 is verified as our own signatures are.
func TestSignsAsTheStandardSays(t *testing.T) {
	t.Parallel()
	const example = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	if claims, ok := verified(t, example); !ok || claims["aud"] != "https://push.example.net" {
		t.Error(claims, ok)
	}
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if key, err = ParseKey(raw); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	signed, err := key.authorization("https://push.example.net:8443/a?b", "mailto:ops@example.org", now)
	claims, ok := verified(t, signed)
	if err != nil || !ok || claims["aud"] != "https://push.example.net:8443" || claims["sub"] != "mailto:ops@example.org" || claims["exp"] != float64(now.Add(tokenLife).Unix()) {
		t.Error(claims, ok, err)
	}
}

func verified(t *testing.T, field string) (claims map[string]any, ok bool) {
	t.Helper()
	token, key, _ := strings.Cut(strings.TrimPrefix(field, "vapid t="), ", k=")
	at := strings.LastIndex(token, ".")
	signature, point := decode(t, token[at+1:]), decode(t, key)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(token[:at]))
	_, text, _ := strings.Cut(token[:at], ".")
	if err := json.Unmarshal(decode(t, text), &claims); err != nil {
		t.Fatal(err)
	}
	return claims, ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

// A push service gets what its standard asks for, and its answers mean what they should.
func TestSends(t *testing.T) {
	t.Parallel()
	private, s := browser(t)
	status, got := http.StatusCreated, http.Header{}
	var body []byte
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got = r.Header
		w.WriteHeader(status)
	}))
	defer service.Close()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s.Endpoint = service.URL + "/device"
	sender := NewSender(Config{Key: key, Contact: "mailto:ops@example.org", Client: service.Client()})
	if err := sender.Send(t.Context(), s, []byte("hello"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if text := decrypt(t, private, s, body); text != "hello" || got.Get("TTL") != "3600" || got.Get("Content-Encoding") != "aes128gcm" {
		t.Error(text, got)
	}
	if claims, ok := verified(t, got.Get("Authorization")); !ok || claims["aud"] != service.URL {
		t.Error(claims, ok)
	}
	for code, want := range map[int]error{404: ErrGone, 410: ErrGone, 403: ErrGone, 429: ErrBusy, 503: ErrBusy, 400: ErrRefused, 413: ErrRefused, 302: ErrRefused} {
		if status = code; !errors.Is(sender.Send(t.Context(), s, nil, time.Hour), want) {
			t.Errorf("status %d is not %v", code, want)
		}
	}
	if err := sender.Send(t.Context(), s, make([]byte, MaxPayload+1), time.Hour); !errors.Is(err, ErrTooLong) || !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	guarded := NewSender(Config{Key: key, Contact: "mailto:ops@example.org", Dial: netguard.Dialer(false, time.Second)})
	if err := guarded.Send(t.Context(), s, nil, time.Hour); !errors.Is(err, netguard.ErrPrivateHost) {
		t.Error("a private address is reached:", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sender.Send(ctx, s, nil, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Nothing is sent to what is no subscription.
func TestInvalidSubscriptions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Subscription){
		"http":           func(s *Subscription) { s.Endpoint = "http://push.example.net/x" },
		"no host":        func(s *Subscription) { s.Endpoint = "https:///x" },
		"a password":     func(s *Subscription) { s.Endpoint = "https://a:b@push.example.net/x" },
		"long":           func(s *Subscription) { s.Endpoint += strings.Repeat("x", maxEndpoint) },
		"no point":       func(s *Subscription) { s.PublicKey = make([]byte, 65) },
		"a short secret": func(s *Subscription) { s.Auth = s.Auth[:15] },
	} {
		_, s := browser(t)
		if !s.Valid() {
			t.Fatal("the example is not valid")
		}
		if change(&s); s.Valid() {
			t.Errorf("%s is valid", name)
		}
	}
}
