package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/helpwright/helpwright/storage/fault"
)

const (
	maxAnswer    = 1 << 20          // bytes of an answer of the provider
	timeout      = 15 * time.Second // of one request
	rediscover   = time.Hour        // how long a discovery document is used
	maxParameter = 4096             // bytes of a parameter of the browser
)

// When a sign-in counts as one with two factors, see [Config].
const (
	Never    = "never"
	Reported = "amr"
	Always   = "always"
	// WithACR begins a rule that names an authentication context, as in "acr=https://refeds.org/profile/mfa".
	WithACR = "acr="
)

// Config is what a [Provider] is made of.
type Config struct {
	Issuer       string // https; http at a loopback address only
	ClientID     string
	ClientSecret string // "": a public client, by PKCE alone
	RedirectURL  string // where the browser comes back to; the provider has to know it

	// SecondFactor says when a sign-in counts as one with two factors: Never, which "" is too; Reported, if the ID token has
	// the value mfa in amr (RFC 8176); Always; or WithACR and a value, which the provider is asked for and which acr of the ID
	// token must be.
	SecondFactor string

	Scopes []string         // beyond openid; nil: email and profile
	Client *http.Client     // nil: one that follows no redirects, with a time limit of 15 seconds
	Now    func() time.Time // nil: time.Now
}

// Provider is an OpenID Connect provider as one client of it sees it. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client

	mu    sync.Mutex
	found *discovered
}

// discovered is what a discovery document said.
type discovered struct {
	*oidc.Provider
	at      time.Time
	methods []string // of authentication at the token endpoint
	named   bool     // the answer names the issuer
}

// New makes a provider. It connects to nothing: that is done when somebody signs in, so that a provider that is down keeps
// no server from starting. The error says everything that is wrong with cfg.
func New(cfg Config) (*Provider, error) {
	var wrong []error
	if err := CheckIssuer(cfg.Issuer); err != nil {
		wrong = append(wrong, fmt.Errorf("the issuer %w", err))
	}
	if cfg.ClientID == "" {
		wrong = append(wrong, errors.New("the client id is missing"))
	}
	if u, err := url.Parse(cfg.RedirectURL); err != nil || u.Host == "" {
		wrong = append(wrong, errors.New("the redirect address must be an absolute one"))
	}
	if !ValidRule(cfg.SecondFactor) {
		wrong = append(wrong, errors.New("the rule for the second factor must be never, amr, always, or acr= and a value"))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Scopes == nil {
		cfg.Scopes = []string{"email", "profile"}
	}
	return &Provider{cfg: cfg, client: bounded(cfg.Client)}, nil
}

// CheckIssuer says what is wrong with an issuer, in words that follow its name: "must be ...".
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("must be the address of the provider, such as https://id.example.org, without a query")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("must begin with https: what it says decides who is let in")
	}
	return nil
}

// ValidRule reports whether a rule is one for Config.SecondFactor.
func ValidRule(rule string) bool {
	acr, named := strings.CutPrefix(rule, WithACR)
	return named && acr != "" && !strings.ContainsAny(acr, " \t\r\n") || slices.Contains([]string{"", Never, Reported, Always}, rule)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bounded is a client that reads no more of an answer than it has to.
func bounded(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{
			Timeout: timeout,
			// A redirect would take the code, or the secret, to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	out := *c
	inner := out.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	out.Transport = limited{inner}
	return &out
}

type limited struct{ inner http.RoundTripper }

// errTooLarge is an answer that is larger than any of a provider has to be.
var errTooLarge = errors.New("the answer is too large")

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &limitedBody{ReadCloser: res.Body, left: maxAnswer}
	return res, nil
}

type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Codes of the faults.
const (
	Refused     = "sign_in_refused"      // Unauthenticated: what came back proves nothing
	Denied      = "sign_in_denied"       // Unauthenticated: the provider let nobody in, mostly because its user did not want to
	Unreachable = "provider_unreachable" // Unavailable: the provider does not answer, or not with what it should
)

func refused(err error) error {
	return &fault.Error{
		Kind: fault.Unauthenticated, Op: "oidc", Code: Refused, Message: "The sign-in could not be verified. Sign in again.", Err: err,
	}
}

func denied(err error) error {
	return &fault.Error{Kind: fault.Unauthenticated, Op: "oidc", Code: Denied, Message: "The provider did not sign you in. Try again.", Err: err}
}

func unreachable(err error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Op: "oidc", Code: Unreachable, Message: "The sign-in provider does not work now. Try again later.", Err: err,
	}
}

// Check reads the discovery document anew and says what is wrong with it. The error is a fault with code Unreachable.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// discovery is the provider as it was found in the last hour. What was found before is used while nothing better is to be had.
func (p *Provider) discovery(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil && p.cfg.Now().Sub(found.at) < rediscover {
		return found, nil
	}
	again, err := p.discover(ctx)
	if err != nil && found != nil {
		return found, nil
	}
	return again, err
}

func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	// The keys are fetched later, in the context given here, which must not end with a request.
	of, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.cfg.Issuer)
	if err != nil {
		return nil, unreachable(err)
	}
	var more struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Named   bool     `json:"authorization_response_iss_parameter_supported"`
		Keys    string   `json:"jwks_uri"`
	}
	if err := of.Claims(&more); err != nil {
		return nil, unreachable(err)
	}
	if at := of.Endpoint(); at.AuthURL == "" || at.TokenURL == "" {
		return nil, unreachable(errors.New("its discovery document names no authorization_endpoint or no token_endpoint"))
	}
	for _, address := range []string{of.Endpoint().AuthURL, of.Endpoint().TokenURL, more.Keys} {
		if err := CheckEndpoint(address); err != nil {
			return nil, unreachable(err)
		}
	}
	found := &discovered{Provider: of, at: p.cfg.Now(), methods: more.Methods, named: more.Named}
	p.mu.Lock()
	p.found = found
	p.mu.Unlock()
	return found, nil
}

// CheckEndpoint refuses an address of a discovery document that would send secrets in the open.
func CheckEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("its discovery document names %q, which is no https address", address)
	}
	return nil
}

// config is the client at the provider. It never tries one way to authenticate after the other: that would show the code twice.
func (p *Provider) config(d *discovered) oauth2.Config {
	at := d.Endpoint()
	at.AuthStyle = oauth2.AuthStyleInHeader
	basic := len(d.methods) == 0 || slices.Contains(d.methods, "client_secret_basic") // its default: OpenID Connect Discovery 1.0 section 3
	if p.cfg.ClientSecret == "" || !basic {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	return oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: at, RedirectURL: p.cfg.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...),
	}
}

// secret is what of a sign-in has to be known when the browser comes back.
type secret struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns where to send the browser, and a secret for Finish. The error is a fault with code Unreachable.
func (p *Provider) Begin(ctx context.Context) (address string, kept []byte, err error) {
	d, err := p.discovery(ctx)
	if err != nil {
		return "", nil, err
	}
	// Each has 256 random bits.
	s := secret{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)}
	if acr, named := strings.CutPrefix(p.cfg.SecondFactor, WithACR); named {
		options = append(options, oauth2.SetAuthURLParam("acr_values", acr))
	}
	if kept, err = json.Marshal(s); err != nil {
		return "", nil, err
	}
	cfg := p.config(d)
	return cfg.AuthCodeURL(s.State, options...), kept, nil
}
