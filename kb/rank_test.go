package kb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/testenv"
)

// finding is a site whose articles have their titles as names.
type finding struct {
	*bundle
	site    int64
	editor  *kb.Editor
	visitor *kb.Visitor
	shelf   int64
}

func newFinding(t testing.TB, store backend) finding {
	t.Helper()
	b := newBundle(t, store)
	site := b.site(t, kb.SiteInput{})
	e, err := b.Editor(t.Context(), erin, site.ID)
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Visitor(t.Context(), nil, site.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{
		"en": storage.Some(kb.TranslationInput{Title: storage.Some("All")}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return finding{b, site.ID, e, v, c.ID}
}

// add publishes an article in a language.
func (f finding) add(t testing.TB, locale, title, text string) kb.ArticleRevision {
	t.Helper()
	a, err := f.editor.CreateArticle(t.Context(), kb.ArticleInput{CollectionID: f.shelf, TextInput: kb.TextInput{
		SourceLocale: locale, Translations: map[string]storage.Opt[kb.TranslationInput]{
			locale: storage.Some(kb.TranslationInput{Title: storage.Some(title), Markdown: storage.Some(text)}),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// titles returns the titles that a visitor finds, the best first.
func (f finding) titles(t testing.TB, locale, query string) string {
	t.Helper()
	page, err := f.visitor.Search(t.Context(), query, []string{locale}, kb.ArticleFilter{}, storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, a := range page.Items {
		titles = append(titles, a.Revision.Serve(a.Locale).Title)
	}
	return strings.Join(titles, ", ")
}

func TestFindByQuestion(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	for _, a := range [][3]string{
		{"en", "Reset password", "Use the link that we send."},
		{"en", "Reset the printer", "Hold the button. Passwords stay."},
		{"en", "Accommodation", "Where to sleep."},
		{"en", "Invoices", "Each month. See how to pay below."},
		{"de", "Passwortänderung", "Unter Konto."},
		{"de", "Adresse der Lieferung", "Vor dem Versand."},
		{"de", "Monatsrechnung", "Am Ersten."},
		{"ja", "パスワードを変更する", "設定から。"},
		{"th", "รีเซ็ตรหัสผ่าน", "กดปุ่ม"},
	} {
		f.add(t, a[0], a[1], a[2])
	}
	for _, test := range [][3]string{
		{"en", "How do I reset my password?", "Reset password"},
		{"en", "resetting passwords", "Reset password"},
		{"en", "pasword reset", "Reset password"},
		{"en", "acomodation", "Accommodation"},
		{"en", "accomodattion", "Accommodation"},
		{"en", "invoic", "Invoices"},
		{"en", "invoicing", "Invoices"},
		{"de", "Passwort ändern", "Passwortänderung"},
		{"de", "Änderung", "Passwortänderung"},
		{"de", "Aenderungen", "Passwortänderung"},
		{"de", "Rechnungen", "Monatsrechnung"},
		{"de", "Lieferungsadresse", "Adresse der Lieferung"},
		{"ja", "パスワードの変更", "パスワードを変更する"},
		{"th", "ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร", "รีเซ็ตรหัสผ่าน"},
		{"en", "reset パスワード", "パスワードを変更する"},
	} {
		if got := f.titles(t, test[0], test[1]); got != test[2] && !strings.HasPrefix(got, test[2]+",") {
			t.Errorf("%q finds %s, not %s", test[1], got, test[2])
		}
	}
	for _, query := range []string{"", "?", "xyzzyx", "how do", "e\u0301", strings.Repeat("quux ", 100)} {
		if got := f.titles(t, "fr", query); got != "" && query != "how do" {
			t.Errorf("%q finds %s", query, got)
		}
	}
}

// Drafts and unpublished articles are found by editors only, and by nobody once they are gone.
func TestFindUnpublished(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	a := f.add(t, "en", "Secret plans", "Rockets.")
	change := kb.ArticleInput{CollectionID: f.shelf, Status: storage.Some(kb.Unpublished), TextInput: kb.TextInput{SourceLocale: "en"}}
	if _, err := f.editor.UpdateArticle(t.Context(), a.Article.ID, change); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"secret", "rockets", "rocktes", "sec"} {
		if got := f.titles(t, "en", query); got != "" {
			t.Errorf("a visitor finds %s by %q", got, query)
		}
		page, err := f.editor.Search(t.Context(), query, []string{"en"}, kb.ArticleFilter{}, storage.PageRequest{})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("an editor finds %d articles by %q: %v", len(page.Items), query, err)
		}
	}
}

// Pages go through all hits in both directions, and a common word has no more than MaxHits.
func TestFindPages(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	for i := range 25 {
		f.add(t, "en", fmt.Sprint("Common word ", i), strings.Repeat("filler ", i+1))
	}
	var all, back []int64
	req := storage.PageRequest{Limit: 7}
	var prev string
	for {
		page, err := f.visitor.Search(t.Context(), "common", []string{"en"}, kb.ArticleFilter{}, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Items {
			all = append(all, a.Article.ID)
		}
		if req.Cursor, prev = page.Next, page.Prev; req.Cursor == "" {
			break
		}
	}
	if len(all) != 25 {
		t.Fatalf("%d articles: %v", len(all), all)
	}
	for req.Cursor = prev; req.Cursor != ""; {
		page, err := f.visitor.Search(t.Context(), "common", []string{"en"}, kb.ArticleFilter{}, req)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(page.Items)
		for _, a := range page.Items {
			back = append(back, a.Article.ID)
		}
		req.Cursor = page.Prev
	}
	slices.Reverse(back)
	if !slices.Equal(all[:len(back)], back) || len(back) != 21 {
		t.Errorf("back are %v, not %v", back, all)
	}
}

// The work of a search is bounded, whatever is asked.
func TestQuestionsGrow(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	f.add(t, "de", "Passwortänderung", "Unter Konto.")
	for _, unit := range []string{"a", "a ", "paswort ", "東", "e\u0301", "rechnungsänderung", "x-", "1 ", "\xff", "😀"} {
		testenv.Growth(t, 8<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { f.titles(t, "de", text) }
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}

func FuzzSearch(f *testing.F) {
	site := newFinding(f, memstore.New())
	site.add(f, "de", "Passwortänderung", "Unter Konto. Call 040 123456.")
	site.add(f, "en", "Reset password 東京", "Wi-Fi, e-mail.")
	for _, seed := range []string{"How do I reset my password?", "Paswortaenderung", "東京 wifi", "%_\\'\"", "\xff\u0301", "a-b-c-d", "+49 40 123456", "😀 ไทย"} {
		f.Add("de", seed)
	}
	f.Fuzz(func(t *testing.T, locale, query string) {
		if _, err := site.visitor.Search(t.Context(), query, []string{locale}, kb.ArticleFilter{}, storage.PageRequest{}); err != nil {
			t.Fatal(err)
		}
	})
}
