package mailserver

import (
	"context"
	"net/url"
)

// Provider is a provider of mailboxes whose servers accept the OAuth 2 access tokens of users who sign in there in their
// browsers; see package helpdesk/mailsignin.
type Provider struct {
	Key  string // its name in URLs: 1 to 32 of a-z, 0-9 and "-"
	Name string // shown to users, at most 50 characters

	Inbound, Outbound Address // IMAP and SMTP

	// ClientID and ClientSecret are what the operator got from the provider; the secret is "" for a public client. Only
	// TokenURL is sent the secret. Scope is asked for with each access token; "": what was granted.
	ClientID, ClientSecret, TokenURL, Scope string

	// SharedMailboxes means that a user may sign in to another mailbox of theirs by its address. Otherwise the user name is
	// always the address of the account that signed in.
	SharedMailboxes bool

	// Begin returns the address to send the browser to, and a secret of at most 1,000 bytes that Finish gets back. login is the
	// address that the user should sign in with; "": any.
	Begin func(login string) (address string, secret []byte, err error)
	// Finish returns what was granted, from the query parameters that the browser came back with. Faults have one of the codes
	// below.
	Finish func(ctx context.Context, secret []byte, answer url.Values) (Grant, error)
}

// Address is where a mail server listens.
type Address struct {
	Host       string
	Port       int
	Encryption Encryption
}

// Grant is the access to a mailbox that a user gave.
type Grant struct {
	Email        string // address of the account that signed in
	RefreshToken string
}

// Codes of the faults of a sign-in to a provider of mailboxes.
const (
	SignInExpired     = "mail_sign_in_expired"       // Unauthenticated: it took too long, or began elsewhere
	SignInDenied      = "mail_sign_in_denied"        // Unauthenticated: the user, or their organization, refused
	SignInRefused     = "mail_sign_in_refused"       // Unauthenticated: what came back proves nothing
	SignInIncomplete  = "mail_sign_in_incomplete"    // Unauthenticated: the user did not grant access to mail
	SignInNoRefresh   = "mail_sign_in_no_refresh"    // Unauthenticated: there is no refresh token, so access would end soon
	SignInOther       = "mail_sign_in_other_account" // Conflict: another account than that of the mailbox signed in
	SignInMisset      = "mail_sign_in_misset"        // Unavailable: the provider refuses this client: its id, secret or address
	SignInUnreachable = "mail_sign_in_unreachable"   // Unavailable: the provider does not answer, or not with what it should
)
