// Package oidc signs people in with an OpenID Connect provider: the authorization code flow of OpenID Connect Core 1.0 with
// PKCE (RFC 7636) and the issuer in the response (RFC 9207). It does not depend on the help desk: it only returns the identity
// that the provider vouches for.
//
// It stores nothing. [Provider.Begin] returns a secret, which the caller seals and stores in the browser, and [Provider.Finish]
// expects it back.
package oidc
