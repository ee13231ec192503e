package contenthtml

import (
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// Passage is a block of text: a paragraph, an item of a list, a row of a table.
type Passage struct {
	Headings []Heading // it is under, the highest first
	Lead     string    // what introduces the list of an item: the passage before the list, if it ends with a colon
	Text     string    // one line
}

// MaxPassages is the number of passages at which Passages stops.
const MaxPassages = 2000

// Passages returns the blocks of text of cleaned HTML in order, without headings and preformatted text.
func Passages(cleaned string) []Passage {
	r := passageReader{}
	z := html.NewTokenizer(strings.NewReader(cleaned))
	for len(r.out) < MaxPassages {
		switch z.Next() {
		case html.ErrorToken:
			r.end()
			return r.out
		case html.TextToken:
			if r.aside == 0 && r.text.out.Len() < MaxText {
				r.text.text(string(z.Text()))
			}
		case html.StartTagToken:
			r.start(z.Token())
		case html.SelfClosingTagToken:
			if r.aside == 0 {
				r.text.tag(z.Token())
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			r.finish(string(name))
		}
	}
	return r.out
}

// passageReader collects passages.
type passageReader struct {
	out      []Passage
	headings []Heading
	open     *Heading // being read
	text     textWriter
	aside    int      // depth of elements that are left out
	leads    []string // of the lists that are open
}

func (r *passageReader) start(t html.Token) {
	switch {
	case t.Data == "pre" || skipped[t.Data]:
		r.end()
		r.aside++
	case r.aside > 0:
	case openelements.IsHeading(t.Data):
		r.end()
		id, _ := attrOf(t.Attr, "id")
		r.open = &Heading{Level: int(t.Data[1] - '0'), Anchor: id}
	case lines[t.Data] && t.Data != "br" && r.open == nil:
		r.end()
		if lists[t.Data] {
			r.leads = append(r.leads, r.lead())
		}
	default:
		r.text.tag(t)
		if t.Data == "br" {
			r.text.line, r.text.space = false, true
		}
	}
}

func (r *passageReader) finish(name string) {
	switch {
	case name == "pre" || skipped[name]:
		r.aside = max(r.aside-1, 0)
	case r.aside > 0:
	case r.open != nil && openelements.IsHeading(name):
		h := *r.open
		h.Text = strings.ReplaceAll(r.text.result(), "\n", " ")
		r.open, r.text = nil, textWriter{}
		for len(r.headings) > 0 && r.headings[len(r.headings)-1].Level >= h.Level {
			r.headings = r.headings[:len(r.headings)-1]
		}
		if h.Text != "" {
			r.headings = append(r.headings[:len(r.headings):len(r.headings)], h)
		}
	case lines[name] && r.open == nil:
		r.end()
		if n := len(r.leads); lists[name] && n > 0 {
			r.leads = r.leads[:n-1]
		}
	default:
		r.text.tag(html.Token{Data: name})
	}
}

// end ends a passage.
func (r *passageReader) end() {
	if r.open != nil {
		return
	}
	if text := strings.ReplaceAll(r.text.result(), "\n", " "); text != "" {
		lead := ""
		if n := len(r.leads); n > 0 {
			lead = r.leads[n-1]
		}
		r.out = append(r.out, Passage{Headings: r.headings, Lead: lead, Text: text})
	}
	r.text = textWriter{}
}

// lists are the elements whose items an introduction may belong to.
var lists = set("ul ol dl table")

// lead returns the introduction of a list that begins.
func (r *passageReader) lead() string {
	if len(r.out) == 0 {
		return ""
	}
	last := r.out[len(r.out)-1].Text
	if !strings.HasSuffix(last, ":") && !strings.HasSuffix(last, "：") {
		return ""
	}
	return last
}
