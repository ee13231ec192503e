package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saidTexts returns the texts in templates and code, and whether each is said with a number.
func saidTexts(t *testing.T) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	call := regexp.MustCompile(`[{(\s](t|n (?:\S+|\([^)]*\))) ("(?:[^"\\]|\\.)*")`)
	err := fs.WalkDir(templateFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(name)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			said[unquote(t, m[2])] = m[1] != "t"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // the files are enough
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packages["desk"].Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if text, counted := saidBy(t, c); text != "" {
					said[text] = counted
				}
			}
			return true
		})
	}
	return said
}

// saidBy is the text that a call of T or N has, "" if it has none, and whether it is said with a number.
func saidBy(t *testing.T, c *ast.CallExpr) (text string, counted bool) {
	t.Helper()
	name := ""
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	at := map[string]int{"T": 0, "N": 1, "say": 0}
	i, ok := at[name]
	if !ok || i >= len(c.Args) {
		return "", false
	}
	if lit, ok := c.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return unquote(t, lit.Value), name == "N"
	}
	return "", false
}

func unquote(t *testing.T, quoted string) string {
	t.Helper()
	text, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatal(quoted, err)
	}
	return text
}

// Every language has all texts, with the same places for words and the same tags, and no others.
func TestWords(t *testing.T) {
	t.Parallel()
	said := saidTexts(t)
	for _, one := range acts {
		said[one] = true
	}
	for _, lang := range languages[1:] {
		own, categories := wordsOf()[lang], categoriesOf(lang)
		for _, text := range slices.Sorted(maps.Keys(said)) {
			p, ok := own[text]
			if !ok {
				t.Errorf("words/%s.json lacks %q", lang, text)
				continue
			}
			for _, wrong := range p.faults(text, said[text], categories) {
				t.Errorf("words/%s.json, %q: %s", lang, text, wrong)
			}
		}
		for _, text := range slices.Sorted(maps.Keys(own)) {
			if _, ok := said[text]; !ok {
				t.Errorf("words/%s.json has %q, which nothing says", lang, text)
			}
		}
	}
}

// categoriesOf returns the plural categories of a language, and whether one has a single number. "other" is always there.
func categoriesOf(lang string) map[string]bool {
	of := map[string][]int{"other": {0, 0}}
	for n := range 1000 {
		of[category(lang, n)] = append(of[category(lang, n)], n)
	}
	single := map[string]bool{}
	for name, numbers := range of {
		single[name] = len(numbers) == 1
	}
	return single
}

// faults returns what is wrong with a translation of a text.
func (p phrase) faults(text string, counted bool, categories map[string]bool) (all []string) {
	one, other, twoForms := strings.Cut(text, "|")
	if !twoForms {
		other = one
	}
	switch {
	case p.forms == nil && twoForms && len(categories) > 1:
		return []string{"has no plural forms"}
	case p.forms != nil && !counted:
		return []string{"has plural forms, and is said without a number"}
	case p.forms == nil:
		return faultsOf(other, p.text, false)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(categories)), slices.Sorted(maps.Keys(p.forms))); diff != "" {
		all = append(all, "has other plural categories than the language: "+diff)
	}
	for name, form := range p.forms {
		for _, wrong := range faultsOf(other, form, categories[name]) {
			all = append(all, name+": "+wrong)
		}
	}
	return all
}

var tags = regexp.MustCompile(`</?[a-z][^>]*>`)

// faultsOf compares a translation with its text. One for a single number need not say the number.
func faultsOf(text, translated string, single bool) (all []string) {
	want, got := placesOf(text), placesOf(translated)
	if single && !slices.Contains(got, 0) {
		got = append([]int{0}, got...)
	}
	edges := func(s string) [2]bool { return [2]bool{strings.TrimLeft(s, " ") != s, strings.TrimRight(s, " ") != s} }
	switch {
	case strings.TrimSpace(translated) == "":
		all = append(all, "is empty")
	case edges(text) != edges(translated):
		all = append(all, "begins or ends with another space")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		all = append(all, "has other places for words: "+translated)
	}
	if diff := cmp.Diff(tags.FindAllString(text, -1), tags.FindAllString(translated, -1)); diff != "" {
		all = append(all, "has other tags: "+diff)
	}
	return all
}

