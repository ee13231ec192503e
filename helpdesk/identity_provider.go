package helpdesk

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// IdentityProvider is another server that people can sign in with. Begin and Finish speak its protocol: package oidc has
// them for OpenID Connect.
type IdentityProvider struct {
	Key    string // names it in addresses: 1 to 32 of a-z, 0-9 and "-"
	Name   string // what people know it by, at most 50 characters
	Issuer string // what its subjects are kept with, such as https://id.example.org; unique

	// Domains are the mail domains that the provider vouches for: only whoever may have an address there gets it confirmed
	// by the provider. Only such an address finds the user who has it, and makes members by [JoinRule]s. "*" is all
	// domains, right only for a provider whose operators you trust with every user of this server: it can name any
	// address. None: users connect the provider themselves, while they are signed in, see [Admin.BeginLink].
	Domains []string

	// Begin returns where to send the browser, and what Finish needs to know of it then: a secret of at most 1,000 bytes.
	Begin func(ctx context.Context) (address string, secret []byte, err error)
	// Finish returns who has signed in, by the parameters that the browser came back with. An Unauthenticated fault is
	// somebody who has not; its Message may be shown.
	Finish func(ctx context.Context, secret []byte, answer url.Values) (ProvenIdentity, error)
}

// ProvenIdentity is who has signed in at an identity provider.
type ProvenIdentity struct {
	Subject       string // what the provider knows them by: never given to anybody else
	Email         string // "": not told
	EmailVerified bool   // by the provider
	Name          string // "": not told
	// SecondFactor: the sign-in counts as one with two factors, so that nobody is asked for a code here.
	SecondFactor bool
}

var providerKey = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// checkProviders notes what is wrong with providers.
func checkProviders(all []IdentityProvider, problems *fault.Collector) {
	keys, issuers := map[string]bool{}, map[string]bool{}
	for i, p := range all {
		field := func(name string) string { return fmt.Sprintf("Providers[%d].%s", i, name) }
		problems.Check(providerKey.MatchString(p.Key) && !keys[p.Key], field("Key"), "must be 1 to 32 of a-z, 0-9 and -, and unique")
		problems.Check(p.Name != "" && plain.Length(p.Name) <= 50, field("Name"), "must have 1 to 50 characters")
		problems.Check(p.Issuer != "" && !issuers[p.Issuer], field("Issuer"), "is required, and must be unique")
		problems.Check(p.Begin != nil, field("Begin"), "is required")
		problems.Check(p.Finish != nil, field("Finish"), "is required")
		for _, d := range p.Domains {
			problems.Check(d == "*" || mailaddr.Valid("a@"+d) && mailaddr.Fold(d) == d, field("Domains"), "must be * or domains in lower case, such as example.org")
		}
		keys[p.Key], issuers[p.Issuer] = true, true
	}
}

// believed reports whether the provider vouches for the addresses of a domain.
func (p IdentityProvider) believed(domain string) bool {
	return domain != "" && (slices.Contains(p.Domains, "*") || slices.Contains(p.Domains, domain))
}

// address is the address that the provider vouches for, and its domain; "" when it does for none.
func (p IdentityProvider) address(who ProvenIdentity) (email, domain string) {
	email = plain.Line(who.Email)
	if !who.EmailVerified || !mailaddr.Valid(email) {
		return "", ""
	}
	_, domain, _ = plain.CutLast(mailaddr.Key(email), "@")
	if !p.believed(domain) {
		return "", ""
	}
	return email, domain
}

// IdentityProviders are the servers that people can sign in with, as they were configured.
func (s *Service) IdentityProviders() []IdentityProvider { return slices.Clone(s.cfg.Providers) }

func (s *Service) provider(key string) (IdentityProvider, error) {
	for _, p := range s.cfg.Providers {
		if p.Key == key {
			return p, nil
		}
	}
	return IdentityProvider{}, fault.Missing("identity provider", 0)
}

// providerOf finds a provider by its issuer.
func (s *Service) providerOf(issuer string) (IdentityProvider, bool) {
	at := slices.IndexFunc(s.cfg.Providers, func(p IdentityProvider) bool { return p.Issuer == issuer })
	if at < 0 {
		return IdentityProvider{}, false
	}
	return s.cfg.Providers[at], true
}

// providerName is what people know an issuer by.
func (s *Service) providerName(issuer string) string {
	if p, known := s.providerOf(issuer); known {
		return p.Name
	}
	return issuer
}

// chosenProvider finds a provider by its key, or the only one for none.
func (s *Service) chosenProvider(key string) (IdentityProvider, bool) {
	if key = strings.TrimSpace(key); key == "" && len(s.cfg.Providers) == 1 {
		return s.cfg.Providers[0], true
	}
	p, err := s.provider(key)
	return p, err == nil
}
