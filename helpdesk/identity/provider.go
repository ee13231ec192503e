package identity

import (
	"context"
	"net/url"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
)

// Provider is another server that people can sign in with. Begin and Finish speak its protocol: package oidc has
// them for OpenID Connect.
type Provider struct {
	Key    string // names it in addresses: 1 to 32 of a-z, 0-9 and "-"
	Name   string // what people know it by, at most 50 characters
	Issuer string // what its subjects are kept with, such as https://id.example.org; unique

	// Domains are the mail domains that the provider vouches for: only whoever may have an address there gets it confirmed
	// by the provider. Only such an address finds the user who has it, and makes members by [JoinRule]s. "*" is all
	// domains, right only for a provider whose operators you trust with every user of this server: it can name any
	// address. None: users connect the provider themselves, while they are signed in, see helpdesk.Admin.BeginLink.
	Domains []string

	// Begin returns where to send the browser, and what Finish needs to know of it then: a secret of at most 1,000 bytes.
	Begin func(ctx context.Context) (address string, secret []byte, err error)
	// Finish returns who has signed in, by the parameters that the browser came back with. An Unauthenticated fault is
	// somebody who has not; its Message may be shown.
	Finish func(ctx context.Context, secret []byte, answer url.Values) (Proven, error)
}

// Proven is who has signed in at an identity provider.
type Proven struct {
	Subject       string // what the provider knows them by: never given to anybody else
	Email         string // "": not told
	EmailVerified bool   // by the provider
	Name          string // "": not told
	// SecondFactor: the sign-in counts as one with two factors, so that nobody is asked for a code here.
	SecondFactor bool
}

// Vouches reports whether the provider vouches for the addresses of a domain.
func (p Provider) Vouches(domain string) bool {
	return domain != "" && (slices.Contains(p.Domains, "*") || slices.Contains(p.Domains, domain))
}

// AddressOf returns the address that the provider vouches for, and its domain; "" when it does for none.
func (p Provider) AddressOf(who Proven) (email, domain string) {
	email = plain.Line(who.Email)
	if !who.EmailVerified || !mailaddr.Valid(email) {
		return "", ""
	}
	_, domain, _ = plain.CutLast(mailaddr.Key(email), "@")
	if !p.Vouches(domain) {
		return "", ""
	}
	return email, domain
}
