// Package oidc signs people in with an OpenID Connect provider: the authorization code flow of OpenID Connect Core 1.0 with
// PKCE (RFC 7636), and the issuer in the answer (RFC 9207). It knows no help desk: it says who somebody is at the provider,
// and what the provider says about them.
//
// It keeps nothing of a sign-in. [Provider.Begin] returns a secret to be kept for the browser, sealed, and [Provider.Finish]
// takes it.
package oidc
