package oidc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/helpwright/helpwright/helpdesk/oidc"
	"github.com/helpwright/helpwright/storage/fault"
)

// key signs for all providers that lie.
var key = sync.OnceValue(func() *rsa.PrivateKey { // it takes long to make
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// liar is a provider whose answers the test controls.
type liar struct {
	*httptest.Server
	claims   jwt.MapClaims
	document map[string]any
	sign     func(jwt.MapClaims) string
	info     string // the answer of user info
	status   int    // of the token endpoint
	keys     string // "": the right ones
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{status: http.StatusOK}
	mux := http.NewServeMux()
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	answer := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { answer(w, encoded(l.document)) })
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		if l.keys != "" {
			answer(w, l.keys)
			return
		}
		n := base64.RawURLEncoding.EncodeToString(key().N.Bytes())
		e := base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key().E)).Bytes())
		answer(w, encoded(map[string]any{"keys": []any{map[string]string{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": n, "e": e}}}))
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(l.status)
		fmt.Fprint(w, encoded(map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": l.sign(l.claims)}))
	})
	mux.HandleFunc("/info", func(w http.ResponseWriter, _ *http.Request) { answer(w, l.info) })
	l.document = map[string]any{
		"issuer": l.URL, "authorization_endpoint": l.URL + "/auth", "token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys",
		"userinfo_endpoint": l.URL + "/info", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
	}
	l.claims = jwt.MapClaims{
		"iss": l.URL, "aud": "me", "sub": "1", "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"email": "ada@example.org", "email_verified": true,
	}
	l.sign = func(c jwt.MapClaims) string { return signed(jwt.SigningMethodRS256, key(), c) }
	return l
}

func signed(method jwt.SigningMethod, with any, c jwt.MapClaims) string {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "1"
	text, err := token.SignedString(with)
	if err != nil {
		return err.Error()
	}
	return text
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A provider may send anything: only answers signed for this client and this sign-in, at this time, count.
func TestHostileProvider(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lie  func(l *liar)
		want string // "", "refused" or "unreachable"
		who  oidc.Identity
	}{
		"an honest one":         {func(*liar) {}, "", oidc.Identity{Subject: "1", Email: "ada@example.org", EmailVerified: true}},
		"verified as a string":  {func(l *liar) { l.claims["email_verified"] = "true" }, "", oidc.Identity{Subject: "1", Email: "ada@example.org", EmailVerified: true}},
		"verified as a number":  {func(l *liar) { l.claims["email_verified"] = 1 }, "", oidc.Identity{Subject: "1", Email: "ada@example.org"}},
		"verification not told": {func(l *liar) { delete(l.claims, "email_verified") }, "", oidc.Identity{Subject: "1", Email: "ada@example.org"}},
		"mfa": {func(l *liar) { l.claims["amr"] = []string{"pwd", "mfa"} }, "",
			oidc.Identity{Subject: "1", Email: "ada@example.org", EmailVerified: true, SecondFactor: true}},
		"mfa alone":       {func(l *liar) { l.claims["amr"] = "mfa" }, "", oidc.Identity{Subject: "1", Email: "ada@example.org", EmailVerified: true, SecondFactor: true}},
		"another nonce":   {func(l *liar) { l.claims["nonce"] = "x" }, "refused", oidc.Identity{}},
		"no nonce":        {func(l *liar) { l.claims["nonce"] = "" }, "refused", oidc.Identity{}},
		"another issuer":  {func(l *liar) { l.claims["iss"] = "https://accounts.example" }, "refused", oidc.Identity{}},
		"another client":  {func(l *liar) { l.claims["aud"] = "you" }, "refused", oidc.Identity{}},
		"several clients": {func(l *liar) { l.claims["aud"] = []string{"me", "you"} }, "refused", oidc.Identity{}},
		"for another":     {func(l *liar) { l.claims["azp"] = "you" }, "refused", oidc.Identity{}},
		"expired":         {func(l *liar) { l.claims["exp"] = time.Now().Add(-time.Minute).Unix() }, "refused", oidc.Identity{}},
		"no expiry":       {func(l *liar) { delete(l.claims, "exp") }, "refused", oidc.Identity{}},
		"not yet":         {func(l *liar) { l.claims["nbf"] = time.Now().Add(time.Hour).Unix() }, "refused", oidc.Identity{}},
		"not signed": {func(l *liar) {
			l.sign = func(c jwt.MapClaims) string {
				return signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, c)
			}
		}, "refused", oidc.Identity{}},
		"signed with the secret": {func(l *liar) {
			l.sign = func(c jwt.MapClaims) string { return signed(jwt.SigningMethodHS256, []byte("secret"), c) }
		}, "refused", oidc.Identity{}},
		"another's signature": {func(l *liar) {
			l.sign = func(c jwt.MapClaims) string {
				other, _ := rsa.GenerateKey(rand.Reader, 2048)
				return signed(jwt.SigningMethodRS256, other, c)
			}
		}, "refused", oidc.Identity{}},
		"no token":     {func(l *liar) { l.sign = func(jwt.MapClaims) string { return "" } }, "refused", oidc.Identity{}},
		"no JWT":       {func(l *liar) { l.sign = func(jwt.MapClaims) string { return "a.b.c" } }, "refused", oidc.Identity{}},
		"a huge token": {func(l *liar) { l.sign = func(jwt.MapClaims) string { return strings.Repeat("x", 4<<20) } }, "unreachable", oidc.Identity{}},
		"huge keys":    {func(l *liar) { l.keys = strings.Repeat(" ", 4<<20) + "{}" }, "unreachable", oidc.Identity{}},
		"no keys":      {func(l *liar) { l.keys = "<html>" }, "unreachable", oidc.Identity{}},
		"a failure":    {func(l *liar) { l.status = http.StatusInternalServerError }, "unreachable", oidc.Identity{}},
		"a redirect":   {func(l *liar) { l.status = http.StatusTemporaryRedirect }, "unreachable", oidc.Identity{}},
		"the address by user info": {func(l *liar) {
			delete(l.claims, "email")
			l.info = `{"sub":"1","email":"b@example.org","email_verified":true,"name":"B"}`
		}, "", oidc.Identity{Subject: "1", Email: "b@example.org", EmailVerified: true, Name: "B"}},
		"user info about another": {func(l *liar) {
			delete(l.claims, "email")
			l.info = `{"sub":"2","email":"b@example.org","email_verified":true}`
		}, "refused", oidc.Identity{}},
		"user info that is none": {func(l *liar) { delete(l.claims, "email"); l.info = `<html>` }, "unreachable", oidc.Identity{}},
		"mfa by user info": {func(l *liar) { delete(l.claims, "email"); l.info = `{"sub":"1","amr":["mfa"]}` }, "",
			oidc.Identity{Subject: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			p, err := oidc.New(oidc.Config{Issuer: l.URL, ClientID: "me", ClientSecret: "secret", RedirectURL: back, SecondFactor: oidc.Reported})
			if err != nil {
				t.Fatal(err)
			}
			address, secret, err := p.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			asked := u.Query()
			if asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") == "" || asked.Get("redirect_uri") != back {
				t.Errorf("asked with %v", asked)
			}
			l.claims["nonce"] = asked.Get("nonce")
			test.lie(l)
			who, err := p.Finish(t.Context(), secret, url.Values{"state": {asked.Get("state")}, "code": {"c"}})
			if got := kind(err); got != test.want || who != test.who {
				t.Errorf("%+v, %s: %v", who, got, err)
			}
		})
	}
}

func kind(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return map[string]string{oidc.Refused: "refused", oidc.Denied: "denied", oidc.Unreachable: "unreachable"}[f.Code]
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// A discovery document decides where codes and secrets go.
func TestHostileDiscovery(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(l *liar){
		"another issuer":      func(l *liar) { l.document["issuer"] = "https://id.example" },
		"a huge document":     func(l *liar) { l.document["x"] = strings.Repeat("x", 4<<20) },
		"no token endpoint":   func(l *liar) { delete(l.document, "token_endpoint") },
		"no sign-in":          func(l *liar) { delete(l.document, "authorization_endpoint") },
		"a token in the open": func(l *liar) { l.document["token_endpoint"] = "http://id.example/token" },
		"a script":            func(l *liar) { l.document["authorization_endpoint"] = "javascript:alert(1)" },
		"no document":         func(l *liar) { l.document = nil },
		"keys in the open":    func(l *liar) { l.document["jwks_uri"] = "http://id.example/keys" },
	} {
		l := newLiar(t)
		lie(l)
		p, err := oidc.New(oidc.Config{Issuer: l.URL, ClientID: "me", RedirectURL: back})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Begin(t.Context()); kind(err) != "unreachable" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
