package helpdesk

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// EmailKey normalises an email address for comparison: lower case, the domain in ASCII form (RFC
// 5891). Addresses with the same key are treated as the same. RFC 5321 allows servers to
// distinguish the case of local parts, but in practice none does.
func EmailKey(address string) string {
	address = strings.TrimSpace(address)
	local, domain, found := cutLast(address, "@")
	if !found {
		return foldCase(address)
	}
	if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(domain, ".")); err == nil {
		domain = ascii
	}
	return foldCase(local + "@" + domain)
}

// foldCase returns s in lower case for use as a key. It never turns a non-ASCII letter into an
// ASCII one, as lowering the Kelvin sign (U+212A) or the dotted capital I (U+0130) would, so that
// different addresses keep different mailboxes.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, s)
}

// ValidEmail reports whether address is a bare email address (RFC 5321 section 4.1.2, RFC 6531)
// with a domain, at most 254 bytes long.
func ValidEmail(address string) bool {
	if len(address) > 254 || strings.ContainsAny(address, "\r\n\t <>") || !utf8.ValidString(address) {
		return false
	}
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || parsed.Name != "" {
		return false
	}
	local, domain, _ := cutLast(address, "@")
	if len(local) > 64 {
		return false
	}
	if strings.HasPrefix(domain, "[") {
		return true // an address literal
	}
	_, err = idna.Lookup.ToASCII(domain)
	return err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// initials returns the first letters of the first and the last word.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) })
	var b strings.Builder
	for i, w := range words {
		if i == 0 || i == len(words)-1 {
			r, _ := utf8.DecodeRuneInString(w)
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}
