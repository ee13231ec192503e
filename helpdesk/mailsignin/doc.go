// Package mailsignin signs mailboxes in to their providers with OAuth 2: the authorization code flow (RFC 6749, section 4.1)
// with PKCE (RFC 7636), at Google, at Microsoft, and at others that work alike. It knows no help desk: it says which account
// signed in and gives its refresh token, see [mailserver.Provider].
//
// It keeps nothing of a sign-in.
package mailsignin
