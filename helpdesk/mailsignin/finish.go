package mailsignin

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	maxParameter = 4096            // bytes of a parameter of the browser
	maxToken     = 10_000          // bytes of a refresh token
	skew         = 5 * time.Minute // how far the provider's clock may be behind
)

func problem(kind fault.Kind, code, message string, err error) error {
	return &fault.Error{Kind: kind, Op: "mailsignin", Code: code, Message: message, Err: err}
}

func refused(err error) error {
	return problem(fault.Unauthenticated, mailserver.SignInRefused, "The sign-in could not be verified. Sign in again.", err)
}

func unreachable(err error) error {
	return problem(fault.Unavailable, mailserver.SignInUnreachable, "The mail provider does not answer as it should. Try again later.", err)
}

func misset(err error) error {
	return problem(fault.Unavailable, mailserver.SignInMisset, "The mail provider refuses this server's client id, secret or redirect address. Tell the operator.", err)
}

// codeOf returns the authorization code of an answer to this sign-in.
func codeOf(s secret, answer url.Values) (string, error) {
	for _, values := range answer {
		if len(values) != 1 || len(values[0]) > maxParameter {
			return "", refused(errors.New("the browser came back with parameters that no provider sends"))
		}
	}
	if !same(answer.Get("state"), s.State) {
		return "", refused(errors.New("the browser came back from another sign-in"))
	}
	switch code := answer.Get("error"); code {
	case "":
	case "access_denied", "consent_required", "interaction_required", "login_required", "account_selection_required":
		return "", problem(fault.Unauthenticated, mailserver.SignInDenied, "Access was not granted.", errors.New(code))
	case "server_error", "temporarily_unavailable":
		return "", unreachable(errors.New(code))
	default:
		return "", misset(errors.New("the provider says " + word(code)))
	}
	if answer.Get("code") == "" {
		return "", refused(errors.New("the browser came back without a code"))
	}
	return answer.Get("code"), nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// word makes an error code of a provider fit for a log.
func word(code string) string {
	code = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, code)
	return code[:min(len(code), 100)]
}

// exchangeFailed tells a code that is refused from a client that is, and both from an endpoint that does not work.
func exchangeFailed(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		// The error may quote the answer, which has tokens.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			return unreachable(failed.Err)
		}
		return unreachable(errors.New("the token endpoint gives no token that can be used"))
	}
	// The text of the error has the whole answer.
	said := errors.New("the token endpoint answers " + answer.Response.Status + " " + word(answer.ErrorCode))
	switch {
	case answer.Response.StatusCode >= http.StatusInternalServerError || answer.ErrorCode == "":
		return unreachable(said)
	case answer.ErrorCode == "invalid_grant":
		return refused(said)
	}
	return misset(said)
}

// claims are those of an ID token that are read (OpenID Connect Core 1.0, section 2).
type claims struct {
	Audience          several `json:"aud"`
	Expiry            float64 `json:"exp"`
	Nonce             string  `json:"nonce"`
	Email             string  `json:"email"`
	PreferredUsername string  `json:"preferred_username"` // Microsoft's name of an account, mostly its address
}

// several is a list of strings, or one alone.
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

// grant checks what the token endpoint gave.
func (c *client) grant(s secret, token *oauth2.Token) (mailserver.Grant, error) {
	raw, _ := token.Extra("id_token").(string)
	email, err := c.account(s, raw)
	if err != nil {
		return mailserver.Grant{}, err
	}
	if scope, _ := token.Extra("scope").(string); scope != "" { // else all were granted: RFC 6749, section 5.1
		granted := strings.Fields(strings.ToLower(scope))
		for _, wanted := range c.cfg.MailScopes {
			if !slices.Contains(granted, strings.ToLower(wanted)) {
				return mailserver.Grant{}, problem(fault.Unauthenticated, mailserver.SignInIncomplete,
					"Access to the mail was not granted. Sign in again and allow all of it.", errors.New("not granted: "+wanted))
			}
		}
	}
	if token.RefreshToken == "" || len(token.RefreshToken) > maxToken || strings.ContainsFunc(token.RefreshToken, unfit) {
		return mailserver.Grant{}, problem(fault.Unauthenticated, mailserver.SignInNoRefresh,
			"The provider grants no lasting access. Remove this app from the account's connected apps there, then sign in again.", nil)
	}
	return mailserver.Grant{Email: email, RefreshToken: token.RefreshToken}, nil
}

func unfit(r rune) bool { return r <= ' ' || r > '~' }

// account returns the address of the account of an ID token. It came from the token endpoint itself, so its signature need
// not be verified (OpenID Connect Core 1.0, section 3.1.3.7, rule 6).
func (c *client) account(s secret, idToken string) (string, error) {
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return "", refused(errors.New("the provider sent no ID token"))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var got claims
	if err != nil || json.Unmarshal(text, &got) != nil {
		return "", refused(errors.New("the ID token cannot be read"))
	}
	switch {
	case !slices.Contains(got.Audience, c.cfg.ClientID):
		return "", refused(errors.New("the ID token was made for another client"))
	case !same(got.Nonce, s.Nonce):
		return "", refused(errors.New("the ID token was made for another sign-in"))
	case c.cfg.Now().Add(-skew).After(time.Unix(int64(got.Expiry), 0)):
		return "", refused(errors.New("the ID token has expired: see that this machine's clock is right"))
	}
	for _, address := range []string{got.Email, got.PreferredUsername} {
		if mailaddr.Valid(address) {
			return address, nil
		}
	}
	return "", refused(errors.New("the provider does not say which address signed in"))
}

func join(scopes []string) string { return strings.Join(scopes, " ") }
