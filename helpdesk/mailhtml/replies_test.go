package mailhtml_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
)

// reply is a case of replies.txt: the mail, and the parts that must stay visible.
type reply struct {
	name, body, shown string
	html, isNew       bool
}

func replies(t testing.TB) []reply {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "internal", "quote", "testdata", "replies.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []reply
	for _, part := range strings.Split(string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		r := reply{name: head}
		var form string
		head, r.isNew = strings.CutSuffix(head, ", new")
		form = head[strings.LastIndex(head, ",")+1:]
		r.html = strings.TrimSpace(form) == "html"
		r.body = strings.NewReplacer("⟦", "", "⟧", "").Replace(body)
		for {
			before, rest, found := strings.Cut(body, "⟦")
			r.shown += before
			if !found {
				break
			}
			_, body, _ = strings.Cut(rest, "⟧")
		}
		all = append(all, r)
	}
	return all
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// outside returns the visible part of a folded message.
func outside(folded string) string {
	from := strings.Index(folded, foldedTag)
	if from < 0 {
		return folded
	}
	return folded[:from] + folded[strings.LastIndex(folded, "</details>")+len("</details>"):]
}

const foldedTag = `<details class="quote">`

// TestReplies splits replies as mailers write them, each in the form it came in, and those in plain text as the HTML that
// they are shown as, too.
func TestReplies(t *testing.T) {
	t.Parallel()
	exact, total := 0, 0
	check := func(t *testing.T, got, want string) {
		t.Helper()
		total++
		if d := cmp.Diff(words(want), words(got)); d != "" {
			t.Errorf("what is to be seen (-want +got):\n%s", d)
			return
		}
		exact++
	}
	for _, r := range replies(t) {
		t.Run(r.name, func(t *testing.T) {
			body := r.body
			if !r.html {
				said, _ := mail.SplitQuote(body, !r.isNew)
				if !strings.HasPrefix(r.name, "text after a signature") { // plain text has one cut only
					check(t, said, r.shown)
				}
				body = mailhtml.FromText(body)
			}
			body = mailhtml.Clean(body)
			folded := mailhtml.Fold(body, !r.isNew)
			want := r.shown
			if r.html {
				want = mailhtml.Text(mailhtml.Clean(want))
			} else {
				want = mailhtml.Text(mailhtml.FromText(want))
			}
			check(t, mailhtml.Text(outside(folded)), want)
		})
	}
	t.Logf("%d of %d exact", exact, total)
}

// pieces of messages: quotes of many mailers, and text between them. "%s" is a word that must stay visible.
var (
	quotedTexts = []string{
		"> Which day?\n", "> Which day?\n>\n> Regards\n> Care\n", ">> older\n> old\n", "> a long line that nobody ended with any sign since it was folded on its way here\n",
		"On 1/2/24 10:15, Care wrote:\n> Which day?\n", "On Tue, Jan 2, 2024 at 10:15 AM Care <care@example.com>\nwrote:\n\n> Which day?\n",
		"Am 02.01.24 um 10:15 schrieb Care:\n> Welcher Tag?\n", "2026-01-02 10:00 GMT+01:00 Care <care@example.com>:\n\n> Which day?\n",
		"-----Original Message-----\n> Which day?\n", "----- Original Message -----\nFrom: \"Care\" <care@example.com>\nTo: <jo@example.org>\nSent: Tuesday\nSubject: x\n\n> Which day?\n",
		"From: Care <care@example.com>\nSent: Tuesday\nTo: Jo\nSubject: x\n\n> Which day?\n",
	}
	newTexts = []string{
		"%s\n", "yes %s\n", "%s, on 2 Jan 2024 at 10:15.\n", "I wrote on 3 May 2024 at 10:15: %s\n", "On 3 May 2024 at 10:15 I wrote to you:\n\n%s\n",
		"Name: Jo\nFrom: Hamburg\nTo: Berlin\nMessage: %s\n", "From: Hamburg\nTo: Berlin\nDate: 2 January\n\n%s\n", "-- %s\n", "see this:\n%s\n",
		"To: be %s\n\n", "She said at 10:15:\n%s\n", "* %s\n* two\n", "%s <jo@example.org>\n", "Subject: %s\n\n", "\n%s\n\n", "_____\n%s\n", "please reply above this line, it says: %s\n",
	}
	quotedPages = []string{
		`<blockquote type="cite">Which day?</blockquote>`, `<div class="gmail_quote"><div class="gmail_attr">On Tue, Jan 2, 2024 at 10:15 AM Care &lt;care@example.com&gt; wrote:<br></div><blockquote class="gmail_quote">Which day?</blockquote>%s</div>`,
		`<div class="moz-cite-prefix">%s<br>On 1/2/24 10:15, Care wrote:<br></div><blockquote type="cite">Which day?</blockquote>`, `<p>On 1/2/24 10:15, Care wrote:</p><blockquote>Which day?</blockquote>`,
		`<div class="protonmail_quote">On Tuesday, January 2nd, 2024 at 10:15 AM, Care &lt;care@example.com&gt; wrote:<br><blockquote class="protonmail_quote" type="cite">Which day?</blockquote><br></div>`,
		`<div class="yahoo_quoted"><div>On Tuesday, Care &lt;care@example.com&gt; wrote:</div><div>Which day?</div></div>`, `<div><div><br><blockquote type="cite"><div>On 2 Jan 2024, at 10:15, Care wrote:</div></blockquote></div></div>`,
	}
	newPages = []string{
		`<div>%s</div>`, `<p>%s<br>two</p>`, `%s<br>`, `<div><br></div><div>yes %s</div>`, `<table><tr><td>From:</td><td>Hamburg</td></tr><tr><td>To:</td><td>%s</td></tr><tr><td>Date:</td><td>now</td></tr></table>`,
		`<ul><li>%s</li></ul>`, `<blockquote style="margin:0 0 0 40px;border:none">%s</blockquote>`, `<div>On 3 May 2024 at 10:15 I wrote to you:</div><div>%s</div>`, `<hr><div>%s</div>`, `<b>%s</b>: <i>two</i><br>`,
	}
)

// TestNewTextStays checks that new text is never folded, whatever is quoted around it, and that the preview begins with it.
func TestNewTextStays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		quoted, fresh, page := quotedTexts, newTexts, n%2 == 1
		if page {
			quoted, fresh = quotedPages, newPages
		}
		var body strings.Builder
		var marks []string
		mark := func(piece string) string {
			if !strings.Contains(piece, "%s") {
				return piece
			}
			marks = append(marks, fmt.Sprintf("new%dtext", len(marks)))
			return strings.Replace(piece, "%s", marks[len(marks)-1], 1)
		}
		for range 1 + r.IntN(6) {
			if r.IntN(2) == 0 {
				body.WriteString(mark(quoted[r.IntN(len(quoted))]))
			} else {
				body.WriteString(mark(fresh[r.IntN(len(fresh))]))
			}
			if !page && r.IntN(2) == 0 {
				body.WriteString("\n")
			}
		}
		message, isReply := body.String(), r.IntN(3) > 0
		if !page {
			said, _ := mail.SplitQuote(message, isReply)
			for _, m := range marks {
				// A possible signature below the last quote has no place in a text that is cut only once.
				if !strings.Contains(said, m) && !strings.Contains(message, "\n_____\n") {
					t.Fatalf("%s is quoted, reply %t, in:\n%s", m, isReply, message)
				}
			}
			message = mailhtml.FromText(message)
		}
		message = mailhtml.Clean(message)
		shown := outside(mailhtml.Fold(message, isReply))
		preview := mailhtml.Preview(message, 10_000, isReply)
		for _, m := range marks {
			if !strings.Contains(shown, m) {
				t.Fatalf("%s is folded away, reply %t, in:\n%s", m, isReply, message)
			}
			if !strings.Contains(preview, m) {
				t.Fatalf("%s is not in the preview %q, reply %t, of:\n%s", m, preview, isReply, message)
			}
		}
	}
}
