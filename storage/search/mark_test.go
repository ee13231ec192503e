package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/search"
)

func ExampleMarks() {
	text := "Wie Sie Ihre Rechnungen begleichen"
	for _, m := range search.Marks(text, search.Query("rechnung")) {
		fmt.Println(text[m.Begin:m.End])
	}
	// Output: Rechnungen
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, query, want string }{
		{"Reset your password", "passw", "Reset your [password]"},
		{"Reset your password", "reset password", "[Reset] your [password]"},
		{"L’été à Łódź", "ete lodz", "L’[été] à [Łódź]"},
		{"e\u0301te\u0301 and more", "été", "[e\u0301te\u0301] and more"},
		{"soft\u00adhyphen", "softhyphen", "[soft\u00adhyphen]"},
		{"東京都庁へ行きました", "京都", "東[京都]庁へ行きました"},
		{"東京都庁へ行きました", "東京都", "[東京都]庁へ行きました"},
		{"東京 tower 都", "東京 tower", "[東京] [tower] 都"},
		{"한국어 주문은 어디에", "주문", "한국어 [주문]은 어디에"},
		{"It broke 😀 today", "😀", "It broke [😀] today"},
		{"Change your e-mail now", "email", "Change your [e-mail] now"},
		{"Change your e‑mail now", "e mail", "Change your [e‑mail] now"},
		{"Change your email now", "e-mail", "Change your [email] now"},
		{"Don’t panic, O’Brien", "dont obrien", "[Don’t] panic, [O’Brien]"},
		{"don´t do it", "don't", "[don´t] do it"},
		{"an e-mail-address", "mail", "an e-[mail]-address"},
		{"Donau-Dampf-Schiff", "donaudampfschiff", "[Donau-Dampf-Schiff]"},
		{"Donau-Dampf-Schiff", "dampfschiff", "Donau-[Dampf-Schiff]"},
		{"App v18.2.1 is out", "18.2.1", "App [v18.2.1] is out"},
		{"Herr Müller aus Köln", "mueller koeln", "Herr [Müller] aus [Köln]"},
		{"Herr Mueller", "müller", "Herr [Mueller]"},
		{"افتح الإعدادات والكتاب", "إعدادات كتاب", "افتح [الإعدادات] [والكتاب]"},
		{"کتاب\u200cها", "كتاب", "[کتاب\u200cها]"},
		{"פתחו את ההגדרות", "הגדרות", "פתחו את [ההגדרות]"},
		{"رقم ١٢٣٤ هنا", "1234", "رقم [١٢٣٤] هنا"},
		{"a<b>&amp;", "b", "a<[b]>&amp;"},
		{"nothing of it", "else", "nothing of it"},
		{"bad \xff bytes", "bytes", "bad \xff [bytes]"},
		{"", "x", ""},
	} {
		got := show(test.text, search.Marks(test.text, search.Query(test.query)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q in %q: %s", test.query, test.text, diff)
		}
	}
}

func show(text string, marks []search.Range) string {
	var b strings.Builder
	at := 0
	for _, m := range marks {
		b.WriteString(text[at:m.Begin] + "[" + text[m.Begin:m.End] + "]")
		at = m.End
	}
	return b.String() + text[at:]
}

// Marks are sorted, disjoint, and never split a character.
func FuzzMarks(f *testing.F) {
	for _, seed := range [][2]string{
		{"Reset your password", "pass"}, {"東京都庁", "京都"}, {"a\xff\u0301b", "ab"}, {"\u0301x", "x"}, {"İstanbul ﬃ", "istanbul ffi"},
		{"ｶﾞｽ", "ガス"}, {"ไทย😀", "ไท"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		end := 0
		for _, m := range search.Marks(text, search.Query(query)) {
			if m.Begin < end || m.End <= m.Begin || m.End > len(text) {
				t.Fatalf("%q: %+v after %d", text, m, end)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[m.Begin:m.End]) {
				t.Fatalf("%q: %+v cuts a character", text, m)
			}
			end = m.End
		}
	})
}

func TestMisspelled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"password", "pasword", true}, {"password", "passwort", true}, {"password", "apssword", true}, {"password", "passwords", true},
		{"invoice", "invioce", true}, {"rechnung", "rechung", true}, {"заказ", "закаэ", true},
		{"password", "password", false}, {"password", "paswrd", false}, {"cat", "car", false}, {"refund", "reload", false},
		{"abcd", "badc", false}, {"form", "from", true}, {"", "", false},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := search.Misspelled(pair[0], pair[1]); got != test.want {
				t.Errorf("%q for %q: %v", pair[0], pair[1], got)
			}
			if test.want && !slices.ContainsFunc(search.Variants(test.a), func(v string) bool {
				return slices.Contains(search.Variants(test.b), v)
			}) {
				t.Errorf("%q and %q have no variant in common", test.a, test.b)
			}
		}
	}
	if got := search.Variants("東京都庁"); got != nil {
		t.Errorf("%q", got)
	}
}
