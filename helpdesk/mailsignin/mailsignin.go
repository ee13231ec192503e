package mailsignin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// Config configures a provider. Zero fields have the defaults of [Google] or [Microsoft]; [New] has none of these.
type Config struct {
	ClientID     string // required
	ClientSecret string // "": a public client, which has PKCE only
	RedirectURL  string // required: where the browser comes back to; the provider has to know it
	// Tenant is a Microsoft tenant: its id, one of its domains, or common, organizations or consumers. Default: common.
	Tenant string

	Key, Name         string             // see [mailserver.Provider]
	AuthURL, TokenURL string             // https, or http at a loopback address
	Inbound, Outbound mailserver.Address // IMAP and SMTP
	// MailScopes are the scopes for mail; all have to be granted. OpenID's for the address are added.
	MailScopes []string
	// RefreshScope is the scope that access tokens are asked for with. "": what was granted.
	RefreshScope string
	// Parameters are added to the address that the browser is sent to.
	Parameters url.Values
	// SharedMailboxes: see [mailserver.Provider].
	SharedMailboxes bool

	Client *http.Client     // nil: one that follows no redirects, with a time limit of 15 seconds
	Now    func() time.Time // nil: time.Now
}

// Google is Gmail and Google Workspace.
func Google(cfg Config) (mailserver.Provider, error) {
	cfg.Key, cfg.Name = cmp.Or(cfg.Key, "google"), cmp.Or(cfg.Name, "Google")
	cfg.AuthURL = cmp.Or(cfg.AuthURL, "https://accounts.google.com/o/oauth2/v2/auth")
	cfg.TokenURL = cmp.Or(cfg.TokenURL, "https://oauth2.googleapis.com/token")
	cfg.Inbound = cmp.Or(cfg.Inbound, mailserver.Address{Host: "imap.gmail.com", Port: 993, Encryption: mailserver.TLS})
	cfg.Outbound = cmp.Or(cfg.Outbound, mailserver.Address{Host: "smtp.gmail.com", Port: 587, Encryption: mailserver.STARTTLS})
	if cfg.MailScopes == nil {
		cfg.MailScopes = []string{"https://mail.google.com/"}
	}
	if cfg.Parameters == nil {
		// Google gives a refresh token only for offline access, and only when the user consents.
		cfg.Parameters = url.Values{"access_type": {"offline"}, "prompt": {"select_account consent"}}
	}
	return New(cfg)
}

// Microsoft is Microsoft 365 and Outlook.com.
func Microsoft(cfg Config) (mailserver.Provider, error) {
	cfg.Key, cfg.Name, cfg.Tenant = cmp.Or(cfg.Key, "microsoft"), cmp.Or(cfg.Name, "Microsoft"), cmp.Or(cfg.Tenant, "common")
	if !ValidTenant(cfg.Tenant) {
		return mailserver.Provider{}, errors.New("the tenant must be an id, a domain, or common, organizations or consumers")
	}
	base := "https://login.microsoftonline.com/" + cfg.Tenant + "/oauth2/v2.0/"
	cfg.AuthURL, cfg.TokenURL = cmp.Or(cfg.AuthURL, base+"authorize"), cmp.Or(cfg.TokenURL, base+"token")
	cfg.Inbound = cmp.Or(cfg.Inbound, mailserver.Address{Host: "outlook.office365.com", Port: 993, Encryption: mailserver.TLS})
	cfg.Outbound = cmp.Or(cfg.Outbound, mailserver.Address{Host: "smtp.office365.com", Port: 587, Encryption: mailserver.STARTTLS})
	if cfg.MailScopes == nil {
		cfg.MailScopes = []string{"https://outlook.office.com/IMAP.AccessAsUser.All", "https://outlook.office.com/SMTP.Send"}
	}
	cfg.RefreshScope = cmp.Or(cfg.RefreshScope, join(cfg.MailScopes)+" offline_access")
	if cfg.Parameters == nil {
		cfg.Parameters = url.Values{"prompt": {"select_account"}}
	}
	cfg.SharedMailboxes = true
	return New(cfg)
}

