package kb_test

import (
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A text is saved before it has a title or content, but readers never see it so: not by publishing it, and not by restoring it.
func TestUnfinishedArticles(t *testing.T) {
	t.Parallel()
	b := memory(t)
	editor, err := b.Editor(t.Context(), erin, b.site(t, kb.SiteInput{}).ID)
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := editor.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{SourceLocale: "en", Translations: title("Basics")}})
	if err != nil {
		t.Fatal(err)
	}
	in := func(unfinished bool, status kb.Status, title, text string) kb.ArticleInput {
		return kb.ArticleInput{CollectionID: shelf.ID, Status: storage.Some(status), Unfinished: unfinished, TextInput: kb.TextInput{
			SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some(title), Markdown: storage.Some(text)})},
		}}
	}
	for name, refused := range map[string]kb.ArticleInput{
		"not said to be unfinished": in(false, kb.Unpublished, "", "Half a sen"), "without a title": in(true, kb.Published, "", "All."), "without content": in(true, kb.Published, "All", ""),
	} {
		if _, err := editor.CreateArticle(t.Context(), refused); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := editor.CreateArticle(t.Context(), in(true, kb.Unpublished, "", "Half a sen"))
	if err != nil {
		t.Fatal(err)
	}
	id := a.Article.ID
	publish := kb.ArticleInput{CollectionID: shelf.ID, Status: storage.Some(kb.Published), Unfinished: true, TextInput: kb.TextInput{SourceLocale: "en"}}
	if _, err := editor.UpdateArticle(t.Context(), id, publish); !fault.Is(err, fault.Invalid) {
		t.Errorf("published as it is: %v", err)
	}
	if _, err := editor.UpdateDraft(t.Context(), id, publish); !fault.Is(err, fault.Invalid) {
		t.Errorf("its draft is published as it is: %v", err)
	}
	if _, err := editor.UpdateDraft(t.Context(), id, in(false, kb.Published, "Whole", "A whole sentence.")); err != nil {
		t.Fatal(err)
	}
	if _, err := editor.Restore(t.Context(), id, 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("restored for readers: %v", err)
	}
}
