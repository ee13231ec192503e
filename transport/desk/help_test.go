package desk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/transport/api"
	"github.com/helpwright/helpwright/transport/desk"
)

// library is a desk with a help centre in English, German and Arabic: a collection with a published article. A request is
// the collaborator's when it has the header As.
type library struct {
	*bundle
	kb      *kb.Service
	ed      *kb.Editor
	article kb.ArticleRevision
}

const burrs = "Coffee oils turn rancid.\n\n## What you need\n\nA dry brush and a cloth.\n\n1. Unscrew the handle.\n2. Turn the dial two clicks back.\n"

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{}
	var other identity.User
	var err error
	l.bundle = newBundle(t, func(cfg *desk.Config) {
		svc := cfg.Service
		l.kb, err = kb.New(kb.Config{
			Store: cfg.Once.(interface{ KB() kb.Store }).KB(), Blobs: memblob.New(), Membership: api.Members(svc), BaseURL: "https://desk.example", MaxFile: 1 << 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg.KB = l.kb
		cfg.Authenticate = func(r *http.Request) (helpdesk.Caller, error) {
			if r.Header.Get("As") != "" {
				return svc.As(other.ID), nil
			}
			return svc.As(1), nil
		}
	})
	if _, err := l.desk.Account().Update(t.Context(), identity.AccountUpdate{Name: "Halden", DefaultLocale: storage.Some("en"), Languages: storage.Some([]string{"en", "de", "ar"})}); err != nil {
		t.Fatal(err)
	}
	if other, err = l.service.Operator().CreateUser(t.Context(), identity.UserInput{Name: "Tomás", Email: "tomas@example.org", Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.service.Operator().AddMember(t.Context(), 1, other.ID, identity.RoleCollaborator); err != nil {
		t.Fatal(err)
	}
	sites, err := l.kb.Sites(l.service.As(l.owner.ID))
	if err != nil {
		t.Fatal(err)
	}
	site, err := sites.Create(t.Context(), kb.SiteInput{AccountID: 1, Name: "Help", Path: storage.Some("help")})
	if err != nil {
		t.Fatal(err)
	}
	if l.ed, err = l.kb.Editor(t.Context(), l.service.As(l.owner.ID), site.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ed.CreateCollection(t.Context(), kb.CollectionInput{TextInput: in("en", kb.TranslationInput{Title: storage.Some("Care")})}); err != nil {
		t.Fatal(err)
	}
	l.article = l.write(t.Context(), "Clean the burrs", burrs)
	return l
}

func in(locale string, one kb.TranslationInput) kb.TextInput {
	return kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{locale: storage.Some(one)}}
}

func (l *library) write(ctx context.Context, title, text string) kb.ArticleRevision {
	l.Helper()
	a, err := l.ed.CreateArticle(ctx, kb.ArticleInput{CollectionID: 1, TextInput: in("en", kb.TranslationInput{Title: storage.Some(title), Markdown: storage.Some(text)})})
	if err != nil {
		l.Fatal(err)
	}
	return a
}

func (l *library) draft() kb.ArticleRevision {
	l.Helper()
	a, err := l.ed.Draft(l.Context(), l.article.Article.ID)
	if err != nil {
		l.Fatal(err)
	}
	return a
}

// fields returns the fields of a page's form, without buttons.
func fields(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(between(page, `<form id="article"`, "</form>"), -1) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range regexp.MustCompile(`(?s)<textarea name="([^"]+)"[^>]*>(.*?)</textarea>`).FindAllStringSubmatch(between(page, `<form id="article"`, "</form>"), -1) {
		form.Add(m[1], strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m[2]))
	}
	return form
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

// Every page of the editor works, and refuses members without the permission.
func TestHelpPages(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	for path, want := range map[string]string{
		"": "Needs work", "?show=all": "Clean the burrs", "?collection=1": "Care", "?q=burrs": "Clean the burrs", "/collections/new": "New collection", "/collections/1": "Care",
		"/new": "New article", "/a/1": "Coffee oils", "/a/1?to=de": "Translate here", "/a/1?to=ar": `dir="rtl"`, "/a/1?to=de&plain=1": "Side by side", "/a/1/history": "Revision 1",
		"/a/1/history/1": "Coffee oils", "/files": "No files yet", "/look": "Home page text", "/search": "Pinned articles",
	} {
		got := l.get("/help/1" + path)
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d, without %q\n%s", path, got.status, want, between(got.body, "<main", "</main>"))
		}
	}
	for _, path := range []string{"/help/2", "/help/1/a/99", "/help/1?collection=9", "/help/1?category=9", "/help/1/collections/9", "/help/1/a/1/history/9", "/help/1/files/1/x/y"} {
		if got := l.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// Writing, translating and following the source, as a form without scripts does it.
func TestHelpTranslation(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := fields(t, l.get("/help/1/a/1?to=de").body)
	if n := len(form["unit"]); n != 5 {
		t.Fatalf("%d units: %q", n, form["unit"])
	}
	form.Set("name", "Mahlwerk reinigen")
	form["unit"] = []string{"Kaffeeöle werden ranzig.", "## Das brauchen Sie", "Bürste und Tuch.", "1. Kurbel abschrauben.\n2. Rad zwei Klicks zurück.", ""}
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	a := l.draft()
	de, _ := a.Revision.Translation("de")
	if a.Revision.Outdated(de) || de.Markdown != "Kaffeeöle werden ranzig.\n\n## Das brauchen Sie\n\nBürste und Tuch.\n\n1. Kurbel abschrauben.\n2. Rad zwei Klicks zurück." || a.Article.Draft != 2 {
		t.Errorf("%+v", de)
	}
	form = fields(t, l.get("/help/1/a/1").body)
	form.Set("text", strings.NewReplacer("a cloth.", "a cloth. Never use water.", "two", "four").Replace(burrs))
	form.Set("then", "publish")
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	page := l.get("/help/1/a/1?to=de").body
	for _, want := range []string{"Sentence added in English on", "<ins>Never use water.</ins>", "“two” changed to “four” in English", "<del>two</del>", "2 of 5 need work", "2 outdated"} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q\n%s", want, between(page, `<form id="article"`, "</form>"))
		}
	}
	if got := l.get("/help/1"); !strings.Contains(got.body, "Outdated translations") || !strings.Contains(got.body, "Clean the burrs") {
		t.Error("it is not among what needs work")
	}
	form = fields(t, page) // one of the two is done
	form["unit"][2] = "Bürste und Tuch. Nie Wasser."
	form.Set("done", regexp.MustCompile(`name="done" value="([^"]+)"`).FindStringSubmatch(page)[1])
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	page = l.get("/help/1/a/1?to=de").body
	if !strings.Contains(page, "1 of 5 need work") || strings.Contains(page, "Sentence added") || !strings.Contains(page, "Nie Wasser.") {
		t.Error(between(page, `<form id="article"`, "</form>"))
	}
	form = fields(t, page)
	form.Set("done", regexp.MustCompile(`name="done" value="([^"]+)"`).FindStringSubmatch(page)[1])
	form.Set("then", "publish")
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	a = l.draft()
	if de, _ = a.Revision.Translation("de"); a.Revision.Outdated(de) || de.MadeFrom != (kb.SourceText{}) || a.Article.Outdated != 0 || a.Article.Draft != 0 {
		t.Errorf("%+v %+v", a.Article, de)
	}
}

// An incomplete translation made elsewhere is marked, although its source has not changed.
func TestHelpUntranslatedParts(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	units := []string{"Kaffeeöle werden ranzig.", "## Das brauchen Sie", "Bürste und Tuch.", "1. Kurbel abschrauben.\n2. Rad zwei Klicks zurück."}
	for _, tt := range []struct {
		units int
		want  string
	}{{2, "2 parts are not translated"}, {3, "1 part is not translated"}, {4, "Up to date"}} {
		text := kb.TranslationInput{Title: storage.Some("Mahlwerk reinigen"), Markdown: storage.Some(strings.Join(units[:tt.units], "\n\n"))}
		if _, err := l.ed.UpdateArticle(t.Context(), 1, kb.ArticleInput{CollectionID: 1, TextInput: in("de", text)}); err != nil {
			t.Fatal(err)
		}
		if page := l.get("/help/1/a/1?to=de").body; !strings.Contains(page, tt.want) {
			t.Errorf("%d units: without %q\n%s", tt.units, tt.want, between(page, `<div class="heads"`, `<div id="units"`))
		}
	}
}

// If two members edit the same text, the second is shown both versions; other languages do not conflict.
func TestHelpConflict(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	mine, other := fields(t, l.get("/help/1/a/1").body), fields(t, l.get("/help/1/a/1?to=de").body)
	theirs := url.Values{"to": {"en"}, "seen": mine["seen"], "name": {"Clean the burrs"}, "text": {"Theirs."}}
	if got := l.post("/help/1/a/1", theirs, "Accept", "application/json"); got.status != http.StatusOK || !strings.Contains(got.body, `"tag":"Draft 2"`) {
		t.Fatal(got.status, got.body)
	}
	if got := l.post("/help/1/a/1", theirs, "Accept", "application/json"); got.status != http.StatusOK {
		t.Error("the same text again, from a page left while it was saved:", got.status, got.body)
	}
	mine.Set("text", "Mine.")
	if got := l.post("/help/1/a/1", mine, "Accept", "application/json"); got.status != http.StatusConflict {
		t.Fatal(got.status)
	}
	got := l.post("/help/1/a/1", mine)
	if got.status != http.StatusConflict || !strings.Contains(got.body, "Mine.") || !strings.Contains(got.body, "Theirs") {
		t.Fatal(got.status, got.body)
	}
	if en, _ := l.draft().Revision.Translation("en"); en.Markdown != "Theirs." {
		t.Error(en.Markdown)
	}
	other.Set("name", "Mahlwerk")
	if got := l.post("/help/1/a/1", other); got.status != http.StatusSeeOther {
		t.Error("another language:", got.status)
	}
	again := fields(t, got.body)
	if again.Get("text") != "Mine." {
		t.Errorf("%q", again)
	}
	if got := l.post("/help/1/a/1", again); got.status != http.StatusSeeOther {
		t.Error(got.status, got.body)
	}
	if en, _ := l.draft().Revision.Translation("en"); en.Markdown != "Mine." {
		t.Error(en.Markdown)
	}
}

// A form submitted twice creates one article or one site; an unchanged draft creates none.
func TestHelpTwice(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := url.Values{"collection": {"1"}, "name": {"New"}, "text": {"Text."}, "nonce": {"once"}, "to": {"en"}, "then": {"publish"}}
	for range 2 {
		if got := l.post("/help/1/new", form); got.status != http.StatusSeeOther || got.location != "/desk/a/1/help/1/a/2" {
			t.Error(got.status, got.location)
		}
	}
	site := url.Values{"name": {"Second"}, "path": {"second"}, "nonce": {"s"}}
	for range 2 {
		if got := l.post("/help/new", site); got.location != "/desk/a/1/help/2" {
			t.Error(got.status, got.location)
		}
	}
	if got := l.post("/help/1/a/1", fields(t, l.get("/help/1/a/1").body)); got.status != http.StatusSeeOther {
		t.Error(got.status)
	}
	if a := l.draft(); a.Article.Draft != 0 || a.Article.LastRevision != 1 {
		t.Errorf("%+v", a.Article)
	}
	if got := l.post("/help/1/new", url.Values{"collection": {"1"}, "name": {""}, "text": {"Kept."}, "then": {"publish"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Kept.") || !strings.Contains(got.body, "This is required") {
		t.Error(got.status)
	}
}

// HTML that is pasted into an article becomes Markdown, without what could run.
func TestPastedMarkdown(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	for html, want := range map[string]string{
		"":           "",
		"a <b>b</b>": "a **b**",
		"<p># *a*</p><script>alert(1)</script><hr>":                                                    "\\# \\*a\\*\n\n---",
		`<table><tr><td>a|b</td><td>c<br>d</td></tr><tr><td>e</td><td onclick="x">f</td></tr></table>`: "| a\\|b | c<br>d |\n| --- | --- |\n| e | f |",
	} {
		var got map[string]string
		answer := l.post("/help/1/markdown", url.Values{"html": {html}})
		if err := json.Unmarshal([]byte(answer.body), &got); err != nil || answer.status != http.StatusOK || got["markdown"] != want {
			t.Errorf("%s: %d %q, want %q", html, answer.status, answer.body, want)
		}
	}
}

// A collaborator can read but not write, and sites of another account are out of reach.
func TestHelpPermissions(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	as := []string{"As", "other"}
	for path, form := range map[string]url.Values{
		"/help/new": {"name": {"X"}}, "/help/1/new": {"collection": {"1"}, "name": {"X"}, "text": {"X"}}, "/help/1/a/1": {"name": {"X"}, "text": {"X"}}, "/help/1/a/1/delete": {}, "/help/1/a/1/unpublish": {},
		"/help/1/a/1/place": {"collection": {"1"}}, "/help/1/collections/new": {"name-en": {"X"}}, "/help/1/collections/1": {"name-en": {"X"}}, "/help/1/collections/1/delete": {},
		"/help/1/a/1/history/1": {}, "/help/1/files": {}, "/help/1/look": {"name": {"X"}}, "/help/1/search": {}, "/help/1/delete": {"name": {"Help"}}, "/help/1/look/themes": {},
	} {
		if got := l.post(path, form, as...); got.status != http.StatusForbidden && got.status != http.StatusNotFound && path != "/help/1/files" {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := l.get("/help/1/a/1", as...); got.status == http.StatusOK && (strings.Contains(got.body, `value="publish"`) || !strings.Contains(got.body, "readonly")) {
		t.Error("the page offers what is refused")
	}
	second, err := l.service.Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Second"}, l.owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/help/1", "/help/1/a/1", "/help/1/look", "/help/1/search", "/help/1/files"} {
		if got := l.do(http.MethodGet, "/desk/a/"+string(rune('0'+second.ID))+path, nil); got.status != http.StatusNotFound {
			t.Errorf("another account, %s: %d", path, got.status)
		}
	}
}

// Content by authors is never executed: not in the preview, not next to a translation, not in the history.
func TestHelpHostile(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	texts := append([]string{"[x](javascript:alert(1))", "![x](x\" onerror=\"alert(1))", "```html\n<script>alert(1)</script>\n```", "<h2 id=\"main\">x</h2>", "![x](https://evil.example/x.png)"}, hostile...)
	for i, text := range texts {
		got := l.post("/help/1/preview", url.Values{"text": {text}, "to": {"en"}}, "Desk-Target", "preview")
		if got.status != http.StatusOK {
			t.Errorf("%d: %d", i, got.status)
		}
		tree := parse(t, got.body)
		inspect(t, tree, "")
		for _, id := range []string{"main", "toast", "composer", "thread"} {
			if len(find(tree, "id", id)) > 0 {
				t.Errorf("%d: the id %q", i, id)
			}
		}
	}
	a := l.write(t.Context(), `</title><script>alert(1)</script>`, "A.\n\n"+strings.Join(texts[:8], "\n\n"))
	if _, err := l.ed.UpdateDraft(t.Context(), a.Article.ID, kb.ArticleInput{CollectionID: 1, TextInput: in("de", kb.TranslationInput{Title: storage.Some("<b>x"), Markdown: storage.Some(strings.Join(texts[4:12], "\n\n"))})}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ed.UpdateDraft(t.Context(), a.Article.ID, kb.ArticleInput{CollectionID: 1, TextInput: in("en", kb.TranslationInput{Markdown: storage.Some("B.\n\n" + strings.Join(texts[2:9], "\n\n"))})}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "?show=all", "/a/2", "/a/2?to=de", "/a/2?to=de&plain=1", "/a/2/history", "/a/2/history/1", "/a/2/history/2"} {
		got := l.get("/help/1" + path)
		if got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
		inspect(t, parse(t, got.body), "script[desk.js] input form button")
	}
}

// An article of a megabyte is written, compared and translated; a longer one is refused.
func TestHelpHuge(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	var b strings.Builder
	for b.Len() < 1<<20 {
		b.WriteString("A line of a text that goes on and on, and on.\n\n")
	}
	form := fields(t, l.get("/help/1/a/1").body)
	form.Set("text", b.String())
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	for _, path := range []string{"/a/1", "/a/1?to=de", "/a/1/history/2"} {
		if got := l.get("/help/1" + path); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	form = fields(t, l.get("/help/1/a/1").body)
	form.Set("text", strings.Repeat("x", kb.MaxContent+1))
	if got := l.post("/help/1/a/1", form); got.status != http.StatusUnprocessableEntity {
		t.Error(got.status)
	}
}

// Files are added, shown to editors, renamed and deleted; others are refused.
func TestHelpFiles(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	upload := func(name, content string) answer {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, _ := w.CreateFormFile("file", name)
		_, _ = part.Write([]byte(content))
		_ = w.Close()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, l.web.URL+"/desk/a/1/help/1/files", &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		r.Header.Set("Origin", l.web.URL)
		r.Header.Set("Accept", "application/json")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out bytes.Buffer
		_, _ = out.ReadFrom(res.Body)
		return answer{status: res.StatusCode, body: out.String()}
	}
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
	got := upload("burr grinder.png", png)
	path := between(got.body, "](", ")")
	if got.status != http.StatusOK || !strings.HasPrefix(path, "/files/1/") {
		t.Fatal(got.status, got.body)
	}
	if shown := l.get("/help/1" + path); shown.status != http.StatusOK || shown.header.Get("Content-Type") != "image/png" {
		t.Error(shown.status, shown.header)
	}
	if got := upload("evil.exe", "MZ"); got.status != http.StatusUnprocessableEntity {
		t.Error(got.status)
	}
	if got := upload("big.png", png+strings.Repeat("x", 2<<20)); got.status != http.StatusUnprocessableEntity {
		t.Error(got.status, got.body)
	}
	preview := l.post("/help/1/preview", url.Values{"text": {"![x](" + path + ")"}, "to": {"en"}}, "Desk-Target", "preview").body
	if !strings.Contains(preview, `src="/desk/a/1/help/1/files/1/`) {
		t.Error(preview)
	}
	if got := l.post("/help/1/files/1", url.Values{"name": {"grinder"}}); got.status != http.StatusSeeOther || !strings.Contains(l.get("/help/1/files").body, "grinder.png") {
		t.Error(got.status)
	}
	if got := l.post("/help/1/files/1/delete", nil); got.status != http.StatusSeeOther || strings.Contains(l.get("/help/1/files").body, "grinder.png") {
		t.Error(got.status)
	}
}

// Restoring brings a former text back, and keeps the history.
func TestHelpHistory(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := fields(t, l.get("/help/1/a/1").body)
	form.Set("text", "Something else.")
	form.Set("then", "publish")
	l.post("/help/1/a/1", form)
	page := l.get("/help/1/a/1/history/2").body
	if !strings.Contains(page, "<ins>Something else.</ins>") && !strings.Contains(page, "<ins>Something") {
		t.Error(between(page, `class="raw"`, "</main>"))
	}
	if got := l.post("/help/1/a/1/history/1", nil); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	if a := l.draft(); a.Article.Live != 3 {
		t.Errorf("%+v", a.Article)
	} else if en, _ := a.Revision.Translation("en"); en.Markdown != burrs {
		t.Error(en.Markdown)
	}
	for _, bad := range []string{"3", "9"} {
		if got := l.post("/help/1/a/1/history/"+bad, nil); got.status == http.StatusOK || got.status >= 500 {
			t.Errorf("%s: %d", bad, got.status)
		}
	}
}

// An answer links to an article in the composer, and becomes one itself.
func TestHelpFromConversations(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.asks("ada@example.com", "The burrs", "They are dirty.")
	form := url.Values{"kind": {"reply"}, "body": {"See this:"}, "to": {"ada@example.com"}, "article": {"burrs"}}
	if got := l.post("/c/1/article", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	page := l.get("/c/1").body
	if !strings.Contains(page, "https://desk.example/help/en/articles/1-clean-the-burrs") {
		t.Error(between(page, `class="composer"`, "</form>"))
	}
	i, err := l.desk.Interactions().Create(t.Context(), 1, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "<p>Use a <b>dry</b> brush.</p>"})
	if err != nil {
		t.Fatal(err)
	}
	got := l.get("/help/write?conversation=1&answer=" + strings.TrimSpace(itoa(i.ID)))
	if got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	if page := l.get(strings.TrimPrefix(got.location, "/desk/a/1")).body; !strings.Contains(page, "Use a **dry** brush.") || !strings.Contains(page, "The burrs") {
		t.Error(between(page, "<main", "</main>"))
	}
	if got := l.get("/help/write?conversation=9&answer=9"); got.status == http.StatusSeeOther && l.get(strings.TrimPrefix(got.location, "/desk/a/1")).status != http.StatusNotFound {
		t.Error("a conversation that is not there")
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
