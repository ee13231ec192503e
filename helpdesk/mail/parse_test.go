package mail_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gomessage "github.com/emersion/go-message"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage/testenv"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden parses each mail of testdata, which has one peculiarity each, and compares the complete result with the file
// next to it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".eml"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := mail.Parse(raw, mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkMessage(t, m)
			got := golden(t, m)
			want, err := os.ReadFile(strings.TrimSuffix(file, ".eml") + ".json")
			if *update {
				err = os.WriteFile(strings.TrimSuffix(file, ".eml")+".json", got, 0o644)
				want = got
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// golden returns the fields that differ from the zero value as JSON.
func golden(t *testing.T, m *mail.Message) []byte {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "Header")
	for k, v := range all {
		if v == nil || v == "" || v == false || v == "0001-01-01T00:00:00Z" {
			delete(all, k)
		}
	}
	if len(m.Attachments) > 0 {
		var list []string
		for _, a := range m.Attachments {
			list = append(list, fmt.Sprintf("%s | %s %s | cid=%s inline=%t | %q", a.Filename, a.ContentType, a.Charset, a.ContentID, a.Inline, a.Body))
		}
		all["Attachments"] = list
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkMessage checks invariants of every parsed mail.
func checkMessage(t *testing.T, m *mail.Message) {
	t.Helper()
	for _, s := range []string{m.Text, m.HTML} {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r") {
			t.Errorf("body is not clean text: %.200q", s)
		}
	}
	lines := append([]string{m.Subject, m.MessageID, m.ListID, m.ReturnPath}, m.InReplyTo...)
	lines = append(append(lines, m.References...), m.Warnings...)
	for _, list := range [][]mailaddr.Address{m.From, m.Sender, m.ReplyTo, m.To, m.Cc, m.Bcc, m.DeliveredTo} {
		for _, a := range list {
			lines = append(lines, a.Name, a.Email)
			if a.Email == "" {
				t.Error("empty address")
			}
		}
	}
	for _, a := range m.Attachments {
		lines = append(lines, a.Filename, a.ContentType, a.ContentID, a.Charset)
		if a.Filename == "" || len(a.Filename) > 255 || strings.ContainsAny(a.Filename, `/\`) || a.Filename == ".." {
			t.Errorf("file name %q", a.Filename)
		}
	}
	for _, s := range lines {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\x00") {
			t.Errorf("not a clean line: %.200q", s)
		}
	}
	if len(m.Warnings) > 50 {
		t.Errorf("%d warnings", len(m.Warnings))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
		}
		return b.String() + "\nx\n"
	}
	parts := func(n int) string {
		return "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", n) + "--b--\n"
	}
	tests := []struct {
		name, in, want string
		limits         mail.Limits
	}{
		{name: "empty", in: "", want: "the mail is empty"},
		{name: "blank", in: " \r\n\x00\n", want: "the mail is empty"},
		{name: "size", in: strings.Repeat("a", 50<<20+1), want: "mail larger than 50 MiB"},
		{name: "own size", in: "Subject: x\n\nx", want: "mail larger than 5 bytes", limits: mail.Limits{Size: 5}},
		{name: "header", in: "X: " + strings.Repeat("a\n ", 500_000) + "\n\nx", want: "header larger than 1 MiB"},
		{name: "one long header line", in: "X: " + strings.Repeat("a", 2<<20) + "\n\nx", want: "header larger than 1 MiB"},
		{name: "part header", in: "Content-Type: multipart/mixed; boundary=b\n\n--b\nX: " + strings.Repeat("a\n ", 500_000) + "\n\nx", want: "header larger than 1 MiB"},
		{name: "parts", in: parts(10_000), want: "more than 1000 parts"},
		{name: "enough parts", in: parts(999)},
		{name: "depth", in: nested(100), want: "nested deeper than 50"},
		{name: "enough depth", in: nested(50)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte(tt.in), tt.limits)
			got := ""
			if err != nil {
				got = err.Error()
				var limit *mail.LimitError
				if !errors.As(err, &limit) && !errors.Is(err, mail.ErrEmpty) {
					t.Errorf("unexpected error %T", err)
				}
			} else {
				checkMessage(t, m)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestHostile parses mails that would take a careless parser minutes; the package's time limit applies.
func TestHostile(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	inputs := map[string]string{
		"encoded words":  "Subject: " + strings.Repeat("=?a?q?", mb/7) + "\n\nx",
		"commas":         "To: " + strings.Repeat("a,", mb/3) + "\n\nx",
		"brackets":       "To: " + strings.Repeat("(", mb-100) + "\n\nx",
		"angles":         "To: " + strings.Repeat("<", mb-100) + "\n\nx",
		"quotes":         "To: " + strings.Repeat(`"`, mb-100) + "\n\nx",
		"colons":         "To: " + strings.Repeat("a:", mb/3) + "\n\nx",
		"ids":            "References: " + strings.Repeat("<a", mb/3) + "\n\nx",
		"params":         "Content-Type: text/plain; " + strings.Repeat(`a="b"`, mb/6) + "\n\nx",
		"junk lines":     "A: b\n" + strings.Repeat("junk\n", mb/6) + "Subject: x\n\nx",
		"boundaries":     "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--bb\n", mb),
		"received":       strings.Repeat("Received: x\n", mb/13) + "\nx",
		"plus":           "Content-Type: text/plain; charset=utf-7\n\n" + strings.Repeat("+", mb),
		"many addresses": "To: " + strings.Repeat("a@b.c,", mb/7) + "\n\nx",
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte(in), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			checkMessage(t, m)
		})
	}
}

