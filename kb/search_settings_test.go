package kb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memstore"
)

func TestSynonymsAndPins(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	invoices := f.add(t, "en", "Invoices", "Each month.").Article.ID
	signIn := f.add(t, "en", "Sign in", "With a link.").Article.ID
	hidden := f.add(t, "en", "Prices", "Soon.").Article.ID
	change := kb.ArticleInput{CollectionID: f.shelf, Status: storage.Some(kb.Unpublished), TextInput: kb.TextInput{SourceLocale: "en"}}
	if _, err := f.editor.UpdateArticle(t.Context(), hidden, change); err != nil {
		t.Fatal(err)
	}
	want := kb.SearchSettings{
		Synonyms: [][]string{{"invoice", "bill"}, {"sign in", "log in", "access"}},
		Pins:     []kb.Pin{{Query: "How much is it?", Articles: []int64{hidden, signIn, invoices}}},
	}
	got, err := f.editor.SetSearchSettings(t.Context(), kb.SearchSettingsInput{
		Synonyms: storage.Some([][]string{{" invoice", "bill", "bill"}, {"sign in", "log in", "access"}}),
		Pins:     storage.Some([]kb.Pin{{Query: " How much is it?", Articles: []int64{hidden, signIn, invoices, signIn}}}),
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if f.visitor, err = f.Visitor(t.Context(), nil, f.site); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"bills": "Invoices", "my bill": "Invoices", "cannot log in": "Sign in", "access": "Sign in", "how much?": "Sign in, Invoices", "much invoices": "Invoices", "logs": "Sign in",
	} {
		if got := f.titles(t, "en", query); got != want {
			t.Errorf("%q finds %s, not %s", query, got, want)
		}
	}
	if _, err := f.editor.SetSearchSettings(t.Context(), kb.SearchSettingsInput{Pins: storage.Null[[]kb.Pin]()}); err != nil {
		t.Fatal(err)
	}
	want.Pins = nil
	if got, err := f.editor.SearchSettings(t.Context()); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSearchSettingsRefused(t *testing.T) {
	t.Parallel()
	f := newFinding(t, memstore.New())
	id := f.add(t, "en", "Invoices", "Each month.").Article.ID
	for name, in := range map[string]kb.SearchSettingsInput{
		"a single word":       {Synonyms: storage.Some([][]string{{"a"}})},
		"the same word twice": {Synonyms: storage.Some([][]string{{"a", "a"}})},
		"no word":             {Synonyms: storage.Some([][]string{{"a", "?"}})},
		"a long one":          {Synonyms: storage.Some([][]string{{"a", strings.Repeat("b", 61)}})},
		"many words":          {Synonyms: storage.Some([][]string{strings.Fields(strings.Repeat("a b ", 5))})},
		"many groups":         {Synonyms: storage.Some(make([][]string, kb.MaxSynonyms+1))},
		"no query":            {Pins: storage.Some([]kb.Pin{{Articles: []int64{id}}})},
		"no article":          {Pins: storage.Some([]kb.Pin{{Query: "a"}})},
		"another article":     {Pins: storage.Some([]kb.Pin{{Query: "a", Articles: []int64{id, id + 1}}})},
		"many articles":       {Pins: storage.Some([]kb.Pin{{Query: "a", Articles: make([]int64, kb.MaxPinned+1)}})},
		"many pins":           {Pins: storage.Some(make([]kb.Pin, kb.MaxPins+1))},
	} {
		if _, err := f.editor.SetSearchSettings(t.Context(), in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
