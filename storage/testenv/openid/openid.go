// Package openid runs an OpenID Connect provider for tests: that of zitadel/oidc, which is certified, over its storage in
// memory. Who signs in is chosen by the test, by a page without a password.
package openid

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The client that every provider knows.
const (
	ClientID     = "helpwright"
	ClientSecret = "a secret of the client"
)

// Person is somebody who can sign in.
type Person struct {
	Subject  string
	Email    string
	Verified bool
	Name     string
}

// Provider is a running provider.
type Provider struct {
	Issuer string
	people *people
}

// people implements [storage.UserStore].
type people struct {
	mu  sync.Mutex
	now storage.User // who signs in next
	all map[string]storage.User
}

const anyPassword = "any"

// SignIn makes somebody the one who signs in from now on.
func (p *Provider) SignIn(who Person) {
	first, last, _ := strings.Cut(who.Name, " ")
	p.people.mu.Lock()
	defer p.people.mu.Unlock()
	p.people.now = storage.User{ID: who.Subject, Username: who.Subject, Password: anyPassword, FirstName: first, LastName: last, Email: who.Email, EmailVerified: who.Verified}
	p.people.all[who.Subject] = p.people.now
}

func (p *people) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	if user, ok := p.all[id]; ok {
		return &user
	}
	return nil
}

func (p *people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }

func (p *people) ExampleClientID() string { return storage.ServiceUserID }

// Start runs a provider until the test ends, for a client whose browsers come back to redirectURL.
func Start(t testing.TB, redirectURL string) *Provider {
	t.Helper()
	all := &people{all: map[string]storage.User{}}
	kept := storage.NewStorageWithClients(all, map[string]*storage.Client{ClientID: storage.WebClient(ClientID, ClientSecret, redirectURL)})
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	provider, err := op.NewProvider(
		&op.Config{CryptoKey: sha256.Sum256([]byte("test")), CryptoKeyId: "test", CodeMethodS256: true, AuthMethodPost: true, SupportedScopes: []string{"openid", "profile", "email"}},
		kept, op.StaticIssuer(server.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		t.Fatal(err)
	}
	back := op.AuthCallbackURL(provider)
	inContext := op.NewIssuerInterceptor(provider.IssuerFromRequest)
	mux.Handle("GET /login/username", inContext.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		all.mu.Lock()
		name := all.now.Username
		all.mu.Unlock()
		if err := kept.CheckUsernamePassword(name, anyPassword, id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, back(r.Context(), id), http.StatusFound)
	}))
	mux.Handle("/", provider)
	return &Provider{Issuer: server.URL, people: all}
}
