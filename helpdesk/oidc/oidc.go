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
	maxAnswer    = 1 << 20          // bytes of a response from the provider
	timeout      = 15 * time.Second // per request
	rediscover   = time.Hour        // how long a discovery document is used
	maxParameter = 4096             // bytes of a query parameter
)

// When a sign-in counts as one with two factors, see [Config].
const (
	Never    = "never"
	Reported = "amr"
	Always   = "always"
	// WithACR is the prefix of a rule with an authentication context, as in "acr=https://refeds.org/profile/mfa".
	WithACR = "acr="
)

// Config configures a [Provider].
type Config struct {
	Issuer       string // https, or http for loopback addresses
	ClientID     string
	ClientSecret string // "": a public client that uses only PKCE
	RedirectURL  string // where the browser returns to; it must be registered with the provider

	// SecondFactor says when a sign-in counts as one with two factors: Never, which "" is too; Reported, if the ID token has
	// the value mfa in amr (RFC 8176); Always; or WithACR and a value, which the provider is asked for and which acr of the ID
	// token must be.
	SecondFactor string

	Scopes []string         // in addition to openid; nil: email and profile
	Client *http.Client     // nil: no redirects, and a timeout of 15 seconds
	Now    func() time.Time // nil: time.Now
}

// Provider is an OpenID Connect provider, used as one client. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client

	mu    sync.Mutex
	found *discovered
}

// discovered is the content of a discovery document.
type discovered struct {
	*oidc.Provider
	at      time.Time
	methods []string // authentication methods of the token endpoint
	named   bool     // responses include the issuer
}

// New returns a provider. It does not connect until someone signs in, so a provider that is down does not keep
// a server from starting. The error lists everything that is wrong with cfg.
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
		return errors.New("must begin with https, because it decides who may sign in")
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

// bounded is a client that limits the size of responses.
func bounded(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{
			Timeout: timeout,
			// A redirect could leak the code or the secret to someone else.
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

// errTooLarge reports a response that is larger than a provider's should ever be.
var errTooLarge = errors.New("the response is too large")

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
	Refused     = "sign_in_refused"      // Unauthenticated: the response could not be verified
	Denied      = "sign_in_denied"       // Unauthenticated: the provider denied the sign-in, usually because the user cancelled
	Unreachable = "provider_unreachable" // Unavailable: the provider does not respond, or not correctly
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
		Kind: fault.Unavailable, Op: "oidc", Code: Unreachable, Message: "The sign-in provider is not available right now. Try again later.", Err: err,
	}
}

// Check reads the discovery document again and reports what is wrong with it. The error is a fault with code Unreachable.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// discovery returns the provider's data, at most an hour old. An older copy is used while the provider cannot be reached.
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
		return nil, unreachable(errors.New("its discovery document lacks authorization_endpoint or token_endpoint"))
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

// CheckEndpoint rejects an address in a discovery document that would send secrets unencrypted.
func CheckEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("its discovery document names %q, which is not an https address", address)
	}
	return nil
}

// config returns the OAuth client. It never tries several ways to authenticate, as that would send the code twice.
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

// secret is the state of a sign-in that is needed when the browser returns.
type secret struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns the URL to send the browser to, and a secret for Finish. The error is a fault with code Unreachable.
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
