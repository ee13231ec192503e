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

func Example() {
	terms := search.Terms("Grüße aus Köln: die Rechnung 東京都 ist da")
	fmt.Println(terms)
	fmt.Println(search.Match(terms, search.Query("KOLN rech")), search.Match(terms, search.Query("京都")), search.Match(terms, search.Query("Bonn")))
	// Output:
	// [aus da die gruesse grusse ist koeln koln rechnung 京都 東京 都]
	// true true false
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		hit  []string
		miss []string
	}{
		{"Die Straße in Müllheim ist gesperrt", []string{"strasse", "STRASSE", "Straße", "mullheim", "müllheim ges", "sperr gesperrt"[6:]}, []string{"sperrt", "strasse x"}},
		{"L’été, déjà cliché", []string{"ete", "l'été", "deja", "DÉJÀ cliche", "e\u0301te\u0301"}, []string{"tete"}},
		{"東京都庁へ行きました", []string{"東京", "京都", "都", "行きました", "た", "東京都庁"}, []string{"大阪", "行東"}},
		{"カタカナ ガス ﾊﾝｶｸ", []string{"カタカナ", "ガス", "ハンカク"}, []string{"カス"}},
		{"我的订单没有收到", []string{"订单", "收到", "没有收到", "单"}, []string{"订到"}},
		{"ฉันไม่ได้รับสินค้า", []string{"สินค้า", "ได้รับ"}, []string{"ขอบคุณ"}},
		{"لم أستلم الطَّلَب", []string{"الطلب", "استلم", "الطـلب"}, []string{"طلبية"}},
		{"Мой заказ ещё не пришёл", []string{"заказ", "ЕЩЕ", "ещё", "пришел", "мои"}, []string{"приказ"}},
		{"It broke 😀👩‍👩‍👧 today", []string{"😀", "👧", "broke 😀", "tod"}, []string{"😢"}},
		{"한국어 주문은 어디에", []string{"주문", "한국", "어디에"}, []string{"문주"}},
		{"anna.schmidt@example.org INV-2024/001", []string{"anna.schmidt@example.org", "schmidt", "inv-2024", "INV 2024 00"}, []string{"anna.schmid@example.org x"}},
		{"ＦＵＬＬ ﬁne ½", []string{"full", "fine"}, nil},
		{"a cat", []string{"a", "cat", "ca"}, []string{"c"}},
		{"smørrebrød Łódź Þór", []string{"smorrebrod", "lodz", "thor"}, nil},
	} {
		terms := search.Terms(test.text)
		for _, q := range test.hit {
			if !search.Match(terms, search.Query(q)) {
				t.Errorf("%q %q is not found by %q %+v", test.text, terms, q, search.Query(q))
			}
		}
		for _, q := range test.miss {
			if search.Match(terms, search.Query(q)) {
				t.Errorf("%q is found by %q", test.text, q)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	if diff := cmp.Diff([]string{long[:64]}, search.Terms(long)); diff != "" {
		t.Error(diff)
	}
	if !search.Match(search.Terms(long), search.Query(long)) {
		t.Error("a long word does not find itself")
	}
	var words []string
	for i := range 30 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	if got := len(search.Query(strings.Join(words, " "))); got != search.MaxTerms {
		t.Errorf("%d terms", got)
	}
	for _, nothing := range []string{"", "  ", "!?*\"'()", "\x00\xff", "\u0301"} {
		if got := search.Query(nothing); len(got) != 0 {
			t.Errorf("%q looks for %v", nothing, got)
		}
	}
}

// Terms contain nothing that a database's own parser could split or read as an operator, and each term of a text finds it.
func FuzzTerms(f *testing.F) {
	for _, seed := range []string{
		"Hello World", `"quoted" AND (a OR b*) NEAR/2 col:x ^y -z`, "it's \\ 'x' & | ! :* <->", "Füße 東京 ไทย 😀",
		"a\x00b\xffc", "İstanbul DŽ ﬃ", "e\u0301\u0300\u200d\u00adx", "_1 __ a_b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := search.Terms(text)
		if !slices.IsSorted(terms) {
			t.Fatalf("%q are not sorted", terms)
		}
		for _, term := range terms {
			if term == "" || !utf8.ValidString(term) || utf8.RuneCountInString(term) > search.MaxTerm {
				t.Fatalf("%q is no term", term)
			}
			for _, r := range term {
				if r < utf8.RuneSelf && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
					t.Fatalf("%q has %q in it", term, r)
				}
			}
		}
		query := search.Query(text)
		if len(query) > search.MaxTerms {
			t.Fatalf("%d terms", len(query))
		}
		if len(text) <= search.MaxQuery && !search.Match(terms, query) {
			t.Fatalf("%q %q is not found by itself, %+v", text, terms, query)
		}
	})
}
