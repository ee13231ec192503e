package helpdesk

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
	"golang.org/x/net/publicsuffix"
)

//go:embed providers.txt
var providerList string

var providers = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(providerList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all[line] = true
		}
	}
	return all
})

// publicProvider reports whether anybody can have an email address at a domain, or at its parent domain.
func publicProvider(domain string) bool {
	return providers()[domain] || providers()[organization(domain)]
}

// organization returns the registered domain, below which everything belongs to one owner (RFC 7489 section 3.2); "" for a
// public suffix and for anything but a domain.
func organization(domain string) string {
	if strings.ContainsAny(domain, "[]:") {
		return ""
	}
	registered, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		return ""
	}
	return registered
}

// colleagueDomain returns the organization of an address whose users work together; "" if anybody can have such an address.
func colleagueDomain(address string) string {
	_, domain, found := plain.CutLast(mailaddr.Key(address), "@")
	if !found || publicProvider(domain) {
		return ""
	}
	return organization(domain)
}
