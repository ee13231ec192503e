package desk_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// savedAnswer is what the script learns when a text is saved.
type savedAnswer struct{ Saved, Seen, Tag, At, Error string }

// script saves a form as the script does.
func (l *library) script(t *testing.T, path string, form url.Values) (int, savedAnswer) {
	t.Helper()
	got := l.post(path, form, "Accept", "application/json")
	var said savedAnswer
	if err := json.Unmarshal([]byte(got.body), &said); err != nil {
		t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return got.status, said
}

// undoOf returns the form that undoes what was answered.
func (l *library) undoOf(t *testing.T, done answer) url.Values {
	t.Helper()
	undo := value(l.goOn(done), "undo")
	if undo == "" {
		t.Fatal("it cannot be undone")
	}
	return url.Values{"undo": {undo}}
}

// with returns a form with other values.
func with(form url.Values, pairs ...string) url.Values {
	form = maps.Clone(form)
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// A new article is saved from its first word on, once, and is the same article however often its form comes.
func TestNewArticleIsSaved(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := with(fields(t, l.get("/help/1/new").body), "collection", "1", "then", "")
	if status, said := l.script(t, "/help/1/new", form); status != http.StatusUnprocessableEntity {
		t.Errorf("nothing was written: %d %v", status, said)
	}
	status, said := l.script(t, "/help/1/new", with(form, "text", "Descale it"))
	if status != http.StatusOK || said.At != "/desk/a/1/help/1/a/2" || said.Tag != "Not published" || said.Saved == "" {
		t.Fatalf("%d %+v", status, said)
	}
	// The answer was lost: the form comes again, with more.
	status, said = l.script(t, "/help/1/new", with(form, "text", "Descale it.", "name", "Descaling"))
	if status != http.StatusOK || said.At != "/desk/a/1/help/1/a/2" {
		t.Fatalf("%d %+v", status, said)
	}
	second, err := l.ed.CreateCollection(t.Context(), kb.CollectionInput{TextInput: in("en", kb.TranslationInput{Title: storage.Some("More")})})
	if err != nil {
		t.Fatal(err)
	}
	status, said = l.script(t, "/help/1/a/2", with(form, "text", "Descale it monthly.", "name", "", "seen", said.Seen, "collection", itoa(second.ID)))
	if status != http.StatusOK {
		t.Fatalf("%d %+v", status, said)
	}
	a, err := l.ed.Draft(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	source, _ := a.Revision.Translation("en")
	if a.Article.LastRevision != 1 || a.Article.Published || a.Article.CollectionID != second.ID || source.Title != "" || source.Markdown != "Descale it monthly." {
		t.Errorf("%+v %+v", a.Article, source)
	}
	for _, path := range []string{"/help/1/a/2", "/help/1?show=all", "/help/1/a/2/history"} {
		if got := l.get(path); got.status != http.StatusOK || !strings.Contains(got.body, "Untitled") {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := l.post("/help/1/a/2", with(form, "text", "Descale it monthly.", "name", "", "seen", said.Seen, "then", "publish")); got.status != http.StatusUnprocessableEntity {
		t.Errorf("published without a title: %d", got.status)
	}
	if got := l.post("/help/1/a/2", with(form, "text", "Descale it monthly.", "name", "Descaling", "seen", said.Seen, "then", "publish")); got.status != http.StatusSeeOther {
		t.Errorf("published: %d", got.status)
	}
	if a, err := l.ed.Article(t.Context(), 2); err != nil || !a.Article.Published {
		t.Errorf("%+v, %v", a.Article, err)
	}
}

// Publishing a new article whose first saving is still on its way publishes all of it.
func TestNewArticleIsPublishedOnce(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := with(fields(t, l.get("/help/1/new").body), "collection", "1", "name", "Descaling", "text", "Monthly", "then", "")
	l.script(t, "/help/1/new", form)
	got := l.post("/help/1/new", with(form, "text", "Monthly, with vinegar.", "then", "publish"))
	if got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	a, err := l.ed.Article(t.Context(), 2)
	source, _ := a.Revision.Translation("en")
	if err != nil || !a.Article.Published || source.Markdown != "Monthly, with vinegar." {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := l.ed.Article(t.Context(), 3); !fault.Is(err, fault.NotFound) {
		t.Errorf("a third article: %v", err)
	}
}

// A draft that was discarded comes back with all its languages, unless somebody has begun another one.
func TestDiscardedDraftComesBack(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	draft := func(locale, text string) {
		t.Helper()
		if _, err := l.ed.UpdateDraft(t.Context(), 1, kb.ArticleInput{CollectionID: 1, TextInput: in(locale, kb.TranslationInput{Title: storage.Some("T " + locale), Markdown: storage.Some(text)})}); err != nil {
			t.Fatal(err)
		}
	}
	texts := func() map[string]string {
		t.Helper()
		a, err := l.ed.Draft(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, o := range a.Revision.Translations {
			all[o.Locale] = o.Title + ": " + o.Markdown
			if a.Revision.Outdated(o) {
				all[o.Locale] += " (outdated)"
			}
		}
		return all
	}
	draft("de", "Eins.")
	draft("en", "Two.")
	want := texts()
	got := l.post("/help/1/a/1/discard", url.Values{})
	if live := texts(); got.status != http.StatusSeeOther || len(live) != 1 {
		t.Fatal(got.status, live)
	}
	undo := l.undoOf(t, got)
	for range 2 { // the second click changes nothing
		if got := l.post("/undo", undo); got.status != http.StatusSeeOther {
			t.Fatal(got.status, got.body)
		}
		if diff := cmp.Diff(want, texts()); diff != "" {
			t.Error(diff)
		}
	}
	undo = l.undoOf(t, l.post("/help/1/a/1/discard", url.Values{}))
	draft("en", "Three.")
	want = texts()
	l.post("/undo", undo)
	if diff := cmp.Diff(want, texts()); diff != "" {
		t.Error(diff)
	}
}

// An article that was never published and is discarded comes back too.
func TestDiscardedArticleComesBack(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	form := with(fields(t, l.get("/help/1/new").body), "collection", "1", "text", "Descale it", "then", "")
	l.script(t, "/help/1/new", form)
	got := l.post("/help/1/a/2/discard", url.Values{})
	if _, err := l.ed.Article(t.Context(), 2); got.status != http.StatusSeeOther || !fault.Is(err, fault.NotFound) {
		t.Fatal(got.status, err)
	}
	back := l.post("/undo", l.undoOf(t, got))
	a, err := l.ed.Article(t.Context(), 3)
	source, _ := a.Revision.Translation("en")
	if err != nil || source.Markdown != "Descale it" || a.Article.Published || !strings.HasSuffix(back.header.Get("Location"), "/help/1/a/3") {
		t.Errorf("%+v %v %s", a, err, back.header.Get("Location"))
	}
	if got := l.post("/help/1/a/3/discard", url.Values{}, "As", "other"); got.status != http.StatusForbidden {
		t.Errorf("without the permission: %d", got.status)
	}
}
