package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/search"
	"github.com/helpwright/helpwright/storage/testenv"
)

func ExampleParse() {
	words, conditions := search.Parse(`refund from:ada -"gift card" is:open`)
	fmt.Println(words, conditions)
	fmt.Println(search.With("refund is:open", search.Is, "closed"))
	// Output:
	// refund [from:ada -"gift card" is:open]
	// refund is:closed
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query, words string
		conditions   []string
	}{
		{"", "", nil},
		{" two  words\n", "two words", nil},
		{`from:ada to:bob@example.com cc:eve subject:refund`, "", []string{"from:ada", "to:bob@example.com", "to:eve", "subject:refund"}},
		{`FROM:Ada Is:Open`, "", []string{"from:Ada", "is:Open"}},
		{`tag:"needs reply" mailbox:"Support"`, "", []string{`tag:"needs reply"`, `mailbox:"Support"`}},
		{`"exact words" here`, "here", []string{`"exact words"`}},
		{`“exact words” „so“ «und»`, "", []string{`"exact words"`, `"so"`, `"und"`}},
		{`a "never closed`, "a", []string{`"never closed"`}},
		{`from:"never closed`, "", []string{`from:"never closed"`}},
		{`-word -"two words" -from:ada -is:closed`, "", []string{"-word", `-"two words"`, "-from:ada", "-is:closed"}},
		{"e-mail wi-fi - -- --x", "e-mail wi-fi - -- --x", nil},
		{`no:such http://example.com/a 10:30 from: "" -""`, `no:such http://example.com/a 10:30 from: "" -""`, nil},
		{`is:wrong has:cheese before:soon after:2026-13 before:`, "is:wrong has:cheese before:soon after:2026-13 before:", nil},
		{`is:"wrong"`, `is:"wrong"`, nil},
		{`before:2026 after:2026-02 before:2026/2/3 after:today before:7d`, "", []string{"before:2026", "after:2026-02", "before:2026/2/3", "after:today", "before:7d"}},
		{`has:attachment has:attachments`, "", []string{"has:attachment", "has:attachments"}},
		{`צה"ל -שלום`, `צה"ל`, []string{"-שלום"}},
	} {
		words, conditions := search.Parse(test.query)
		var got []string
		for _, c := range conditions {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(test.words, words) + cmp.Diff(test.conditions, got); diff != "" {
			t.Errorf("%q: %s", test.query, diff)
		}
	}
	if _, all := search.Parse(strings.Repeat("is:open ", 100)); len(all) != search.MaxTerms {
		t.Errorf("%d conditions", len(all))
	}
}

func TestDay(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC) // the next day in the zone
	for value, want := range map[string]string{
		"2026-11-30": "2026-11-30", "2026-1-2": "2026-01-02", "2026/11/30": "2026-11-30", "2026-11": "2026-11-01", "2026": "2026-01-01",
		"today": "2026-03-02", "Yesterday": "2026-03-01", "0d": "2026-03-02", "7d": "2026-02-23",
		"": "", "d": "", "-1d": "", "99999999d": "", "2026-02-30": "", "30.11.2026": "", "tomorrow": "", "0": "",
	} {
		day, ok := search.Day(value, now, zone)
		got := ""
		if ok {
			got = day.Format(time.DateOnly)
		}
		if got != want || ok && (day.Hour() != 0 || day.Location() != zone) {
			t.Errorf("%q: %v %t", value, day, ok)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query       string
		of          search.Operator
		value, want string
	}{
		{"refund", search.Is, "open", "refund is:open"},
		{"is:closed refund -is:spam is:open", search.Is, "", "refund -is:spam"},
		{`refund "two words" tag:vip`, search.Tag, `needs "a" reply`, `refund "two words" tag:"needs  a  reply"`},
		{"", search.Mailbox, "Support", "mailbox:Support"},
		{"mailbox:Support", search.Mailbox, "", ""},
	} {
		if got := search.With(test.query, test.of, test.value); got != test.want {
			t.Errorf("%q with %s %q: %q", test.query, test.of, test.value, got)
		}
	}
	if got := search.Value(`-is:spam is:open tag:"a b"`, search.Tag); got != "a b" {
		t.Error(got)
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, phrase string
		want         bool
	}{
		{"The Refund policy.", "refund policy", true}, {"policy for refunds", "refund policy", false}, {"refund our policy", "refund policy", false},
		{"refund-policy", "refund policy", true}, {"the refund\n\n policy", "REFUND policy", true}, {"refund policymaker", "refund policy", false},
		{"Grüße aus Köln", "grusse aus koln", true}, {"東京都庁へ行きました", "京都庁", true}, {"東京 都庁", "東京都", true}, {"a tower 東京", "tower 東京", true},
		{"anything", "", false}, {"anything", "!?", false}, {"", "x", false},
	} {
		if got := search.Contains(test.text, test.phrase); got != test.want {
			t.Errorf("%q in %q: %t", test.phrase, test.text, got)
		}
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{"refnud", "refund"}, {"refud", "refund"}, {"refuund", "refund"}, {"refumd", "refund"}, {"efund", "refund"}, {"refun", "refund"}, {"закза", "заказ"}, {"שלןם", "שלום"},
	} {
		all := search.Neighbours(test[0])
		if !slices.Contains(all, test[1]) || !slices.IsSorted(all) {
			t.Errorf("%q: %q", test[0], all)
		}
		for _, n := range all {
			if !search.Misspelled(test[0], n) {
				t.Errorf("%q is no misspelled %q", n, test[0])
			}
		}
	}
	for _, term := range []string{"", "abc", "東京都庁前駅", "ab12", "1234", strings.Repeat("a", search.MaxMisspelled+1), "หฟกด", "\xff\xff\xff\xff"} {
		if all := search.Neighbours(term); len(all) > 0 {
			t.Errorf("%q: %q", term, all)
		}
	}
}

// FuzzParse checks that a query is split into parts of itself within the limits, and that what is written from them means the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`a from:b -"c d" is:open`, `"open`, `-`, `-"`, `from:"`, "cc:\u201c\u201d", `tag:a"b`, "is:\xff", "ж:х «у"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		words, all := search.Parse(query)
		if len(all) > search.MaxTerms || utf8.RuneCountInString(words) > search.MaxQuery {
			t.Fatalf("%d conditions, %d characters", len(all), utf8.RuneCountInString(words))
		}
		for _, c := range all {
			if c.Value == "" || !strings.Contains(query, c.Value) {
				t.Fatalf("%q has no %q", query, c.Value)
			}
			if len(c.Terms()) > search.MaxTerms {
				t.Fatalf("%q has too many words", c.Value)
			}
			_, again := search.Parse(c.String())
			if len(c.String()) < search.MaxQuery && (len(again) != 1 || again[0].Operator != c.Operator || again[0].Value != c.Value || again[0].Not != c.Not) {
				t.Fatalf("%q is read as %+v, and again as %+v", query, c, again)
			}
		}
		search.With(query, search.Tag, query)
		search.Contains(query, words)
		search.Neighbours(words)
	})
}

// TestParseGrows doubles a query and texts.
func TestParseGrows(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a ", `"`, `" `, "-", "-a ", "is:open ", "from:", `from:"`, "“”", "東", "\xff", "ü"} {
		testenv.Growth(t, 8<<10, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() {
				search.Parse(text)
				search.With(text, search.Tag, text)
				search.Contains(text, "a b")
				search.Neighbours(text)
				search.Snippet(text, nil)
			}
		})
		if t.Failed() {
			t.Fatalf("%q", unit)
		}
	}
}
