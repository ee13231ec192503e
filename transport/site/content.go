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

// dressed is the content of an article as its page has it: without a first heading that
// says the title again, tables in a box of their own that can be scrolled, and styles
// as classes, since pages allow none in attributes.
func (v *visit) dressed(t kb.Translation) string {
	d := dresser{label: theme.Text(t.Locale, "Articles"), styles: map[string]string{}}
	d.run(dropTitle(t.Content, t.Title))
	v.styles = d.sheet()
	return d.out.String()
}

// dropTitle takes off a first h1 that is the title.
func dropTitle(content, title string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(content), "<h1")
	if !ok {
		return content
	}
	inside, after, ok := strings.Cut(rest, "</h1>")
	_, words, _ := strings.Cut(inside, ">")
	if !ok || strings.Contains(words, "<") || strings.Join(strings.Fields(html.UnescapeString(words)), " ") != title {
		return content
	}
	return after
}

type dresser struct {
	label  string
	out    strings.Builder
	tables int
	styles map[string]string // classes by declarations
	order  []string
}

func (d *dresser) run(content string) {
	if !strings.Contains(content, "<table") && !strings.Contains(content, "style=") && !strings.Contains(content, "markdown-alert") && !strings.Contains(content, "<pre") {
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
		t := z.Token()
		if t.Data == "table" && kind == html.StartTagToken {
			if d.tables++; d.tables == 1 {
				d.out.WriteString(`<div class="hw-table" tabindex="0">`)
			}
		}
		if i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "style" }); i >= 0 && (kind == html.StartTagToken || kind == html.SelfClosingTagToken) {
			d.styled(&t, i)
			raw = t.String()
		}
		if kind == html.StartTagToken && t.Data == "pre" { // it may have to be scrolled
			t.Attr = append(t.Attr, html.Attribute{Key: "tabindex", Val: "0"})
			raw = t.String()
		}
		d.out.WriteString(raw)
		if kind == html.StartTagToken && t.Data == "div" {
			d.out.WriteString(alertIcon(t))
		}
		if t.Data == "table" && kind == html.EndTagToken && d.tables > 0 {
			if d.tables--; d.tables == 0 {
				d.out.WriteString("</div>")
			}
		}
	}
}

// alertIcon is what an alert begins with, "" for anything else.
func alertIcon(t html.Token) string {
	for _, a := range t.Attr {
		if a.Key != "class" {
			continue
		}
		for class := range strings.FieldsSeq(a.Val) {
			if kind, ok := strings.CutPrefix(class, "markdown-alert-"); ok && kind != "title" {
				if kind == "note" {
					kind = "info"
				}
				return string(theme.Icon(kind))
			}
		}
	}
	return ""
}

// maxStyles is how many different styles an article keeps.
const maxStyles = 200

// styled makes a class of a style.
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

// sheet declares the classes.
func (d *dresser) sheet() string {
	var b strings.Builder
	for i, declarations := range d.order {
		b.WriteString(".hw-content .hw-s" + strconv.Itoa(i+1) + "{" + declarations + "}")
	}
	return b.String()
}

// hashSource is the source of a Content-Security-Policy for an element's text.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
