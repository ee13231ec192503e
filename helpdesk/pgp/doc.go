// Package pgp reads OpenPGP public keys (RFC 9580, RFC 4880) that mail is to be
// encrypted to. It takes exactly one key, and says why it takes none. It knows no
// help desk.
package pgp
