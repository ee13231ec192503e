package exchange

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/kb/contenthtml"
)

// linked returns the text of a page with its links converted to those of a site's folder.
func (d *docs) linked(p *page) string {
	told := map[string]bool{}
	tell := func(address, format string) {
		if !told[address] {
			told[address] = true
			d.remark(p.path, format, address)
		}
	}
	return contenthtml.MapMarkdownAddresses(p.body, func(address string) string {
		to, suffix := splitSuffix(address)
		if strings.HasPrefix(to, "//") || scheme.MatchString(to) {
			return address
		}
		found := destination{page: p}
		at := d.path(p, to)
		if to != "" {
			found = d.find(at)
		}
		if found.none() && strings.HasPrefix(to, "/") {
			found = d.findBelow(at)
		}
		alive, ok := found.suffix(suffix)
		switch {
		case found.none() && d.opts.Source != "":
			return d.opts.Source + path.Join("/", (&url.URL{Path: at}).EscapedPath()) + suffix
		case found.none():
			tell(address, "a link leads to %s, which is no page and no file that a site takes: only its text stays")
			return ""
		case !ok && to == "":
			tell(address, "a link leads to %s, which the page does not have: only its text stays")
			return ""
		case !ok:
			tell(address, "a link leads to %s, but that page has no such anchor: it leads to the page now")
		}
		if to == "" {
			return alive
		}
		return found.address(d.opts.Locale) + alive
	})
}

// path resolves a relative address from a page.
func (d *docs) path(p *page, to string) string {
	name, err := url.PathUnescape(to)
	if err != nil {
		name = to
	}
	if strings.HasPrefix(name, "/") {
		return path.Clean(strings.TrimLeft(name, "/"))
	}
	return path.Join(p.dir(), name)
}

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// destination is the target of a link: a page, or the path of a file or of a folder's text in a site's folder. It is zero
// when there is none.
type destination struct {
	page *page
	path string
}

func (t destination) none() bool { return t.page == nil && t.path == "" }

// suffix returns the suffix for a link to the target, and whether it is valid unchanged.
func (t destination) suffix(suffix string) (string, bool) {
	query, fragment, ok := strings.Cut(suffix, "#")
	if !ok || fragment == "" || t.page == nil {
		return suffix, true
	}
	anchor := t.page.anchors.find(fragment)
	if anchor == "" {
		return query, false
	}
	return query + "#" + (&url.URL{Fragment: anchor}).EscapedFragment(), true
}

// address returns a link to the destination that works from any page.
func (t destination) address(locale string) string {
	if t.page != nil {
		return fromRoot + (&url.URL{Path: "collections/" + t.page.collection + "/articles/" + t.page.key + "." + locale + ".md"}).EscapedPath()
	}
	return fromRoot + (&url.URL{Path: t.path}).EscapedPath()
}

// find returns the target of a path of the documentation.
func (d *docs) find(at string) destination {
	for _, name := range []string{at, at + ".md", at + ".markdown", at + ".mdx", strings.TrimSuffix(at, ".html") + ".md", at + "/README.md", at + "/readme.md", at + "/index.md", at + "/index.mdx"} {
		if p := d.pages[path.Clean(name)]; p != nil {
			return destination{page: p}
		}
	}
	if base := d.folders[at]; base != "" {
		return destination{path: base + "." + d.opts.Locale + ".md"}
	}
	return destination{path: d.file(at)}
}

// findBelow resolves a path that starts above the documentation: at the top of its repository, or of the site it was
// published on, such as /docs/latest/api.
func (d *docs) findBelow(at string) destination {
	for {
		_, below, ok := strings.Cut(at, "/")
		if !ok {
			return destination{}
		}
		if found := d.find(below); !found.none() {
			return found
		}
		at = below
	}
}

// anchors holds the link targets within a page.
type anchors struct {
	exact map[string]bool
	loose map[string]string // first anchor for each looseAnchor
}

func newAnchors(all []string) anchors {
	a := anchors{exact: make(map[string]bool, len(all)), loose: make(map[string]string, len(all))}
	for _, anchor := range all {
		a.exact[anchor] = true
		if key := looseAnchor(anchor); a.loose[key] == "" {
			a.loose[key] = anchor
		}
	}
	return a
}

// find returns the anchor that a fragment refers to, or "".
func (a anchors) find(fragment string) string {
	if name, err := url.PathUnescape(fragment); err == nil {
		fragment = name
	}
	if a.exact[fragment] {
		return fragment
	}
	return a.loose[looseAnchor(fragment)]
}

// looseAnchor reduces an anchor to what all programs that generate anchors from headings agree on.
func looseAnchor(anchor string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, anchor)
}
