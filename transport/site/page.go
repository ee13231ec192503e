package site

import (
	"encoding/json"
	"errors"
	"html/template"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Lengths of lists on pages.
const (
	homeArticles    = 4
	shelfArticles   = 5
	railArticles    = 20
	railCategories  = 4
	relatedArticles = 3
	listArticles    = 50
	foundArticles   = 10
)

// page has the data common to all pages in a language.
func (v *visit) page(kind, locale string) *theme.Page {
	text := v.Text(locale)
	home := v.prefix + "/" + locale
	p := &theme.Page{
		Kind: kind, Locale: locale, Language: theme.LanguageName(locale), Dir: theme.Direction(locale),
		NoIndex: v.site.Visibility == kb.Private || v.preview.signed, Preview: v.preview.kind(), FeedURL: home + "/feed.atom",
		Site: theme.Site{
			Name: v.site.Name, URL: home, SearchURL: home + "/search", SuggestURL: v.prefix + "/-/suggest/" + locale, ContactURL: home + "/contact",
			Head: template.HTML(v.site.HTMLHead), Hero: string(v.hero()), Title: text.Title, Line: text.Line, // the owner's own
			HeaderLinks: links(text.HeaderLinks), FooterLinks: links(text.FooterLinks), Copyright: text.Copyright, Year: v.h.cfg.Now().UTC().Year(),
			ContactText: text.ContactText,
		},
	}
	if v.h.cfg.Contact == nil || v.site.MailboxID == 0 {
		p.Site.ContactURL = ""
	}
	if v.site.Visibility == kb.Private {
		p.FeedURL = ""
		if v.session() != nil {
			p.SignOutURL = v.prefix + "/-/sign-out"
		}
	}
	for _, s := range text.Searches {
		p.Site.Searches = append(p.Site.Searches, theme.Link{Name: s, URL: home + "/search?query=" + url.QueryEscape(s)})
	}
	look := v.site.Look
	p.Site.Logo, p.Site.LogoDark = v.picture(look.LogoID), v.picture(look.LogoDarkID)
	p.Site.Favicon, p.Image = v.picture(look.FaviconID), v.picture(look.SocialImageID)
	if p.Image != nil {
		p.Image.URL = v.absolute("") + strings.TrimPrefix(p.Image.URL, v.base)
	}
	return p
}

func (v *visit) hero() kb.Hero {
	if v.site.Look.Hero == "" {
		return kb.HeroTint
	}
	return v.site.Look.Hero
}

// picture returns an image of the site, nil if it was deleted.
func (v *visit) picture(id int64) *theme.Image {
	if id == 0 {
		return nil
	}
	f, err := v.h.cfg.KB.Picture(v.ctx(), v.site, id)
	if err != nil {
		return nil
	}
	out := &theme.Image{URL: v.base + kb.FilePath(f), Type: f.ContentType}
	if content, err := v.h.cfg.KB.PublicFile(v.ctx(), v.site.ID, f.ID, f.URLKey); err == nil {
		if body, err := content.Open(v.ctx(), 0); err == nil {
			if c, _, err := image.DecodeConfig(body); err == nil {
				out.Width, out.Height = c.Width, c.Height
			}
			_ = body.Close() // only read
		}
	}
	return out
}

func links(in []kb.Link) []theme.Link {
	out := make([]theme.Link, len(in))
	for i, l := range in {
		out[i] = theme.Link(l)
	}
	return out
}

// absolute returns the canonical address of a path below the site's.
func (v *visit) absolute(path string) string { return v.h.cfg.KB.URL(v.site) + path }

// menu offers a page in its other languages.
func (v *visit) menu(p *theme.Page, locales []string, path func(locale string) string, neutral string) {
	locales = slices.Clone(locales)
	place := func(l string) int {
		if i := slices.Index(v.locales, l); i >= 0 {
			return i
		}
		return len(v.locales)
	}
	slices.SortStableFunc(locales, func(a, b string) int { return place(a) - place(b) })
	for _, l := range locales {
		p.Locales = append(p.Locales, theme.Locale{Code: l, Name: theme.LanguageName(l), URL: v.prefix + path(l), Current: l == p.Locale})
	}
	if len(p.Locales) == 1 && p.Locales[0].Current {
		p.Locales = nil
	}
	if p.NoIndex || neutral == "" {
		return
	}
	for _, l := range locales {
		p.Languages = append(p.Languages, theme.Locale{Code: l, URL: v.absolute(path(l))})
	}
	if len(locales) > 1 {
		p.Languages = append(p.Languages, theme.Locale{Code: "x-default", URL: v.absolute(neutral)})
	} else {
		p.Languages = nil
	}
}

func inLanguage(path string) func(string) string {
	return func(locale string) string { return "/" + locale + path }
}

// crumbs start at the home page.
func (v *visit) crumbs(p *theme.Page, more ...theme.Link) {
	p.Breadcrumbs = append([]theme.Link{{Name: theme.Text(p.Locale, "Help centre"), URL: p.Site.URL}}, more...)
}

// other returns the locale of a text if it differs from the page's, otherwise "".
func other(p *theme.Page, locale string) (string, string) {
	if locale == p.Locale {
		return "", ""
	}
	return locale, theme.Direction(locale)
}

func (v *visit) showCollection(p *theme.Page, c kb.Collection) theme.Collection {
	t := c.Serve(v.site.DefaultLocale, p.Locale)
	out := theme.Collection{
		ID: c.ID, Name: t.Title, Summary: t.Summary, URL: v.prefix + kb.PagePath(p.Locale, kb.CollectionPages, c.ID, t.Title), Icon: c.Icon,
		ArticlesCount: c.Counters.Articles,
	}
	out.Locale, out.Dir = other(p, t.Locale)
	if out.Icon == "" {
		out.Icon = "book"
	}
	return out
}

func (v *visit) showCategory(p *theme.Page, c kb.Category) theme.Category {
	t := c.Serve(v.site.DefaultLocale, p.Locale)
	out := theme.Category{
		ID: c.ID, Name: t.Title, Summary: t.Summary, URL: v.prefix + kb.PagePath(p.Locale, kb.CategoryPages, c.ID, t.Title), ArticlesCount: c.Counters.Articles,
	}
	out.Locale, out.Dir = other(p, t.Locale)
	return out
}

// entry is an article in a list.
func (v *visit) entry(p *theme.Page, a kb.ArticleRevision) theme.Article {
	t := a.Revision.Serve(v.site.DefaultLocale, p.Locale)
	out := theme.Article{
		ID: a.Article.ID, Title: t.Title, Summary: t.Summary, URL: v.prefix + kb.PagePath(p.Locale, kb.ArticlePages, a.Article.ID, t.Title),
		UpdatedAt: a.Revision.UpdatedAt.UTC().Format(timeLayout),
	}
	out.Locale, out.Dir = other(p, t.Locale)
	return out
}

const timeLayout = "2006-01-02T15:04:05Z07:00"

func (v *visit) entries(p *theme.Page, list []kb.ArticleRevision) []theme.Article {
	out := make([]theme.Article, len(list))
	for i, a := range list {
		out[i] = v.entry(p, a)
	}
	return out
}

// collections returns the collections that are not empty.
func (v *visit) collections(p *theme.Page) ([]theme.Collection, error) {
	page, err := v.Collections(v.ctx(), false, storage.PageRequest{Limit: storage.MaxLimit})
	var out []theme.Collection
	for _, c := range page.Items {
		if c.Counters.Articles > 0 {
			out = append(out, v.showCollection(p, c))
		}
	}
	return out, err
}

func (v *visit) home(p *theme.Page) error {
	var err error
	if p.Collections, err = v.collections(p); err != nil {
		return err
	}
	if !v.site.Look.HidePopular {
		popular, err := v.Top(v.ctx(), kb.MostViewed, homeArticles)
		if err != nil {
			return err
		}
		p.Popular = v.entries(p, popular)
	}
	if !v.site.Look.HideRecent {
		recent, err := v.Top(v.ctx(), kb.LatestChanged, homeArticles)
		if err != nil {
			return err
		}
		p.Recent = v.entries(p, recent)
	}
	p.Description, p.URL = p.Site.Line, v.absolute("/"+p.Locale)
	v.menu(p, v.locales, inLanguage(""), "/")
	return nil
}

func (v *visit) collection(p *theme.Page, name string) error {
	id, ok := kb.ParsePageName(name)
	if !ok {
		return fault.Missing("collection", 0)
	}
	in, err := v.shelf(id)
	if err != nil {
		return err
	}
	c := in.Collection
	shown := v.showCollection(p, c)
	if err := v.at(p.Locale, kb.CollectionPages, c.ID, shown.Name); err != nil {
		return err
	}
	of := make([]kb.FirstOf, len(in.Categories))
	for i, g := range in.Categories {
		of[i] = kb.FirstOf{CategoryID: g.ID, N: shelfArticles}
	}
	first, err := v.FirstOfEach(v.ctx(), of)
	if err != nil {
		return err
	}
	for _, g := range in.Categories {
		if g.Counters.Articles > 0 {
			row := v.showCategory(p, g)
			row.Articles = v.entries(p, first[g.ID])
			shown.Categories = append(shown.Categories, row)
		}
	}
	req := storage.PageRequest{Limit: listArticles, Cursor: v.r.URL.Query().Get("after")}
	rest, err := v.Articles(v.ctx(), loose(id), false, req)
	if err != nil {
		return badCursor(err)
	}
	shown.Articles, shown.Next = v.entries(p, rest.Items), v.more(shown.URL, rest.Next)
	p.Collection = &shown
	p.Title, p.Description, p.URL = shown.Name, shown.Summary, v.absolute(strings.TrimPrefix(shown.URL, v.prefix))
	v.crumbs(p)
	v.menu(p, translated(c.Text), v.pathOf(kb.CollectionPages, id, c.Text), "/"+kb.CollectionPages+"/"+strconv.FormatInt(id, 10))
	p.Data = crumbData(v, p)
	return nil
}

// more returns the address of the next part of a list.
func (v *visit) more(address, cursor string) string {
	if cursor == "" {
		return ""
	}
	return address + "?after=" + url.QueryEscape(cursor)
}

// badCursor answers an invalid cursor with the page for missing addresses.
func badCursor(err error) error {
	if fault.Is(err, fault.Invalid) {
		return fault.Missing("page", 0)
	}
	return err
}

func (v *visit) pathOf(kind string, id int64, t kb.Text) func(string) string {
	return func(locale string) string {
		return kb.PagePath(locale, kind, id, t.Serve(v.site.DefaultLocale, locale).Title)
	}
}

func (v *visit) category(p *theme.Page, name string) error {
	id, ok := kb.ParsePageName(name)
	if !ok {
		return fault.Missing("category", 0)
	}
	g, err := v.Category(v.ctx(), id)
	if err != nil {
		return err
	}
	shown := v.showCategory(p, g)
	if err := v.at(p.Locale, kb.CategoryPages, g.ID, shown.Name); err != nil {
		return err
	}
	in, err := v.Collection(v.ctx(), g.CollectionID)
	if err != nil {
		return err
	}
	req := storage.PageRequest{Limit: listArticles, Cursor: v.r.URL.Query().Get("after")}
	page, err := v.Articles(v.ctx(), kb.ArticleFilter{CategoryID: id, Brief: true}, false, req)
	if err != nil {
		return badCursor(err)
	}
	shown.Articles, shown.Next = v.entries(p, page.Items), v.more(shown.URL, page.Next)
	p.Category = &shown
	p.Title, p.Description, p.URL = shown.Name, shown.Summary, v.absolute(strings.TrimPrefix(shown.URL, v.prefix))
	collection := v.showCollection(p, in)
	v.crumbs(p, theme.Link{Name: collection.Name, URL: collection.URL})
	v.menu(p, translated(g.Text), v.pathOf(kb.CategoryPages, id, g.Text), "/"+kb.CategoryPages+"/"+strconv.FormatInt(id, 10))
	p.Data = crumbData(v, p)
	return nil
}

// load finds the article of a page: in a preview, its draft.
func (v *visit) load(name string) (kb.ArticleRevision, error) {
	id, ok := kb.ParsePageName(name)
	if !ok {
		return kb.ArticleRevision{}, fault.Missing("article", 0)
	}
	if v.preview.article == id && id != 0 {
		e, err := v.h.cfg.KB.Operator(v.ctx(), v.site.ID)
		if err != nil {
			return kb.ArticleRevision{}, err
		}
		return e.Draft(v.ctx(), id)
	}
	return v.Published(v.ctx(), id)
}

func (v *visit) article(p *theme.Page, name string) error {
	a, err := v.load(name)
	if err != nil {
		return err
	}
	id, t := a.Article.ID, a.Revision.Serve(v.site.DefaultLocale, p.Locale)
	if err := v.at(p.Locale, kb.ArticlePages, id, t.Title); err != nil {
		return err
	}
	path := kb.PagePath(t.Locale, kb.ArticlePages, id, t.Title)
	p.Title, p.Description, p.URL = t.Title, t.Summary, v.absolute(path)
	if p.Description == "" {
		p.Description = excerpt(t.Content)
	}
	if t, err = v.linked(t, p.Locale, v.prefix, v.base); err != nil {
		return err
	}
	content, heads := v.content(t)
	out := &theme.Article{
		ID: id, Title: t.Title, Summary: t.Summary, Content: template.HTML(content), URL: p.URL, Locale: t.Locale, Dir: theme.Direction(t.Locale), // cleaned when it was stored
		Fallback: language(t.Locale) != language(p.Locale), Outdated: a.Revision.Outdated(t), UpdatedAt: a.Revision.UpdatedAt.UTC().Format(timeLayout),
		Headings: heads, ReactURL: v.prefix + "/-/react/" + strconv.FormatInt(id, 10) + "?in=" + url.QueryEscape(p.Locale),
		ViewURL: v.prefix + "/-/view/" + strconv.FormatInt(id, 10), Token: v.h.sign("react", v.site.ID, strconv.FormatInt(id, 10)),
	}
	if v.preview.signed {
		out.ReactURL, out.ViewURL = "", ""
	}
	p.Article = out
	p.MarkdownURL = v.prefix + kb.PagePath(p.Locale, kb.ArticlePages, id, t.Title) + ".md"
	if err := v.around(p, a); err != nil {
		return err
	}
	v.menu(p, translated(a.Revision.Text), v.pathOf(kb.ArticlePages, id, a.Revision.Text), "/"+kb.ArticlePages+"/"+strconv.FormatInt(id, 10))
	p.Data = articleData(v, p, a)
	return nil
}

func language(locale string) string {
	base, _, _ := strings.Cut(locale, "-")
	return base
}

// excerpt returns a description of an article without a summary.
func excerpt(content string) string {
	for begin := 512; begin < len(content) && begin <= 8<<10; begin *= 4 { // usually long enough
		// The cut may have damaged the end.
		if text := contenthtml.Text(strings.ToValidUTF8(content[:begin], "")); utf8.RuneCountInString(text) > 200 {
			return shortened(text)
		}
	}
	return shortened(contenthtml.Text(content))
}

// shortened returns a text on one line of at most 160 characters.
func shortened(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if runes := []rune(text); len(runes) > 160 {
		return strings.TrimSpace(string(runes[:159])) + "…"
	}
	return text
}

// content returns an article's content as the page shows it, with its table of contents.
func (v *visit) content(t kb.Translation) (string, []theme.Heading) {
	made := contentOf(t)
	v.styles = made.styles
	return made.html, made.heads
}

// content is an article's content as its page has it.
type content struct {
	html   string
	styles string // for the page's stylesheet
	heads  []theme.Heading
}

// fewestHeads is how many headings make a table of contents.
const fewestHeads = 3

// contentOf makes the content of an article, with its table of contents.
func contentOf(t kb.Translation) content {
	html, styles := dressed(t)
	if strings.Count(html, "<h") < fewestHeads { // most short articles
		return content{html: html, styles: styles}
	}
	all := contenthtml.Headings(html)
	highest := 6
	for _, h := range all {
		highest = min(highest, h.Level)
	}
	lowest := max(highest+1, 3) // chapters of h1 have sections of h2 and h3
	var heads []theme.Heading
	for _, h := range all {
		if h.Level <= lowest {
			heads = append(heads, theme.Heading{Level: h.Level - highest + 2, Anchor: h.Anchor, Text: h.Text})
		}
	}
	if len(heads) < fewestHeads {
		heads = nil
	}
	return content{html: html, styles: styles, heads: heads}
}

// around has the parts next to and below an article.
func (v *visit) around(p *theme.Page, a kb.ArticleRevision) error {
	in, err := v.shelf(a.Revision.CollectionID)
	if err != nil {
		return err
	}
	collection := v.showCollection(p, in.Collection)
	more := []theme.Link{{Name: collection.Name, URL: collection.URL}}
	at := slices.IndexFunc(in.Categories, func(g kb.Category) bool { return slices.Contains(a.Revision.CategoryIDs, g.ID) })
	filter := loose(in.Collection.ID)
	section := theme.Category{Name: collection.Name, URL: collection.URL}
	if at >= 0 {
		filter = kb.ArticleFilter{CategoryID: in.Categories[at].ID, Brief: true}
		section = v.showCategory(p, in.Categories[at])
		more = append(more, theme.Link{Name: section.Name, URL: section.URL})
	}
	section.Current = true
	v.crumbs(p, more...)
	near := besides(in.Categories, at)
	rail, err := v.rail(in, at, near)
	if err != nil {
		return err
	}
	if p.Article.Sections, err = v.sections(p, section, near, rail); err != nil {
		return err
	}
	mark(p.Article.Sections, a.Article.ID)
	before, after, related, err := v.nearest(p.Locale, a, filter, rail)
	if err != nil {
		return err
	}
	for _, n := range []struct {
		of kb.ArticleRevision
		to **theme.Article
	}{{before, &p.Article.Previous}, {after, &p.Article.Next}} {
		if n.of.Article.ID != 0 {
			e := v.entry(p, n.of)
			*n.to = &e
		}
	}
	p.Article.Related = v.entries(p, related)
	return nil
}

// sections returns the lists next to an article: of its own section, and of the categories next to it. Other pages share
// their articles.
func (v *visit) sections(p *theme.Page, own theme.Category, near []kb.Category, rail rail) ([]theme.Category, error) {
	all, err := remembered(v, "sections "+p.Locale+" "+own.URL, func() ([]theme.Category, error) {
		all := make([]theme.Category, 0, 1+len(near))
		if own.Articles = v.entries(p, rail.siblings); len(own.Articles) > 0 {
			if rail.more {
				own.Next = own.URL
			}
			all = append(all, own)
		}
		for _, g := range near {
			row := v.showCategory(p, g)
			row.Articles = v.entries(p, rail.beside[g.ID])
			if len(row.Articles) > shelfArticles {
				row.Articles, row.Next = row.Articles[:shelfArticles], row.URL
			}
			all = append(all, row)
		}
		return all, nil
	})
	return slices.Clone(all), err
}

// mark marks an article in the list of its own section.
func mark(sections []theme.Category, article int64) {
	if len(sections) == 0 || !sections[0].Current {
		return
	}
	own := &sections[0]
	if at := slices.IndexFunc(own.Articles, func(a theme.Article) bool { return a.ID == article }); at >= 0 {
		own.Articles = slices.Clone(own.Articles)
		own.Articles[at].Current = true
	}
}

// nearest returns the articles before and after an article among its siblings, and those related to it, without these two.
func (v *visit) nearest(locale string, a kb.ArticleRevision, filter kb.ArticleFilter, rail rail) (before, after kb.ArticleRevision, related []kb.ArticleRevision, err error) {
	words, err := remembered(v, "title words "+locale, func() (*kb.TitleWords, error) { return new(kb.TitleWords), nil })
	if err != nil {
		return before, after, nil, err
	}
	before, after, known := rail.besides(a.Article.ID)
	if !known {
		if before, after, err = v.Neighbours(v.ctx(), a.Article, filter); err != nil {
			return before, after, nil, err
		}
	}
	related, err = v.Related(v.ctx(), a, kb.RelatedQuery{
		Locale: locale, Except: []int64{before.Article.ID, after.Article.ID}, Known: rail.all, Limit: relatedArticles, Words: words,
	})
	return before, after, related, err
}

// besides returns the categories after that of the article, and those before it.
func besides(categories []kb.Category, at int) []kb.Category {
	var near []kb.Category
	for i := 1; i < len(categories) && len(near) < railCategories-1; i++ {
		g := categories[(at+i+len(categories))%len(categories)]
		if g.Counters.Articles > 0 && (at < 0 || g.ID != categories[at].ID) {
			near = append(near, g)
		}
	}
	if at < 0 && len(categories) == 1 && categories[0].Counters.Articles > 0 {
		near = categories
	}
	return near
}

func (v *visit) search(locale string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	words := searchWords(v.r.URL)
	p := v.page(theme.PageSearch, locale)
	p.NoIndex = true
	p.Search = &theme.Search{Query: words}
	p.Title = theme.Text(locale, "Search")
	v.menu(p, v.locales, func(l string) string { return "/" + l + "/search" + query(v.r.URL) }, "")
	if words != "" {
		if v.limited(LimitSearch) {
			return v.tooMany(p)
		}
		if err := v.results(p, words); err != nil {
			return badCursor(err)
		}
		if v.r.URL.Query().Get("after") == "" {
			if err := v.answer(p, words); err != nil {
				return err
			}
			v.searched(p, words)
		}
	}
	if len(p.Search.Results) == 0 {
		var err error
		if p.Collections, err = v.collections(p); err != nil {
			return err
		}
	}
	return v.write(http.StatusOK, theme.PageSearch, p)
}

// searched counts a search.
func (v *visit) searched(p *theme.Page, words string) {
	if v.r.Method != http.MethodGet {
		return
	}
	what := Searched
	if len(p.Search.Results) == 0 {
		what = FoundNone
	}
	v.count(Reading{What: what, Locale: p.Locale, Query: words})
}

func (v *visit) results(p *theme.Page, words string) error {
	req := storage.PageRequest{Limit: foundArticles, Cursor: v.r.URL.Query().Get("after")}
	found, err := v.Search(v.ctx(), words, []string{p.Locale}, kb.ArticleFilter{}, req)
	if err != nil {
		return err
	}
	if p.Search.Count, p.Search.More, err = v.CountFound(v.ctx(), words, []string{p.Locale}); err != nil {
		return err
	}
	names, err := v.names(p, found.Items)
	if err != nil {
		return err
	}
	for _, f := range found.Items {
		e := v.entry(p, f.ArticleRevision)
		result := theme.Result{Title: e.Title, URL: e.URL, Locale: e.Locale, Dir: e.Dir, Snippet: template.HTML(f.Highlight.Snippet)} // escaped
		result.Path = names(f.ArticleRevision)
		p.Search.Results = append(p.Search.Results, result)
	}
	if found.Next != "" {
		p.Search.Next = p.Site.SearchURL + "?query=" + url.QueryEscape(words) + "&after=" + url.QueryEscape(found.Next)
	}
	return nil
}

// answer quotes the article that answers a question, if one does.
func (v *visit) answer(p *theme.Page, words string) error {
	found, err := v.Answers(v.ctx(), words, []string{p.Locale}, 1)
	if err != nil || len(found) == 0 {
		return err
	}
	a := found[0]
	e := v.entry(p, a.ArticleRevision)
	p.Search.Answer = &theme.Answer{
		Text: template.HTML(a.Highlight), Title: e.Title, Heading: a.Heading.Text, URL: e.URL + fragment(a.Heading.Anchor), Locale: e.Locale, Dir: e.Dir, // escaped
	}
	return nil
}

// fragment returns the end of an address that leads to an anchor.
func fragment(anchor string) string {
	if anchor == "" {
		return ""
	}
	return "#" + url.PathEscape(anchor)
}

// names returns the names of the collections and categories of articles.
func (v *visit) names(p *theme.Page, list []kb.Found) (func(kb.ArticleRevision) []string, error) {
	var collections, categories []int64
	for _, f := range list {
		collections = append(collections, f.Article.CollectionID)
		categories = append(categories, f.Article.CategoryIDs...)
	}
	in, err := v.CollectionsByID(v.ctx(), unique(collections))
	if err != nil {
		return nil, err
	}
	of, err := v.CategoriesByID(v.ctx(), unique(categories))
	return func(a kb.ArticleRevision) []string {
		var path []string
		for _, c := range in {
			if c.ID == a.Article.CollectionID {
				path = append(path, c.Serve(v.site.DefaultLocale, p.Locale).Title)
			}
		}
		for _, g := range of {
			if slices.Contains(a.Article.CategoryIDs, g.ID) && g.CollectionID == a.Article.CollectionID {
				return append(path, g.Serve(v.site.DefaultLocale, p.Locale).Title)
			}
		}
		return path
	}, err
}

func unique(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// suggestion is an article suggested while the reader types.
type suggestion struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Section string `json:"section"`
}

const maxSuggestions = 5

// suggest sends a script the titles for a query.
func (v *visit) suggest(given string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	locale, ok := kb.Locale(given)
	if !ok || !slices.Contains(v.locales, locale) {
		locale = v.preferred(v.locales)
	}
	p := v.page(theme.PageSearch, locale)
	words := strings.TrimSpace(v.r.URL.Query().Get("query"))
	if r := []rune(words); len(r) > 200 {
		words = string(r[:200])
	}
	out := struct {
		Articles []suggestion `json:"articles"`
		Status   string       `json:"status"`
		All      string       `json:"all"`
		URL      string       `json:"url"`
	}{Articles: []suggestion{}, URL: p.Site.SearchURL + "?query=" + url.QueryEscape(words)}
	h := v.w.Header()
	if v.limited(LimitSearch) {
		v.w.WriteHeader(http.StatusTooManyRequests)
		return nil
	}
	found, err := v.Search(v.ctx(), words, []string{locale}, kb.ArticleFilter{}, storage.PageRequest{Limit: maxSuggestions})
	if err != nil {
		return err
	}
	names, err := v.names(p, found.Items)
	if err != nil {
		return err
	}
	for _, f := range found.Items {
		e := v.entry(p, f.ArticleRevision)
		s := suggestion{Title: e.Title, URL: e.URL}
		if path := names(f.ArticleRevision); len(path) > 0 {
			s.Section = path[0]
		}
		out.Articles = append(out.Articles, s)
	}
	count, _, err := v.CountFound(v.ctx(), words, []string{locale})
	if err != nil {
		return err
	}
	out.Status, out.All = theme.Count(locale, "results", count), theme.Count(locale, "see", count)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	return json.NewEncoder(v.w).Encode(out)
}

// lost answers an address without a page.
func (v *visit) lost(locale string) error {
	p := v.page(theme.PageNotFound, locale)
	p.NoIndex = true
	p.Title = theme.Text(locale, "This page does not exist")
	popular, err := v.Top(v.ctx(), kb.MostViewed, homeArticles)
	if err == nil && len(popular) == 0 {
		popular, err = v.Top(v.ctx(), kb.LatestChanged, homeArticles)
	}
	if err != nil {
		return err
	}
	p.Popular = v.entries(p, popular)
	v.menu(p, v.locales, inLanguage(""), "")
	return v.write(http.StatusNotFound, theme.PageNotFound, p)
}

// cached serves a page that is the same for everyone until something changes.
func (v *visit) cached(name, locale string, fill func(*theme.Page) error) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	p := v.page(name, locale)
	err := fill(p)
	var m *moved
	switch {
	case errors.As(err, &m):
		return v.redirect(http.StatusMovedPermanently, m.to)
	case fault.Is(err, fault.NotFound):
		return v.lost(locale)
	case err != nil:
		return err
	}
	return v.write(http.StatusOK, name, p)
}
