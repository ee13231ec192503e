// Package mailaddr is the vocabulary of email addresses: what one is, which are valid, and which are the same. The help
// desk, the parser of mail and the servers share it.
package mailaddr

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Key normalises an email address for comparison: letters and their marks composed, lower case, the domain in ASCII form (RFC 5891). Addresses with the same
// key are treated as the same. RFC 5321 allows servers to distinguish the case of local parts, but in practice none does.
func Key(address string) string {
	address = composed(strings.TrimSpace(address))
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return Fold(address)
	}
	local, domain := address[:at], address[at+1:]
	if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(domain, ".")); err == nil {
		domain = ascii
	}
	return Fold(local + "@" + domain)
}

// composed joins letters with the marks after them (NFC), but leaves signs that merely look like letters as they are: the
// Kelvin sign is no K.
func composed(s string) string {
	if !strings.ContainsFunc(s, unicode.IsMark) || strings.ContainsFunc(s, func(r rune) bool { return norm.NFC.String(string(r)) != string(r) }) {
		return s
	}
	return norm.NFC.String(s)
}

// Fold returns s in lower case for use as a key. It never turns a non-ASCII letter into an ASCII one, as lowering the Kelvin
// sign (U+212A) or the dotted capital I (U+0130) would, so that different addresses keep different mailboxes.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, s)
}

// Valid reports whether address is a bare email address (RFC 5321 section 4.1.2, RFC 6531) with a domain, at most 254 bytes
// long.
func Valid(address string) bool {
	if len(address) > 254 || strings.ContainsAny(address, "\r\n\t <>") || !utf8.ValidString(address) {
		return false
	}
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || parsed.Name != "" {
		return false
	}
	at := strings.LastIndexByte(address, '@')
	domain := address[at+1:]
	if at > 64 {
		return false
	}
	if strings.HasPrefix(domain, "[") {
		return true // an address literal
	}
	_, err = idna.Lookup.ToASCII(domain)
	return err == nil
}

// Address is an email address with its display name.
type Address struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
}
