package exchange

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
)

// fromRoot is the path from an article's folder to the folder of the site.
const fromRoot = "../../../"

// mapped returns a content with its addresses replaced.
func mapped(format Format, content string, f func(address string) string) string {
	if format == HTML {
		return contenthtml.MapAddresses(content, f)
	}
	return contenthtml.MapMarkdownAddresses(content, f)
}

// toPaths replaces the references in the content of an article by paths to their targets, in the article's language where
// such a file exists.
func (s *state) toPaths(format Format, content, locale string) string {
	return mapped(format, content, func(address string) string {
		if r, ok := kb.ParseReference(address); ok {
			if p := s.pathOf(r, locale); p != "" {
				return fromRoot + (&url.URL{Path: p}).EscapedPath() + r.Suffix
			}
		}
		return address
	})
}

// pathOf returns the path in the folder that a reference leads to, or "".
func (s *state) pathOf(r kb.Reference, locale string) string {
	if r.Kind == kb.FilePages {
		if s.files[r.ID].URLKey != r.URLKey {
			return ""
		}
		return "files/" + s.keys[kb.FileKey][r.ID]
	}
	t, known := s.texts[place{kindOf[r.Kind], r.ID}]
	if !known {
		return ""
	}
	return t.base + "." + t.in(locale) + ".md"
}

// place identifies a resource of the site, and textsAt says where its texts are.
type (
	place struct {
		kind kb.KeyKind
		id   int64
	}
	textsAt struct {
		base    string // path without the locale
		source  string
		locales map[string]bool
	}
)

var kindOf = map[string]kb.KeyKind{
	kb.ArticlePages: kb.ArticleKey, kb.CollectionPages: kb.CollectionKey, kb.CategoryPages: kb.CategoryKey,
}

// in returns the locale of the file that a link from a text in another locale leads to.
func (t textsAt) in(locale string) string {
	if t.locales[locale] {
		return locale
	}
	return t.source
}

func (s *state) noteTexts(kind kb.KeyKind, id int64, base string, t kb.Text) {
	at := textsAt{base: base, source: t.SourceLocale, locales: map[string]bool{}}
	for _, o := range t.Translations {
		at.locales[o.Locale] = true
	}
	s.texts[place{kind, id}] = at
}

// toReferences is the inverse of toPaths, for an article in a collection. Paths to nothing in the site stay unchanged.
func (s *state) toReferences(format Format, content, collection string) string {
	return mapped(format, content, func(address string) string {
		if r, ok := s.referenceTo(address, collection); ok {
			return r.String()
		}
		return address
	})
}

// referenceTo resolves a path from an article in a collection.
func (s *state) referenceTo(address, collection string) (kb.Reference, bool) {
	kind, key, suffix, ok := target(address, collection)
	if !ok {
		return kb.Reference{}, false
	}
	id := s.ids[kind][key]
	if id <= 0 || s.leaving[kind][key] { // missing, or not created yet
		return kb.Reference{}, false
	}
	if kind == kb.FileKey {
		f := s.files[id]
		return kb.Reference{Kind: kb.FilePages, ID: id, URLKey: f.URLKey, Filename: f.Filename, Suffix: suffix}, f.ID != 0
	}
	for pages, k := range kindOf {
		if k == kind {
			return kb.Reference{Kind: pages, ID: id, Suffix: suffix}, true
		}
	}
	return kb.Reference{}, false
}

// target parses a path from an article in a collection, without checking that its target exists.
func target(address, collection string) (kind kb.KeyKind, key, suffix string, ok bool) {
	to, suffix := splitSuffix(address)
	if to == "" || strings.HasPrefix(to, "/") || strings.Contains(to, ":") {
		return "", "", "", false
	}
	to, err := url.PathUnescape(to)
	if err != nil {
		return "", "", "", false
	}
	parts := strings.Split(path.Join("collections", collection, "articles", norm.NFC.String(to)), "/")
	if len(parts) == 2 && parts[0] == "files" {
		return kb.FileKey, parts[1], suffix, true
	}
	name, isText := strings.CutSuffix(parts[len(parts)-1], ".md")
	name, locale, named := strings.Cut(strings.TrimSuffix(name, ".draft"), ".")
	if parts[0] != "collections" || !isText || !named || !validLocale(locale) {
		return "", "", "", false
	}
	switch {
	case len(parts) == 3 && name == "index":
		return kb.CollectionKey, parts[1], suffix, true
	case len(parts) == 4 && parts[2] == "categories":
		return kb.CategoryKey, name, suffix, true
	case len(parts) == 4 && parts[2] == "articles":
		return kb.ArticleKey, name, suffix, true
	}
	return "", "", "", false
}

// splitSuffix splits an address before its query or fragment.
func splitSuffix(address string) (to, suffix string) {
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		return address[:i], address[i:]
	}
	return address, ""
}
