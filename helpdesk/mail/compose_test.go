package mail_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

func file(name, ctype, cid, body string) mail.File {
	return mail.File{Filename: name, ContentType: ctype, ContentID: cid, Size: int64(len(body)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }}
}

func write(t *testing.T, o *mail.Outgoing) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := o.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Errorf("%d bytes reported, %d written", n, b.Len())
	}
	return b.Bytes()
}

func read(t *testing.T, raw []byte) *mail.Message {
	t.Helper()
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func outgoing() *mail.Outgoing {
	return &mail.Outgoing{
		MessageID: "id@example.com", Date: time.Date(2023, 1, 2, 15, 4, 5, 0, time.FixedZone("", 3600)),
		From: mailaddr.Address{Name: "Desk", Email: "desk@example.com"}, To: []mailaddr.Address{{Name: "Ann", Email: "ann@example.org"}},
		Subject: "Hello", Text: "Hi\n",
	}
}

func TestWriteToBytes(t *testing.T) {
	t.Parallel()
	o := outgoing()
	o.HTML = `<p>Grüße <img src="cid:pic@1"></p>`
	o.InReplyTo = "<q@example.org>"
	o.References = []string{"r@example.org", "q@example.org"}
	o.AutoSubmitted = true
	o.Attachments = []mail.File{file("p.png", "image/png", "pic@1", "PNG"), file("Übersicht.pdf", "application/pdf", "", "PDF")}
	got := string(write(t, o))
	boundaries := strings.NewReplacer(boundaryNames(got)...)
	want := strings.ReplaceAll(`Date: Mon, 02 Jan 2023 15:04:05 +0100
From: Desk <desk@example.com>
To: Ann <ann@example.org>
Subject: Hello
Message-ID: <id@example.com>
In-Reply-To: <q@example.org>
References: <r@example.org>
 <q@example.org>
Auto-Submitted: auto-replied
X-Auto-Response-Suppress: All
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="B0"

--B0
Content-Type: multipart/related;
 boundary="B1"; type="multipart/alternative"

--B1
Content-Type: multipart/alternative;
 boundary="B2"

--B2
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 7bit

Hi

--B2
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<p>Gr=C3=BC=C3=9Fe <img src=3D"cid:pic@1"></p>

--B2--

--B1
Content-Type: image/png; name="p.png"
Content-Disposition: inline; filename="p.png"
Content-Transfer-Encoding: base64
Content-ID: <pic@1>

UE5H

--B1--

--B0
Content-Type: application/pdf; name="=?utf-8?q?=C3=9Cbersicht=2Epdf?="
Content-Disposition: attachment; filename*=utf-8''%C3%9Cbersicht.pdf
Content-Transfer-Encoding: base64

UERG

--B0--
`, "\n", "\r\n")
	if d := cmp.Diff(want, boundaries.Replace(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if again := string(write(t, o)); again != got {
		t.Error("a second writing gave other bytes")
	}
}

// boundaryNames pairs each boundary with a short name, in order of appearance.
func boundaryNames(s string) []string {
	var out []string
	for n := 0; ; n++ {
		_, after, ok := strings.Cut(s, `boundary="`)
		if !ok {
			return out
		}
		name, rest, _ := strings.Cut(after, `"`)
		out = append(out, name, fmt.Sprintf("B%d", n))
		s = rest
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("größer als eine Zeile ", 60)
	tests := []struct {
		name string
		edit func(o *mail.Outgoing)
	}{
		{"plain", func(*mail.Outgoing) {}},
		{"long subject", func(o *mail.Outgoing) { o.Subject = strings.TrimSpace(long) }},
		{"long ascii subject", func(o *mail.Outgoing) { o.Subject = strings.TrimSpace(strings.Repeat("word ", 400)) }},
		{"one long word", func(o *mail.Outgoing) { o.Subject = strings.Repeat("x", 3000) }},
		{"emoji subject", func(o *mail.Outgoing) { o.Subject = strings.Repeat("🎉", 100) }},
		{"looks encoded", func(o *mail.Outgoing) { o.Subject = "=?utf-8?q?x?= literally" }},
		{"spaces", func(o *mail.Outgoing) { o.Subject = "a  b   c" }},
		{"no subject", func(o *mail.Outgoing) { o.Subject = "" }},
		{"text", func(o *mail.Outgoing) { o.Text = long + "\n\nFrom here.\n.\n" + strings.Repeat("x", 2000) + "\t\n" }},
		{"text of boundary", func(o *mail.Outgoing) { o.Text = "--=_abc\n" }},
		{"names", func(o *mail.Outgoing) {
			o.From.Name = `Doe, "Jane" \ (x)`
			o.To = []mailaddr.Address{{Name: "Zoë, the 1st", Email: "z@example.org"}, {Email: "n@example.org"}, {Name: long[:150], Email: "l@example.org"}}
			o.Cc = []mailaddr.Address{{Name: "=?utf-8?q?x?=", Email: "c@example.org"}, {Name: "O'Brien", Email: "o'b@example.org"}}
			o.ReplyTo = []mailaddr.Address{{Name: "日本語", Email: "r@example.org"}}
			o.Sender = mailaddr.Address{Email: "s@example.org"}
		}},
		{"many recipients", func(o *mail.Outgoing) {
			for i := range 100 {
				o.To = append(o.To, mailaddr.Address{Name: "Some Body", Email: fmt.Sprintf("b%d@example.org", i)})
			}
		}},
		{"files", func(o *mail.Outgoing) {
			o.Attachments = []mail.File{file("a b.txt", "text/plain; charset=utf-8", "", "x"), file(strings.Repeat("ä", 120)+".pdf", "application/pdf", "", ""),
				file("日本語 の ファイル.docx", "", "", strings.Repeat("0123456789", 1000)), file("mail.eml", "message/rfc822", "", "Subject: x\n\ny")}
		}},
		{"only html", func(o *mail.Outgoing) { o.Text, o.HTML = "", "<p>x</p>" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := outgoing()
			tt.edit(o)
			raw := write(t, o)
			checkLines(t, raw)
			m := read(t, raw)
			if len(m.Warnings) > 0 {
				t.Errorf("warnings: %v", m.Warnings)
			}
			type view struct {
				Subject, Text, HTML, ID       string
				Date                          time.Time
				From, Sender, ReplyTo, To, Cc []mailaddr.Address
				Files                         []string
			}
			nl := func(s string) string { return strings.TrimSuffix(s, "\n") }
			want := view{Subject: o.Subject, Text: nl(o.Text), HTML: nl(o.HTML), ID: o.MessageID, Date: o.Date.UTC(),
				From: []mailaddr.Address{o.From}, ReplyTo: o.ReplyTo, To: o.To, Cc: o.Cc}
			if o.Sender.Email != "" {
				want.Sender = []mailaddr.Address{o.Sender}
			}
			for _, f := range o.Attachments {
				r, _ := f.Open()
				b, _ := io.ReadAll(r)
				want.Files = append(want.Files, f.Filename+" "+string(b))
			}
			got := view{m.Subject, nl(m.Text), nl(m.HTML), m.MessageID, m.Date, m.From, m.Sender, m.ReplyTo, m.To, m.Cc, nil}
			for _, a := range m.Attachments {
				got.Files = append(got.Files, a.Filename+" "+string(a.Body))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-sent +read:\n%s", d)
			}
		})
	}
}

// checkLines checks for CRLF everywhere, ASCII, and at most 78 columns in lines that can be folded.
func checkLines(t *testing.T, raw []byte) {
	t.Helper()
	if n := bytes.Count(raw, []byte("\n")); n != bytes.Count(raw, []byte("\r\n")) || n != bytes.Count(raw, []byte("\r")) {
		t.Error("newlines that are not CRLF")
	}
	for line := range strings.Lines(string(raw)) {
		if len(line) > 80 {
			t.Errorf("line of %d bytes: %.100q", len(line), line)
		}
		for i := range len(line) {
			if line[i] >= 0x80 {
				t.Errorf("8-bit line %.100q", line)
				break
			}
		}
	}
}

func TestInjection(t *testing.T) {
	t.Parallel()
	const evil = "x\r\nBcc: evil@example.org\r\n\r\nbody"
	o := outgoing()
	o.Subject, o.From.Name, o.To[0].Name = evil, evil, evil
	o.Extra = []mail.Field{{Name: "X-Note", Value: evil}}
	o.Attachments = []mail.File{file(evil, "text/plain; charset=\""+evil+"\"", "", "x")}
	m := read(t, write(t, o))
	if m.Header.Has("Bcc") || len(m.Bcc) > 0 || strings.TrimSpace(m.Text) != "Hi" {
		t.Errorf("injected: %q", m.Text)
	}
	bad := map[string]func(o *mail.Outgoing){
		"From":        func(o *mail.Outgoing) { o.From.Email = "a@b.c\r\nBcc: x@y.z" },
		"To":          func(o *mail.Outgoing) { o.To[0].Email = "a@b.c>, <x@y.z" },
		"Message-ID":  func(o *mail.Outgoing) { o.MessageID = "a@b\r\nX: y" },
		"In-Reply-To": func(o *mail.Outgoing) { o.InReplyTo = "a b@c" },
		"Extra":       func(o *mail.Outgoing) { o.Extra = []mail.Field{{Name: "X\r\nBcc", Value: "x"}} },
		"Bcc":         func(o *mail.Outgoing) { o.Extra = []mail.Field{{Name: "bCC", Value: "x@y.z"}} },
		"Content-ID":  func(o *mail.Outgoing) { o.Attachments = []mail.File{file("a", "", "a\r\nb", "")} },
		"no From":     func(o *mail.Outgoing) { o.From = mailaddr.Address{Name: "x"} },
		"no Date":     func(o *mail.Outgoing) { o.Date = time.Time{} },
		"no content":  func(o *mail.Outgoing) { o.Attachments = []mail.File{{Filename: "x"}} },
	}
	for name, edit := range bad {
		o := outgoing()
		edit(o)
		var b bytes.Buffer
		_, err := o.WriteTo(&b)
		var invalid *mail.InvalidError
		if !errors.As(err, &invalid) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, b.Len())
		}
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	for name, f := range map[string]mail.File{
		"open": {Filename: "a", Open: func() (io.ReadCloser, error) { return nil, broken }},
		"read": {Filename: "a", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("x"), errReader{broken})), nil
		}},
		"short": {Filename: "a", Size: 5, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }},
	} {
		o := outgoing()
		o.Attachments = []mail.File{f}
		if _, err := o.WriteTo(io.Discard); err == nil || name != "short" && !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestUndisclosed(t *testing.T) {
	t.Parallel()
	o := outgoing()
	o.To = nil
	m := read(t, write(t, o))
	if len(m.To) > 0 || m.Header.Get("To") != "undisclosed-recipients:;" {
		t.Errorf("To: %q", m.Header.Get("To"))
	}
}

func TestInternationalDomain(t *testing.T) {
	t.Parallel()
	o := outgoing()
	o.To = []mailaddr.Address{{Name: "x", Email: "a@müller.example"}}
	if d := cmp.Diff("x <a@xn--mller-kva.example>", read(t, write(t, o)).Header.Get("To")); d != "" {
		t.Error(d)
	}
}

func BenchmarkWriteTo(b *testing.B) {
	o := outgoing()
	o.HTML = "<p>Hi</p>"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleOutgoing() {
	o := &mail.Outgoing{
		MessageID: "1@example.com",
		Date:      time.Date(2023, 1, 2, 15, 4, 5, 0, time.UTC),
		From:      mailaddr.Address{Name: "Example Desk", Email: "desk@example.com"},
		To:        []mailaddr.Address{{Email: "ann@example.org"}},
		Subject:   mail.ReplySubject("AW: Order 7"),
		InReplyTo: "q@example.org",
		Text:      "It is on its way.",
	}
	var b strings.Builder
	if _, err := o.WriteTo(&b); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.ReplaceAll(b.String(), "\r\n", "\n"))
	// Output:
	// Date: Mon, 02 Jan 2023 15:04:05 +0000
	// From: Example Desk <desk@example.com>
	// To: ann@example.org
	// Subject: Re: Order 7
	// Message-ID: <1@example.com>
	// In-Reply-To: <q@example.org>
	// References: <q@example.org>
	// MIME-Version: 1.0
	// Content-Type: text/plain; charset=utf-8
	// Content-Transfer-Encoding: 7bit
	//
	// It is on its way.
}

// A section of a parameter ends between two characters, as some readers decode each alone.
func TestSectionsOfNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("ü", 40), "a" + strings.Repeat("ü", 40), strings.Repeat("日本語", 27), "ab" + strings.Repeat("🎉", 30), strings.Repeat("x", 70) + "é"} {
		raw := string(write(t, &mail.Outgoing{
			MessageID: "x@example.org", Date: time.Unix(1_700_000_000, 0), From: mailaddr.Address{Email: "a@example.org"}, Text: "x",
			Attachments: []mail.File{file(name+".pdf", "application/pdf", "", "x")},
		}))
		sections := regexp.MustCompile(`filename\*\d+\*=(?:utf-8'')?([^;\r\n]+)`).FindAllStringSubmatch(raw, -1)
		if len(sections) < 2 {
			t.Errorf("%q has %d sections", name, len(sections))
		}
		for _, s := range sections {
			if text, err := url.PathUnescape(s[1]); err != nil || !utf8.ValidString(text) {
				t.Errorf("%q is cut inside of a character: %q, %v", name, s[1], err)
			}
		}
		if got := read(t, []byte(raw)).Attachments[0].Filename; got != name+".pdf" {
			t.Errorf("%q is read as %q", name, got)
		}
	}
}
