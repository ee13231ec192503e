package site

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
)

// dressed returns the HTML of an article for its page: without a first heading that repeats the title, with tables in
// scrollable boxes, and with classes instead of styles, as pages allow no style attributes. The classes are declared in
// styles.
func dressed(t kb.Translation) (html, styles string) {
	d := dresser{locale: t.Locale, styles: map[string]string{}}
	d.run(dropTitle(t.Content, t.Title))
	return d.out.String(), d.sheet()
}

// dropTitle removes a first h1 that repeats the title. Targets of links are kept.
func dropTitle(content, title string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(content), "<h1")
	if !ok {
		return content
	}
	inside, after, ok := strings.Cut(rest, "</h1>")
	attributes, words, _ := strings.Cut(inside, ">")
	if !ok || strings.Contains(words, "<") || strings.Join(strings.Fields(html.UnescapeString(words)), " ") != title {
		return content
	}
	if _, id, named := strings.Cut(attributes, `id="`); named {
		id, _, _ = strings.Cut(id, `"`)
		return `<span id="` + id + `"></span>` + after
	}
	return after
}

type dresser struct {
	locale string
	out    strings.Builder
	code   marker
	words  func(text string) string // transforms the next text; nil: unchanged
	tables int
	styles map[string]string // classes by declarations
	order  []string
}

// dressedElements occur in content that dressed changes.
var dressedElements = []string{"<table", "style=", "markdown-alert", "<pre"}

func (d *dresser) run(content string) {
	d.out.Grow(len(content) + len(content)/8)
	if !slices.ContainsFunc(dressedElements, func(s string) bool { return strings.Contains(content, s) }) {
		d.out.WriteString(content)
		return
	}
	z := html.NewTokenizer(strings.NewReader(content))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		raw := string(z.Raw())
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			d.start(raw, z.Token())
		case html.EndTagToken:
			name, _ := z.TagName()
			d.end(raw, string(name))
		default:
			d.text(raw)
		}
	}
}

func (d *dresser) start(raw string, t html.Token) {
	d.words = nil
	if i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "style" }); i >= 0 {
		d.styled(&t, i)
		raw = t.String()
	}
	switch t.Data {
	case "table":
		if d.tables++; d.tables == 1 {
			d.out.WriteString(`<div class="hw-table" tabindex="0">`)
		}
	case "pre": // it may need to scroll
		t.Attr = append(t.Attr, html.Attribute{Key: "tabindex", Val: "0"})
		raw = t.String()
	case "code":
		if language := classWith(t, "language-"); language != "" {
			d.words = func(text string) string { return d.code.mark(text, language) }
		}
	case "p":
		if slices.Contains(classes(t), "markdown-alert-title") {
			d.words = func(text string) string { return html.EscapeString(theme.Text(d.locale, text)) }
		}
	}
	d.out.WriteString(raw)
	if t.Data == "div" {
		d.out.WriteString(alertIcon(t))
	}
}

func (d *dresser) end(raw, name string) {
	d.words = nil
	d.out.WriteString(raw)
	if name == "table" && d.tables > 0 {
		if d.tables--; d.tables == 0 {
			d.out.WriteString("</div>")
		}
	}
}

func (d *dresser) text(raw string) {
	if d.words != nil {
		if shown := d.words(html.UnescapeString(raw)); shown != "" {
			raw = shown
		}
	}
	d.out.WriteString(raw)
}

// classes returns the classes of an element.
func classes(t html.Token) []string {
	i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "class" })
	if i < 0 {
		return nil
	}
	return strings.Fields(t.Attr[i].Val)
}

// classWith returns the rest of the first class that has a prefix.
func classWith(t html.Token, prefix string) string {
	for _, class := range classes(t) {
		if rest, ok := strings.CutPrefix(class, prefix); ok {
			return rest
		}
	}
	return ""
}

// alertIcon returns the icon of an alert, "" for other elements.
func alertIcon(t html.Token) string {
	switch kind := classWith(t, "markdown-alert-"); kind {
	case "", "title":
		return ""
	case "note":
		return string(theme.Icon("info"))
	default:
		return string(theme.Icon(kind))
	}
}

// maxStyles is the maximum number of different styles kept of an article.
const maxStyles = 200

// styled returns a class for a style.
func (d *dresser) styled(t *html.Token, at int) {
	declarations := t.Attr[at].Val
	t.Attr = slices.Delete(t.Attr, at, at+1)
	name, known := d.styles[declarations]
	if !known {
		if len(d.order) >= maxStyles || strings.ContainsAny(declarations, "{}<>@\\") {
			return
		}
		d.order = append(d.order, declarations)
		name = "hw-s" + strconv.Itoa(len(d.order))
		d.styles[declarations] = name
	}
	if i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "class" }); i >= 0 {
		t.Attr[i].Val += " " + name
		return
	}
	t.Attr = append(t.Attr, html.Attribute{Key: "class", Val: name})
}

// sheet returns the declarations of the classes.
func (d *dresser) sheet() string {
	var b strings.Builder
	for i, declarations := range d.order {
		b.WriteString(".hw-content .hw-s" + strconv.Itoa(i+1) + "{" + declarations + "}")
	}
	return b.String()
}

// hashSource returns the Content-Security-Policy source for an inline element's text.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
