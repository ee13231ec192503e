package mailhtml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// forwardCase is a case of forwards.txt.
type forwardCase struct {
	name, subject, body string
	want                map[string]string
}

func forwards(t testing.TB) []forwardCase {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "internal", "quote", "testdata", "forwards.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []forwardCase
	for _, part := range strings.Split(string(raw), "\n=== ")[1:] {
		head, rest, _ := strings.Cut(part, "\n")
		c := forwardCase{want: map[string]string{}}
		c.name, c.subject, _ = strings.Cut(head, " | ")
		for {
			line, below, _ := strings.Cut(rest, "\n")
			if rest = below; line == "" {
				break
			}
			key, value, _ := strings.Cut(line, ":")
			if value = strings.TrimSpace(value); value != "" {
				c.want[key] = value
			}
		}
		if strings.HasSuffix(c.name, "html") {
			c.body = mailhtml.Clean(rest)
		} else {
			c.body = mailhtml.FromText(rest)
		}
		all = append(all, c)
	}
	return all
}

// found is the result in the format of forwards.txt.
func found(f mailhtml.Forwarded) map[string]string {
	from := f.Header.From.Email
	if f.Header.From.Name != "" {
		from = f.Header.From.Name + " <" + from + ">"
	}
	date := ""
	if !f.Header.Date.IsZero() {
		date = f.Header.Date.Format("2006-01-02 15:04")
		if f.Header.Zoned {
			date += " Z"
		}
	}
	out := map[string]string{
		"from": from, "date": date, "subject": f.Header.Subject,
		"note": words(strings.ReplaceAll(mailhtml.Text(f.Note), "\n>", "\n")), "body": words(strings.ReplaceAll("\n"+mailhtml.Text(f.Body), "\n>", "\n")),
	}
	for key, value := range out {
		if value == "" {
			delete(out, key)
		}
	}
	return out
}

func TestSplitForward(t *testing.T) {
	t.Parallel()
	for _, c := range forwards(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, ok := mailhtml.SplitForward(c.body, c.subject)
			got := map[string]string{}
			if ok {
				got = found(f)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The forwarded mail and the forwarder's text together are complete, and safe to show.
func FuzzSplitForward(f *testing.F) {
	for _, c := range forwards(f) {
		f.Add(c.body, c.subject)
	}
	f.Add("<p>x</p>-----Original Message-----<br>From: a@b.example To: b@c.example Subject: x", "Fw: x")
	f.Fuzz(func(t *testing.T, body, subject string) {
		body = mailhtml.Clean(body)
		got, ok := mailhtml.SplitForward(body, subject)
		if !ok {
			return
		}
		for _, part := range []string{got.Note, got.Body} {
			if again := mailhtml.Clean(part); again != part {
				t.Errorf("it is not clean: %q became %q", part, again)
			}
		}
	})
}

// TestForwardsGrow checks that the cost of hostile messages is linear in their size.
func TestForwardsGrow(t *testing.T) { //nolint:paralleltest // it measures
	for name, piece := range map[string]string{
		"headers":        "From: a@b.example<br>Sent: now<br>",
		"whole headers":  "From: a<br>Sent: b<br>To: c<br>Subject: d<br><br>",
		"half of them":   "From: a<br>x<br>",
		"fields":         "To: a@b.example, b@c.example<br>",
		"long fields":    "a@b.example, ",
		"one line":       "From: x To: y Subject: z ",
		"separators":     "---------- Forwarded message ---------<br>",
		"sentences":      "---------- Forwarded message ---------<br>2.1.2023, 10:00, a@b.example:<br>",
		"quotes":         "<blockquote type=\"cite\">Begin forwarded message:<br>From: a@b.example<br>",
		"names of dates": "Date: mon jan 2 jan 2 ",
	} {
		for _, above := range []string{"", "---------- Forwarded message ---------<br>From: a@b.example<br>"} {
			t.Run(name+" below "+above, func(t *testing.T) {
				testenv.Growth(t, 16<<10, func(n int) func() {
					s := mailhtml.Clean(above + strings.Repeat(piece, n/len(piece)))
					return func() { mailhtml.SplitForward(s, "Fw: x") }
				})
			})
		}
	}
}
