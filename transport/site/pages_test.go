package site_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/site"
)

const articlePath = "/en/articles/1-connect-your-bank-account"

// Text that pages must contain, and must not.
func TestPages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		for _, tt := range []struct {
			path        string
			has, hasNot []string
		}{
			{"/en", []string{"How can we help?", "Payments &amp; payouts", "3 articles", "8 articles", "Recently updated", `<html lang="en" dir="ltr">`, `hreflang="x-default" href="https://help.example.org/"`}, []string{"Popular articles"}},
			{"/ar", []string{`<html lang="ar" dir="rtl">`, "المدفوعات", "3 مقالات", `lang="en" dir="ltr"><a href="/ar/collections/2-getting-started"`}, nil},
			{articlePath, []string{"<h1 class=\"hw-title\">Connect your bank account</h1>", `<div class="hw-table" tabindex="0"><table>`, `class="hw-s1"`, ".hw-s1{color: red}", `<a href="#connect">`, `<span id="connect-your-bank-account"></span>`, "View as Markdown", "Why a payout is late",
				`hreflang="fr"`, `rel="canonical" href="https://help.example.org` + articlePath + `"`, `<pre tabindex="0">`, `"@type":"FAQPage"`, "Updated 14 November 2026"}, []string{`style="`, "<h1>", "not yet translated"}},
			{"/fr/articles/2-why-a-payout-is-late", []string{"Cet article n’est pas encore traduit en français.", "Voici la version en anglais.", `rel="canonical" href="https://help.example.org/en/articles/2-why-a-payout-is-late"`}, []string{`hreflang="fr"`}},
			{"/en/collections/2-getting-started", []string{"Step 7"}, nil},
			{"/en/collections/1-payments-payouts", []string{"Payouts", "Refunds", "Refund a payment"}, nil},
			{"/en/search?query=refund", []string{"2 articles match “refund”", "<mark>refund</mark>", "Payments &amp; payouts › Payouts", `content="noindex"`}, nil},
			{"/en/search?query=%3Cscript%3E", []string{"Nothing was found for “&lt;script&gt;”", "Getting started"}, []string{"<script>"}},
			{"/en/nowhere", []string{"This page does not exist", `content="noindex"`}, nil},
		} {
			body := w.get(tt.path).Body.String()
			for _, want := range tt.has {
				if !strings.Contains(body, want) {
					t.Errorf("%s: no %q in\n%s", tt.path, want, body)
				}
			}
			for _, no := range tt.hasNot {
				if strings.Contains(body, no) {
					t.Errorf("%s: has %q", tt.path, no)
				}
			}
			if strings.Contains(body, "ZgotmplZ") {
				t.Errorf("%s: an address was refused", tt.path)
			}
		}
		rec := w.get("/-/suggest/en?query=pay")
		var found struct {
			Articles []struct{ Title, URL, Section string }
			All      string
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &found); err != nil || len(found.Articles) != 2 || found.All != "See all 2 results" || found.Articles[0].Section != "Payments & payouts" {
			t.Errorf("%s %v", rec.Body, err)
		}
	})
}

// Machine-readable documents are valid.
func TestMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	var index struct {
		Sitemap []struct {
			Loc string `xml:"loc"`
		} `xml:"sitemap"`
	}
	if err := xml.Unmarshal(w.get("/sitemap.xml").Body.Bytes(), &index); err != nil || len(index.Sitemap) != 1 || index.Sitemap[0].Loc != "https://help.example.org/sitemap-1.xml" {
		t.Errorf("%+v %v", index, err)
	}
	var sitemap struct {
		URL []struct {
			Loc  string `xml:"loc"`
			Link []struct {
				Lang string `xml:"hreflang,attr"`
			} `xml:"link"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(w.get("/sitemap-1.xml").Body.Bytes(), &sitemap); err != nil || len(sitemap.URL) != 3+3+1+3+10 || len(sitemap.URL[0].Link) != 3 {
		t.Errorf("%d %v", len(sitemap.URL), err)
	}
	var feed struct {
		Entry []struct {
			Title string `xml:"title"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(w.get("/fr/feed.atom").Body.Bytes(), &feed); err != nil || len(feed.Entry) != 11 {
		t.Errorf("%d %v", len(feed.Entry), err)
	}
	if rec := w.get("/robots.txt"); !strings.Contains(rec.Body.String(), "Sitemap: https://help.example.org/sitemap.xml") {
		t.Error(rec.Body)
	}
	if rec := w.get("/llms.txt"); !strings.Contains(rec.Body.String(), "- [Connect your bank account](https://help.example.org"+articlePath+".md)") {
		t.Error(rec.Body)
	}
	want := "# Connect your bank account\n\n## Before you start\n\nHave these at [hand](#connect-your-bank-account).\n\n## Connect\n\n| 1 |\n| --- |\n\n### A code\n\nIs it safe?\n\nYes.\n\nIs it fast?\n\nVery.\n\n```go\nx := \"<b>\"\n```\n"
	if rec := w.get(articlePath + ".md"); rec.Body.String() != want || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/markdown") {
		t.Errorf("%v\n%s", rec.Header(), rec.Body)
	}
	if rec := w.get("/en/articles/1-old.md"); rec.Code != 301 || rec.Header().Get("Location") != articlePath+".md" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	data := regexp.MustCompile(`(?s)<script type="application/ld\+json">(.*?)</script>`).FindStringSubmatch(w.get(articlePath).Body.String())
	if len(data) != 2 || !json.Valid([]byte(data[1])) {
		t.Errorf("%q", data)
	}
}

