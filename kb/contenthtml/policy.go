package contenthtml

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
)

const elements = `a abbr address article aside audio b bdi bdo blockquote br caption cite code col colgroup dd del details dfn
	div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i iframe img input ins kbd li mark ol p picture pre q rp rt
	ruby s samp section small source span strike strong sub summary sup table tbody td tfoot th thead time tr track u ul var
	video wbr`

var known = set(elements)

// boolean attributes are written without a value.
var boolean = set("allowfullscreen checked controls default disabled loop muted open playsinline reversed")

// policy is the allow list of elements and attributes. Values are checked when the tags are collected.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	all := strings.Fields(elements)
	p.AllowElements(all...)
	p.AllowNoAttrs().OnElements(all...)
	p.AllowAttrs("style", "class", "id", "dir", "lang", "title", "aria-label", "aria-hidden").Globally()
	p.AllowAttrs("href", "name", "target", "rel").OnElements("a")
	p.AllowAttrs("src", "alt", "loading").OnElements("img")
	p.AllowAttrs("width", "height").OnElements("img", "video", "iframe", "table", "td", "th", "col")
	p.AllowAttrs("align", "valign").OnElements("p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "table", "tr", "td", "th", "col", "img")
	p.AllowAttrs("src", "allowfullscreen").OnElements("iframe")
	p.AllowAttrs("src", "controls", "loop", "muted", "preload").OnElements("audio", "video")
	p.AllowAttrs("poster", "playsinline").OnElements("video")
	p.AllowAttrs("src", "type").OnElements("source")
	p.AllowAttrs("src", "kind", "srclang", "label", "default").OnElements("track")
	p.AllowAttrs("colspan", "rowspan", "abbr", "scope", "headers").OnElements("td", "th")
	p.AllowAttrs("span").OnElements("col", "colgroup")
	p.AllowAttrs("start", "type", "reversed").OnElements("ol", "ul", "li")
	p.AllowAttrs("value").OnElements("li")
	p.AllowAttrs("cite").OnElements("blockquote", "q", "del", "ins")
	p.AllowAttrs("datetime").OnElements("time", "del", "ins")
	p.AllowAttrs("open").OnElements("details")
	p.AllowAttrs("type", "checked", "disabled").OnElements("input")
	p.RequireParseableURLs(false) // cleanURL reads addresses as browsers do
	return p
})

var (
	// (^) rather than ^ keeps regexp from compiling it for one pass, which takes 4 MB.
	plainValue = regexp.MustCompile(`(^)[\pL\pN #%.,:;()_+*/'!?&-]{0,200}$`)
	className  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	words      = map[string]map[string]bool{ // attributes with few allowed values
		"loading": set("lazy eager"),
		"preload": set("none metadata auto"),
		"dir":     set("ltr rtl auto"),
		"align":   set("left right center justify"),
		"valign":  set("top middle bottom baseline"),
		"kind":    set("subtitles captions descriptions chapters"),
	}
)

// maxAttrs is the most attributes that a tag keeps.
const maxAttrs = 24

// cleanAttrs returns the attributes to write for a tag; ok is false to drop the tag.
func cleanAttrs(tag string, in []html.Attribute) (out []html.Attribute, ok bool) {
	out = make([]html.Attribute, 0, len(in)+2)
	seen := map[string]bool{}
	for _, a := range in {
		if a.Key == "name" && tag == "a" {
			a.Key = "id" // name was the anchor attribute before id
		}
		if seen[a.Key] || len(out) >= maxAttrs {
			continue
		}
		if value, keep := cleanAttr(tag, a); keep {
			seen[a.Key] = true
			out = append(out, html.Attribute{Key: a.Key, Val: value})
		}
	}
	switch tag {
	case "a":
		return cleanLink(out), true
	case "iframe":
		return cleanFrame(out)
	case "input":
		return cleanInput(out)
	case "audio", "video":
		if !seen["controls"] { // nothing plays by itself, and everything can be stopped
			out = append(out, html.Attribute{Key: "controls"})
		}
	case "img":
		return out, seen["src"] || seen["alt"]
	case "source", "track":
		return out, seen["src"]
	}
	return out, true
}

// cleanAttr returns the value to write for an attribute.
func cleanAttr(tag string, a html.Attribute) (value string, keep bool) {
	if boolean[a.Key] {
		return "", a.Key != "disabled" // written where it is required
	}
	if allowed := words[a.Key]; allowed != nil {
		value = strings.ToLower(strings.TrimSpace(a.Val))
		return value, allowed[value]
	}
	switch a.Key {
	case "href", "src", "poster", "cite":
		if strings.HasPrefix(a.Val, RefScheme) {
			return a.Val, validReference(a.Key, a.Val)
		}
	}
	switch a.Key {
	case "href":
		return cleanURL(a.Val, "http", "https", "mailto", "tel")
	case "src":
		if tag == "img" && len(a.Val) > 5 && strings.EqualFold(a.Val[:5], "data:") {
			return cleanDataImage(a.Val)
		}
		return cleanURL(a.Val, "http", "https")
	case "poster", "cite":
		return cleanURL(a.Val, "http", "https")
	case "style":
		value = cleanStyle(a.Val)
		return value, value != ""
	case "class":
		value = cleanClass(a.Val)
		return value, value != ""
	case "id":
		return a.Val, validAnchor(a.Val)
	case "alt", "title", "abbr", "label", "aria-label", "target", "rel":
		return a.Val, len(a.Val) <= 2000
	}
	return a.Val, plainValue.MatchString(a.Val)
}

func cleanClass(s string) string {
	var keep []string
	for _, w := range strings.Fields(s) {
		if className.MatchString(w) && !reserved(w) && !slices.Contains(keep, w) {
			keep = append(keep, w)
		}
		if len(keep) == 16 {
			break
		}
	}
	return strings.Join(keep, " ")
}

// cleanLink makes sure that a new window opened by a link gets no access to this one.
func cleanLink(attrs []html.Attribute) []html.Attribute {
	target, _ := attrOf(attrs, "target")
	given, _ := attrOf(attrs, "rel")
	blank := strings.EqualFold(target, "_blank")
	var rel []string
	for _, w := range strings.Fields(strings.ToLower(given)) {
		switch w {
		case "nofollow", "noopener", "noreferrer", "ugc", "sponsored":
			if !slices.Contains(rel, w) {
				rel = append(rel, w)
			}
		}
	}
	if blank && !slices.Contains(rel, "noopener") {
		rel = append(rel, "noopener")
	}
	attrs = slices.DeleteFunc(attrs, func(a html.Attribute) bool { return a.Key == "target" || a.Key == "rel" })
	if _, ok := attrOf(attrs, "href"); !ok {
		return attrs
	}
	if blank {
		attrs = append(attrs, html.Attribute{Key: "target", Val: "_blank"})
	}
	if len(rel) > 0 {
		attrs = append(attrs, html.Attribute{Key: "rel", Val: strings.Join(rel, " ")})
	}
	return attrs
}

// cleanInput keeps the check boxes of task lists, disabled.
func cleanInput(attrs []html.Attribute) ([]html.Attribute, bool) {
	kind, _ := attrOf(attrs, "type")
	if !strings.EqualFold(kind, "checkbox") {
		return nil, false
	}
	out := []html.Attribute{{Key: "type", Val: "checkbox"}, {Key: "disabled"}}
	if _, checked := attrOf(attrs, "checked"); checked {
		out = append(out, html.Attribute{Key: "checked"})
	}
	return out, true
}
