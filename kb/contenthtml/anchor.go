package contenthtml

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"
)

const (
	maxAnchor   = 200       // characters of an id
	maxSlug     = 180       // characters of its heading that an anchor uses
	anchorless  = "section" // anchor of a heading without letters
	ownedPrefix = "hw-"     // prefix of the ids and classes of the page around the article
)

func reserved(name string) bool {
	return len(name) >= len(ownedPrefix) && strings.EqualFold(name[:len(ownedPrefix)], ownedPrefix)
}

// validAnchor reports whether an id may be kept: letters and digits of any script and "-", "_", ".", ":"; it begins with
// neither of the last two.
func validAnchor(id string) bool {
	if id == "" || utf8.RuneCountInString(id) > maxAnchor || reserved(id) {
		return false
	}
	for i, r := range id {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case letter, r == '-', r == '_', unicode.Is(unicode.Pc, r):
		case i > 0 && (unicode.IsMark(r) || r == '.' || r == ':' || unicode.IsNumber(r)):
		default:
			return false
		}
	}
	return true
}

// setAnchors gives each heading without an id one, and drops duplicate ids. Ids from the author take precedence.
func setAnchors(tokens []token) {
	taken := map[string]bool{}
	for i := range tokens {
		t := &tokens[i]
		id, ok := attrOf(t.attrs, "id")
		if !ok {
			continue
		}
		if taken[id] {
			t.attrs = without(t.attrs, "id")
		}
		taken[id] = true
	}
	next := map[string]int{}
	for i := range tokens {
		t := &tokens[i]
		if t.kind != html.StartTagToken || !openelements.IsHeading(t.data) {
			continue
		}
		if _, ok := attrOf(t.attrs, "id"); ok {
			continue
		}
		slug := slugOf(headingText(tokens[i:], maxSlug))
		id := slug
		for n := next[slug] + 1; taken[id]; n++ {
			id = slug + "-" + strconv.Itoa(n)
			next[slug] = n
		}
		taken[id] = true
		t.attrs = append([]html.Attribute{{Key: "id", Val: id}}, t.attrs...)
	}
}

func without(attrs []html.Attribute, key string) []html.Attribute {
	var out []html.Attribute
	for _, a := range attrs {
		if a.Key != key {
			out = append(out, a)
		}
	}
	return out
}

// slugOf makes an anchor from a heading's words as GitHub does, so that links into imported documents stay valid: lower
// case, a hyphen for each space, and otherwise only letters, digits, marks, hyphens and underscores of any script.
func slugOf(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range norm.NFC.String(text) {
		switch {
		case r == ' ':
			r = '-'
		case r == '-', unicode.IsLetter(r), unicode.IsMark(r) && n > 0, unicode.IsDigit(r), unicode.IsNumber(r) && n > 0, unicode.Is(unicode.Pc, r):
		default:
			continue
		}
		b.WriteRune(unicode.ToLower(r))
		if n++; n >= maxSlug {
			break
		}
	}
	slug := b.String()
	switch {
	case strings.Trim(slug, "-") == "":
		return anchorless
	case reserved(slug + "-"):
		return "h-" + slug
	}
	return slug
}

// maxHeadingTokens limits what is read of a heading, because headings can contain tables that contain headings.
const maxHeadingTokens = 1000

// headingText returns the words of the element that tokens begin with, limited to slightly more than limit characters.
func headingText(tokens []token, limit int) string {
	var b strings.Builder
	depth := 0
	for _, t := range tokens[:min(len(tokens), maxHeadingTokens)] {
		switch t.kind {
		case html.TextToken:
			b.WriteString(t.data)
		case html.StartTagToken:
			if t.data == "img" {
				alt, _ := attrOf(t.attrs, "alt")
				b.WriteString(" " + alt + " ")
			}
			if t.data == "br" {
				b.WriteByte(' ')
			}
			if !openelements.IsVoid(t.data) {
				depth++
			}
		case html.EndTagToken:
			depth--
		}
		if depth == 0 || b.Len() > 8*limit {
			break
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
