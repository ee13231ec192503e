package mailsignin_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/mailsignin"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/testenv/mailprovider"
)

const redirect = "https://desk.example.org/desk/mailbox-sign-in/x/done"

// kinds are the providers, each with what it is made by.
var kinds = map[mailprovider.Kind]func(mailsignin.Config) (mailserver.Provider, error){
	mailprovider.Google: mailsignin.Google, mailprovider.Microsoft: mailsignin.Microsoft,
}

func start(t *testing.T, kind mailprovider.Kind) (*mailprovider.Provider, mailserver.Provider) {
	t.Helper()
	server := mailprovider.Start(t, kind, redirect)
	server.Set(mailprovider.State{Account: "support@example.org"})
	p, err := kinds[kind](mailsignin.Config{
		ClientID: mailprovider.ClientID, ClientSecret: mailprovider.ClientSecret, RedirectURL: redirect, AuthURL: server.AuthURL(), TokenURL: server.TokenURL(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, p
}

// visit sends the browser to the provider, and returns what it comes back with.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	back, err := res.Location()
	if err != nil || !strings.HasPrefix(back.String(), redirect+"?") {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%d %s %v: %s", res.StatusCode, back, err, text)
	}
	return back.Query()
}

func begin(t *testing.T, p mailserver.Provider) (kept []byte, answer url.Values) {
	t.Helper()
	address, kept, err := p.Begin("support@example.org")
	if err != nil {
		t.Fatal(err)
	}
	return kept, visit(t, address)
}

// A mailbox signs in at Google and at Microsoft, each with what it wants to be asked.
func TestSignIn(t *testing.T) {
	t.Parallel()
	asks := map[mailprovider.Kind]url.Values{
		mailprovider.Google:    {"scope": {"https://mail.google.com/ openid email"}, "access_type": {"offline"}, "prompt": {"select_account consent"}},
		mailprovider.Microsoft: {"scope": {"https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send openid email offline_access profile"}, "prompt": {"select_account"}},
	}
	for kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			server, p := start(t, kind)
			kept, answer := begin(t, p)
			got, err := p.Finish(t.Context(), kept, answer)
			if err != nil || got.Email != "support@example.org" || !strings.HasPrefix(got.RefreshToken, "refresh-") {
				t.Fatalf("%+v, %v", got, err)
			}
			began := server.Began()[0]
			for _, random := range []string{"state", "nonce", "code_challenge"} {
				if len(began.Get(random)) < 40 {
					t.Errorf("%s is %q", random, began.Get(random))
				}
				began.Del(random)
			}
			want := url.Values{
				"client_id": {mailprovider.ClientID}, "redirect_uri": {redirect}, "response_type": {"code"}, "code_challenge_method": {"S256"}, "login_hint": {"support@example.org"},
			}
			for name, values := range asks[kind] {
				want[name] = values
			}
			if diff := cmp.Diff(want, began); diff != "" {
				t.Error(diff)
			}
			if _, err := p.Finish(t.Context(), kept, answer); codeOf(err) != mailserver.SignInRefused {
				t.Errorf("a code that was used: %v", err)
			}
			if n := len(string(kept)); n > 1000 {
				t.Errorf("the secret has %d bytes", n)
			}
		})
	}
}

// codeOf returns the code of a fault.
func codeOf(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return f.Code
}

