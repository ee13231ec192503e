package helpdesk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

var providerKey = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// checkProviders notes what is wrong with providers.
func checkProviders(all []identity.Provider, problems *fault.Collector) {
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

// Providers are the servers that people can sign in with, as they were configured.
func (s SignIn) Providers() []identity.Provider { return slices.Clone(s.svc.cfg.Providers) }

func (s *Service) provider(key string) (identity.Provider, error) {
	for _, p := range s.cfg.Providers {
		if p.Key == key {
			return p, nil
		}
	}
	return identity.Provider{}, fault.Missing("identity provider", 0)
}

// providerOf finds a provider by its issuer.
func (s *Service) providerOf(issuer string) (identity.Provider, bool) {
	at := slices.IndexFunc(s.cfg.Providers, func(p identity.Provider) bool { return p.Issuer == issuer })
	if at < 0 {
		return identity.Provider{}, false
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
func (s *Service) chosenProvider(key string) (identity.Provider, bool) {
	if key = strings.TrimSpace(key); key == "" && len(s.cfg.Providers) == 1 {
		return s.cfg.Providers[0], true
	}
	p, err := s.provider(key)
	return p, err == nil
}
