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

// The kinds of pages that stand for something in a site, as their addresses have
// them.
const (
	ArticlePages    = "articles"
	CollectionPages = "collections"
	CategoryPages   = "categories"
	FilePages       = "files"
)

// maxSlug is how many characters of a title an address takes.
const maxSlug = 80

// Slug is how a title stands in an address: its words in lower case and in their own
// script, with hyphens between them. A title without letters and digits has none.
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

// PagePath is where a page is below the URL of its site: its language, its kind, and
// its id with the slug of its title.
func PagePath(locale, kind string, id int64, title string) string {
	name := strconv.FormatInt(id, 10)
	if slug := Slug(title); slug != "" {
		name += "-" + slug
	}
	return "/" + locale + "/" + kind + "/" + url.PathEscape(name)
}

// ParsePageName reads the id of the last part of a page's path.
func ParsePageName(name string) (id int64, ok bool) {
	digits, _, _ := strings.Cut(name, "-")
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil && id > 0 && digits[0] >= '1' && digits[0] <= '9'
}

// FilePath is where a file is below the URL of its site.
func FilePath(f File) string {
	return "/" + FilePages + "/" + strconv.FormatInt(f.ID, 10) + "/" + f.URLKey + "/" + url.PathEscape(f.Filename)
}

// ownPaths begin the addresses of a site's pages, beside its languages.
var ownPaths = regexp.MustCompile(`^(-|articles|categories|collections|contact|files|search)$`)

// ofPages reports whether a path is where a site at the root of the host has pages.
func ofPages(path string) bool {
	_, isLocale := Locale(path)
	return isLocale || ownPaths.MatchString(path)
}

// parents are a locale and the less special ones behind it.
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
