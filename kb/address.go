package kb

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// The kinds of pages, as they appear in the addresses of a site.
const (
	ArticlePages    = "articles"
	CollectionPages = "collections"
	CategoryPages   = "categories"
	FilePages       = "files"
)

// maxSlug limits a slug, in characters.
const maxSlug = 80

// Slug returns the form of a title for addresses: its words in lower case, in their own script, joined by hyphens. It is
// empty for a title without letters and digits.
func Slug(title string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range norm.NFC.String(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && n > 0 && !gap:
			if gap && n > 0 {
				b.WriteByte('-')
				n++
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
			n++
		case r != '\'' && r != '’' && r != '\u00AD' && r != '\u200C' && r != '\u200D':
			gap = true
		}
		if n >= maxSlug {
			break
		}
	}
	return b.String()
}

// PagePath returns the path of a page below the URL of its site: the language, the kind, and the id with the slug of the
// title.
func PagePath(locale, kind string, id int64, title string) string {
	name := strconv.FormatInt(id, 10)
	if slug := Slug(title); slug != "" {
		name += "-" + slug
	}
	return "/" + locale + "/" + kind + "/" + url.PathEscape(name)
}

// ParsePageName reads the id from the last segment of a page's path.
func ParsePageName(name string) (id int64, ok bool) {
	digits, _, _ := strings.Cut(name, "-")
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil && id > 0 && digits[0] >= '1' && digits[0] <= '9'
}

// FilePath returns the path of a file below the URL of its site.
func FilePath(f File) string {
	return "/" + FilePages + "/" + strconv.FormatInt(f.ID, 10) + "/" + f.URLKey + "/" + url.PathEscape(f.Filename)
}

// ownPaths matches the paths that a site uses for its own pages, besides its languages.
var ownPaths = regexp.MustCompile(`^(-|articles|categories|collections|contact|files|search)$`)

// pathOfPages returns why a path is kept for the pages of a site at the root of its host, or "".
func pathOfPages(path string) string {
	if _, isLocale := Locale(path); isLocale {
		return "is a language code, which addresses of pages begin with on a host of its own: choose a longer word"
	}
	if ownPaths.MatchString(path) {
		return "is a path that a site at the root of the host uses"
	}
	return ""
}

// parents returns a locale followed by its less specific parents.
func parents(locale string) []string {
	tag, err := language.Parse(locale)
	if err != nil {
		return []string{locale}
	}
	var all []string
	for at := tag; at != language.Und; at = at.Parent() {
		all = append(all, at.String())
	}
	return all
}