// A page is rendered once, and answers 304 to a client that has it.
func TestCache(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		first := w.get(articlePath)
		etag := first.Header().Get("ETag")
		if cc := first.Header().Get("Cache-Control"); !strings.Contains(cc, "stale-while-revalidate") || etag == "" || strings.HasPrefix(etag, "W/") {
			t.Fatal(first.Header())
		}
		if rec := w.get(articlePath, "If-None-Match", etag); rec.Code != 304 || rec.Body.Len() > 0 || rec.Header().Get("ETag") != etag {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		if rec := w.ask(w.Handler, "HEAD", "https://help.example.org"+articlePath, nil); rec.Body.Len() > 0 || rec.Header().Get("ETag") != etag {
			t.Errorf("%v", rec.Header())
		}
		w.collection(map[string]string{"en": "Another"}, "") // changes the site, but nothing on this page
		if rec := w.get(articlePath, "If-None-Match", etag); rec.Code != 304 {
			t.Errorf("an unrelated change: %d", rec.Code)
		}
	})
}

// forgetful is a log whose events are not kept.
type forgetful struct{ storage.EventLog }

func (forgetful) Events(context.Context, int64, int64, int) ([]storage.Event, error) { return nil, nil }

// Events that are not kept any more may have changed a page.
func TestForgottenEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	w.Handler = w.handler(func(c *site.Config) { c.Events = forgetful{w.store} })
	if rec := w.get(articlePath); rec.Code != http.StatusOK {
		t.Fatal(rec.Code)
	}
	id, _ := kb.ParsePageName(path.Base(articlePath))
	if err := w.editor.DeleteArticle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Second)
	if rec := w.get(articlePath); rec.Code != http.StatusNotFound {
		t.Errorf("a page that was deleted: %d", rec.Code)
	}
}

// A change by one process is visible in all others within a second; unrelated changes have no effect.
func TestInvalidation(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "two.db")
	w := newWorld(t, openSQLite(t, url))
	w.library()
	other := &world{t: t, store: openSQLite(t, url), base: w.base, now: w.now, site: w.site, over: map[string]bool{}}
	other.kb = other.service()
	other.Handler = other.handler(nil)
	title := func() string {
		body := other.get(articlePath).Body.String()
		_, after, _ := strings.Cut(body, "Before ")
		return after[:min(len(after), 9)]
	}
	if got := title(); got != "you start" {
		t.Fatal(got)
	}
	change := func(word string) {
		t.Helper()
		in := kb.ArticleInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{
			"en": storage.Some(kb.TranslationInput{Content: storage.Some("<h2>Before " + word + "</h2>")}),
		}}, CollectionID: 1}
		if _, err := w.editor.UpdateArticle(t.Context(), 1, in); err != nil {
			t.Fatal(err)
		}
	}
	change("departure")
	other.advance(1100 * time.Millisecond)
	if got := title(); got != "departure" {
		t.Errorf("the other process shows %q", got)
	}
	if got := w.get(articlePath).Body.String(); !strings.Contains(got, "Before departure") { // told at once
		t.Error("the own process shows the former page")
	}
}

