package oauth_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/oauth"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/storage/testnet"
)

// endpoint is a token endpoint with scripted answers, the last of which is repeated.
type endpoint struct {
	mu      sync.Mutex
	answers []string // status and body
	asked   []url.Values
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = r.ParseForm()
	e.asked = append(e.asked, r.PostForm)
	answer := e.answers[0]
	if len(e.answers) > 1 {
		e.answers = e.answers[1:]
	}
	var status int
	_, _ = fmt.Sscan(answer, &status)
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer[4:]))
}

func (e *endpoint) start(t *testing.T) oauth.Config {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return oauth.Config{
		TokenURL: server.URL + "/token", ClientID: "client", ClientSecret: "secret", RefreshToken: "refresh-1", Scope: "mail offline",
		Backoff: time.Millisecond,
	}
}

func token(t *testing.T, tokens *oauth.Tokens, renew bool) string {
	t.Helper()
	got, err := tokens.Token(t.Context(), renew)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTokenIsKeptWhileItLasts(t *testing.T) {
	t.Parallel()
	e := &endpoint{answers: []string{
		`200 {"access_token": "a", "token_type": "Bearer", "expires_in": 3600}`,
		`200 {"access_token": "b", "token_type": "bearer", "expires_in": "3600"}`,
		`200 {"access_token": "c"}`,
	}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := e.start(t)
	cfg.Now = func() time.Time { return now }
	tokens := oauth.New(cfg)
	got := []string{token(t, tokens, false), token(t, tokens, false)}
	now = now.Add(59 * time.Minute)
	got = append(got, token(t, tokens, false), token(t, tokens, true))
	if diff := cmp.Diff([]string{"a", "a", "b", "c"}, got); diff != "" {
		t.Error(diff)
	}
	want := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {"refresh-1"}, "client_id": {"client"}, "client_secret": {"secret"}, "scope": {"mail offline"},
	}
	if diff := cmp.Diff([]url.Values{want, want, want}, e.asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		answers []string
		asked   int
		reauth  bool
		text    string // of the error; "" for none
	}{
		{"the grant is gone", []string{`400 {"error": "invalid_grant", "error_description": "expired"}`}, 1, true, "invalid_grant: expired"},
		{"somebody has to agree", []string{`400 {"error": "interaction_required"}`}, 1, true, "interaction_required"},
		{"the client is unknown", []string{`401 {"error": "invalid_client"}`}, 1, false, "invalid_client"},
		{"away for a moment", []string{"503 away", "429 slowly", `200 {"access_token": "t"}`}, 3, false, ""},
		{"away", []string{"500 away"}, 3, false, "status 500"},
		{"elsewhere", []string{"302 there"}, 1, false, "status 302"},
		{"no JSON", []string{"200 <html>"}, 1, false, "no token"},
		{"no token", []string{`200 {}`}, 1, false, "no token"},
		{"a token that breaks out", []string{`200 {"access_token": "a\r\nb"}`}, 1, false, "no token"},
		{"another kind of token", []string{`200 {"access_token": "t", "token_type": "mac"}`}, 1, false, "no bearer"},
		{"endless", []string{"200 " + strings.Repeat("x", 1<<20)}, 1, false, "no token"},
		{"deep", []string{"200 " + strings.Repeat(`{"access_token":`, 1<<16)}, 1, false, "no token"},
		{"deep beside a token", []string{`200 {"access_token": "t", "x": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}"}, 1, false, "no token"},
		{"a life of ages", []string{`200 {"access_token": "t", "expires_in": 1e400}`}, 1, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := &endpoint{answers: test.answers}
			_, err := oauth.New(e.start(t)).Token(t.Context(), false)
			if (err != nil) != (test.text != "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %q", err, test.text)
			}
			if errors.Is(err, wire.ErrReauth) != test.reauth {
				t.Errorf("%v: needs access again %t", err, !test.reauth)
			}
			if len(e.asked) != test.asked {
				t.Errorf("asked %d times, want %d", len(e.asked), test.asked)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "refresh-1")) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// An endpoint that never comes to an end costs one request's time, and little memory.
func TestHostileEndpoints(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	for name, addr := range map[string]string{
		"silent":                testnet.Silent(t),
		"an endless header":     testnet.Flood(t, head+"X: ", "x", 1<<30),
		"endless headers":       testnet.Flood(t, head, "X: x\r\n", 1<<30),
		"endless preliminaries": testnet.Flood(t, "", "HTTP/1.1 103 Early Hints\r\n\r\n", 1<<30),
		"a gigabyte":            testnet.Flood(t, head+"Content-Length: 1073741824\r\n\r\n", " ", 1<<30),
		"endless chunks":        testnet.Flood(t, head+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 1<<30),
		"drop by drop":          testnet.Drip(t, head+"\r\n", " ", 5*time.Millisecond),
		"a gzip bomb":           bomb(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := oauth.New(oauth.Config{TokenURL: "http://" + addr, ClientID: "c", RefreshToken: "r", Timeout: 300 * time.Millisecond, Backoff: time.Millisecond})
			if got, err := tokens.Token(t.Context(), false); err == nil || len(err.Error()) > 1000 {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// bomb is a server whose answer is a gigabyte when it is unpacked.
func bomb(t *testing.T) (addr string) {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20)) // into memory
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gigabyte := bytes.Repeat(packed.Bytes(), 1<<10) // RFC 1952 section 2.2: members follow each other
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(gigabyte)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// A new refresh token is used at once, and told until somebody has kept it.
func TestRefreshTokenIsRotated(t *testing.T) {
	t.Parallel()
	e := &endpoint{answers: []string{
		`200 {"access_token": "a", "refresh_token": "refresh-2"}`,
		`200 {"access_token": "b", "refresh_token": "refresh-3"}`,
		`200 {"access_token": "c"}`,
	}}
	cfg := e.start(t)
	var told []string
	fail := true
	cfg.Rotated = func(_ context.Context, old, next string) error {
		told = append(told, old+" "+next)
		if fail {
			return errors.New("database is away")
		}
		return nil
	}
	tokens := oauth.New(cfg)
	if _, err := tokens.Token(t.Context(), false); err == nil {
		t.Error("no error when the refresh token was not kept")
	}
	fail = false
	token(t, tokens, false)
	token(t, tokens, true)
	if diff := cmp.Diff([]string{"refresh-1 refresh-2", "refresh-1 refresh-3"}, told); diff != "" {
		t.Error(diff)
	}
	if e.asked[1].Get("refresh_token") != "refresh-2" || e.asked[2].Get("refresh_token") != "refresh-3" || tokens.RefreshToken() != "refresh-3" {
		t.Errorf("asked with %v", e.asked)
	}
}

func TestDialPolicyAndContext(t *testing.T) {
	t.Parallel()
	e := &endpoint{answers: []string{`200 {"access_token": "a"}`}}
	cfg := e.start(t)
	refusedHost := errors.New("private")
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, refusedHost }
	if _, err := oauth.New(cfg).Token(t.Context(), false); !errors.Is(err, refusedHost) || strings.Contains(err.Error(), cfg.TokenURL) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := oauth.New(cfg).Token(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if len(e.asked) > 0 {
		t.Error("the endpoint was reached")
	}
}

func Example() {
	server := httptest.NewServer(&endpoint{answers: []string{`200 {"access_token": "ya29.a0", "expires_in": 3599}`}})
	defer server.Close()
	tokens := oauth.New(oauth.Config{
		TokenURL: server.URL, ClientID: "helpwright", RefreshToken: "1//04",
		Rotated: func(context.Context, string, string) error { return nil }, // keeps the new one
	})
	fmt.Println(tokens.Token(context.Background(), false))
	// Output: ya29.a0 <nil>
}

// strict is a token endpoint that takes each refresh token once, and gives another.
type strict struct {
	mu      sync.Mutex
	valid   string
	given   int
	refused int
}

func (e *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.PostFormValue("refresh_token") != e.valid {
		e.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
		return
	}
	e.given++
	e.valid = fmt.Sprintf("refresh-%d", e.given+1)
	_, _ = fmt.Fprintf(w, `{"access_token": "access-%d", "refresh_token": %q}`, e.given, e.valid)
}

// stored is where several processes keep the refresh token, as the help desk does.
type stored struct {
	mu    sync.Mutex
	token string
}

func (s *stored) kept(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, nil
}

func (s *stored) rotated(_ context.Context, old, next string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == old {
		s.token = next
	}
	return nil
}

// Two processes that renew the same grant at once both go on with it, and what is stored is valid.
func TestProcessesShareARefreshToken(t *testing.T) {
	t.Parallel()
	e, store := &strict{valid: "refresh-1"}, &stored{token: "refresh-1"}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	var processes []*oauth.Tokens
	for range 2 {
		processes = append(processes, oauth.New(oauth.Config{
			TokenURL: server.URL, ClientID: "client", RefreshToken: "refresh-1", Kept: store.kept, Rotated: store.rotated, Backoff: 100 * time.Millisecond,
		}))
	}
	for range 5 {
		var wait sync.WaitGroup
		for _, p := range processes {
			wait.Go(func() {
				if _, err := p.Token(t.Context(), true); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	if store.token != e.valid || e.given != 10 {
		t.Errorf("%q is stored, %q is valid; %d access tokens", store.token, e.valid, e.given)
	}
}

// A token that a user obtained by signing in again is used at once, and reported as a new beginning only if the one before was
// rejected.
func TestRenewedGrant(t *testing.T) {
	t.Parallel()
	e, store := &strict{valid: "refresh-1"}, &stored{token: "refresh-1"}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	tokens := oauth.New(oauth.Config{
		TokenURL: server.URL, ClientID: "client", RefreshToken: "refresh-1", Kept: store.kept, Rotated: store.rotated, Backoff: time.Millisecond,
	})
	token(t, tokens, false)
	if !tokens.Succeeds("refresh-2", "refresh-1") {
		t.Error("the one that the endpoint gave is a new beginning")
	}
	e.valid, store.token = "works", "works"
	tokens.Renew("works")
	if got := token(t, tokens, false); got != "access-2" || !tokens.Succeeds(store.token, "refresh-2") {
		t.Errorf("%q, %q", got, store.token)
	}
	e.valid = "again"
	if _, err := tokens.Token(t.Context(), true); !errors.Is(err, wire.ErrReauth) {
		t.Fatal(err)
	}
	before := store.token
	store.token = "again"
	tokens.Renew("again")
	if got := token(t, tokens, false); got != "access-3" || tokens.Succeeds(store.token, before) {
		t.Errorf("%q, %q", got, store.token)
	}
}
