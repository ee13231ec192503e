package kb_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The source that a translation was made from comes from the caller, as the translation itself does.
func TestMadeFrom(t *testing.T) {
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
	create := func(of kb.SourceText) (kb.ArticleRevision, error) {
		return editor.CreateArticle(t.Context(), kb.ArticleInput{CollectionID: shelf.ID, TextInput: kb.TextInput{
			SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{
				"en": storage.Some(kb.TranslationInput{Title: storage.Some("Grind"), Markdown: storage.Some("Coarse.")}),
				"de": storage.Some(kb.TranslationInput{Title: storage.Some("Mahlen"), Markdown: storage.Some("Grob."), MadeFrom: storage.Some(of)}),
			},
		}})
	}
	a, err := create(kb.SourceText{Title: " Gr\x00ind\n", Summary: "a\x00b\xff", Content: "<p>Co\x00arse</p>", Markdown: "Co\x00arse\xfe"})
	if err != nil {
		t.Fatal(err)
	}
	de, _ := a.Revision.Translation("de")
	want := kb.SourceText{Title: "Grind", Summary: "ab\uFFFD", Content: "<p>Coarse</p>", Markdown: "Coarse\uFFFD"}
	if diff := cmp.Diff(want, de.MadeFrom); diff != "" {
		t.Error(diff)
	}
	_, err = create(kb.SourceText{
		Title: strings.Repeat("a", kb.MaxTitle+1), Summary: strings.Repeat("a", kb.MaxSummary+1), Content: strings.Repeat("a", kb.MaxContent+1),
		Markdown: strings.Repeat("a", kb.MaxContent+1),
	})
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("a source without bounds gives %v", err)
	}
	fields := []string{"content", "markdown", "summary", "title"}
	for i, name := range fields {
		fields[i] = "translations[de][made_from][" + name + "]"
	}
	if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(e.Fields))); diff != "" {
		t.Error(diff)
	}
}

// Markdown of 2 MiB is accepted, although its HTML is longer, and so is Markdown that is longer because of its references.
// What cannot be converted is refused for its own reason.
func TestLongMarkdown(t *testing.T) {
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
	prose := strings.Repeat("Plain words.\n\n", kb.MaxContent)[:kb.MaxContent-1] + "."
	links := strings.Repeat("[a](kb:articles/1234567890123)\n\n", kb.MaxContent)[:kb.MaxContent+kb.MaxContent/4]
	for name, tt := range map[string]struct {
		markdown string
		want     map[string][]string
	}{
		"2 MiB of prose":        {prose, nil},
		"longer":                {prose + "x", map[string][]string{"translations[en][markdown]": {"is longer than 2 MiB"}}},
		"longer for references": {links, nil},
		"nested too deeply":     {strings.Repeat("> ", 100) + "x", map[string][]string{"translations[en][markdown]": {"has quotes or lists that are nested too deeply"}}},
		"nothing shown":         {"<!-- x -->", map[string][]string{"translations[en][content]": {"is required"}}},
	} {
		_, err := editor.CreateArticle(t.Context(), kb.ArticleInput{CollectionID: shelf.ID, TextInput: kb.TextInput{
			SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some("Grind"), Markdown: storage.Some(tt.markdown)})},
		}})
		var e *fault.Error
		var got map[string][]string
		if errors.As(err, &e) {
			got = e.Fields
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
