package mailhtml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

// The new text of a mail is separated from commands above it, and from quote and signature below.
func TestSplitAnswer(t *testing.T) {
	t.Parallel()
	const quoted = "\n\nOn Mon, Jan 2, 2023 at 3:04 PM Support <support@example.org> wrote:\n> It does not open.\n> Help!\n"
	tests := []struct {
		name, in string
		head     []string
		body     string
	}{
		{"text", mailhtml.FromText("Pull it." + quoted), nil, "Pull it."},
		{"two paragraphs", mailhtml.FromText("Pull it.\n\nHard." + quoted), nil, "Pull it.\n\nHard."},
		{"commands", mailhtml.FromText("@note\n@tag a, b\nHers." + quoted), []string{"@note", "@tag a, b"}, "Hers."},
		{"an empty line before them", mailhtml.FromText("\n\n@note\n\nHers." + quoted), []string{"@note"}, "Hers."},
		{"an empty line ends them", mailhtml.FromText("@note\n\n@carl look" + quoted), []string{"@note"}, "@carl look"},
		{"commands alone", mailhtml.FromText("@close" + quoted), []string{"@close"}, ""},
		{"not on a line of their own", mailhtml.FromText("Please @close" + quoted), nil, "Please @close"},
		{"below the text", mailhtml.FromText("Done.\n@close" + quoted), nil, "Done.\n@close"},
		{"quoted", mailhtml.FromText("> @close\n> Pull it.\nPush it."), nil, "Push it."},
		{"only quoted", mailhtml.FromText("> @close"), nil, ""},
		{"a space that takes no place", mailhtml.FromText("\u200b@note\u00a0\nHers."), []string{"@note"}, "Hers."},
		{"a signature", mailhtml.FromText("Pull it.\n-- \nOlga\n+49 1" + quoted), nil, "Pull it."},
		{"a telephone", mailhtml.FromText("Pull it.\n\nSent from my iPhone" + quoted), nil, "Pull it."},
		{"a telephone's words alone", mailhtml.FromText("Sent from my iPhone"), nil, "Sent from my iPhone"},
		{"between the lines", mailhtml.FromText("> Does it open?\nYes.\n> And close?\nNo."), nil, "Yes.\nNo."},
		{"Gmail", `<div dir="ltr"><div>@tag door</div><div>@close</div><div>Pull <b>it</b>.</div><div><br></div></div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon, Jan 2, 2023 Support &lt;<a href="mailto:s@example.org">s@example.org</a>&gt; wrote:<br></div><blockquote class="gmail_quote">It does not open.</blockquote></div>`,
			[]string{"@tag door", "@close"}, "Pull it."},
		{"Gmail with a signature", `<div dir="ltr">Pull.<br clear="all"><div><br></div><span class="gmail_signature_prefix">-- </span><br><div dir="ltr" class="gmail_signature">Olga</div></div>`, nil, "Pull."},
		{"a link made of an address", `<div>@assign <a href="mailto:c@example.org">c@example.org</a></div><div>Yours.</div>`, []string{"@assign c@example.org"}, "Yours."},
		{"Outlook", `<div class="WordSection1"><p class="MsoNormal">@note</p><p class="MsoNormal">Hers.</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> Support &lt;s@example.org&gt;<br><b>Sent:</b> Monday, January 2, 2023 3:04 PM<br><b>To:</b> Olga &lt;o@example.org&gt;<br><b>Subject:</b> Door</p></div></div><p>It does not open.</p></div>`,
			[]string{"@note"}, "Hers."},
		{"an image", `<div>Look:</div><div><img src="cid:a@b"></div>`, nil, "Look:"},
		{"a long line", mailhtml.FromText("@note\n" + strings.Repeat("long ", 1000) + "end"), []string{"@note"}, strings.Repeat("long ", 1000) + "end"},
		{"nothing", "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := mailhtml.SplitAnswer(mailhtml.Clean(tt.in), func(line string) bool { return strings.HasPrefix(line, "@") })
			if !ok {
				t.Fatal("it cannot be read")
			}
			if diff := cmp.Diff(tt.head, got.Head); diff != "" {
				t.Errorf("head: %s", diff)
			}
			if diff := cmp.Diff(tt.body, strings.TrimSpace(mailhtml.Text(got.Body))); diff != "" {
				t.Errorf("body: %s\nof %s", diff, got.Body)
			}
			if tt.name == "an image" && !strings.Contains(got.Body, "cid:a@b") {
				t.Errorf("the image is gone: %s", got.Body)
			}
		})
	}
}