// Data that pages have in common is cached with the same rules of invalidation.
func TestInvalidationOfLists(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		w.library()
		const late, refund = "/en/articles/2-why-a-payout-is-late", "/en/articles/3-refund-a-payment"
		shows := func(path string, want bool, words ...string) {
			t.Helper()
			body := w.get(path).Body.String()
			for _, word := range words {
				if strings.Contains(body, word) != want {
					t.Errorf("%s with %q: %v", path, word, !want)
				}
			}
		}
		shows(articlePath, true, "Payouts", "Why a payout is late", `hreflang="ar"`)
		shows(articlePath, false, "Money out", "How to pay out")
		if _, err := w.editor.UpdateCategory(t.Context(), 1, kb.CategoryInput{TextInput: text("en", map[string]string{"en": "Money out"}, ""), CollectionID: 1}); err != nil {
			t.Fatal(err)
		}
		w.article(1, []int64{1}, map[string]string{"en": "How to pay out", "sv": "Att betala ut"}, "<p>Slowly.</p>")
		shows(late, true, "Money out", "How to pay out")
		if rec := w.get("/sv"); rec.Code != 200 {
			t.Errorf("a language that has come: %d", rec.Code)
		}
		if err := w.editor.DeleteArticle(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		shows(refund, true, "Money out", "How to pay out")
		shows(refund, false, "Why a payout is late")
		if rec := w.get(late); rec.Code != 404 {
			t.Errorf("an article that has gone: %d", rec.Code)
		}
	})
}

// The list beside an article marks the article, also when it was made for another page.
func TestCurrentArticle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	paths := []string{articlePath, "/en/articles/2-why-a-payout-is-late", "/en/articles/3-refund-a-payment"}
	loose := w.collection(map[string]string{"en": "Loose"}, "")
	for _, title := range []string{"First", "Second"} {
		a := w.article(loose.ID, nil, map[string]string{"en": title}, "<p>Text.</p>")
		paths = append(paths, kb.PagePath("en", kb.ArticlePages, a.Article.ID, title))
	}
	current := regexp.MustCompile(`<a href="([^"]*)"[^>]* aria-current="page">`)
	for name, change := range map[string]func(*site.Config){
		"nothing is known": func(c *site.Config) { c.LastEvent = nil },
		"all lists are":    func(c *site.Config) { c.CacheSize = 1 },
		"pages are kept":   func(*site.Config) {},
	} {
		h := w.handler(change)
		for _, path := range slices.Concat(paths, paths) {
			rec := w.ask(h, "GET", "https://help.example.org"+path, nil)
			got := current.FindAllStringSubmatch(rec.Body.String(), -1)
			if rec.Code != http.StatusOK || len(got) != 1 || got[0][1] != path {
				t.Errorf("%s, %s: %d, %q", name, path, rec.Code, got)
			}
		}
	}
}

const theme = `{{template "content" .}}<link rel="stylesheet" href="{{asset "style.css"}}"><script src="{{asset "own.js"}}"></script>`

// dress gives the site a theme with templates and assets, and returns its id.
func (w *world) dress(activate bool, files map[string]string) int64 {
	w.t.Helper()
	made, err := w.editor.CreateTheme(w.t.Context(), "Own")
	if err != nil {
		w.t.Fatal(err)
	}
	for path, content := range files {
		if _, _, err := w.editor.PutThemeFile(w.t.Context(), made.ID, path, []byte(content)); err != nil {
			w.t.Fatal(err)
		}
	}
	if activate {
		if _, err := w.editor.ActivateTheme(w.t.Context(), made.ID); err != nil {
			w.t.Fatal(err)
		}
	}
	w.advance(2 * time.Second)
	return made.ID
}

