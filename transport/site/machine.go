package site

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func unescaped(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return plain
}

// text sends a document that is not a page.
func (v *visit) text(media string, body []byte) error {
	v.w.Header().Set("Content-Type", media)
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	return v.send(http.StatusOK, body, true)
}

func (v *visit) robots() error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	body := "User-agent: *\nDisallow: /\n"
	if v.site.Visibility == kb.Public {
		body = "User-agent: *\nDisallow: " + v.base + "/-/\nAllow: " + v.base + "/-/assets/\n\nSitemap: " + v.absolute("/sitemap.xml") + "\n"
	}
	v.w.Header().Set("Cache-Control", "public, max-age=3600")
	return v.text("text/plain; charset=utf-8", []byte(body))
}

// hostRobots answers for a host that has no site at its root: it names the sitemaps of its public sites, and no private one.
func (h *Handler) hostRobots(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return fault.Missing("page", 0)
	}
	sites, err := h.cfg.KB.PublicSites(r.Context(), hostname(r.Host))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("User-agent: *\nDisallow: /*/-/\nAllow: /*/-/assets/\n")
	for i, s := range sites {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("Sitemap: " + h.cfg.KB.URL(s) + "/sitemap.xml\n")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = io.WriteString(w, b.String()) // the client may have disconnected
	return nil
}

// perSitemap is the number of articles in a part of the sitemap: with all their languages, below the limit of 50,000
// addresses per sitemap.
const perSitemap = 2000

