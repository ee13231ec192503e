package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// A translation has blocks of the same kinds as its source, whether they are typed as Markdown or as plain text.
func TestTranslationKeepsKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, typed, want string }{
		"heading":                {"## What you need", "Das brauchen Sie", "## Das brauchen Sie"},
		"heading as Markdown":    {"## What you need", "### Das brauchen Sie", "### Das brauchen Sie"},
		"paragraph":              {"A dry brush.", "Ein Pinsel.", "Ein Pinsel."},
		"callout":                {"> [!WARNING]\n> Unplug it.", "Stecker ziehen.\nSofort.", "> [!WARNING]\n> Stecker ziehen.\n> Sofort."},
		"callout, as a quote":    {"> [!TIP]\n> Unplug it.", "> Stecker ziehen.", "> [!TIP]\n> Stecker ziehen."},
		"callout, kind and all":  {"> [!NOTE]\n> Unplug it.", "> [!HINWEIS]\n> Stecker ziehen.", "> [!NOTE]\n> Stecker ziehen."},
		"callout, another kind":  {"> [!NOTE]\n> Unplug it.", "> [!CAUTION]\n> Stecker ziehen.", "> [!CAUTION]\n> Stecker ziehen."},
		"quote":                  {"> She said so.", "Sie sagte es.", "> Sie sagte es."},
		"picture":                {"![The handle](/files/1/k/a.png)", "Die [lange] Kurbel", `![Die \[lange\] Kurbel](/files/1/k/a.png)`},
		"picture as Markdown":    {"![The handle](/files/1/k/a.png)", "![Kurbel](/files/2/k/b.png)", "![Kurbel](/files/2/k/b.png)"},
		"picture with a link":    {"[![The handle](/files/1/k/a.png)](https://example.org/)", "Die Kurbel", "[![Die Kurbel](/files/1/k/a.png)](https://example.org/)"},
		"picture, left alone":    {"![The handle](/files/1/k/a.png)", "(proposed)", "![The handle](/files/1/k/a.png)"},
		"picture in a paragraph": {"![x](/files/1/k/a.png) shows the handle.", "Die Kurbel.", "Die Kurbel."},
		"list":                   {"- One\n- Two", "Eins\nZwei", "- Eins\n- Zwei"},
		"numbered list":          {"1. One\n2. Two", "Eins\n\nZwei", "1. Eins\n1. Zwei"},
		"list as Markdown":       {"- One\n- Two", "* Eins\n* Zwei", "* Eins\n* Zwei"},
		"code":                   {"```sh\necho hi\n```", "echo hallo", "```sh\necho hallo\n```"},
		"code with a fence":      {"```md\nx\n```", "a ``` b", "````md\na ``` b\n````"},
		"code, left alone":       {"```sh\necho hi\n```", "(proposed)", "```sh\necho hi\n```"},
		"table":                  {"| A | B |\n| --- | --- |\n| 1 | 2 |", "| C | D |\n| --- | --- |\n| 1 | 2 |", "| C | D |\n| --- | --- |\n| 1 | 2 |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t)
			a := l.write(t.Context(), "Kinds", "Before.\n\n"+c.source+"\n\nAfter.")
			form := fields(t, l.get("/help/1/a/2?to=de").body)
			form.Set("name", "Arten")
			if len(form["unit"]) != 4 {
				t.Fatalf("%q", form["unit"])
			}
			typed := c.typed
			if typed == "(proposed)" {
				typed = form["unit"][1]
			}
			form["unit"] = []string{"Vorher.", typed, "Nachher.", ""}
			if got := l.post("/help/1/a/2", form); got.status != http.StatusSeeOther {
				t.Fatal(got.status, got.body)
			}
			draft, err := l.ed.Draft(t.Context(), a.Article.ID)
			if err != nil {
				t.Fatal(err)
			}
			de, _ := draft.Revision.Translation("de")
			if diff := cmp.Diff("Vorher.\n\n"+c.want+"\n\nNachher.", de.Markdown); diff != "" {
				t.Error(diff)
			}
			// The translation stands beside its source again.
			form = fields(t, l.get("/help/1/a/2?to=de").body)
			if diff := cmp.Diff([]string{"Vorher.", c.want, "Nachher.", ""}, form["unit"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A translation stands beside its source although it lacks a picture, a callout or a heading.
func TestTranslationStandsBesideItsSource(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	blocks := []string{"One.", "## Two", "![Three](/files/1/k/3.png)", "> [!NOTE]\n> Four.", "Five.", "```\nsix\n```", "## Seven", "Eight."}
	german := []string{"Eins.", "## Zwei", "![Drei](/files/1/k/3.png)", "> [!NOTE]\n> Vier.", "Fünf.", "```\nsechs\n```", "## Sieben", "Acht."}
	a := l.write(t.Context(), "Kinds", strings.Join(blocks, "\n\n"))
	for missing := range blocks {
		some, want := []string{}, []string{}
		for i, block := range german {
			if i == missing {
				want = append(want, "")
				continue
			}
			some, want = append(some, block), append(want, block)
		}
		if _, err := l.ed.UpdateDraft(t.Context(), a.Article.ID, kb.ArticleInput{CollectionID: 1, TextInput: in("de", kb.TranslationInput{
			Title: storage.Some("Arten"), Markdown: storage.Some(strings.Join(some, "\n\n")),
		})}); err != nil {
			t.Fatal(err)
		}
		form := fields(t, l.get("/help/1/a/2?to=de").body)
		if diff := cmp.Diff(append(want, ""), form["unit"]); diff != "" {
			t.Errorf("without %q: %s", german[missing], diff)
		}
	}
}

// A page that proposes pictures and code makes no translation by itself.
func TestProposedBlocksAreNoTranslation(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.write(t.Context(), "Kinds", "Before.\n\n![The handle](/files/1/k/a.png)\n\n```\nx\n```")
	form := fields(t, l.get("/help/1/a/2?to=de").body)
	if got := l.post("/help/1/a/2", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	draft, err := l.ed.Draft(t.Context(), 2)
	if err != nil || draft.Article.Draft != 0 {
		t.Errorf("%+v, %v", draft.Article, err)
	}
	form["unit"][0] = "Vorher."
	if got := l.post("/help/1/a/2", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status)
	}
	draft, err = l.ed.Draft(t.Context(), 2)
	de, _ := draft.Revision.Translation("de")
	if err != nil || de.Markdown != "Vorher.\n\n![The handle](/files/1/k/a.png)\n\n```\nx\n```" {
		t.Errorf("%q, %v", de.Markdown, err)
	}
}
