package mail

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// dropInvisible removes HTML that shows nothing, such as a tracking pixel alone: the text beside it, or the invitation, is
// what was said. It must not win because it is the richer form.
func (p *parser) dropInvisible() {
	for n := range p.blocks {
		if b := &p.blocks[n]; b.html != "" && !visible(b.html) {
			if p.msg.sent == nil {
				text, page := p.join()
				p.msg.sent = &sent{text: text, html: page}
			}
			p.dropped = true
			b.html = ""
		}
	}
}

// unseen are elements whose content a page does not show.
var unseen = map[string]bool{"script": true, "style": true, "title": true, "template": true}

// hidingStyle matches style attributes that hide an element: senders put preview texts and pixels into such elements.
var hidingStyle = lazyregexp.New(`(?i)(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|%)?\s*(?:;|!|$)|max-height\s*:\s*0|opacity\s*:\s*0\s*(?:;|!|$))`)

// visible reports whether a page shows anything: text, or a picture that is more than a tracking pixel.
func visible(page string) bool {
	z := html.NewTokenizer(strings.NewReader(page))
	hidden, depth := "", 0 // the element that hides what is in it, and how many of its kind are open
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.TextToken:
			if hidden == "" && strings.TrimFunc(string(z.Text()), blankRune) != "" {
				return true
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			raw, more := z.TagName()
			name := string(raw)
			attributes := map[string]string{}
			for more && len(attributes) < 50 {
				var key, value []byte
				key, value, more = z.TagAttr()
				attributes[string(key)] = string(value)
			}
			_, hides := attributes["hidden"]
			hides = hides || unseen[name] || hidingStyle().MatchString(attributes["style"])
			switch {
			case hidden == name:
				depth++
			case hidden != "":
			case hides && !voidElement[name]:
				hidden, depth = name, 1
			case !hides && shows(name, attributes):
				return true
			}
		case html.EndTagToken:
			raw, _ := z.TagName()
			if string(raw) == hidden {
				if depth--; depth == 0 {
					hidden = ""
				}
			}
		}
	}
}

// voidElement are the elements without content that are found in mails.
var voidElement = map[string]bool{"img": true, "br": true, "hr": true, "meta": true, "link": true, "input": true, "base": true, "col": true, "wbr": true}

// shows reports whether an element shows something without any text.
func shows(name string, attributes map[string]string) bool {
	switch name {
	case "svg", "video", "audio", "object", "iframe", "math":
		return true
	case "img":
		return attributes["src"] != "" && !tiny(attributes["width"]) && !tiny(attributes["height"]) && !tinyStyle().MatchString(attributes["style"])
	}
	return attributes["background"] != "" || strings.Contains(attributes["style"], "url(")
}

var tinyStyle = lazyregexp.New(`(?i)(?:^|[;\s])(?:width|height|max-width)\s*:\s*[0-3](?:\.\d+)?(?:px|pt)?\s*(?:;|!|$)`)

// tiny reports whether a width or height is that of a tracking pixel.
func tiny(length string) bool {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(length), "px"))
	return err == nil && n <= 3
}

// blankRune reports whether a rune shows nothing: white space, and what senders pad preview texts with.
func blankRune(r rune) bool {
	switch r {
	case ' ', '\t', '\r', '\n', '\f', '\u00a0', '\u00ad', '\u034f', '\u180e', '\u2060', '\u3000', '\ufeff', '\u2800':
		return true
	}
	return r >= 0x2000 && r <= 0x200f || r >= 0x2028 && r <= 0x202f || r >= 0x205f && r <= 0x206f
}
