package mail

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"golang.org/x/net/idna"
)

var anyEncodedWord = regexp.MustCompile(`=\?[^?\s]*\?[bqBQ]\?[^?\s]*\?=`)

// FuzzCompose writes a mail with arbitrary names and checks that its lines comply with RFC 5322 section 2.1.1 and RFC 2047
// section 2, and that parsing it gives the same mail.
func FuzzCompose(f *testing.F) {
	for _, s := range []string{
		"Hello", "Größe", "a  b", "=?utf-8?q?x?=", "x\r\nBcc: e@example.org", "日本語 の 件名", "🎉🎉", `Doe, "Jane" \ (x)`, "\xff\x00\u202e", "",
		strings.Repeat("x", 1200), strings.Repeat("größer als eine Zeile ", 30), strings.Repeat("word ", 200), ".", "--=_x", "a\tb", " lead",
	} {
		f.Add(s, s, "ann@example.org", s, "<a@example.org> <b@example.org>", s)
	}
	f.Add("x", "x", `"a b"@example.org`, "x", strings.Repeat("<0123456789@example.org> ", 100), "x")
	f.Add("x", "x", "é@bücher.example", "x", "", "x")
	f.Fuzz(func(t *testing.T, subject, name, email, filename, references, text string) {
		if len(subject)+len(name)+len(filename) > 10_000 || len(references) > 10_000 {
			return // callers have limits of their own
		}
		o := &Outgoing{
			MessageID: "x@example.org", Date: time.Unix(1_700_000_000, 0), From: mailaddr.Address{Name: name, Email: "desk@example.org"},
			To: []mailaddr.Address{{Name: name, Email: email}, {Email: email}}, Cc: []mailaddr.Address{{Name: name, Email: "cc@example.org"}},
			ReplyTo: []mailaddr.Address{{Name: name, Email: "desk+1.abc@example.org"}}, Subject: subject, References: strings.Fields(references),
			Text: text, HTML: "<p>" + text, Extra: []Field{{Name: "X-Note", Value: subject}},
			Attachments: []File{{Filename: filename, ContentType: "text/plain", Open: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(text)), nil
			}}},
		}
		var raw bytes.Buffer
		_, err := o.WriteTo(&raw)
		if _, invalid := errors.AsType[*InvalidError](err); invalid && raw.Len() == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkWritten(t, raw.String())
		m, err := Parse(raw.Bytes(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		type view struct {
			Subject           string
			From, To, Cc, Rep []mailaddr.Address
			File              string
			Body              string
		}
		to := cleanEmail(email)
		if at := strings.LastIndexByte(to, '@'); at > 0 {
			if host, err := idna.Lookup.ToASCII(to[at+1:]); err == nil && !isSevenBit([]byte(to[at:])) {
				to = to[:at+1] + host
			}
		}
		shown, file := oneLine(name), cleanFilename(filename)
		if n := len(shown); n >= 2 && shown[0] == shown[n-1] && strings.Contains(`"'`, shown[:1]) {
			shown = strings.TrimSpace(shown[1 : n-1]) // a name in quotes is read as that without
		}
		if file == "" {
			file = "attachment"
		}
		want := view{
			Subject: oneLine(subject), File: file, Body: text,
			From: []mailaddr.Address{{Name: shown, Email: "desk@example.org"}}, To: []mailaddr.Address{{Name: shown, Email: to}, {Email: to}},
			Cc: []mailaddr.Address{{Name: shown, Email: "cc@example.org"}}, Rep: []mailaddr.Address{{Name: shown, Email: "desk+1.abc@example.org"}},
		}
		got := view{Subject: m.Subject, From: m.From, To: m.To, Cc: m.Cc, Rep: m.ReplyTo}
		if len(m.Attachments) == 1 {
			got.File, got.Body = m.Attachments[0].Filename, string(m.Attachments[0].Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-sent +read:\n%s\n%.2000s", diff, &raw)
		}
	})
}

// checkWritten looks at the lines of a whole mail.
func checkWritten(t *testing.T, raw string) {
	t.Helper()
	if n := strings.Count(raw, "\n"); n != strings.Count(raw, "\r\n") || n != strings.Count(raw, "\r") {
		t.Error("a newline that is not CR LF")
	}
	header := true
	for line := range strings.SplitSeq(raw, "\r\n") {
		header = header && line != ""
		if len(line) > 998 {
			t.Errorf("a line of %d bytes: %.100q", len(line), line)
		}
		if !header {
			continue
		}
		if strings.TrimSpace(line) == "" {
			t.Errorf("a line of white space: %q", line)
		}
		words := strings.Fields(line)
		if line[0] != ' ' && len(words) > 0 {
			words = words[1:] // the name of the field
		}
		if len(line) > 78 && len(words) > 1 {
			t.Errorf("a line of %d bytes that could be folded: %q", len(line), line)
		}
		for _, word := range anyEncodedWord.FindAllString(line, -1) {
			if len(word) > 75 {
				t.Errorf("an encoded word of %d bytes: %q", len(word), word)
			}
		}
	}
}
