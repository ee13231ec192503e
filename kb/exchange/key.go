package exchange

import (
	"cmp"
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
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)

// ValidKey reports whether a text is a valid key: lower-case letters, digits, - and _, in any script.
func ValidKey(key string) bool {
	return key != "" && len(key) <= MaxKey && utf8.ValidString(key) && !reserved.MatchString(key) && slug(key) == key
}

// Keys assigns unique keys. Keys that differ only in case or in how letters are composed count as equal, because many file
// systems take them for one. The zero value is empty.
type Keys struct{ taken map[string]bool }

// Take records a key that is in use.
func (k *Keys) Take(key string) {
	if k.taken == nil {
		k.taken = map[string]bool{}
	}
	k.taken[folded(key)] = true
}

// folded returns what file systems that ignore case, composition and invisible characters compare.
func folded(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
	return norm.NFC.String(cases.Fold().String(name))
}

// New returns an unused key for a title: the second of equal titles gets -2. A title without letters and digits becomes the
// fallback.
func (k *Keys) New(title, fallback string) string {
	base := slug(title)
	if base == "" || reserved.MatchString(base) {
		base = slug(fallback + "-" + base)
	}
	return k.free(base, "", MaxKey)
}

// NewFile returns an unused name for a file: its own, or the closest that every system takes. The second of equal names
// gets -2.
func (k *Keys) NewFile(name string) string {
	name = norm.NFC.String(name)
	base, extension := cutExtension(name)
	if !validFileName(name) {
		base, extension = cmp.Or(slug(base), "file"), slug(extension)
		if reserved.MatchString(base) {
			base = "file-" + base
		}
		if extension != "" {
			extension = "." + extension
		}
	}
	return k.free(base, extension, maxFileName)
}

// cutExtension splits a name before its last dot.
func cutExtension(name string) (base, extension string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// free takes the first unused key of base and extension, with a number if that is needed.
func (k *Keys) free(base, extension string, limit int) string {
	key := base + extension
	for n := 2; k.taken[folded(key)]; n++ {
		suffix := "-" + strconv.Itoa(n) + extension
		key = shorten(base, limit-len(suffix)) + suffix
	}
	k.Take(key)
	return key
}

// slug keeps letters, digits and their marks, and joins the parts with -. The slug of a slug is itself: folding a letter can
// give one that folds again.
func slug(s string) string {
	for range 4 {
		again := slugOnce(s)
		if again == s {
			break
		}
		s = again
	}
	return s
}

func slugOnce(s string) string {
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

// maxFileName is the maximum length of a name in files in bytes.
const maxFileName = 255

// validFileName reports whether a name in files is allowed by every file system, and composed as [Read] returns it.
func validFileName(name string) bool {
	if name == "" || len(name) > maxFileName || !utf8.ValidString(name) || !norm.NFC.IsNormalString(name) || strings.Trim(name, ". ") != name {
		return false
	}
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	return !reserved.MatchString(strings.TrimRight(base, " ")) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r)
	})
}
