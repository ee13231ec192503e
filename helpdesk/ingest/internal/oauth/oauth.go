// Package oauth obtains access tokens for mail servers with a refresh token (RFC 6749, section 6), and caches them until
// they expire. It does not depend on the help desk.
package oauth

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

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// Config configures where tokens come from, and for whom.
type Config struct {
	TokenURL     string // https; required
	ClientID     string // required
	ClientSecret string // sent in the body if not empty
	RefreshToken string // required
	Scope        string // separated by spaces; empty: the granted scope

	// Dial connects to TokenURL; it can restrict private addresses. Default: a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Rotated is called when the endpoint replaced the refresh token; the old one may be invalid from then on. If it fails, it
	// is called again with the next token. Default: not called.
	Rotated func(ctx context.Context, old, next string) error
	// Kept returns the refresh token that is stored. It is called before each request, as another process may have replaced the
	// token, or a user granted access again; and again when the endpoint rejects the token, since the other process may be about
	// to store its own. If it fails, the last known token is used. Default: not called.
	Kept func(ctx context.Context) (string, error)

	Timeout time.Duration    // of one request; default 30 s
	Backoff time.Duration    // before the second attempt, and doubled before the last; default 500 ms
	Now     func() time.Time // default time.Now
}

const (
	tries       = 3
	maxAnswer   = 64 << 10
	maxToken    = 16 << 10
	early       = time.Minute // tokens are renewed this long before they expire
	defaultLife = 5 * time.Minute
)

// Tokens are one mailbox's access tokens. It is safe for concurrent use.
type Tokens struct {
	cfg    Config
	client *http.Client
	turn   chan struct{} // holds a value during a request

	access string
	until  time.Time

	mu      sync.Mutex // with turn, to change what is below; either of them, to read it
	refresh string     // from the last response
	told    string     // last refresh token passed to Rotated, or from Kept
	offered string     // by Renew since the last request; "": none
	line    []string   // the latest refresh tokens that replaced each other while they worked, see Succeeds
	doubt   bool       // the last access token, or the grant, was rejected
}

// maxLine is enough for all tokens between two looks at them.
const maxLine = 8

// New returns tokens; it makes no request.
func New(cfg Config) *Tokens {
	wire.Default(&cfg.Timeout, 30*time.Second)
	wire.Default(&cfg.Backoff, 500*time.Millisecond)
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	client := &http.Client{
		// Ignore proxy settings in the environment: Dial would check the proxy's address.
		Transport:     &http.Transport{DialContext: cfg.Dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       cfg.Timeout,
	}
	return &Tokens{cfg: cfg, client: client, turn: make(chan struct{}, 1), refresh: cfg.RefreshToken, told: cfg.RefreshToken, line: []string{cfg.RefreshToken}}
}

// RefreshToken returns the current refresh token.
func (t *Tokens) RefreshToken() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refresh
}

// Renew makes the next call of Token request an access token with this refresh token, unless it is the current one.
func (t *Tokens) Renew(refresh string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered = refresh
}

// Succeeds reports whether a refresh token took the place of another one while that worked, so that whoever uses it needs not
// begin anew.
func (t *Tokens) Succeeds(next, old string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.line, next) && slices.Contains(t.line, old)
}

// set changes the refresh token.
func (t *Tokens) set(refresh, told string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(refresh, told, false)
}

// put is set with mu held; anew means that the token is no successor.
func (t *Tokens) put(refresh, told string, anew bool) {
	if anew {
		t.line = nil
	}
	if !slices.Contains(t.line, refresh) {
		t.line = append(t.line[max(0, len(t.line)-maxLine+1):], refresh)
	}
	t.refresh, t.told = refresh, told
}

// acceptOffered takes what was offered.
func (t *Tokens) acceptOffered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.offered != "" && t.offered != t.told && t.offered != t.refresh {
		t.put(t.offered, t.offered, t.doubt)
		t.access = ""
	}
	t.offered = ""
}

// judge notes whether what was used last was rejected.
func (t *Tokens) judge(rejected bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubt = rejected
}

