package oidc_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/oidc"
	"github.com/helpwright/helpwright/storage/testenv/openid"
)

const back = "http://localhost:1/desk/sign-in/with/oidc/done"

func provider(t *testing.T, change func(*oidc.Config)) (*oidc.Provider, *openid.Provider) {
	t.Helper()
	at := openid.Start(t, back)
	cfg := oidc.Config{Issuer: at.Issuer, ClientID: openid.ClientID, ClientSecret: openid.ClientSecret, RedirectURL: back}
	if change != nil {
		change(&cfg)
	}
	p, err := oidc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, at
}

// browse follows an address as a browser does, up to where it comes back.
func browse(t *testing.T, address string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var came *url.URL
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), back) {
			came = r.URL
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
	defer res.Body.Close()
	if came == nil {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		t.Fatalf("the provider answers %s: %s", res.Status, text)
	}
	return came.Query()
}

var ada = openid.Person{Subject: "ada-1", Email: "ada@example.org", Verified: true, Name: "Ada Lovelace"} // a constant

func TestSignIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*oidc.Config)
		who    openid.Person
		want   oidc.Identity
	}{
		"verified": {nil, ada, oidc.Identity{Subject: "ada-1", Email: "ada@example.org", EmailVerified: true, Name: "Ada Lovelace"}},
		"not verified": {nil, openid.Person{Subject: "x", Email: "ada@example.org", Name: "X Y"},
			oidc.Identity{Subject: "x", Email: "ada@example.org", Name: "X Y"}},
		"counts as two factors": {func(c *oidc.Config) { c.SecondFactor = oidc.Always }, ada,
			oidc.Identity{Subject: "ada-1", Email: "ada@example.org", EmailVerified: true, Name: "Ada Lovelace", SecondFactor: true}},
		"no mfa reported": {func(c *oidc.Config) { c.SecondFactor = oidc.Reported }, ada,
			oidc.Identity{Subject: "ada-1", Email: "ada@example.org", EmailVerified: true, Name: "Ada Lovelace"}},
		"no address asked for": {func(c *oidc.Config) { c.Scopes = []string{"profile"} }, ada,
			oidc.Identity{Subject: "ada-1", Name: "Ada Lovelace"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, at := provider(t, test.change)
			at.SignIn(test.who)
			address, secret, err := p.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Finish(t.Context(), secret, browse(t, address))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An answer counts once, for its own sign-in, and unchanged.
func TestAnswerOfAnother(t *testing.T) {
	t.Parallel()
	p, at := provider(t, nil)
	at.SignIn(ada)
	begin := func() (string, []byte) {
		address, secret, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return address, secret
	}
	refuse := func(what string, secret []byte, answer url.Values) {
		t.Helper()
		_, err := p.Finish(t.Context(), secret, answer)
		if got := kind(err); got != "refused" && got != "denied" {
			t.Errorf("%s: %v", what, err)
		}
	}
	address, secret := begin()
	answer := browse(t, address)
	_, other := begin()
	refuse("the secret of another sign-in", other, answer)
	changed := func(name, value string) url.Values {
		out := url.Values{}
		for k, v := range answer {
			out[k] = v
		}
		out.Set(name, value)
		return out
	}
	mine := url.Values{"state": answer["state"]}
	for what, values := range map[string]url.Values{
		"no parameters": {}, "no code": mine, "another issuer": changed("iss", "https://evil.example"), "another state": changed("state", "x"),
		"an error": {"state": answer["state"], "error": {"access_denied"}}, "two states": {"state": {answer.Get("state"), "x"}, "code": answer["code"]},
		"a code that was never given": changed("code", "x"), "a huge code": changed("code", strings.Repeat("x", 1<<16)),
	} {
		refuse(what, secret, values)
	}
	for _, kept := range []string{"", "{}", "null", `{"state":""}`, "x"} {
		refuse("kept "+kept, []byte(kept), answer)
	}
	if _, err := p.Finish(t.Context(), secret, answer); err != nil {
		t.Fatal(err)
	}
	refuse("the same again", secret, answer)
}

// The browser is not redirected to a provider that is down or misconfigured.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	p, err := oidc.New(oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", RedirectURL: back})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = p.Begin(t.Context())
	if kind(err) != "unreachable" {
		t.Errorf("Begin: %v", err)
	}
	if err := p.Check(t.Context()); err == nil {
		t.Error("Check finds nothing")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.Begin(ended); err == nil {
		t.Error("Begin after the end")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := oidc.Config{Issuer: "https://id.example.org", ClientID: "x", RedirectURL: back}
	for name, test := range map[string]struct {
		change func(*oidc.Config)
		want   string
	}{
		"good":             {func(*oidc.Config) {}, ""},
		"acr":              {func(c *oidc.Config) { c.SecondFactor = "acr=gold" }, ""},
		"loopback":         {func(c *oidc.Config) { c.Issuer = "http://[::1]:8080/realm" }, ""},
		"nothing":          {func(c *oidc.Config) { *c = oidc.Config{} }, "the issuer must be the address of the provider, such as https://id.example.org, without a query\nthe client id is missing\nthe redirect address must be an absolute one"},
		"no TLS":           {func(c *oidc.Config) { c.Issuer = "http://id.example.org" }, "the issuer must begin with https, because it decides who may sign in"},
		"a query":          {func(c *oidc.Config) { c.Issuer += "?a" }, "the issuer must be the address of the provider, such as https://id.example.org, without a query"},
		"an unknown rule":  {func(c *oidc.Config) { c.SecondFactor = "mfa" }, "the rule for the second factor must be never, amr, always, or acr= and a value"},
		"an empty context": {func(c *oidc.Config) { c.SecondFactor = "acr=" }, "the rule for the second factor must be never, amr, always, or acr= and a value"},
	} {
		cfg := good
		test.change(&cfg)
		_, err := oidc.New(cfg)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