// What a provider, a user or somebody in between can do wrong is told apart.
func TestSignInFails(t *testing.T) {
	t.Parallel()
	html := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>access_token=leak</html>"))
		}
	}
	tests := []struct {
		name   string
		state  mailprovider.State
		change func(answer url.Values)
		want   string
		only   mailprovider.Kind
	}{
		{name: "the user refuses", state: mailprovider.State{Denied: "access_denied"}, want: mailserver.SignInDenied},
		{name: "an admin has to consent", state: mailprovider.State{Denied: "consent_required"}, want: mailserver.SignInDenied},
		{name: "the client may not", state: mailprovider.State{Denied: "unauthorized_client"}, want: mailserver.SignInMisset},
		{name: "the provider fails", state: mailprovider.State{Denied: "server_error"}, want: mailserver.SignInUnreachable},
		{name: "another state", change: func(a url.Values) { a.Set("state", "another") }, want: mailserver.SignInRefused},
		{name: "no state", change: func(a url.Values) { a.Del("state") }, want: mailserver.SignInRefused},
		{name: "a refusal of another sign-in", state: mailprovider.State{Denied: "access_denied"}, change: func(a url.Values) { a.Set("state", "x") }, want: mailserver.SignInRefused},
		{name: "two states", change: func(a url.Values) { a.Add("state", a.Get("state")) }, want: mailserver.SignInRefused},
		{name: "no code", change: func(a url.Values) { a.Del("code") }, want: mailserver.SignInRefused},
		{name: "another's code", change: func(a url.Values) { a.Set("code", "stolen") }, want: mailserver.SignInRefused},
		{name: "a long code", change: func(a url.Values) { a.Set("code", strings.Repeat("x", 5000)) }, want: mailserver.SignInRefused},
		{name: "the secret is wrong", state: mailprovider.State{Account: "a@example.org", Secret: "another"}, want: mailserver.SignInMisset},
		{name: "no access to mail", state: mailprovider.State{Account: "a@example.org", Withheld: "https://mail.google.com/"}, want: mailserver.SignInIncomplete, only: mailprovider.Google},
		{name: "no access to sending", state: mailprovider.State{Account: "a@example.org", Withheld: "https://outlook.office.com/SMTP.Send"}, want: mailserver.SignInIncomplete, only: mailprovider.Microsoft},
		{name: "no refresh token", state: mailprovider.State{Account: "a@example.org", Offline: true}, want: mailserver.SignInNoRefresh},
		{name: "a clock that is a little behind", state: mailprovider.State{Account: "a@example.org", Ago: time.Hour + time.Minute}, want: ""},
		{name: "a clock that is far behind", state: mailprovider.State{Account: "a@example.org", Ago: 2 * time.Hour}, want: mailserver.SignInRefused},
		{name: "an account without an address", state: mailprovider.State{Account: "a_example"}, want: mailserver.SignInRefused},
		{name: "HTML", state: mailprovider.State{Account: "a@example.org", Answer: html(http.StatusOK)}, want: mailserver.SignInUnreachable},
		{name: "HTML that refuses", state: mailprovider.State{Account: "a@example.org", Answer: html(http.StatusForbidden)}, want: mailserver.SignInUnreachable},
		{name: "away", state: mailprovider.State{Account: "a@example.org", Answer: html(http.StatusBadGateway)}, want: mailserver.SignInUnreachable},
		{name: "a redirect", state: mailprovider.State{Account: "a@example.org", Answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}}, want: mailserver.SignInUnreachable},
		{name: "a huge answer", state: mailprovider.State{Account: "a@example.org", Answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := []byte(strings.Repeat(" ", 64<<10))
			for range 1024 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}}, want: mailserver.SignInUnreachable},
		{name: "another client's ID token", state: mailprovider.State{Account: "a@example.org", Answer: gives(map[string]any{"aud": "another", "exp": 1e12, "email": "a@example.org"})}, want: mailserver.SignInRefused},
		{name: "an ID token of another sign-in", state: mailprovider.State{Account: "a@example.org", Answer: gives(map[string]any{"aud": []string{mailprovider.ClientID}, "exp": 1e12, "email": "a@example.org", "nonce": "x"})}, want: mailserver.SignInRefused},
	}
	for _, tt := range tests {
		for kind := range kinds {
			if tt.only != "" && tt.only != kind {
				continue
			}
			t.Run(tt.name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				server, p := start(t, kind)
				if tt.state.Account != "" || tt.state.Denied != "" {
					server.Set(tt.state)
				}
				kept, answer := begin(t, p)
				if tt.change != nil {
					tt.change(answer)
				}
				got, err := p.Finish(t.Context(), kept, answer)
				if tt.want == "" {
					if err != nil || got.RefreshToken == "" {
						t.Errorf("%+v, %v", got, err)
					}
					return
				}
				if codeOf(err) != tt.want || got != (mailserver.Grant{}) {
					t.Errorf("%+v, %v", got, err)
				}
				for _, leak := range []string{"leak", mailprovider.ClientSecret, answer.Get("code")} {
					if leak != "" && leak != "stolen" && strings.Contains(fmt.Sprint(err), leak) {
						t.Errorf("the error has %q: %v", leak, err)
					}
				}
			})
		}
	}
}

// gives answers with an ID token.
func gives(claims map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token": "a", "token_type": "Bearer", "refresh_token": "r", "id_token": %q}`, mailprovider.IDToken(claims))
	}
}

// An expired code, a provider that does not answer in time, and a browser that kept nothing.
func TestSignInEnds(t *testing.T) {
	t.Parallel()
	server, p := start(t, mailprovider.Microsoft)
	kept, answer := begin(t, p)
	server.Set(mailprovider.State{Account: "support@example.org", Expired: true})
	if _, err := p.Finish(t.Context(), kept, answer); codeOf(err) != mailserver.SignInRefused {
		t.Errorf("an expired code: %v", err)
	}
	for _, nothing := range [][]byte{nil, []byte("{}"), []byte("x")} {
		if _, err := p.Finish(t.Context(), nothing, answer); codeOf(err) != mailserver.SignInRefused {
			t.Errorf("%q: %v", nothing, err)
		}
	}
	kept, answer = begin(t, p)
	server.Set(mailprovider.State{Answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	slow, err := mailsignin.Microsoft(mailsignin.Config{
		ClientID: mailprovider.ClientID, RedirectURL: redirect, AuthURL: server.AuthURL(), TokenURL: server.TokenURL(), Client: &http.Client{Timeout: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Finish(t.Context(), kept, answer); codeOf(err) != mailserver.SignInUnreachable {
		t.Errorf("too slow: %v", err)
	}
}

// What is configured wrongly is said at the start, all at once.
func TestConfig(t *testing.T) {
	t.Parallel()
	good := mailsignin.Config{ClientID: "c", RedirectURL: redirect}
	for name, tt := range map[string]struct {
		change func(*mailsignin.Config)
		want   []string
	}{
		"nothing":        {func(c *mailsignin.Config) { *c = mailsignin.Config{} }, []string{"client id is missing", "redirect address"}},
		"a plain server": {func(c *mailsignin.Config) { c.TokenURL = "http://id.example.org/token" }, []string{"must be an https address"}},
		"a tenant":       {func(c *mailsignin.Config) { c.Tenant = "a/b" }, []string{"the tenant must be"}},
	} {
		cfg := good
		tt.change(&cfg)
		_, err := mailsignin.Microsoft(cfg)
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	p, err := mailsignin.Microsoft(mailsignin.Config{ClientID: "c", RedirectURL: redirect, Tenant: "example.onmicrosoft.com"})
	if err != nil || p.TokenURL != "https://login.microsoftonline.com/example.onmicrosoft.com/oauth2/v2.0/token" || !p.SharedMailboxes {
		t.Errorf("%+v, %v", p, err)
	}
}