var tenant = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$`)

// ValidTenant reports whether a text can be a Microsoft tenant.
func ValidTenant(text string) bool { return tenant.MatchString(text) }

// client is one client at a provider.
type client struct {
	cfg   Config
	oauth oauth2.Config
}

// New makes a provider. It connects to nothing. The error says everything that is wrong with cfg.
func New(cfg Config) (mailserver.Provider, error) {
	if err := cfg.check(); err != nil {
		return mailserver.Provider{}, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{
			Timeout: 15 * time.Second,
			// A redirect would take the code, or the secret, to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	scopes := append(slices.Clone(cfg.MailScopes), "openid", "email")
	if cfg.RefreshScope != "" { // as Microsoft, which gives a refresh token for this scope
		scopes = append(scopes, "offline_access", "profile")
	}
	c := &client{cfg: cfg, oauth: oauth2.Config{
		ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret, RedirectURL: cfg.RedirectURL, Scopes: scopes,
		// It never tries one way to authenticate after the other: that would show the code twice.
		Endpoint: oauth2.Endpoint{AuthURL: cfg.AuthURL, TokenURL: cfg.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}}
	return mailserver.Provider{
		Key: cfg.Key, Name: cfg.Name, Inbound: cfg.Inbound, Outbound: cfg.Outbound, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret,
		TokenURL: cfg.TokenURL, Scope: cfg.RefreshScope, SharedMailboxes: cfg.SharedMailboxes, Begin: c.beginSignIn, Finish: c.finish,
	}, nil
}

func (cfg Config) check() error {
	var wrong []error
	for _, field := range []struct{ name, value string }{{"key", cfg.Key}, {"name", cfg.Name}, {"client id", cfg.ClientID}, {"IMAP host", cfg.Inbound.Host}, {"SMTP host", cfg.Outbound.Host}} {
		if field.value == "" {
			wrong = append(wrong, fmt.Errorf("the %s is missing", field.name))
		}
	}
	if u, err := url.Parse(cfg.RedirectURL); err != nil || u.Host == "" {
		wrong = append(wrong, errors.New("the redirect address must be an absolute one"))
	}
	for _, address := range []string{cfg.AuthURL, cfg.TokenURL} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			wrong = append(wrong, fmt.Errorf("%q must be an https address", address))
		}
	}
	if len(cfg.MailScopes) == 0 {
		wrong = append(wrong, errors.New("the scopes for mail are missing"))
	}
	return errors.Join(wrong...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// secret is what of a sign-in has to be known when the browser comes back.
type secret struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// beginSignIn is Begin of the provider.
func (c *client) beginSignIn(login string) (address string, kept []byte, err error) {
	// Each has 256 random bits.
	s := secret{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("nonce", s.Nonce), oauth2.S256ChallengeOption(s.Verifier)}
	for name := range c.cfg.Parameters {
		options = append(options, oauth2.SetAuthURLParam(name, c.cfg.Parameters.Get(name)))
	}
	if login != "" {
		options = append(options, oauth2.SetAuthURLParam("login_hint", login))
	}
	kept, err = json.Marshal(s)
	return c.oauth.AuthCodeURL(s.State, options...), kept, err
}

// finish is Finish of the provider.
func (c *client) finish(ctx context.Context, kept []byte, answer url.Values) (mailserver.Grant, error) {
	var s secret
	if err := json.Unmarshal(kept, &s); err != nil || s.State == "" || s.Nonce == "" || s.Verifier == "" {
		return mailserver.Grant{}, refused(errors.New("there is no sign-in to finish"))
	}
	code, err := codeOf(s, answer)
	if err != nil {
		return mailserver.Grant{}, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, c.cfg.Client)
	token, err := c.oauth.Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return mailserver.Grant{}, exchangeFailed(err)
	}
	return c.grant(s, token)
}
