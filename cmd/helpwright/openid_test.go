package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv/openid"
)

func TestOpenIDSettings(t *testing.T) {
	t.Parallel()
	good := Settings{OIDCIssuer: "https://id.example.org", OIDCClientID: "x", OIDCSecondFactor: "never", OIDCDomains: []string{"example.org", "bücher.example", "*"}}
	for name, test := range map[string]struct {
		change func(*Settings)
		want   string // the setting that is named
	}{
		"good":              {func(*Settings) {}, ""},
		"none":              {func(s *Settings) { *s = Settings{} }, ""},
		"no issuer":         {func(s *Settings) { s.OIDCIssuer, s.OIDCDomains = "", nil }, "HELPWRIGHT_OIDC_CLIENT_ID"},
		"no TLS":            {func(s *Settings) { s.OIDCIssuer = "http://id.example.org" }, "HELPWRIGHT_OIDC_ISSUER"},
		"no client":         {func(s *Settings) { s.OIDCClientID = "" }, "HELPWRIGHT_OIDC_CLIENT_ID"},
		"no domain":         {func(s *Settings) { s.OIDCDomains = []string{"a b"} }, "HELPWRIGHT_OIDC_DOMAINS"},
		"a long name":       {func(s *Settings) { s.OIDCName = strings.Repeat("x", 51) }, "HELPWRIGHT_OIDC_NAME"},
		"an unknown rule":   {func(s *Settings) { s.OIDCSecondFactor = "mfa" }, "HELPWRIGHT_OIDC_SECOND_FACTOR"},
		"a named context":   {func(s *Settings) { s.OIDCSecondFactor = "acr=gold" }, ""},
		"a loopback issuer": {func(s *Settings) { s.OIDCIssuer = "http://127.0.0.1:8080" }, ""},
	} {
		s := good
		test.change(&s)
		var problems fault.Collector
		s.checkOpenID(&problems)
		if err := problems.Err(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The provider in the settings signs in known users.
func TestOpenIDOfSettings(t *testing.T) {
	t.Parallel()
	s := &session{settings: &Settings{BaseURL: "http://localhost:1/help", OIDCClientID: openid.ClientID, OIDCClientSecret: openid.ClientSecret, OIDCDomains: []string{"Example.org"}}, ctx: t.Context()}
	at := openid.Start(t, s.settings.openIDRedirect())
	s.settings.OIDCIssuer = at.Issuer
	at.SignIn(openid.Person{Subject: "1", Email: "ada@example.org", Verified: true, Name: "Ada Lovelace"})
	all, err := s.identityProviders()
	if err != nil || len(all) != 1 || all[0].Name != "127.0.0.1" || all[0].Domains[0] != "example.org" {
		t.Fatalf("%+v %v", all, err)
	}
	address, secret, err := all[0].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer url.Values
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/help/desk/sign-in/with/oidc/done" {
			answer = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	who, err := all[0].Finish(t.Context(), secret, answer)
	if err != nil || who.Subject != "1" || who.Email != "ada@example.org" || !who.EmailVerified {
		t.Errorf("%+v %v", who, err)
	}
}
