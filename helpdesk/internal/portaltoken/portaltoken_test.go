package portaltoken

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func keys(t testing.TB) (private ed25519.PrivateKey, eddsa, hs256 Key) {
	t.Helper()
	private = ed25519.NewKeyFromSeed([]byte("an ed25519 seed has thirty-two b"))
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		t.Fatal("no Ed25519 key")
	}
	return private, Key{Algorithm: EdDSA, Public: public}, Key{Algorithm: HS256, Secret: []byte("hwk_a secret that nobody knows")}
}

// good are claims that pass.
func good() jwt.MapClaims {
	return jwt.MapClaims{"aud": "account:7", "email": "ada@example.com", "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix()}
}

// signed is a token with the claims of good, changed.
func signed(t testing.TB, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	t.Helper()
	all := good()
	maps.Copy(all, claims)
	for name, value := range claims {
		if value == nil {
			delete(all, name)
		}
	}
	token := jwt.NewWithClaims(method, all)
	token.Header["kid"] = "3"
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestVerify(t *testing.T) {
	t.Parallel()
	private, eddsa, hs256 := keys(t)
	byKey := func(claims map[string]any) string { return signed(t, jwt.SigningMethodEdDSA, private, nil, claims) }
	bySecret := func(claims map[string]any) string {
		return signed(t, jwt.SigningMethodHS256, hs256.Secret, nil, claims)
	}
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	unsigned := signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil)
	pemKey, err := x509.MarshalPKIXPublicKey(eddsa.Public)
	if err != nil {
		t.Fatal(err)
	}
	asSecret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pemKey})
	fresh := byKey(nil)
	for _, tt := range []struct {
		name, token string
		key         Key
		want        error
	}{
		{"EdDSA", fresh, eddsa, nil},
		{"HS256", bySecret(nil), hs256, nil},
		{"aud among others", byKey(map[string]any{"aud": []string{"x", "account:7"}}), eddsa, nil},
		{"an hour", byKey(map[string]any{"exp": at(time.Hour)}), eddsa, nil},
		{"a clock ahead", byKey(map[string]any{"iat": at(29 * time.Second), "nbf": at(29 * time.Second)}), eddsa, nil},
		{"just over", byKey(map[string]any{"iat": at(-time.Minute), "exp": at(-29 * time.Second)}), eddsa, nil},
		{"with issuer and subject", byKey(map[string]any{"iss": "https://app.example", "sub": "17", "roles": []int{1}}), eddsa, nil},

		{"none", unsigned, eddsa, ErrAlgorithm},
		{"none of HS256", unsigned, hs256, ErrAlgorithm},
		{"NONE", strings.Replace(unsigned, strings.Split(unsigned, ".")[0], base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"NONE"}`)), 1), eddsa, ErrAlgorithm},
		{"no alg", strings.Replace(fresh, strings.Split(fresh, ".")[0], base64.RawURLEncoding.EncodeToString([]byte(`{"kid":"3"}`)), 1), eddsa, ErrAlgorithm},
		{"public key as secret", signed(t, jwt.SigningMethodHS256, []byte(eddsa.Public), nil, nil), eddsa, ErrAlgorithm},
		{"PEM as secret", signed(t, jwt.SigningMethodHS256, asSecret, nil, nil), eddsa, ErrAlgorithm},
		{"HS512", signed(t, jwt.SigningMethodHS512, hs256.Secret, nil, nil), hs256, ErrAlgorithm},
		{"EdDSA for HS256", fresh, hs256, ErrAlgorithm},
		{"another secret", signed(t, jwt.SigningMethodHS256, []byte("other"), nil, nil), hs256, ErrSignature},
		{"without signature", fresh[:strings.LastIndex(fresh, ".")+1], eddsa, ErrSignature},
		{"changed", fresh[:strings.LastIndex(fresh, ".")-3] + "AAA" + fresh[strings.LastIndex(fresh, "."):], eddsa, ErrMalformed},
		{"claims of another", swap(bySecret(map[string]any{"email": "eve@example.com"}), bySecret(nil)), hs256, ErrSignature},
		{"a critical extension", signed(t, jwt.SigningMethodEdDSA, private, map[string]any{"crit": []string{"x"}, "x": 1}, nil), eddsa, ErrCritical},

		{"another account", byKey(map[string]any{"aud": "account:8"}), eddsa, ErrAudience},
		{"a longer id", byKey(map[string]any{"aud": "account:77"}), eddsa, ErrAudience},
		{"no aud", byKey(map[string]any{"aud": nil}), eddsa, ErrAudience},
		{"expired", byKey(map[string]any{"iat": at(-time.Hour), "exp": at(-30 * time.Second)}), eddsa, ErrExpired},
		{"not yet valid", byKey(map[string]any{"nbf": at(31 * time.Second)}), eddsa, ErrTooEarly},
		{"of the future", byKey(map[string]any{"iat": at(31 * time.Second)}), eddsa, ErrTooEarly},
		{"no exp", byKey(map[string]any{"exp": nil}), eddsa, ErrLife},
		{"no exp and no aud", byKey(map[string]any{"exp": nil, "aud": nil}), eddsa, ErrLife},
		{"no iat", byKey(map[string]any{"iat": nil}), eddsa, ErrLife},
		{"over an hour", byKey(map[string]any{"exp": at(time.Hour + time.Second)}), eddsa, ErrLife},
		{"for ever", byKey(map[string]any{"exp": 1e18}), eddsa, ErrLife},
		{"no email", byKey(map[string]any{"email": nil}), eddsa, ErrEmail},
		{"email of another type", byKey(map[string]any{"email": []string{"ada@example.com"}}), eddsa, ErrMalformed},
		{"exp as text", byKey(map[string]any{"exp": "soon"}), eddsa, ErrMalformed},

		{"two parts", "e30.e30", eddsa, ErrMalformed},
		{"five parts", "e30.e30.e30.e30.e30", eddsa, ErrMalformed},
		{"no JSON", "e3.e3.e3", eddsa, ErrMalformed},
		{"null", "bnVsbA.bnVsbA.", eddsa, ErrMalformed},
		{"too long", byKey(map[string]any{"x": strings.Repeat("x", maxToken)}), eddsa, ErrMalformed},
	} {
		claims, err := Verify(tt.token, tt.key, "account:7", now)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, not %v", tt.name, err, tt.want)
		}
		if wanted := tt.want == nil; wanted != (claims.Email == "ada@example.com") {
			t.Errorf("%s: %+v", tt.name, claims)
		}
	}
}

// swap puts the claims of one token into another.
func swap(claims, token string) string {
	parts := strings.Split(token, ".")
	return parts[0] + "." + strings.Split(claims, ".")[1] + "." + parts[2]
}

func TestKeyID(t *testing.T) {
	t.Parallel()
	private, _, _ := keys(t)
	for want, header := range map[string]map[string]any{"3": nil, "": {"kid": 3}, "x": {"kid": "x"}} {
		got, err := KeyID(signed(t, jwt.SigningMethodEdDSA, private, header, nil))
		if err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if _, err := KeyID("x.y.z"); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestParsePublicKey(t *testing.T) {
	t.Parallel()
	private, eddsa, _ := keys(t)
	encode := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	der, err := x509.MarshalPKIXPublicKey(eddsa.Public)
	public := encode("PUBLIC KEY", der, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	own := encode("PRIVATE KEY", secret, err)
	foreign, err := rsa.GenerateKey(nil, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err = x509.MarshalPKIXPublicKey(&foreign.PublicKey)
	other := encode("PUBLIC KEY", der, err)
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"PEM": {public, true}, "PEM after text": {"key:\n" + public, true},
		"base64":        {base64.StdEncoding.EncodeToString(eddsa.Public), true},
		"base64url":     {" " + base64.RawURLEncoding.EncodeToString(eddsa.Public) + "\n", true},
		"too short":     {base64.StdEncoding.EncodeToString(eddsa.Public[1:]), false},
		"a private key": {own, false}, "RSA": {other, false}, "garbage": {"garbage", false}, "": {"", false},
	} {
		key, problem := ParsePublicKey(tt.text)
		if (problem == "") != tt.ok || tt.ok && !key.Equal(eddsa.Public) {
			t.Errorf("%s: %v, %q", name, key, problem)
		}
	}
}

// Only tokens signed by the key are accepted.
func FuzzVerify(f *testing.F) {
	private, eddsa, hs256 := keys(f)
	genuine := signed(f, jwt.SigningMethodEdDSA, private, nil, nil)
	f.Add(genuine)
	f.Add(signed(f, jwt.SigningMethodHS256, []byte(eddsa.Public), nil, nil))
	f.Add(signed(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil))
	f.Add("e30.e30.")
	f.Add("bnVsbA.bnVsbA.bnVsbA")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := Verify(token, eddsa, "account:7", now); err == nil && token != genuine {
			t.Errorf("%q is taken", token)
		}
		if _, err := Verify(token, hs256, "account:7", now); err == nil {
			t.Errorf("%q is taken", token)
		}
		_, _ = KeyID(token)
	})
}
