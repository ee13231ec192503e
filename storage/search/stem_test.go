package search_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/search"
	"github.com/helpwright/helpwright/storage/testenv"
)

func TestStem(t *testing.T) {
	t.Parallel()
	for language, groups := range map[string][][]string{
		"en": {{"reset", "resets", "resetting"}, {"cancel", "cancelled", "cancels"}, {"invoice", "invoices", "invoicing"}},
		"de": {{"rechnung", "rechnungen"}, {"maschine", "maschinen"}, {"loschen", "losche"}},
		"fr": {{"abonnement", "abonnements"}, {"annuler", "annule", "annulez"}},
		"es": {{"cancion", "canciones"}, {"contrasena", "contrasenas"}},
		"pt": {{"configuracao", "configuracoes"}},
		"ru": {{"новыи", "новая", "нового"}, {"заказ", "заказа", "заказы"}},
		"sv": {{"faktura", "fakturor"}},
	} {
		for _, words := range groups {
			for _, w := range words {
				if got, want := search.Stem(language, w), search.Stem(language, words[0]); got != want {
					t.Errorf("%s: the stem of %q is %q, not %q", language, w, got, want)
				}
			}
		}
	}
	for _, test := range [][2]string{{"ja", "東京"}, {"en", "e7"}, {"en", "東京"}, {"en", "as"}, {"xx", "words"}, {"en", ""}, {"en", "\xff\xff\xff"}, {"de", strings.Repeat("a", 100)}} {
		if got := search.Stem(test[0], test[1]); got != test[1] {
			t.Errorf("%s: %q becomes %q", test[0], test[1], got)
		}
	}
}

func TestCompounds(t *testing.T) {
	t.Parallel()
	found := func(word, by string) bool {
		terms := []string{word, search.Tail(word)}
		return slices.ContainsFunc(search.InCompounds(by), func(q search.Term) bool {
			return slices.ContainsFunc(terms, func(term string) bool { return strings.HasPrefix(term, q.Text) })
		})
	}
	for _, test := range []struct {
		word, by string
		want     bool
	}{
		{"passwortanderung", "passwort", true}, {"passwortanderung", "anderung", true}, {"passwortanderung", "anderungen", true},
		{"monatsrechnung", "rechnungen", true}, {"benutzerkonto", "konto", true}, {"passwortanderung", "wort", false}, {"konto", "kont", true},
		{"einfach", "fach", false}, {"maschine", "ei", false},
	} {
		if got := found(test.word, test.by); got != test.want {
			t.Errorf("%q is found by %q: %v", test.word, test.by, got)
		}
	}
	if all := search.Split("lieferungsadresse"); !slices.Contains(all, [2]string{"lieferung", "adresse"}) {
		t.Errorf("%q", all)
	}
	if all := search.Split("konto12345"); all != nil {
		t.Errorf("%q", all)
	}
	if !search.Compounds("de") || search.Compounds("en") {
		t.Error("languages with compounds")
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		n    int
		few  bool
	}{
		{"pasword", "password", 1, true}, {"passwrod", "password", 1, true}, {"pasward", "password", 0, false}, {"passwart", "password", 2, true},
		{"subscribtoin", "subscription", 2, true}, {"acount", "account", 1, true}, {"acont", "account", 0, false}, {"cat", "cats", 0, false},
		{"заказы", "закасы", 1, true}, {"settings", "setings", 1, true}, {"same", "same", 0, true},
	} {
		n, few := search.Edits(test.a, test.b)
		if few != test.few || few && n != test.n {
			t.Errorf("%q for %q: %d, %v", test.a, test.b, n, few)
		}
		if few && !slices.ContainsFunc(search.Variants(test.a), func(v string) bool { return slices.Contains(search.Variants(test.b), v) }) {
			t.Errorf("%q and %q have no variant in common", test.a, test.b)
		}
	}
	if got := len(search.Variants("internationalisation")); got > 29 {
		t.Errorf("%d variants of a long word", got)
	}
	if !search.Stops("en", "how") || search.Stops("de", "how") || search.Stops("en", "not") {
		t.Error("words that say nothing")
	}
}

func FuzzStem(f *testing.F) {
	for _, seed := range [][2]string{{"en", "resetting"}, {"de", "Passwortänderungen"}, {"ar", "والمستخدمين"}, {"tr", "hesabınızdan"}, {"ta", "நிறுவல்"}, {"ru", "пришёл"}, {"fi", "\u0301a"}, {"hu", "aa\xff"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		for term := range search.Counts(text) {
			if s := search.Stem(language, term); s == "" || !utf8.ValidString(s) {
				t.Fatalf("%s: %q becomes %q", language, term, s)
			}
			search.Split(term)
			search.InCompounds(term)
			search.Tail(term)
			search.Edits(term, text)
		}
		if n := len(search.Question(text, 10)); n > 10 {
			t.Fatalf("%d words", n)
		}
	})
}

// TestStemsGrow doubles the word, and the text.
func TestStemsGrow(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "ing", "en ", "ungs", "ي", "ية", "lar", "東", "Passwortänderung "} {
		testenv.Growth(t, 8<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() {
				for term := range search.Counts(text) {
					for _, language := range []string{"ar", "de", "en", "tr"} {
						search.Stem(language, term)
					}
					search.Split(term)
					search.Variants(term)
				}
				search.Question(text, 48)
				search.StemMarks(text, [][]search.Term{{{Text: "a", Prefix: true}}}, func(w string) string { return search.Stem("de", w) })
			}
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
