package contenthtml

import (
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// MaxText is the number of bytes at which Text stops.
const MaxText = 1 << 20

// skipped are elements whose content is not shown.
var skipped = set("script style title template iframe noembed noframes noscript object textarea select svg math")

// lines are the elements that start a new line.
var lines = set(`address article aside blockquote br caption details div dd dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr
	li ol p pre section summary table tr ul`)

// Text returns the words of HTML for search and previews: one line per block, single spaces, separated cells, images as
// their alternative text. The HTML need not be cleaned; scripts and styles are left out.
func Text(s string) string {
	w := textWriter{}
	z := html.NewTokenizer(strings.NewReader(s[:min(len(s), MaxInput)]))
	skip := ""
	for w.out.Len() < MaxText {
		switch z.Next() {
		case html.ErrorToken:
			return w.result()
		case html.TextToken:
			if skip == "" {
				w.text(string(z.Text()))
			}
		case html.StartTagToken:
			t := z.Token()
			if skip == "" && skipped[t.Data] {
				skip = t.Data
			} else if skip == "" {
				w.tag(t)
			}
		case html.SelfClosingTagToken:
			if skip == "" {
				w.tag(z.Token())
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if skip == "" {
				w.tag(html.Token{Data: string(name)})
			} else if string(name) == skip {
				skip = ""
			}
		}
	}
	return w.result()
}

type textWriter struct {
	out         strings.Builder
	line, space bool // to write before the next word
}

func (w *textWriter) tag(t html.Token) {
	switch {
	case lines[t.Data]:
		w.line = true
	case t.Data == "td", t.Data == "th":
		w.space = true
	case t.Data == "img":
		if alt, ok := attrOf(t.Attr, "alt"); ok {
			w.space = true
			w.text(alt)
			w.space = true
		}
	}
}

func (w *textWriter) text(s string) {
	if r, _ := utf8.DecodeRuneInString(s); s != "" && blank(r) {
		w.space = true
	}
	for i, word := range strings.FieldsFunc(s, blank) {
		w.word(word, i > 0)
	}
	if r, _ := utf8.DecodeLastRuneInString(s); s != "" && blank(r) {
		w.space = true
	}
}

func (w *textWriter) word(s string, spaced bool) {
	switch {
	case w.out.Len() == 0:
	case w.line:
		w.out.WriteByte('\n')
	case w.space || spaced:
		w.out.WriteByte(' ')
	}
	w.line, w.space = false, false
	w.out.WriteString(s)
}

func blank(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\f', '\u00A0', 0:
		return true
	}
	return false
}

func (w *textWriter) result() string {
	s := strings.ToValidUTF8(w.out.String(), "\uFFFD")
	if len(s) > MaxText {
		s = strings.ToValidUTF8(s[:MaxText], "") // a partial character
	}
	return s
}

// Heading is one entry of an article's table of contents.
type Heading struct {
	Level  int    // 1 to 6
	Anchor string // id of the heading; link to it with "#" and the escaped id
	Text   string
}

// MaxHeadings is the number of headings at which Headings stops.
const MaxHeadings = 500

// Headings returns the headings of cleaned HTML in order, except those without words.
func Headings(cleaned string) []Heading {
	var out []Heading
	var open *Heading
	var text textWriter
	z := html.NewTokenizer(strings.NewReader(cleaned))
	for len(out) < MaxHeadings {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			if open != nil && text.out.Len() < maxHeadingText {
				text.text(string(z.Text()))
			}
		case html.StartTagToken:
			t := z.Token()
			if openelements.IsHeading(t.Data) {
				id, _ := attrOf(t.Attr, "id")
				open, text = &Heading{Level: int(t.Data[1] - '0'), Anchor: id}, textWriter{}
			} else if open != nil {
				text.tag(t)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if open == nil || !openelements.IsHeading(string(name)) {
				continue
			}
			if open.Text = strings.ReplaceAll(text.result(), "\n", " "); open.Text != "" {
				out = append(out, *open)
			}
			open = nil
		}
	}
	return out
}

// Anchors returns the ids in cleaned content, which links may refer to.
func Anchors(cleaned string) []string {
	var out []string
	for z := html.NewTokenizer(strings.NewReader(cleaned)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			if id, ok := attrOf(z.Token().Attr, "id"); ok {
				out = append(out, id)
			}
		}
	}
}

const maxHeadingText = 2000 // bytes after which the rest of a heading is ignored
