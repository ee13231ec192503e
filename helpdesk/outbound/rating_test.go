package outbound

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
)

// A message has a link for each score, in its HTML and in its plain text.
func TestRatingLinks(t *testing.T) {
	t.Parallel()
	url := func(token string) string { return "https://desk.example/rate/" + token + "?a&b" }
	words := func(locale string, _ int) (string, []string) {
		return "Wie <war> es (" + locale + ")?", []string{"Schlecht", "Gut"}
	}
	out := helpdesk.OutgoingMail{HTML: "<p>Hello</p><p>{{rating}}</p>", Rating: &helpdesk.OutgoingRating{Locale: "de", Tokens: []string{"one", "two"}}}
	for name, tt := range map[string]struct {
		cfg        Config
		question   string
		html, text []string
	}{
		"words": {
			Config{RatingURL: url, RatingWords: words}, "",
			[]string{"Wie &lt;war&gt; es (de)?", `href="https://desk.example/rate/one?a&amp;b"`, ">Gut</a>"},
			[]string{"Wie <war> es (de)?", "\nSchlecht: https://desk.example/rate/one?a&b", "\nGut: https://desk.example/rate/two?a&b"},
		},
		"numbers":         {Config{RatingURL: url}, "", []string{"How was our answer?", ">2</a>"}, []string{"1: https://desk.example/rate/one"}},
		"an own question": {Config{RatingURL: url}, "Well?", []string{"Well?"}, []string{"Well?"}},
		"no page":         {Config{}, "", []string{"<p>Hello</p><p></p>"}, []string{"Hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mail := out
			mail.Rating = &helpdesk.OutgoingRating{Locale: "de", Question: tt.question, Tokens: out.Rating.Tokens}
			m := (&Sender{cfg: tt.cfg}).compose(t.Context(), mail)
			for _, want := range tt.html {
				if !strings.Contains(m.HTML, want) {
					t.Errorf("the HTML has no %q:\n%s", want, m.HTML)
				}
			}
			for _, want := range tt.text {
				if !strings.Contains(m.Text, want) {
					t.Errorf("the text has no %q:\n%s", want, m.Text)
				}
			}
			if strings.Contains(m.HTML+m.Text, "{{") {
				t.Errorf("the placeholder is still there:\n%s\n%s", m.HTML, m.Text)
			}
		})
	}
}