// A site is dressed in its theme, with assets at addresses that name their content.
func TestThemes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	w.get("/en")
	id := w.dress(true, map[string]string{"templates/layout.html": "MINE " + theme, "assets/own.js": "own()", "assets/style.css": "p{color:red}"})
	rec := w.get("/en")
	if !strings.HasPrefix(rec.Body.String(), "MINE ") || !strings.Contains(rec.Header().Get("Content-Security-Policy"), "script-src 'self';") || strings.Contains(rec.Header().Get("Content-Security-Policy"), "unsafe") {
		t.Fatalf("%v %s", rec.Header(), rec.Body)
	}
	addresses := regexp.MustCompile(`(?:src|href)="(/-/assets/[^"]*)"`).FindAllStringSubmatch(rec.Body.String(), -1)
	if len(addresses) != 2 {
		t.Fatal(addresses)
	}
	for i, content := range []string{"p{color:red}", "own()"} {
		got := w.get(addresses[i][1])
		if got.Code != 200 || !strings.HasSuffix(got.Body.String(), content) || !strings.Contains(got.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v %s", addresses[i][1], got.Code, got.Header(), got.Body)
		}
	}
	if css := w.get("/-/assets/0/style.css"); css.Code != 200 || css.Header().Get("Cache-Control") != "no-store" || !strings.HasPrefix(css.Body.String(), ":root{--hw-accent:#016770;") {
		t.Errorf("a former address: %d %v", css.Code, css.Header())
	}
	if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: 1, Name: "Acme", CustomDomain: storage.Null[string](), Path: storage.Some("acme")}); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Second)
	rec = w.ask(w.Handler, "GET", "https://desk.example.net/acme/en", nil)
	if policy := rec.Header().Get("Content-Security-Policy"); rec.Code != 200 || strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "own.js") || !strings.Contains(policy, "/contact.js;") {
		t.Errorf("on the shared host: %d %s", rec.Code, policy)
	}
	preview := w.PreviewTheme("https://desk.example.net/acme", w.site.ID, id)
	if rec := w.ask(w.Handler, "GET", preview+"en", nil); rec.Code != 200 || rec.Header().Get("Cache-Control") != "private, no-store" || !strings.Contains(rec.Header().Get("Content-Security-Policy"), "frame-ancestors 'self' https://desk.example.net") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
}

// Members and previews see the problem of a theme, readers the built-in one.
func TestBrokenTheme(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	id := w.dress(true, map[string]string{"templates/home.html": "\n<i>\n{{(index .Collections 99).Name}}\n</i>"})
	if rec := w.get("/en"); rec.Code != 200 || !strings.Contains(rec.Body.String(), "How can we help?") || strings.Contains(rec.Header().Get("Cache-Control"), "public") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	if rec := w.get(articlePath); rec.Code != 200 || !strings.Contains(rec.Body.String(), "Have these at ") {
		t.Errorf("%d", rec.Code)
	}
	h := w.handler(nil)
	page := w.get("/-/sign-in")
	rec := w.post("/-/sign-in", map[string][]string{"token": {value(page.Body.String(), "token")}, "email": {"ada@example.org"}, "password": {"right"}})
	session, _, _ := strings.Cut(rec.Header().Get("Set-Cookie"), ";")
	for _, got := range []*httptest.ResponseRecorder{
		w.ask(h, "GET", "https://help.example.org/en", nil, "Cookie", session), w.ask(h, "GET", h.PreviewTheme("https://help.example.org", w.site.ID, id)+"en", nil),
	} {
		for _, want := range []string{"templates/home.html, line 3", "index out of range: 99", "   2  &lt;i&gt;\n<mark>   3  {{(index .Collections 99).Name}}</mark>\n"} {
			if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
				t.Errorf("%d, no %q in %s", got.Code, want, got.Body)
			}
		}
	}
}

// The draft of an article is shown under a signed address, for a day.
func TestPreviewDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	in := kb.ArticleInput{TextInput: text("en", map[string]string{"en": "Soon"}, "<p>Not yet.</p>"), CollectionID: 1}
	draft, err := w.editor.UpdateDraft(t.Context(), 1, in)
	if err != nil {
		t.Fatal(err)
	}
	address := w.PreviewDraft(w.site, draft, "en")
	rec := w.ask(w.Handler, "GET", address, nil)
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "Not yet.") || !strings.Contains(rec.Body.String(), "Draft preview") || rec.Header().Get("X-Robots-Tag") != "noindex" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(w.Handler, "GET", strings.Replace(address, "/preview/", "/preview/x", 1), nil); rec.Code != 404 {
		t.Errorf("changed: %d", rec.Code)
	}
	w.advance(25 * time.Hour)
	if rec := w.ask(w.Handler, "GET", address, nil); rec.Code != 404 {
		t.Errorf("a day later: %d", rec.Code)
	}
}

// A browser sends no request elsewhere, and shows pages without a warning.
func TestBrowser(t *testing.T) {
	t.Parallel()
	var w *world
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.ServeHTTP(rw, r) }))
	defer server.Close()
	w = newWorldAt(t, memstore.New(), server.URL)
	w.library()
	if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: 1, Name: "Acme", CustomDomain: storage.Null[string](), Path: storage.Some("help")}); err != nil {
		t.Fatal(err)
	}
	page := testenv.Browse(t, server.URL+"/help"+articlePath)
	if !strings.Contains(page.DOM, `aria-current="true"`) || !strings.Contains(page.DOM, "data-hw-print") {
		t.Errorf("the script did not run: %s", page.DOM)
	}
	for _, asked := range page.Requests {
		if !strings.HasPrefix(asked, server.URL+"/") {
			t.Errorf("it asked for %s", asked)
		}
	}
}

