// Package mailserver has the vocabulary of connections to mail servers, for the servers that mail is fetched from and for
// the relays that send it.
package mailserver

// Encryption of a connection. Its values are those of the API.
type Encryption string

// The encryptions. None falls back to another: a server that does not offer the one that is asked for is not used.
const (
	TLS      Encryption = "SSL"  // implicit TLS, from the first byte (RFC 8314)
	STARTTLS Encryption = "TLS"  // upgrade of a plain connection: STARTTLS (RFC 9051, RFC 3207) or STLS (RFC 2595)
	None     Encryption = "NONE" // a plain connection
)

// Valid reports whether e is one of the encryptions.
func (e Encryption) Valid() bool { return e == TLS || e == STARTTLS || e == None }

// Cursor is a position in a folder of an IMAP server: the last UID taken, valid under one UIDVALIDITY (RFC 9051, section
// 2.3.1.1). The zero Cursor is before the first message.
type Cursor struct{ UIDValidity, UID uint32 }
