package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// crawler follows every address on a help centre's own host, and reports dead ones.
type crawler struct {
	t       *testing.T
	base    string              // "http://127.0.0.1:1234/"
	anchors map[string][]string // of each page that was read: its ids
	wanted  map[string][]string // pages by the addresses with a fragment that they link to
	queue   []string
	dead    map[string][]string // pages by the problem of their links
}

const maxCrawled = 5000

// crawl reads all that can be reached from the pages. It fails the test for every link, image, style sheet, feed entry and
// address of a sitemap that leads nowhere, every fragment that its page has not, and everything that a page would fetch
// elsewhere.
func crawl(t *testing.T, base string, from ...string) map[string]bool {
	t.Helper()
	c := &crawler{t: t, base: base, anchors: map[string][]string{}, wanted: map[string][]string{}, dead: map[string][]string{}}
	c.queue = append(c.queue, from...)
	for len(c.queue) > 0 && len(c.anchors) < maxCrawled {
		at := c.queue[0]
		c.queue = c.queue[1:]
		if _, done := c.anchors[at]; !done {
			c.anchors[at] = []string{}
			c.read(at)
		}
	}
	if len(c.queue) > 0 {
		t.Error("the help centre has no end")
	}
	for _, address := range slices.Sorted(maps.Keys(c.wanted)) {
		page, fragment, _ := strings.Cut(address, "#")
		if !slices.Contains(c.anchors[page], fragment) {
			c.dead["no such anchor: "+address] = c.wanted[address]
		}
	}
	for _, what := range slices.Sorted(maps.Keys(c.dead)) {
		t.Errorf("%s (in %s)", what, c.dead[what][0])
	}
	seen := map[string]bool{}
	for page := range c.anchors {
		seen[page] = true
	}
	return seen
}

func (c *crawler) problem(at, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	c.dead[what] = append(c.dead[what], at)
}

// link notes where a page leads.
func (c *crawler) link(from *url.URL, address string, asset bool) {
	to, err := from.Parse(address)
	if err != nil {
		c.problem(from.String(), "no address: %q", address)
		return
	}
	fragment := to.Fragment
	to.Fragment, to.RawFragment = "", ""
	if to.Scheme == "data" || !strings.HasPrefix(to.String(), c.base) {
		if asset && to.Scheme != "data" {
			c.problem(from.String(), "asks %s", to)
		}
		return
	}
	c.queue = append(c.queue, to.String())
	if fragment != "" {
		c.wanted[to.String()+"#"+fragment] = append(c.wanted[to.String()+"#"+fragment], from.String())
	}
}

func (c *crawler) read(at string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, at, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.problem(at, "%s: %s", at, res.Status)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "text/html":
		c.html(at, res)
	case "application/xml", "application/atom+xml":
		c.xml(at, res)
	case "text/markdown", "text/plain":
		c.markdown(res)
	default:
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

func (c *crawler) html(at string, res *http.Response) {
	for z := html.NewTokenizer(res.Body); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := z.Token()
		for _, a := range t.Attr {
			switch a.Key {
			case "id":
				c.anchors[at] = append(c.anchors[at], a.Val)
			case "href", "src", "poster", "srcset": // the built-in theme has one address in each
				c.link(res.Request.URL, a.Val, t.Data != "a" && (t.Data != "link" || slices.ContainsFunc(t.Attr, isAsset)))
			}
		}
	}
}

var (
	markdownCode = regexp.MustCompile("(?s)```.*?```|~~~.*?~~~|`[^`]*`")
	markdownLink = regexp.MustCompile(`\]\(<?([^\s()<>]+)>?\)`)
)

// markdown reads the addresses of llms.txt and of articles as Markdown.
func (c *crawler) markdown(res *http.Response) {
	c.t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, found := range markdownLink.FindAllSubmatch(markdownCode.ReplaceAll(text, nil), -1) {
		if address := string(found[1]); !strings.HasPrefix(address, "#") { // no page of its own has the headings' anchors
			c.link(res.Request.URL, address, false)
		}
	}
}

// xml reads the addresses of sitemaps and feeds.
func (c *crawler) xml(at string, res *http.Response) {
	d, inside := xml.NewDecoder(res.Body), ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.problem(at, "%s: %v", at, err)
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local
			for _, a := range t.Attr {
				if a.Name.Local == "href" {
					c.link(res.Request.URL, a.Value, false)
				}
			}
		case xml.EndElement:
			inside = ""
		case xml.CharData:
			if inside == "loc" {
				c.link(res.Request.URL, strings.TrimSpace(string(t)), false)
			}
		}
	}
}

func isAsset(a html.Attribute) bool {
	return a.Key == "rel" && (a.Val == "stylesheet" || a.Val == "icon" || a.Val == "preload")
}
