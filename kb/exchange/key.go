package exchange

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// MaxKey is the maximum length of a key in bytes. With a locale and an extension it fits the limits of file systems.
const MaxKey = 120

var decimal = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,15})?$`)

const needsNumber = "a decimal number is needed, such as 1 or 2.5"

// reserved matches the device names of Windows.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// ValidKey reports whether a text is a valid key: lower-case letters, digits, - and _, in any script.
func ValidKey(key string) bool {
	return key != "" && len(key) <= MaxKey && utf8.ValidString(key) && !reserved.MatchString(key) && slug(key) == key
}

// Keys assigns unique keys. The zero value is empty.
type Keys struct{ taken map[string]bool }

// Take records a key that is in use.
func (k *Keys) Take(key string) {
	if k.taken == nil {
		k.taken = map[string]bool{}
	}
	k.taken[key] = true
}

// New returns an unused key for a title: the second of equal titles gets -2. A title without letters and digits becomes the
// fallback.
func (k *Keys) New(title, fallback string) string {
	base := slug(title)
	if base == "" || reserved.MatchString(base) {
		base = slug(fallback + "-" + base)
	}
	key := base
	for n := 2; k.taken[key]; n++ {
		suffix := "-" + strconv.Itoa(n)
		key = shorten(base, MaxKey-len(suffix)) + suffix
	}
	k.Take(key)
	return key
}

// slug keeps letters, digits and their marks, and joins the parts with -.
func slug(s string) string {
	s = norm.NFC.String(cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(s, " "))))
	var b strings.Builder
	pending := false
	for _, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', unicode.IsMark(r) && b.Len() > 0 && !pending:
			if pending && b.Len() > 0 {
				b.WriteByte('-')
			}
			pending = false
			b.WriteRune(r)
		default:
			pending = true
		}
	}
	return shorten(b.String(), MaxKey)
}

func shorten(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	return strings.TrimRight(s, "-")
}

// validLocale reports a language tag as the service writes it.
func validLocale(s string) bool {
	tag, err := language.Parse(s)
	return err == nil && tag.String() == s
}

// validFileName reports whether a name in files is allowed by every file system.
func validFileName(name string) bool {
	if name == "" || len(name) > 255 || !utf8.ValidString(name) || strings.Trim(name, ". ") != name {
		return false
	}
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	return !reserved.MatchString(base) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r)
	})
}
