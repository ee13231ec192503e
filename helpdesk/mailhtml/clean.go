package mailhtml

import (
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// Limits of Clean. Excess bytes are cut off; elements nested too deeply lose their tags.
const (
	MaxInput  = 16 << 20 // bytes that Clean reads
	MaxOutput = 8 << 20  // bytes that Clean returns
	MaxDepth  = 100      // nested elements
)

// Clean returns HTML that is safe to display. It keeps only elements, attributes and styles of text, lists, tables and
// images; links with http, https, mailto and tel; images with http, https, cid and data (png, jpeg, gif, webp). It removes
// scripts, handlers, forms, frames, style sheets, and styles that could leave the message's box. Links open a new window
// with rel="noopener noreferrer nofollow". Every element is closed.
//
// Clean(Clean(s)) == Clean(s). Images on other servers stay; see [RewriteImages].
func Clean(s string) string {
	if len(s) > MaxInput {
		s = s[:MaxInput]
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	b := newBalancer()
	z := html.NewTokenizer(strings.NewReader(policy().Sanitize(s)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.finish()
		case html.TextToken:
			b.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			b.start(t.Data, t.Attr)
		case html.EndTagToken:
			name, _ := z.TagName()
			b.Close(string(name))
		}
		if b.full {
			return b.finish()
		}
	}
}

var elements = []string{
	"a", "abbr", "address", "article", "aside", "b", "bdi", "bdo", "big", "blockquote", "br", "caption", "center", "cite",
	"code", "col", "colgroup", "dd", "del", "details", "dfn", "dir", "div", "dl", "dt", "em", "figcaption", "figure", "font",
	"footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "img", "ins", "kbd", "li", "main", "mark", "nav", "ol",
	"p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup",
	"table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
}

var known = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range elements {
		m[e] = true
	}
	return m
}()

// policy is the allow list. The values of style, class, id, href and src are checked again when the tags are written.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(elements...)
	p.AllowNoAttrs().OnElements(elements...)
	p.AllowAttrs("style", "class", "id", "dir", "lang", "title", "align", "valign", "bgcolor", "color", "width", "height").Globally()
	p.AllowAttrs("href", "name").OnElements("a")
	p.AllowAttrs("src", "alt", "border", "hspace", "vspace").OnElements("img")
	p.AllowAttrs("face", "size").OnElements("font")
	p.AllowAttrs("border", "cellpadding", "cellspacing", "summary").OnElements("table")
	p.AllowAttrs("colspan", "rowspan", "nowrap", "abbr", "scope", "headers").OnElements("td", "th")
	p.AllowAttrs("span").OnElements("col", "colgroup")
	p.AllowAttrs("start", "type", "reversed").OnElements("ol", "ul", "li")
	p.AllowAttrs("value").OnElements("li")
	p.AllowAttrs("type", "cite").OnElements("blockquote")
	p.AllowAttrs("size", "noshade").OnElements("hr")
	p.AllowAttrs("clear").OnElements("br")
	p.AllowAttrs("datetime").OnElements("time", "del", "ins")
	p.AllowURLSchemes("http", "https", "mailto", "tel", "cid")
	p.AllowDataURIImages()
	p.AllowRelativeURLs(true)     // only for "//host"; others are dropped when written
	p.RequireParseableURLs(false) // cleanURL reads them as browsers do
	return p
})

var (
	// (^) rather than ^ keeps regexp from compiling it for one pass, which takes 4 MB.
	plainValue = lazyregexp.New(`(^)[\pL\pN #%.,:;()_+*/'!?&-]{0,200}$`)
	dataImage  = lazyregexp.New(`(?i)^data:image/(png|jpe?g|gif|webp);base64,[a-z0-9+/=\s]+$`)
	// markers are the classes and ids with which mailers mark quotes.
	markers = map[string]bool{
		"gmail_quote": true, "gmail_quote_container": true, "gmail_attr": true, "gmail_extra": true, "gmail_signature": true,
		"gmail_default": true, "yahoo_quoted": true, "yahoo_quoted_begin": true, "moz-cite-prefix": true, "moz-forward-container": true,
		"moz-signature": true, "protonmail_quote": true, "outlookmessageheader": true, "tutanota_quote": true, "zmail_extra": true,
		"quote": true, "divrplyfwdmsg": true, "appendonsend": true, "isforwardcontent": true, "isreplycontent": true,
		"mail-editor-reference-message-container": true, "ms-outlook-mobile-reference-message": true, "reply-intro": true,
	}
)

// cleanAttrs returns the attributes of a tag to be written.
func cleanAttrs(tag string, in []html.Attribute) []html.Attribute {
	out := make([]html.Attribute, 0, len(in)+2)
	seen := map[string]bool{}
	for _, a := range in {
		if seen[a.Key] || len(out) > 30 {
			continue
		}
		seen[a.Key] = true
		ok := true
		switch a.Key {
		case "href":
			a.Val, ok = cleanURL(a.Val, "http", "https", "mailto", "tel")
		case "src":
			if dataImage().MatchString(a.Val) {
				break
			}
			a.Val, ok = cleanURL(a.Val, "http", "https", "cid")
		case "cite":
			a.Val, ok = cleanURL(a.Val, "http", "https", "mailto", "cid")
		case "style":
			a.Val = cleanStyle(a.Val)
			ok = a.Val != ""
		case "class", "id":
			a.Val = cleanMarkers(a.Val, a.Key == "id")
			ok = a.Val != ""
		case "name":
			ok = false
		case "target", "rel":
			ok = false // written below
		case "alt", "title", "summary", "abbr":
		default:
			ok = plainValue().MatchString(a.Val)
		}
		if ok {
			out = append(out, html.Attribute{Key: a.Key, Val: a.Val})
		}
	}
	if tag == "a" && seen["href"] && hasAttr(out, "href") {
		out = append(out, html.Attribute{Key: "rel", Val: "noopener noreferrer nofollow"}, html.Attribute{Key: "target", Val: "_blank"})
	}
	return out
}

func hasAttr(attrs []html.Attribute, key string) bool {
	for _, a := range attrs {
		if a.Key == key {
			return true
		}
	}
	return false
}

// cleanURL returns an address of one of the schemes, read as browsers read it (WHATWG URL Standard): blanks around it and line
// breaks in it do not count, and other blanks are encoded. A percent sign may stand for itself.
func cleanURL(s string, schemes ...string) (string, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "", " ", "%20").Replace(s)
	if strings.HasPrefix(s, "//") {
		s = "https:" + s
	}
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		return "", false
	}
	for _, want := range schemes {
		if strings.EqualFold(scheme, want) {
			return s, true
		}
	}
	return "", false
}

func cleanMarkers(s string, id bool) string {
	var keep []string
	for _, w := range strings.Fields(s) {
		low := strings.ToLower(strings.TrimPrefix(w, "x_")) // Outlook renames classes and ids in forwarded mails
		if markers[low] && (!id || len(keep) == 0) {
			keep = append(keep, w)
		}
		if len(keep) == 8 {
			break
		}
	}
	return strings.Join(keep, " ")
}