// sitemap is an index of parts, and each part a page of articles.
func (v *visit) sitemap(name string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	if v.site.Visibility == kb.Private || v.preview.signed {
		return v.lost(v.preferred(v.locales))
	}
	part := 0
	if name != "sitemap.xml" {
		number, ok := strings.CutSuffix(strings.TrimPrefix(name, "sitemap-"), ".xml")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 || n > 10_000 {
			return v.lost(v.preferred(v.locales))
		}
		part = n
	}
	total, err := v.total()
	if err != nil {
		return err
	}
	parts := max(1, (total+perSitemap-1)/perSitemap)
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if part == 0 {
		b.WriteString("<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
		for n := range parts {
			fmt.Fprintf(&b, "<sitemap><loc>%s</loc></sitemap>\n", escapeXML(v.absolute(fmt.Sprintf("/sitemap-%d.xml", n+1))))
		}
		b.WriteString("</sitemapindex>\n")
		return v.text("application/xml; charset=utf-8", b.Bytes())
	}
	if part > parts {
		return v.lost(v.preferred(v.locales))
	}
	b.WriteString("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n")
	if err := v.mapped(&b, part); err != nil {
		return err
	}
	b.WriteString("</urlset>\n")
	return v.text("application/xml; charset=utf-8", b.Bytes())
}

// total returns the number of published articles.
func (v *visit) total() (int, error) {
	n := 0
	collections := func(req storage.PageRequest) (storage.Page[kb.Collection], error) {
		return v.Collections(v.ctx(), false, req)
	}
	for c, err := range storage.Each(collections) {
		if err != nil {
			return 0, err
		}
		n += int(c.Counters.Articles)
	}
	return n, nil
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // into memory
	return b.String()
}

// entryOf writes the addresses of one object in all its languages.
func (v *visit) entryOf(b *bytes.Buffer, locales []string, path func(string) string, changed string) {
	for _, l := range locales {
		fmt.Fprintf(b, "<url><loc>%s</loc>", escapeXML(v.absolute(path(l))))
		if changed != "" {
			fmt.Fprintf(b, "<lastmod>%s</lastmod>", changed)
		}
		if len(locales) > 1 {
			for _, o := range locales {
				fmt.Fprintf(b, "<xhtml:link rel=\"alternate\" hreflang=\"%s\" href=\"%s\"/>", o, escapeXML(v.absolute(path(o))))
			}
		}
		b.WriteString("</url>\n")
	}
}

// mapped writes a part of the sitemap; the first one includes the pages that are not articles.
func (v *visit) mapped(b *bytes.Buffer, part int) error {
	if part == 1 {
		v.entryOf(b, v.locales, inLanguage(""), "")
		collections, err := v.Collections(v.ctx(), false, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return err
		}
		for _, c := range collections.Items {
			if c.Counters.Articles > 0 {
				v.entryOf(b, translated(c.Text), v.pathOf(kb.CollectionPages, c.ID, c.Text), "")
			}
		}
	}
	req := storage.PageRequest{Limit: storage.MaxLimit}
	for n := 0; n < part*perSitemap; n += storage.MaxLimit {
		page, err := v.Articles(v.ctx(), kb.ArticleFilter{Brief: true}, false, req)
		if err != nil {
			return err
		}
		if n >= (part-1)*perSitemap {
			for _, a := range page.Items {
				v.entryOf(b, translated(a.Revision.Text), v.pathOf(kb.ArticlePages, a.Article.ID, a.Revision.Text), a.Revision.UpdatedAt.UTC().Format(timeLayout))
			}
		}
		if req.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	return nil
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

type atomEntry struct {
	ID        string     `xml:"id"`
	Title     string     `xml:"title"`
	Updated   string     `xml:"updated"`
	Published string     `xml:"published"`
	Links     []atomLink `xml:"link"`
	Summary   *atomText  `xml:"summary,omitempty"`
	Lang      string     `xml:"xml:lang,attr,omitempty"`
}

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Lang    string      `xml:"xml:lang,attr"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

// feedEntries is the number of articles in the feed.
const feedEntries = 30

// feed lists the latest changes (RFC 4287).
func (v *visit) feed(locale string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	list, err := v.Top(v.ctx(), kb.LatestChanged, feedEntries)
	if err != nil {
		return err
	}
	updated := v.site.CreatedAt
	home, self := v.absolute("/"+locale), v.absolute("/"+locale+"/feed.atom")
	f := atomFeed{Lang: locale, ID: home, Title: v.site.Name + " – " + theme.Text(locale, "Help centre"), Author: v.site.Name, Links: []atomLink{
		{Rel: "self", Type: "application/atom+xml", Href: self}, {Rel: "alternate", Type: "text/html", Href: home},
	}}
	for _, a := range list {
		t := a.Revision.Serve(v.site.DefaultLocale, locale)
		if a.Revision.UpdatedAt.After(updated) {
			updated = a.Revision.UpdatedAt
		}
		e := atomEntry{
			ID: v.absolute("/" + kb.ArticlePages + "/" + strconv.FormatInt(a.Article.ID, 10)), Title: t.Title, Updated: a.Revision.UpdatedAt.UTC().Format(timeLayout),
			Published: a.Article.CreatedAt.UTC().Format(timeLayout),
			Links:     []atomLink{{Rel: "alternate", Type: "text/html", Href: v.absolute(kb.PagePath(locale, kb.ArticlePages, a.Article.ID, t.Title))}},
		}
		if t.Summary != "" {
			e.Summary = &atomText{Type: "text", Text: t.Summary}
		}
		if t.Locale != locale {
			e.Lang = t.Locale
		}
		f.Entries = append(f.Entries, e)
	}
	f.Updated = updated.UTC().Format(timeLayout)
	body, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return fault.Wrap(fault.Internal, "site.feed", err)
	}
	return v.text("application/atom+xml; charset=utf-8", append([]byte(xml.Header), append(body, '\n')...))
}

// maxLLMs is the maximum number of articles in llms.txt.
const maxLLMs = 1000

// llms is an index of the site for language models (llmstxt.org), in the default language.
func (v *visit) llms() error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	locale := v.defaultLocale()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", oneLine(v.site.Name))
	if line := v.Text(locale).Line; line != "" {
		fmt.Fprintf(&b, "\n> %s\n", oneLine(line))
	}
	collections, err := v.Collections(v.ctx(), false, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	n := 0
	for _, c := range collections.Items {
		if c.Counters.Articles == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", oneLine(c.Serve(v.site.DefaultLocale, locale).Title))
		req := storage.PageRequest{Limit: storage.MaxLimit}
		for n < maxLLMs {
			page, err := v.Articles(v.ctx(), kb.ArticleFilter{CollectionID: c.ID, Brief: true}, false, req)
			if err != nil {
				return err
			}
			for _, a := range page.Items {
				t := a.Revision.Serve(v.site.DefaultLocale, locale)
				fmt.Fprintf(&b, "- [%s](%s.md)", strings.NewReplacer("[", "\\[", "]", "\\]").Replace(oneLine(t.Title)), v.absolute(kb.PagePath(locale, kb.ArticlePages, a.Article.ID, t.Title)))
				if t.Summary != "" {
					b.WriteString(": " + oneLine(t.Summary))
				}
				b.WriteByte('\n')
				n++
			}
			if req.Cursor = page.Next; page.Next == "" {
				break
			}
		}
	}
	return v.text("text/plain; charset=utf-8", b.Bytes())
}

func (v *visit) defaultLocale() string {
	if found := best(v.locales, []string{v.site.DefaultLocale}); found != "" {
		return found
	}
	return v.locales[0]
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// markdown returns an article as Markdown: as written, or converted from its HTML.
func (v *visit) markdown(locale, name string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	a, err := v.load(name)
	if fault.Is(err, fault.NotFound) {
		return v.lost(locale)
	} else if err != nil {
		return err
	}
	t := a.Revision.Serve(v.site.DefaultLocale, locale)
	own := kb.PagePath(locale, kb.ArticlePages, a.Article.ID, t.Title) + ".md"
	if unescaped(own) != strings.TrimPrefix(v.r.URL.Path, v.prefix) {
		return v.redirect(http.StatusMovedPermanently, own)
	}
	if t, err = v.linked(t, locale, v.absolute(""), v.absolute("")); err != nil {
		return err
	}
	body := t.Markdown
	if body == "" {
		body = contenthtml.ToReadableMarkdown(dropTitle(t.Content, t.Title))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", oneLine(t.Title))
	if t.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", t.Summary)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(body), "# "+t.Title)))
	v.w.Header().Set("Link", "<"+v.absolute(kb.PagePath(t.Locale, kb.ArticlePages, a.Article.ID, t.Title))+">; rel=\"canonical\"")
	v.w.Header().Set("X-Robots-Tag", "noindex") // search engines should find the page instead
	v.w.Header().Set("Content-Language", t.Locale)
	return v.text("text/markdown; charset=utf-8", b.Bytes())
}

// The data for the head of a page (JSON-LD, schema.org).
type (
	graphLD struct {
		Context string `json:"@context"`
		Graph   []any  `json:"@graph"`
	}
	articleLD struct {
		Type          string      `json:"@type"`
		Headline      string      `json:"headline"`
		Description   string      `json:"description"`
		InLanguage    string      `json:"inLanguage"`
		Page          string      `json:"mainEntityOfPage"`
		DateModified  string      `json:"dateModified"`
		DatePublished string      `json:"datePublished"`
		Publisher     publisherLD `json:"publisher"`
		Image         string      `json:"image,omitempty"`
	}
	publisherLD struct {
		Type string `json:"@type"`
		Name string `json:"name"`
	}
	breadcrumbsLD struct {
		Type  string    `json:"@type"`
		Items []crumbLD `json:"itemListElement"`
	}
	crumbLD struct {
		Type     string `json:"@type"`
		Position int    `json:"position"`
		Name     string `json:"name"`
		Item     string `json:"item"`
	}
	faqLD struct {
		Type      string       `json:"@type"`
		Questions []questionLD `json:"mainEntity"`
	}
	questionLD struct {
		Type   string   `json:"@type"`
		Name   string   `json:"name"`
		Answer answerLD `json:"acceptedAnswer"`
	}
	answerLD struct {
		Type string `json:"@type"`
		Text string `json:"text"`
	}
)

// ldJSON returns a block of data for the head of a page.
func ldJSON(data ...any) template.HTML {
	text, err := json.Marshal(graphLD{"https://schema.org", data}) // escapes < and >
	if err != nil {
		return ""
	}
	return template.HTML(`<script type="application/ld+json">` + string(text) + `</script>`) // escaped
}

// breadcrumbs returns the breadcrumbs of a page as data.
func breadcrumbs(v *visit, p *theme.Page) breadcrumbsLD {
	out := breadcrumbsLD{Type: "BreadcrumbList"}
	for i, c := range append(slices.Clone(p.Breadcrumbs), theme.Link{Name: p.Title, URL: p.URL}) {
		address := c.URL
		if strings.HasPrefix(address, "/") {
			address = v.absolute(strings.TrimPrefix(address, v.prefix))
		}
		out.Items = append(out.Items, crumbLD{"ListItem", i + 1, c.Name, address})
	}
	return out
}

func crumbData(v *visit, p *theme.Page) template.HTML {
	if p.NoIndex {
		return ""
	}
	return ldJSON(breadcrumbs(v, p))
}

// articleData describes an article, with its folded questions.
func articleData(v *visit, p *theme.Page, a kb.ArticleRevision) template.HTML {
	if p.NoIndex {
		return ""
	}
	article := articleLD{
		Type: "Article", Headline: p.Title, Description: p.Description, InLanguage: p.Article.Locale, Page: p.URL,
		DateModified: p.Article.UpdatedAt, DatePublished: a.Article.CreatedAt.UTC().Format(timeLayout),
		Publisher: publisherLD{"Organization", v.site.Name},
	}
	if p.Image != nil {
		article.Image = p.Image.URL
	}
	data := []any{article, breadcrumbs(v, p)}
	if questions := questionsOf(string(p.Article.Content)); len(questions) > 1 {
		data = append(data, faqLD{"FAQPage", questions})
	}
	return ldJSON(data...)
}
