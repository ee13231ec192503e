// Package passkey verifies passkeys for a help desk: WebAuthn Level 3, with discoverable credentials that verify their
// holders. It keeps nothing; see [identity.PasskeyVerifier] for who keeps what.
//
// Passkeys belong to the name of a host, and browsers offer them in secure contexts only: to pages at https, or at http on
// localhost.
package passkey

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// Origin returns the origin of the pages at an address, such as https://help.example.org. The error says why passkeys do not
// work there.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", errors.New("is not an address of pages")
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	switch {
	case u.Scheme != "https" && !local:
		return "", errors.New("does not begin with https://")
	case u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("does not begin with https:// or http://")
	}
	if _, err := netip.ParseAddr(host); err == nil || protocol.ValidateRPID(host) != nil {
		return "", errors.New("has no name of a host, such as help.example.org")
	}
	at := host
	if port := u.Port(); port != "" && (u.Scheme != "https" || port != "443") && (u.Scheme != "http" || port != "80") {
		at += ":" + port
	}
	return u.Scheme + "://" + at, nil
}

// Config configures a [Verifier].
type Config struct {
	// Address of the pages that people sign in at, such as https://help.example.org/desk. Required; see [Origin]. Passkeys
	// belong to its host and are lost when that changes.
	Address string
	// Name is what authenticators show the server as; "" means Helpwright.
	Name string
}

// Verifier is a [identity.PasskeyVerifier]. It is safe for concurrent use.
type Verifier struct {
	origin string
	lib    *webauthn.WebAuthn
}

var _ identity.PasskeyVerifier = (*Verifier)(nil)

// New returns a verifier. An address where passkeys do not work is an Invalid fault.
func New(cfg Config) (*Verifier, error) {
	origin, err := Origin(cfg.Address)
	if err != nil {
		return nil, fault.Field("Address", err.Error())
	}
	u, err := url.Parse(origin)
	if err != nil {
		return nil, fault.Field("Address", "is not an address of pages")
	}
	if cfg.Name == "" {
		cfg.Name = "Helpwright"
	}
	lib, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: cfg.Name, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		// None is asked for and none is read. Some password managers send them all the same.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "configuring passkeys", err)
	}
	return &Verifier{origin: origin, lib: lib}, nil
}

// Origin implements [identity.PasskeyVerifier].
func (v *Verifier) Origin() string { return v.origin }

// person is a user as the library knows one.
type person struct {
	handle            []byte
	name, displayName string
	credentials       []webauthn.Credential
}

func (p *person) WebAuthnID() []byte                         { return p.handle }
func (p *person) WebAuthnName() string                       { return p.name }
func (p *person) WebAuthnDisplayName() string                { return p.displayName }
func (p *person) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

func credentialOf(k identity.PasskeyKey) webauthn.Credential {
	c := webauthn.Credential{ID: k.CredentialID, PublicKey: k.PublicKey}
	for _, t := range k.Transports {
		c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
	}
	c.Flags.UserPresent, c.Flags.UserVerified, c.Flags.BackupEligible, c.Flags.BackupState = true, true, k.BackupEligible, k.BackedUp
	c.Authenticator.SignCount = uint32(k.SignCount) // it came from one
	return c
}

// algorithms of signatures, the preferred first.
func algorithms() []protocol.CredentialParameter {
	var all []protocol.CredentialParameter
	for _, a := range []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256} {
		all = append(all, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	return all
}

// BeginRegistration implements [identity.PasskeyVerifier].
func (v *Verifier) BeginRegistration(handle []byte, name, displayName string, others []identity.PasskeyKey) (options, secret []byte, err error) {
	p := &person{handle: handle, name: name, displayName: displayName}
	var exclude []protocol.CredentialDescriptor
	for _, k := range others {
		c := credentialOf(k)
		exclude = append(exclude, c.Descriptor())
	}
	creation, session, err := v.lib.BeginRegistration(p, webauthn.WithExclusions(exclude), webauthn.WithCredentialParameters(algorithms()))
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, "beginning to register a passkey", err)
	}
	return encode(creation.Response, kept{Challenge: session.Challenge})
}

// kept is what is remembered of a ceremony.
type kept struct {
	Challenge string `json:"challenge"`
}

func encode(response any, k kept) (options, secret []byte, err error) {
	if options, err = json.Marshal(response); err == nil {
		secret, err = json.Marshal(k)
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, "encoding the options of a passkey", err)
	}
	return options, secret, nil
}

// session is the library's view of what was remembered.
func (v *Verifier) session(secret []byte) (webauthn.SessionData, error) {
	var k kept
	if err := json.Unmarshal(secret, &k); err != nil || k.Challenge == "" {
		return webauthn.SessionData{}, refused(errors.New("there is nothing to finish"))
	}
	return webauthn.SessionData{
		Challenge: k.Challenge, RelyingPartyID: v.lib.Config.RPID, UserVerification: protocol.VerificationRequired, CredParams: algorithms(),
	}, nil
}

func refused(err error) error {
	return &fault.Error{
		Kind: fault.Unauthenticated, Code: identity.PasskeyRefused, Err: err,
		Message: "The passkey was not accepted. Try again, or use another one.",
	}
}

// FinishRegistration implements [identity.PasskeyVerifier].
func (v *Verifier) FinishRegistration(handle, secret, answer []byte) (identity.PasskeyKey, error) {
	session, err := v.session(secret)
	if err != nil {
		return identity.PasskeyKey{}, err
	}
	session.UserID = handle
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return identity.PasskeyKey{}, refused(err)
	}
	c, err := v.lib.CreateCredential(&person{handle: handle}, session, parsed)
	if err != nil {
		return identity.PasskeyKey{}, refused(err)
	}
	key := identity.PasskeyKey{
		CredentialID: c.ID, Handle: handle, PublicKey: c.PublicKey, SignCount: int64(c.Authenticator.SignCount),
		BackupEligible: c.Flags.BackupEligible, BackedUp: c.Flags.BackupState,
	}
	for _, t := range c.Transport {
		key.Transports = append(key.Transports, string(t))
	}
	return key, nil
}

// BeginSignIn implements [identity.PasskeyVerifier].
func (v *Verifier) BeginSignIn() (options, secret []byte, err error) {
	assertion, session, err := v.lib.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, "beginning to sign in with a passkey", err)
	}
	return encode(assertion.Response, kept{Challenge: session.Challenge})
}

// FinishSignIn implements [identity.PasskeyVerifier].
func (v *Verifier) FinishSignIn(secret, answer []byte, find func([]byte) (identity.PasskeyKey, error)) (identity.PasskeyKey, bool, error) {
	session, err := v.session(secret)
	if err != nil {
		return identity.PasskeyKey{}, false, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return identity.PasskeyKey{}, false, refused(err)
	}
	key, err := find(parsed.RawID)
	if err != nil {
		return identity.PasskeyKey{}, false, err
	}
	p := &person{handle: key.Handle, credentials: []webauthn.Credential{credentialOf(key)}}
	c, err := v.lib.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return p, nil }, session, parsed)
	if err != nil {
		return identity.PasskeyKey{}, false, refused(err)
	}
	key.SignCount, key.BackedUp = int64(c.Authenticator.SignCount), c.Flags.BackupState
	return key, c.Authenticator.CloneWarning, nil
}
