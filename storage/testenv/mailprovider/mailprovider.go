// Package mailprovider runs the OAuth 2 endpoints of a provider of mailboxes for tests, as Google and as Microsoft have them. The
// browser gets no page to click: whoever is set signs in and consents at once.
package mailprovider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The client that every provider knows.
const (
	ClientID     = "the-client"
	ClientSecret = "the secret of the client"
)

// Kind is whom a provider behaves like.
type Kind string

// The kinds.
const (
	Google    Kind = "google"
	Microsoft Kind = "microsoft"
)

// The scopes for mail.
var (
	googleMail    = []string{"https://mail.google.com/"}
	microsoftMail = []string{"https://outlook.office.com/IMAP.AccessAsUser.All", "https://outlook.office.com/SMTP.Send"}
)

// State is how a provider behaves. The zero State lets nobody in.
type State struct {
	Account  string        // address of who signs in
	Denied   string        // error that the browser comes back with; "": none
	Withheld string        // scope that the user does not grant
	Secret   string        // of the client; default ClientSecret
	Offline  bool          // there is no refresh token, as if the user had consented before
	Ago      time.Duration // how far the provider's clock is behind
	Revoked  bool          // no refresh token is valid
	Expired  bool          // codes and access tokens that were given before are no longer valid
	Strict   bool          // a refresh token is valid once; else it stays valid, as Microsoft's does
	// Answer replaces the answers of the token endpoint. nil: none.
	Answer http.HandlerFunc
}

// Provider is a running provider.
type Provider struct {
	URL      string
	Kind     Kind
	Tenant   string // of the paths of Microsoft
	Redirect string // the registered redirect address

	mu      sync.Mutex
	state   State
	codes   map[string]grant
	refresh map[string]grant
	access  map[string]string // addresses by access token
	asked   []url.Values      // requests of the token endpoint
	began   []url.Values      // requests of the authorization endpoint
}

type grant struct {
	account, nonce, challenge string
	scopes                    []string
	offline                   bool
}

// Start runs a provider until the test ends.
func Start(t testing.TB, kind Kind, redirect string) *Provider {
	t.Helper()
	p := &Provider{Kind: kind, Tenant: "common", Redirect: redirect, codes: map[string]grant{}, refresh: map[string]grant{}, access: map[string]string{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// AuthURL and TokenURL are the addresses of the endpoints.
func (p *Provider) AuthURL() string {
	if p.Kind == Google {
		return p.URL + "/o/oauth2/v2/auth"
	}
	return p.URL + "/" + p.Tenant + "/oauth2/v2.0/authorize"
}

// TokenURL is the address of the token endpoint.
func (p *Provider) TokenURL() string {
	if p.Kind == Google {
		return p.URL + "/token"
	}
	return p.URL + "/" + p.Tenant + "/oauth2/v2.0/token"
}

// IntrospectionURL is where a mail server asks whose an access token is.
func (p *Provider) IntrospectionURL() string { return p.URL + "/introspect" }

// Set changes how the provider behaves.
func (p *Provider) Set(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	if s.Expired {
		clear(p.codes)
		clear(p.access)
	}
}

// Asked returns the requests of the token endpoint, Began those of the authorization endpoint.
func (p *Provider) Asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Began returns the requests of the authorization endpoint.
func (p *Provider) Began() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.began)
}

// ServeHTTP implements [http.Handler].
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.URL + r.URL.Path {
	case p.AuthURL():
		p.authorize(w, r)
	case p.TokenURL():
		_ = r.ParseForm()
		p.asked = append(p.asked, r.PostForm)
		if p.state.Answer != nil {
			p.mu.Unlock()
			p.state.Answer(w, r)
			p.mu.Lock()
			return
		}
		p.token(w, r)
	case p.IntrospectionURL():
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		account, ok := p.access[token]
		reply(w, http.StatusOK, map[string]any{"active": ok, "username": account})
	default:
		http.NotFound(w, r)
	}
}

