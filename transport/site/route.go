package site

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/pattern"
)

// route serves the pages below the address of a site.
func (v *visit) route() error {
	pattern.Note(v.ctx(), routeOf(v.path))
	first, rest, _ := strings.Cut(strings.TrimPrefix(v.path, "/"), "/")
	if first == "-" && strings.HasPrefix(rest, "preview/") {
		if first, rest = v.openPreview(strings.TrimPrefix(rest, "preview/")); !v.preview.signed {
			return fault.Missing("page", 0)
		}
	}
	switch {
	case first == kb.FilePages:
		return v.file(rest)
	case first == "-" && strings.HasPrefix(rest, "assets/"):
		return v.asset(strings.TrimPrefix(rest, "assets/"))
	case first == "robots.txt" && rest == "":
		return v.robots()
	case first == "favicon.ico" && rest == "":
		return v.favicon()
	}
	err := v.enter()
	if v.site.Visibility == kb.Private && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden)) {
		return v.door(first, rest)
	}
	if err != nil {
		return err
	}
	switch {
	case first == "-":
		return v.service(rest)
	case first == "sitemap.xml" && rest == "", strings.HasPrefix(first, "sitemap-") && rest == "":
		return v.sitemap(first)
	case first == "llms.txt" && rest == "":
		return v.llms()
	case first == "" && rest == "":
		if !v.allow(http.MethodGet, http.MethodHead) {
			return nil
		}
		return v.redirect(http.StatusFound, "/"+v.preferred(v.locales))
	}
	if locale, ok := kb.Locale(first); ok {
		return v.inLocale(first, locale, rest)
	}
	return v.withoutLocale(first, rest)
}

// routeOf returns the pattern of an address below that of a site, for metrics: the number of patterns is small, whatever is
// requested.
func routeOf(path string) string {
	const site = "{site}/"
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	kind, _, below := strings.Cut(rest, "/")
	switch first {
	case "", "robots.txt", "favicon.ico", "llms.txt":
		return site + first
	case kb.FilePages:
		return site + first + "/{file}"
	case "-":
		switch kind {
		case "assets", "preview", "suggest", "view", "react", "sign-in", "sign-out":
			return site + "-/" + kind
		}
		return site + "{other}"
	}
	if strings.HasPrefix(first, "sitemap") {
		return site + "sitemap.xml"
	}
	if _, ok := kb.Locale(first); !ok {
		return site + "{other}"
	}
	switch kind {
	case "", "search", "contact", "feed.atom":
		return site + "{locale}/" + kind
	case kb.ArticlePages, kb.CollectionPages, kb.CategoryPages:
		if below {
			return site + "{locale}/" + kind + "/{name}"
		}
	}
	return site + "{locale}/{other}"
}

// withoutLocale redirects an address without a language to the one with the best language.
func (v *visit) withoutLocale(kind, rest string) error {
	if id, ok := kb.ParsePageName(rest); ok {
		var text kb.Text
		var err error
		switch kind {
		case kb.ArticlePages:
			var a kb.ArticleRevision
			a, err = v.Published(v.ctx(), id)
			text = a.Revision.Text
		case kb.CollectionPages:
			var c kb.Collection
			c, err = v.Collection(v.ctx(), id)
			text = c.Text
		case kb.CategoryPages:
			var c kb.Category
			c, err = v.Category(v.ctx(), id)
			text = c.Text
		default:
			return v.lost(v.preferred(v.locales))
		}
		if fault.Is(err, fault.NotFound) {
			return v.lost(v.preferred(v.locales))
		}
		if err != nil {
			return err
		}
		locale := v.preferred(translated(text))
		return v.redirect(http.StatusFound, kb.PagePath(locale, kind, id, text.Serve(v.site.DefaultLocale, locale).Title))
	}
	if (kind == "search" || kind == "contact") && rest == "" {
		return v.redirect(http.StatusFound, "/"+v.preferred(v.locales)+"/"+kind+query(v.r.URL))
	}
	return v.lost(v.preferred(v.locales))
}

// query returns the query of an address, with its question mark.
func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// translated returns the locales in which a text is served.
func translated(t kb.Text) []string {
	var all []string
	for _, o := range t.Translations {
		if o.Title != "" {
			all = append(all, o.Locale)
		}
	}
	return all
}

// inLocale serves the pages of a language.
func (v *visit) inLocale(given, locale, rest string) error {
	rest = strings.TrimSuffix(rest, "/")
	kind, name, _ := strings.Cut(rest, "/")
	to := "/" + rest
	if rest == "" {
		to = ""
	}
	known := false
	for _, l := range v.locales {
		known = known || l == locale
	}
	if !known { // an unsupported language is redirected to the nearest supported one
		near := best(v.locales, []string{locale})
		if near == "" {
			near = v.preferred(v.locales)
		}
		return v.redirect(http.StatusMovedPermanently, "/"+near+to+query(v.r.URL))
	}
	if given != locale || v.r.URL.Path != v.prefix+"/"+given+to {
		return v.redirect(http.StatusMovedPermanently, "/"+locale+to+query(v.r.URL))
	}
	switch {
	case rest == "":
		return v.cached(theme.PageHome, locale, v.home)
	case rest == "search":
		return v.search(locale)
	case rest == "contact":
		return v.contact(locale)
	case rest == "feed.atom":
		return v.feed(locale)
	case kind == kb.ArticlePages && name != "":
		if plain, ok := strings.CutSuffix(name, ".md"); ok {
			return v.markdown(locale, plain)
		}
		v.opened(locale)
		return v.cached(theme.PageArticle, locale, func(p *theme.Page) error { return v.article(p, name) })
	case kind == kb.CollectionPages && name != "":
		return v.cached(theme.PageCollection, locale, func(p *theme.Page) error { return v.collection(p, name) })
	case kind == kb.CategoryPages && name != "":
		return v.cached(theme.PageCategory, locale, func(p *theme.Page) error { return v.category(p, name) })
	}
	return v.lost(locale)
}

// service serves the resources of pages.
func (v *visit) service(rest string) error {
	what, arg, _ := strings.Cut(rest, "/")
	switch what {
	case "suggest":
		return v.suggest(arg)
	case "view":
		return v.view(arg)
	case "react":
		return v.react(arg)
	case "sign-in":
		return v.signIn("")
	case "sign-out":
		return v.signOut()
	}
	return v.lost(v.preferred(v.locales))
}

// moved is the error for a page that has another address.
type moved struct{ to string }

func (m *moved) Error() string { return "moved to " + m.to }

// at checks that a page is requested at its own address: the name in the address may be a former one.
func (v *visit) at(locale, kind string, id int64, title string) error {
	own := kb.PagePath(locale, kind, id, title)
	if u, err := url.Parse(own); err == nil && v.r.URL.Path == v.prefix+u.Path {
		return nil
	}
	return &moved{own + query(v.r.URL)}
}