// Pages stay small.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	w.library()
	body := w.get("/en").Body.String()
	if len(body) > 12<<10 {
		t.Errorf("the home page has %d bytes", len(body))
	}
	for name, most := range map[string][2]int{"style.css": {30 << 10, 7 << 10}, "site.js": {6 << 10, 2560}, "contact.js": {3 << 10, 1400}} {
		address := regexp.MustCompile(`/-/assets/[0-9a-f]+/` + regexp.QuoteMeta(name)).FindString(w.get("/en/contact").Body.String())
		plain, zipped := w.get(address).Body.Len(), w.get(address, "Accept-Encoding", "gzip").Body.Len()
		if plain > most[0] || zipped > most[1] || plain == 0 {
			t.Errorf("%s: %d bytes, %d compressed", name, plain, zipped)
		}
	}
}

// A page's links within the site have the language and the slug of their targets, whatever host and path the site is at by
// now.
func TestLinkedPages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		w := newWorld(t, s)
		c := w.collection(map[string]string{"en": "Basics", "fr": "Grundlagen"}, "")
		to := w.article(c.ID, nil, map[string]string{"en": "Install it", "fr": "Einbauen"}, "<p>x</p>")
		from := w.article(c.ID, nil, map[string]string{"en": "Start", "fr": "Anfang"}, fmt.Sprintf(
			`<p><a href="kb:articles/%d#top">1</a> <a href="kb:collections/%d">2</a> <a href="kb:articles/999">3</a> <img src="kb:files/7/abcdefgh2345/a%%20b.png" alt="4"></p>`,
			to.Article.ID, c.ID))
		path := kb.PagePath("fr", kb.ArticlePages, from.Article.ID, "Anfang")
		body := w.get(path).Body.String()
		for _, want := range []string{
			`href="` + kb.PagePath("fr", kb.ArticlePages, to.Article.ID, "Einbauen") + `#top"`,
			`href="` + kb.PagePath("fr", kb.CollectionPages, c.ID, "Grundlagen") + `"`,
			`href="/fr/articles/999"`, `src="/files/7/abcdefgh2345/a%20b.png"`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if md := w.get(path + ".md").Body.String(); strings.Contains(body+md, "kb:") || !strings.Contains(md, "/fr/articles/"+strconv.FormatInt(to.Article.ID, 10)+"-einbauen#top") {
			t.Errorf("as Markdown: %s", md)
		}
	})
}

// The root of a host whose sites have paths names the sitemaps of the public ones.
func TestRobotsOfHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memstore.New())
	sites, err := w.kb.Sites(person(1))
	if err != nil {
		t.Fatal(err)
	}
	robots := func(address string) (int, string) {
		rec := w.ask(w.Handler, "GET", address+"/robots.txt", nil)
		return rec.Code, rec.Body.String()
	}
	const rules = "User-agent: *\nDisallow: /*/-/\nAllow: /*/-/assets/\n"
	if status, body := robots(w.base); status != 200 || body != rules {
		t.Errorf("without sites: %d %q", status, body)
	}
	for _, in := range []kb.SiteInput{
		{Name: "B", Path: storage.Some("bees")}, {Name: "A", Path: storage.Some("ants")},
		{Name: "C", Path: storage.Some("secret"), Visibility: storage.Some(kb.Private)},
	} {
		in.AccountID = w.site.AccountID
		if _, err := sites.Create(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	want := rules + "\nSitemap: https://desk.example.net/ants/sitemap.xml\nSitemap: https://desk.example.net/bees/sitemap.xml\n"
	if status, body := robots(w.base); status != 200 || body != want {
		t.Errorf("%d %q, want %q", status, body, want)
	}
	if status, body := robots("https://help.example.org"); status != 200 || !strings.Contains(body, "Sitemap: https://help.example.org/sitemap.xml") || strings.Contains(body, "ants") {
		t.Errorf("a custom domain: %d %q", status, body)
	}
	if status, _ := robots("https://other.example.org"); status != 404 {
		t.Errorf("another host: %d", status)
	}
	if rec := w.ask(w.Handler, "POST", w.base+"/robots.txt", url.Values{}); rec.Code != 404 {
		t.Errorf("POST: %d", rec.Code)
	}
}