func TestLargeAttachment(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("QUFB", 19) + "\r\n"
	n := 30 << 20 / len(line)
	raw := "Subject: big\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n" + strings.Repeat(line, n)
	m, err := mail.Parse([]byte(raw), mail.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(m.Attachments[0].Body); got != n*57 {
		t.Errorf("%d bytes, want %d", got, n*57)
	}
}

// corpus is a folder of the collected mails.
func corpus(tb testing.TB, sub string) string {
	tb.Helper()
	return filepath.Join(testenv.Corpus(tb), sub)
}

func corpusMails(tb testing.TB, sub string) map[string][]byte {
	tb.Helper()
	out := map[string][]byte{}
	root := corpus(tb, sub)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".eml") {
			return err
		}
		raw, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		out[filepath.ToSlash(rel)] = raw
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	want := map[string]string{ // the mails that are refused
		"deb-php-horde-mime/e3182a55__Horde_Mime-2.11.2_test_Horde_Mime_fixtures_deeply_nested.txt.eml": "nested deeper than 50",
	}
	got := map[string]string{}
	warned := 0
	mails := corpusMails(t, "")
	for name, raw := range mails {
		m, err := mail.Parse(raw, mail.Limits{})
		if err != nil {
			got[name] = err.Error()
			continue
		}
		checkMessage(t, m)
		if len(m.Warnings) > 0 {
			warned++
		}
	}
	t.Logf("%d mails, %d with warnings, %d refused", len(mails), warned, len(got))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("refused (-want +got):\n%s", d)
	}
}

// TestCorpusBounces checks that nearly all delivery failures are recognised as sent by a program.
func TestCorpusBounces(t *testing.T) {
	t.Parallel()
	mails := corpusMails(t, "bounces")
	auto := 0
	for _, raw := range mails {
		if m, err := mail.Parse(raw, mail.Limits{}); err == nil && m.AutoSubmitted {
			auto++
		}
	}
	t.Logf("%d of %d bounces are recognised as auto-submitted", auto, len(mails))
	if auto*100 < len(mails)*90 {
		t.Errorf("only %d of %d", auto, len(mails))
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m, err := mail.Parse(raw, mail.Limits{})
		if !bytes.Equal(before, raw) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			return
		}
		checkMessage(t, m)
		m.Identity()
		m.FormerIdentity()
		composeAgain(t, m)
	})
}

// composeAgain sends a parsed mail's content and reads it back.
func composeAgain(t *testing.T, m *mail.Message) {
	t.Helper()
	o := &mail.Outgoing{
		MessageID: "x@example.org", Date: time.Unix(1_700_000_000, 0), From: mailaddr.Address{Email: "a@example.org"},
		Subject: m.Subject, Text: m.Text, HTML: m.HTML, References: m.References,
	}
	for _, a := range m.To {
		if strings.Contains(a.Email, "@") {
			o.To = append(o.To, a)
		}
	}
	for _, a := range m.Attachments {
		o.Attachments = append(o.Attachments, file(a.Filename, a.ContentType, "", string(a.Body)))
	}
	if o.Validate() != nil {
		return
	}
	again := read(t, write(t, o))
	if got, want := strings.Join(strings.Fields(again.Subject), " "), strings.Join(strings.Fields(m.Subject), " "); got != want {
		t.Errorf("subject %q became %q", want, got)
	}
	if got, want := strings.TrimRight(again.Text, "\n"), strings.TrimRight(m.Text, "\n"); got != want && strings.TrimSpace(want) != "" {
		t.Errorf("text %q became %q", want, got)
	}
	if len(again.Attachments) != len(m.Attachments) && len(m.Attachments) < 900 {
		t.Errorf("%d attachments became %d", len(m.Attachments), len(again.Attachments))
	}
	for i := range again.Attachments {
		if !bytes.Equal(again.Attachments[i].Body, m.Attachments[i].Body) {
			t.Errorf("attachment %d differs", i)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	raw, err := os.ReadFile("testdata/alternative.eml")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("mail", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := mail.Parse(raw, mail.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor-go-message", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, err := gomessage.Read(bytes.NewReader(raw))
			if e == nil {
				b.Fatal(err)
			}
			_ = e.Walk(func(_ []int, e *gomessage.Entity, err error) error {
				if err == nil && e.MultipartReader() == nil {
					_, _ = fmt.Fprint(&bytes.Buffer{}, e.Body)
				}
				return nil
			})
		}
	})
	b.Run("floor-net-mail-header", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := netmail.ReadMessage(bytes.NewReader(raw)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParseCorpus(b *testing.B) {
	mails := corpusMails(b, "")
	size := 0
	for _, raw := range mails {
		size += len(raw)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, raw := range mails {
			_, _ = mail.Parse(raw, mail.Limits{})
		}
	}
}

func ExampleParse() {
	m, err := mail.Parse([]byte("From: =?utf-8?q?J=C3=BCrgen?= <j@Example.org>\r\nSubject: Hi\r\n\r\nHello\r\n"), mail.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.From[0].Name, m.From[0].Email)
	fmt.Printf("%q\n", m.Text)
	fmt.Println(m.Warnings)
	// Output:
	// Jürgen j@example.org
	// "Hello\n"
	// [no Message-ID no date that can be read]
}
