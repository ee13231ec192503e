package mailhtml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

func TestDirect(t *testing.T) {
	t.Parallel()
	const start, end = `<div dir="auto" style="unicode-bidi: plaintext">`, `</div>`
	tests := []struct{ name, in, want string }{
		{"latin", "<p>Größe</p>", "<p>Größe</p>"},
		{"cjk", "<p>你好</p>", "<p>你好</p>"},
		{"lines", "שלום<br>\nhello", start + "שלום<br>\nhello" + end},
		{"blocks", `<p>مرحبا</p><div style="color: red">hello</div>`, start + `<p dir="auto">مرحبا</p><div dir="auto" style="color: red">hello</div>` + end},
		{"own direction", `<p dir="ltr">مرحبا</p>`, start + `<p dir="ltr">مرحبا</p>` + end},
		{"inline", `<b>שלום</b>`, start + `<b>שלום</b>` + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mailhtml.Direct(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Direct (-want +got):\n%s", d)
			}
			if again := mailhtml.Direct(mailhtml.Clean(got)); again != got {
				t.Errorf("saved and shown again: %s", again)
			}
		})
	}
}

// The line that introduces a quote, in the languages of common mailers: the line and the quote are folded, and nothing is
// removed.
func TestFoldLanguages(t *testing.T) {
	t.Parallel()
	intros := []string{
		"On Mon, Jan 2, 2023 at 3:04 PM Ann &lt;ann@example.org&gt; wrote:", "Am 02.01.2023 um 15:04 schrieb Ann:",
		"Le lun. 2 janv. 2023 à 15:04, Ann a écrit&nbsp;:", "El lun, 2 ene 2023 a las 15:04, Ann escribió:",
		"Il giorno lun 2 gen 2023 alle ore 15:04 Ann ha scritto:", "Em seg., 2 de jan. de 2023 às 15:04, Ann escreveu:",
		"Op ma 2 jan. 2023 om 15:04 schreef Ann:", "pon., 2 sty 2023 o 15:04 Ann napisał(a):", "пн, 2 янв. 2023 г. в 15:04, Ann написал(а):",
		"2023年1月2日(月) 15:04 Ann:", "Ann 于2023年1月2日周一 15:04写道：",
	}
	shapes := []string{
		"<div>answer</div><br><div class=\"gmail_quote\"><div class=\"gmail_attr\">%s<br></div><blockquote>q</blockquote></div>",
		"<div>answer</div><div><br><blockquote type=\"cite\"><div>%s</div><br><div>q</div></blockquote></div>",
		"<p>answer</p><div class=\"moz-cite-prefix\">%s</div><blockquote type=\"cite\">q<blockquote>r</blockquote></blockquote>",
		"answer<br>\n<br>\n%s<blockquote type=\"cite\">q</blockquote>",
		"<div>answer</div><div class=\"yahoo_quoted\"><div>%s</div><div>q</div></div>",
	}
	for _, intro := range intros {
		for _, shape := range shapes {
			in := fmt.Sprintf(shape, intro)
			got := mailhtml.Fold(in, true)
			if strings.Replace(strings.Replace(got, folded, "", 1), "</details>", "", 1) != in {
				t.Errorf("something is gone: %s", got)
			}
			open, _, _ := strings.Cut(got, folded)
			if got == in || !strings.Contains(open, "answer") || strings.Contains(open, "Ann") {
				t.Errorf("not folded: %s", got)
			}
		}
	}
}
