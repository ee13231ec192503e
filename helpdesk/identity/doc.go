// Package identity has the nouns of who may do what: accounts and their users, memberships with roles and permissions,
// invitations and join rules, and what people sign in with: passwords, second factors, passkeys, identity providers,
// sessions and access tokens. Their rules and the part of the store that keeps them are here; package helpdesk has the
// services that use them.
package identity
