package helpdesk

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// EmailKey normalises a mail address for comparison: lower case, the domain in
// its ASCII form (RFC 5891). Addresses with the same key are the same address here,
// though RFC 5321 lets a server distinguish the case of local parts: none does.
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

// foldCase is s in lower case for use as a key. A letter beyond ASCII never becomes one
// of ASCII, as the Kelvin sign (U+212A) or the dotted capital I (U+0130) would: the
// mailbox of one address must not be that of another.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, s)
}

// ValidEmail reports whether address is a bare mail address (RFC 5321 section
// 4.1.2, RFC 6531), at most 254 bytes, with a domain.
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

// initials are the first letters of the first and the last word.
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
