package theme_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/kb/theme"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		locale string
		n      int64
		want   string
	}{
		{"en", 1, "1 article"}, {"en-GB", 0, "0 articles"}, {"xx", 2, "2 articles"}, {"", 2, "2 articles"},
		{"de", 1, "1 Artikel"}, {"fr", 0, "0 article"}, {"pl", 3, "3 artykuły"}, {"pl", 5, "5 artykułów"}, {"pl", 22, "22 artykuły"},
		{"ar", 1, "مقال واحد"}, {"ar", 2, "مقالان"}, {"ar", 7, "7 مقالات"}, {"ar-EG", 18, "18 مقالًا"}, {"ja", 1, "1件の記事"},
	} {
		if got := theme.Count(tt.locale, "articles", tt.n); got != tt.want {
			t.Errorf("%d in %q: %q, want %q", tt.n, tt.locale, got, tt.want)
		}
	}
	for locale, want := range map[string]string{"en": "1 article matches “%s”", "ar": "مقال واحد يطابق «%s»"} {
		if got := theme.Count(locale, "match", 1, "%s"); got != want {
			t.Errorf("%s: %q, want %q", locale, got, want)
		}
	}
	if got := theme.Text("de", "Nothing was found for “%s”", "a %s b"); got != "Nichts gefunden für „a %s b“" {
		t.Error(got)
	}
}

// A theme cannot make a long text from short ones.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(map[string]string{"templates/layout": `{{template "content" .}}`, "templates/article": `{{$x := "aaaaaaaa"}}{{range 90}}{{$x = t "%s%s" $x $x}}{{end}}{{len $x}}`})
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Render(t.Context(), theme.PageArticle, theme.Page{}, theme.Env{})
	if err != nil || string(got) != "4096" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	set, err := theme.Compile(map[string]string{"templates/layout": `{{template "content" .}}`, "templates/article": `{{day .Title}}|{{shortday .Title}}`})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][3]string{
		{"en", "2026-11-04T23:00:00Z", "4 November 2026|4 Nov"}, {"en-US", "2026-11-14T23:00:00Z", "November 14, 2026|Nov 14"}, {"de-AT", "2026-03-01T00:00:00Z", "1. März 2026|1. März"},
		{"fr", "2026-11-14T00:00:00Z", "14 novembre 2026|14 nov."}, {"es", "2026-02-02T00:00:00Z", "2 de febrero de 2026|2 feb"}, {"ar", "2026-11-14T00:00:00Z", "14 نوفمبر 2026|14 نوفمبر"},
		{"ja", "2026-12-22T00:00:00Z", "2026年12月22日|12月22日"}, {"fi", "2026-12-22T00:00:00Z", "2026-12-22|2026-12-22"}, {"en", "yesterday", "|"},
	} {
		got, err := set.Render(t.Context(), theme.PageArticle, theme.Page{Locale: tt[0], Title: tt[1]}, theme.Env{})
		if err != nil || string(got) != tt[2] {
			t.Errorf("%s: %s, want %s, %v", tt[0], got, tt[2], err)
		}
	}
}

func TestNamesOfLanguages(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"fr": "Français", "en": "English", "ar": "العربية", "pt-BR": "Português", "bad code": "bad code"} {
		if got := theme.LanguageName(code); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", code, got)
		}
	}
	for code, want := range map[string]string{"ar-EG": "rtl", "fa": "rtl", "he": "rtl", "en": "ltr", "az-Arab": "rtl", "": "ltr"} {
		if got := theme.Direction(code); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
}
