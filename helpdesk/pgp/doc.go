// Package pgp encrypts to OpenPGP public keys (RFC 9580, RFC 4880) of versions 4 and 6. [Parse] accepts exactly one key that
// can encrypt mail, and explains rejections; [Recipients] encrypts a message to several keys, without keeping it in memory.
// It does not depend on the help desk.
package pgp
