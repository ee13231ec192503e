package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/oidc"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/desk"
	"github.com/helpwright/helpwright/transport/server"
)

// openIDKey names the provider in addresses.
const openIDKey = "oidc"

// checkOpenID validates the settings of the identity provider.
func (s *Settings) checkOpenID(problems *fault.Collector) {
	if s.OIDCIssuer == "" {
		for name, value := range map[string]string{
			"HELPWRIGHT_OIDC_CLIENT_ID": s.OIDCClientID, "HELPWRIGHT_OIDC_CLIENT_SECRET": s.OIDCClientSecret, "HELPWRIGHT_OIDC_NAME": s.OIDCName,
			"HELPWRIGHT_OIDC_DOMAINS": strings.Join(s.OIDCDomains, ""),
		} {
			problems.Check(value == "", name, "needs HELPWRIGHT_OIDC_ISSUER too")
		}
		return
	}
	if err := oidc.CheckIssuer(s.OIDCIssuer); err != nil {
		problems.Add("HELPWRIGHT_OIDC_ISSUER", err.Error())
	}
	problems.Check(s.OIDCClientID != "", "HELPWRIGHT_OIDC_CLIENT_ID", "is required with HELPWRIGHT_OIDC_ISSUER: the provider shows it where you have registered "+s.openIDRedirect())
	problems.Check(len([]rune(s.OIDCName)) <= 50, "HELPWRIGHT_OIDC_NAME", "must have at most 50 characters")
	problems.Check(oidc.ValidRule(s.OIDCSecondFactor), "HELPWRIGHT_OIDC_SECOND_FACTOR", "must be never, amr, always, or acr= and a value")
	_, err := s.openIDDomains()
	problems.Check(err == nil, "HELPWRIGHT_OIDC_DOMAINS", "must be domains, such as example.org, or *")
}

// openIDDomains returns the domains for which the provider verifies addresses, in ASCII.
func (s *Settings) openIDDomains() ([]string, error) {
	var all []string
	for _, d := range s.OIDCDomains {
		if d = strings.TrimSpace(d); d == "*" {
			all = append(all, d)
			continue
		}
		ascii, err := idna.Lookup.ToASCII(strings.ToLower(strings.TrimPrefix(d, "@")))
		if err != nil || !mailaddr.Valid("a@"+ascii) {
			return nil, errors.New("no domain: " + d)
		}
		all = append(all, ascii)
	}
	return all, nil
}

// openIDRedirect returns the address to register at the provider.
func (s *Settings) openIDRedirect() string {
	return strings.TrimRight(s.baseURL(), "/") + server.DeskPath + desk.SignInWithPath(openIDKey)
}

// openID returns the identity provider of the settings, nil if there is none.
func (s *session) openID() (*oidc.Provider, error) {
	set := s.settings
	if set.OIDCIssuer == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	return oidc.New(oidc.Config{
		Issuer: set.OIDCIssuer, ClientID: set.OIDCClientID, ClientSecret: set.OIDCClientSecret, RedirectURL: set.openIDRedirect(),
		SecondFactor: set.OIDCSecondFactor, Now: s.now,
	})
}

// identityProviders adapts the identity provider to the help desk.
func (s *session) identityProviders() ([]identity.Provider, error) {
	p, err := s.openID()
	if p == nil || err != nil {
		return nil, err
	}
	domains, err := s.settings.openIDDomains()
	if err != nil {
		return nil, err
	}
	name := s.settings.OIDCName
	if u, err := url.Parse(s.settings.OIDCIssuer); name == "" && err == nil {
		name = u.Hostname()
	}
	return []identity.Provider{{
		Key: openIDKey, Name: name, Issuer: s.settings.OIDCIssuer, Domains: domains, Begin: p.Begin,
		Finish: func(ctx context.Context, secret []byte, answer url.Values) (identity.Proven, error) {
			who, err := p.Finish(ctx, secret, answer)
			return identity.Proven(who), err
		},
	}}, nil
}

// openID checks the identity provider.
func (d *doctor) openID() {
	p, err := d.session.openID()
	if p != nil && err == nil {
		err = p.Check(d.ctx)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Err != nil {
			err = f.Err
		}
	}
	if p == nil && err == nil {
		return
	}
	const what = "identity provider (HELPWRIGHT_OIDC_ISSUER)"
	if d.check(what, err, "see that this machine reaches "+d.settings.OIDCIssuer+"/.well-known/openid-configuration, and that the issuer named there is the same to the letter") {
		d.note(what, "register "+d.settings.openIDRedirect()+" as the redirect address of the client there")
	}
}