// placesOf returns which arguments stand in a text, sorted.
func placesOf(text string) []int {
	all, next := []int{}, 0
	for _, m := range argPlace.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			all = append(all, next)
			next++
		} else {
			n, _ := strconv.Atoi(m[1])
			all = append(all, n-1)
		}
	}
	slices.Sort(all)
	return all
}

// TestWordsFaults keeps the check of translations honest.
func TestWordsFaults(t *testing.T) {
	t.Parallel()
	polish := categoriesOf("pl")
	for _, tt := range []struct {
		text    string
		counted bool
		phrase  phrase
		faults  int
	}{
		{"%s to %s", false, phrase{text: "%[2]s to %[1]s"}, 0},
		{"%s to %s", false, phrase{text: "%s to %[1]s"}, 1},
		{"%s to %s", false, phrase{text: "%s"}, 1},
		{"Save", false, phrase{text: "Save "}, 1},
		{"Save", false, phrase{text: ""}, 1},
		{"<b>Save</b>", false, phrase{text: "<i>Save</i>"}, 1},
		{"Save", false, phrase{forms: map[string]string{"other": "Save"}}, 1},
		{"%s day|%s days", true, phrase{text: "%s days"}, 1},
		{"%s day|%s days", true, phrase{forms: map[string]string{"one": "%s", "few": "%s", "many": "%s", "other": "%s"}}, 0},
		{"%s day|%s days", true, phrase{forms: map[string]string{"one": "a day", "few": "%s", "many": "%s", "other": "%s"}}, 0},
		{"%s day|%s days", true, phrase{forms: map[string]string{"one": "%s", "few": "some", "many": "%s", "other": "%s"}}, 1},
		{"%s day|%s days", true, phrase{forms: map[string]string{"one": "%s", "other": "%s"}}, 1},
	} {
		if got := tt.phrase.faults(tt.text, tt.counted, polish); len(got) != tt.faults {
			t.Errorf("%q, %+v: %q", tt.text, tt.phrase, got)
		}
	}
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{
		"en": "other one other other other other", "de": "other one other other other other", "fr": "one one other other other other",
		"es": "other one other other other other", "pt": "one one other other other other", "it": "other one other other other other",
		"nl": "other one other other other other", "pl": "many one few few many many", "ja": "other other other other other other",
		"ar": "zero one two few few many",
	} {
		var got []string
		for _, n := range []int{0, 1, 2, 3, 5, 11} {
			got = append(got, category(lang, n))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", lang, got, want)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	left, right := words{}, words{rtl: true}
	for _, tt := range []struct {
		w          words
		text, want string
	}{
		{left, "%s to %s", "a %s to b"}, {left, "%[2]s from %[1]s", "b from a %s"}, {left, "%s, %s and %s", "a %s, b and %s"}, {left, "%[3]s", "%[3]s"},
		{right, "%s to %s", "\u2068a %s\u2069 to \u2068b\u2069"},
	} {
		if got := tt.w.fill(tt.text, []any{"a %s", "b"}); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := right.fill("%s", []any{12}); got != "12" {
		t.Errorf("a number: %q", got)
	}
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string]string{"en": "1.4", "de": "1,4", "fr": "1,4", "es": "1,4", "pt": "1,4", "it": "1,4", "nl": "1,4", "pl": "1,4", "ja": "1.4", "ar": "1.4"} {
		if got := (words{lang: lang}).seconds(1499); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

// The desk speaks the language that the browser prefers, in the variety that it has, and English otherwise.
func TestChooseWords(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": "en", "fr-CA,en;q=0.5": "fr", "es-MX": "es", "pt-BR": "pt", "pt-PT": "pt", "ar-EG,fr;q=0.2": "ar", "ja": "ja", "nl-BE": "nl", "pl": "pl",
		"it-CH": "it", "de-AT": "de", "en-US": "en", "fi": "en", "nonsense;;": "en",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept-Language", accept)
		if got := chooseWords(r).lang; got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
		r.AddCookie(&http.Cookie{Name: languageCookie, Value: "pl"})
		if got := chooseWords(r).lang; got != "pl" {
			t.Errorf("%q with a choice: %s", accept, got)
		}
	}
}