func (p *Provider) mail() []string {
	if p.Kind == Google {
		return googleMail
	}
	return microsoftMail
}

// authorize is the page to sign in and to consent.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.began = append(p.began, q)
	scopes := strings.Fields(q.Get("scope"))
	for problem, is := range map[string]bool{
		"the client is unknown": q.Get("client_id") != ClientID, "redirect_uri_mismatch": q.Get("redirect_uri") != p.Redirect,
		"no PKCE": q.Get("code_challenge") == "" || q.Get("code_challenge_method") != "S256", "no code": q.Get("response_type") != "code",
		"no openid": !slices.Contains(scopes, "openid"), "no state": q.Get("state") == "",
	} {
		if is {
			http.Error(w, problem, http.StatusBadRequest)
			return
		}
	}
	back := url.Values{"state": {q.Get("state")}}
	switch {
	case p.state.Denied != "":
		back.Set("error", p.state.Denied)
		back.Set("error_description", "<b>The user refused</b>")
	case p.state.Account == "":
		back.Set("error", "access_denied")
	default:
		scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == p.state.Withheld })
		offline := slices.Contains(scopes, "offline_access")
		if p.Kind == Google {
			offline = q.Get("access_type") == "offline" && strings.Contains(q.Get("prompt"), "consent")
		}
		code := rand.Text()
		p.codes[code] = grant{account: p.state.Account, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), scopes: scopes, offline: offline && !p.state.Offline}
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token is the token endpoint.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	secret := ClientSecret
	if p.state.Secret != "" {
		secret = p.state.Secret
	}
	if r.PostFormValue("client_id") != ClientID || r.PostFormValue("client_secret") != secret {
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."})
		return
	}
	var g grant
	var ok bool
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, ok = p.codes[code]
		delete(p.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		ok = ok && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge && r.PostFormValue("redirect_uri") == p.Redirect
	case "refresh_token":
		g, ok = p.refresh[r.PostFormValue("refresh_token")]
		ok = ok && !p.state.Revoked
		if ok && p.state.Strict {
			delete(p.refresh, r.PostFormValue("refresh_token"))
		}
	}
	if !ok {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "Token has been expired or revoked."})
		return
	}
	reply(w, http.StatusOK, p.give(r.PostFormValue("grant_type") == "authorization_code", g))
}

// give makes the answer of the token endpoint.
func (p *Provider) give(first bool, g grant) map[string]any {
	access := "access-" + rand.Text()
	p.access[access] = g.account
	granted := slices.DeleteFunc(slices.Clone(p.mail()), func(s string) bool { return !slices.Contains(g.scopes, s) })
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3599}
	if p.Kind == Google {
		granted = append([]string{"openid", "https://www.googleapis.com/auth/userinfo.email"}, granted...)
	}
	out["scope"] = strings.Join(granted, " ")
	if g.offline && (first || p.Kind == Microsoft) { // Microsoft gives another one each time
		refresh := "refresh-" + rand.Text()
		p.refresh[refresh] = g
		out["refresh_token"] = refresh
	}
	if first {
		now := time.Now().Add(-p.state.Ago)
		claims := map[string]any{"aud": ClientID, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nonce": g.nonce, "sub": "1"}
		if p.Kind == Google {
			claims["iss"], claims["email"], claims["email_verified"] = "https://accounts.google.com", g.account, true
		} else {
			claims["iss"], claims["preferred_username"] = "https://login.microsoftonline.com/9122040d/v2.0", g.account
		}
		out["id_token"] = IDToken(claims)
	}
	return out
}

// IDToken makes an ID token with a signature that nobody can verify.
func IDToken(claims map[string]any) string {
	text, _ := json.Marshal(claims) //nolint:errchkjson // of plain values
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode(text) + "." + encode([]byte("signature"))
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // of plain values
}

// Holder returns the address of the account that an access token is for, "" if it is not valid.
func (p *Provider) Holder(token string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.access[token]
}
