package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Identity is the person who signed in.
type Identity struct {
	Subject       string // the provider's permanent id for them
	Email         string // "": unknown
	EmailVerified bool   // by the provider
	Name          string // "": unknown
	SecondFactor  bool   // see Config.SecondFactor
}

// claims are the claims used from ID tokens and user info: OpenID Connect Core 1.0, sections 2 and 5.1.
type claims struct {
	Email         string  `json:"email"`
	EmailVerified truth   `json:"email_verified"`
	Name          string  `json:"name"`
	AMR           several `json:"amr"`
	ACR           string  `json:"acr"`
	AZP           string  `json:"azp"`
}

// truth is a boolean that some providers write as a string.
type truth bool

// UnmarshalJSON implements [json.Unmarshaler].
func (t *truth) UnmarshalJSON(text []byte) error {
	*t = string(text) == "true" || string(text) == `"true"`
	return nil
}

// several is a list of strings; some providers send a single string.
type several []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *several) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*s = several{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(s))
}

// Finish returns who signed in, given the secret from Begin and the query parameters that the browser returned with.
// The error is a fault with code Refused, Denied or Unreachable.
func (p *Provider) Finish(ctx context.Context, kept []byte, answer url.Values) (Identity, error) {
	var s secret
	if err := json.Unmarshal(kept, &s); err != nil || s.State == "" || s.Nonce == "" || s.Verifier == "" {
		return Identity{}, refused(errors.New("there is no sign-in to finish"))
	}
	d, err := p.discovery(ctx)
	if err != nil {
		return Identity{}, err
	}
	code, err := p.code(d, s, answer)
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	cfg := p.config(d)
	token, err := cfg.Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return Identity{}, exchangeFailed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, refused(errors.New("the provider sent no ID token"))
	}
	verifier := d.VerifierContext(ctx, &oidc.Config{ClientID: p.cfg.ClientID, Now: p.cfg.Now})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		if errors.Is(err, errTooLarge) || strings.Contains(err.Error(), "fetching keys") {
			return Identity{}, unreachable(err)
		}
		return Identity{}, refused(err)
	}
	if !same(id.Nonce, s.Nonce) {
		return Identity{}, refused(errors.New("the ID token belongs to another sign-in"))
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return Identity{}, refused(err)
	}
	if c.AZP != "" && c.AZP != p.cfg.ClientID || c.AZP == "" && len(id.Audience) > 1 { // section 3.1.3.7, rules 4 and 5
		return Identity{}, refused(errors.New("the ID token is for another client"))
	}
	if c.Email == "" {
		if err := p.ask(ctx, d, token, id.Subject, &c); err != nil {
			return Identity{}, err
		}
	}
	return Identity{Subject: id.Subject, Email: c.Email, EmailVerified: bool(c.EmailVerified), Name: c.Name, SecondFactor: p.strong(c)}, nil
}

// code returns the authorization code from the response to this sign-in.
func (p *Provider) code(d *discovered, s secret, answer url.Values) (string, error) {
	for _, values := range answer {
		if len(values) != 1 || len(values[0]) > maxParameter {
			return "", refused(errors.New("the browser returned with invalid parameters"))
		}
	}
	if !same(answer.Get("state"), s.State) {
		return "", refused(errors.New("the browser returned from another sign-in"))
	}
	if issuer := answer.Get("iss"); issuer != p.cfg.Issuer && (issuer != "" || d.named) { // RFC 9207 section 2.4
		return "", refused(errors.New("the response is from another provider"))
	}
	if text := answer.Get("error"); text != "" {
		return "", denied(errors.New("the provider says " + text))
	}
	if answer.Get("code") == "" {
		return "", refused(errors.New("the browser returned without a code"))
	}
	return answer.Get("code"), nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// exchangeFailed distinguishes a provider that rejects a code from one that does not work.
func exchangeFailed(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError && answer.ErrorCode == "invalid_grant" {
		return refused(errors.New("the provider rejected the code (invalid_grant)"))
	}
	if ok { // its text may contain user data
		return unreachable(errors.New("the token endpoint answered " + answer.Response.Status + " " + answer.ErrorCode))
	}
	return unreachable(err)
}

// ask gets what the ID token lacks from the user info endpoint.
func (p *Provider) ask(ctx context.Context, d *discovered, token *oauth2.Token, subject string, c *claims) error {
	if d.UserInfoEndpoint() == "" {
		return nil
	}
	if err := CheckEndpoint(d.UserInfoEndpoint()); err != nil {
		return unreachable(err)
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return unreachable(err)
	}
	if info.Subject != subject { // section 5.3.2
		return refused(errors.New("the user info is about someone else"))
	}
	var more claims
	if err := info.Claims(&more); err != nil {
		return refused(err)
	}
	c.Email, c.EmailVerified = more.Email, more.EmailVerified
	if c.Name == "" {
		c.Name = more.Name
	}
	return nil
}

// strong reports whether the sign-in counts as one with two factors. Only the ID token says so.
func (p *Provider) strong(c claims) bool {
	switch rule := p.cfg.SecondFactor; rule {
	case Always:
		return true
	case Reported:
		return slices.Contains(c.AMR, "mfa")
	default:
		acr, named := strings.CutPrefix(rule, WithACR)
		return named && c.ACR == acr
	}
}
