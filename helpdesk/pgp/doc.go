// Package pgp encrypts to OpenPGP public keys (RFC 9580, RFC 4880), of version 4 and
// 6. [Parse] takes exactly one key that mail can be encrypted to, and says why it
// takes none; [Recipients] encrypt a message to several, without keeping it in memory.
// It knows no help desk and no mail.
package pgp
