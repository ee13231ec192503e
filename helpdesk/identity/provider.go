package identity

import (
	"context"
	"net/url"
	"slices"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/plain"
)

// Provider is an identity provider that people can sign in with. Begin and Finish speak its protocol; package oidc
// implements OpenID Connect.
type Provider struct {
	Key    string // its name in URLs: 1 to 32 of a-z, 0-9 and "-"
	Name   string // shown to users, at most 50 characters
	Issuer string // identifies it with each subject, such as https://id.example.org; unique

	// Domains are the mail domains that the provider vouches for: it confirms an address there only to its owner. Only such an
	// address finds the user who has it, and lets people join by [JoinRule]. "*" stands for all domains. It is right only for a
	// provider that you trust with every user of this server, because it can confirm any address. If empty, users link the
	// provider themselves while they are signed in, see helpdesk.Admin.BeginLink.
	Domains []string

	// Begin returns the address to send the browser to, and a secret of at most 1,000 bytes that Finish gets back.
	Begin func(ctx context.Context) (address string, secret []byte, err error)
	// Finish returns who has signed in, from the query parameters that the browser came back with. It returns an
	// Unauthenticated fault, whose Message may be shown, if nobody has.
	Finish func(ctx context.Context, secret []byte, answer url.Values) (Proven, error)
}

// Proven describes a person who has signed in at an identity provider.
type Proven struct {
	Subject       string // the provider's permanent id for the person
	Email         string // "": unknown
	EmailVerified bool   // by the provider
	Name          string // "": unknown
	// SecondFactor reports that the provider has checked two factors, so no code is asked for here.
	SecondFactor bool
}

// Vouches reports whether the provider vouches for the addresses of a domain.
func (p Provider) Vouches(domain string) bool {
	return domain != "" && (slices.Contains(p.Domains, "*") || slices.Contains(p.Domains, domain))
}

// AddressOf returns the address that the provider vouches for and its domain, "" if it vouches for none.
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