// Token returns an access token, cached until it expires unless renew is set; see [wire.Server].Token. Temporary failures
// are retried, three attempts in all. If the endpoint reports that the grant is gone, the error is [wire.ErrReauth].
func (t *Tokens) Token(ctx context.Context, renew bool) (string, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	t.acceptOffered()
	if renew {
		t.judge(true)
	} else if t.access != "" && t.cfg.Now().Before(t.until) {
		t.judge(false)
		return t.access, nil
	}
	var last error
	for try := range tries {
		if try > 0 {
			wire.Sleep(ctx, t.cfg.Backoff<<(try-1))
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		adopted := t.adopt(ctx)
		if try > 0 && errors.Is(last, wire.ErrReauth) && !adopted {
			continue // nobody has stored another token yet
		}
		if last = t.ask(ctx); last == nil {
			t.judge(renew)
			return t.access, t.passToken(ctx)
		}
		if errors.Is(last, wire.ErrReauth) {
			t.judge(true)
		}
		if errors.As(last, new(refused)) || errors.Is(last, wire.ErrReauth) && t.cfg.Kept == nil {
			break
		}
	}
	return "", last
}

// adopt takes the stored refresh token if somebody else replaced it, and reports whether it did.
func (t *Tokens) adopt(ctx context.Context) bool {
	if t.cfg.Kept == nil {
		return false
	}
	kept, err := t.cfg.Kept(ctx)
	if err != nil || kept == "" || kept == t.told {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(kept, kept, t.doubt)
	return true
}

// passToken passes a new refresh token to Rotated.
func (t *Tokens) passToken(ctx context.Context) error {
	if t.told == t.refresh || t.cfg.Rotated == nil {
		return nil
	}
	if err := t.cfg.Rotated(ctx, t.told, t.refresh); err != nil {
		t.access = "" // so that Rotated is called again soon
		return fmt.Errorf("the new refresh token could not be kept: %w", err)
	}
	t.set(t.refresh, t.refresh)
	return nil
}

// refused is a permanent rejection.
type refused struct{ text string }

func (r refused) Error() string { return r.text }

// answer is an endpoint's response (RFC 6749, sections 5.1 and 5.2).
type answer struct {
	AccessToken  string      `json:"access_token"`
	TokenType    string      `json:"token_type"`
	ExpiresIn    json.Number `json:"expires_in"`
	RefreshToken string      `json:"refresh_token"`
	Error        string      `json:"error"`
	Description  string      `json:"error_description"`
}

// gone are the error codes that require a new grant: that of RFC 6749 and those of OpenID Connect that endpoints send to
// clients without a browser.
var gone = []string{"invalid_grant", "interaction_required", "login_required", "consent_required"}

func (t *Tokens) ask(ctx context.Context) error {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.refresh}, "client_id": {t.cfg.ClientID}}
	if t.cfg.ClientSecret != "" {
		form.Set("client_secret", t.cfg.ClientSecret)
	}
	if t.cfg.Scope != "" {
		form.Set("scope", t.cfg.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.cfg.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return refused{"the token endpoint is no address"}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return fmt.Errorf("the token endpoint: %w", unwrapped(err))
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the token endpoint: %w", unwrapped(err))
	}
	return t.use(res.StatusCode, text)
}

// unwrapped returns the error without the URL, which is long and known.
func unwrapped(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return wire.Outward(err)
}

// use processes a response.
func (t *Tokens) use(status int, text []byte) error {
	var a answer
	unreadable := json.Unmarshal(text, &a)
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		return fmt.Errorf("the token endpoint answers with status %d", status)
	case slices.Contains(gone, a.Error):
		return fmt.Errorf("%w (%s)", wire.ErrReauth, reason(a))
	case a.Error != "":
		return refused{"the token endpoint refuses: " + reason(a)}
	case status != http.StatusOK || unreadable != nil:
		return refused{fmt.Sprintf("the token endpoint answers with status %d and no token", status)}
	case a.AccessToken == "" || len(a.AccessToken) > maxToken || !wire.Clean(a.AccessToken) || strings.ContainsAny(a.AccessToken, " "):
		return refused{"the token endpoint gives no token that can be used"}
	case a.TokenType != "" && !strings.EqualFold(a.TokenType, "Bearer"):
		return refused{"the token endpoint gives a token that is no bearer token"}
	}
	life := defaultLife
	if seconds, err := a.ExpiresIn.Int64(); err == nil && seconds > 0 {
		life = time.Duration(min(seconds, 30*24*3600)) * time.Second
	}
	t.access, t.until = a.AccessToken, t.cfg.Now().Add(max(life-early, life/2))
	if a.RefreshToken != "" && len(a.RefreshToken) <= maxToken && wire.Clean(a.RefreshToken) {
		t.set(a.RefreshToken, t.told)
	}
	return nil
}

func reason(a answer) string {
	if a.Description == "" {
		return wire.Short(a.Error)
	}
	return wire.Short(a.Error + ": " + a.Description)
}
