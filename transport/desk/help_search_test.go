package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
)

// What a help centre's search finds is written as lines, and comes back so.
func TestHelpSearch(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	a := l.write(t.Context(), "Clean; then dry", "With a brush.")
	b := l.write(t.Context(), "Repair", "By hand.")
	form := fields(t, l.get("/help/1/search").body)
	form.Set("synonyms", "clean, wash ,\r\n\r\nrepair,mend")
	form.Set("pins", "wash up = "+itoa(a.Article.ID)+"; https://help.example.org/en/articles/"+itoa(b.Article.ID)+"-repair\r\n")
	if got := l.post("/help/1/search", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	got, err := l.ed.SearchSettings(t.Context())
	want := kb.SearchSettings{
		Synonyms: [][]string{{"clean", "wash"}, {"repair", "mend"}}, Pins: []kb.Pin{{Query: "wash up", Articles: []int64{a.Article.ID, b.Article.ID}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	page := l.get("/help/1/search").body
	for name, shown := range map[string]string{
		"synonyms": "clean, wash\nrepair, mend",
		"pins":     "wash up = " + itoa(a.Article.ID) + " Clean, then dry; " + itoa(b.Article.ID) + " Repair",
	} {
		if !strings.Contains(page, ">"+shown+"</textarea>") {
			t.Errorf("the page does not show %q", shown)
		}
		form.Set(name, shown)
	}
	if got := l.post("/help/1/search", form); got.status != http.StatusSeeOther {
		t.Error(got.status, got.body)
	}
	if again, err := l.ed.SearchSettings(t.Context()); err != nil || !cmp.Equal(want, again) {
		t.Errorf("%+v, %v", again, err)
	}
	for field, text := range map[string]string{"synonyms": "alone", "pins": "refund", "pins\n": "refund = x", "pins\n\n": "= 1", "pins\n\n\n": "refund = 99999"} {
		form := url.Values{}
		for name, values := range fields(t, l.get("/help/1/search").body) {
			form[name] = values
		}
		form.Set(strings.TrimSpace(field), text)
		if got := l.post("/help/1/search", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, text) {
			t.Errorf("%s %q: %d", field, text, got.status)
		}
	}
}
