package mail_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// der writes an element of DER, or of BER with an indefinite length.
func der(tag byte, open bool, content ...[]byte) []byte {
	b := bytes.Join(content, nil)
	switch {
	case open:
		return append(append([]byte{tag, 0x80}, b...), 0, 0)
	case len(b) < 0x80:
		return append([]byte{tag, byte(len(b))}, b...)
	}
	return append([]byte{tag, 0x82, byte(len(b) >> 8), byte(len(b))}, b...)
}

// signedMail is CMS signed-data around a content, without signatures.
func signedMail(content string, open bool, pieces int) []byte {
	var octets []byte
	if pieces == 1 {
		octets = der(0x04, false, []byte(content))
	} else {
		var all [][]byte
		for step := len(content)/pieces + 1; content != ""; {
			n := min(step, len(content))
			all = append(all, der(0x04, false, []byte(content[:n])))
			content = content[n:]
		}
		octets = der(0x24, open, all...)
	}
	data := []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")
	signed := []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")
	algorithms := der(0x31, false, der(0x30, false, []byte("\x06\x01\x00")))
	return der(0x30, open, signed, der(0xA0, open, der(0x30, open, []byte{2, 1, 1}, algorithms, der(0x30, open, data, der(0xA0, open, octets)), der(0x31, false))))
}

func TestOpaquelySigned(t *testing.T) {
	t.Parallel()
	const inner = "Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSigned, Grüße\r\n" +
		"--i\r\nContent-Type: application/pdf; name=plan.pdf\r\nContent-Disposition: attachment\r\n\r\n%PDF\r\n--i--\r\n"
	for name, tt := range map[string]struct {
		head string
		cms  []byte
	}{
		"der":              {"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", signedMail(inner, false, 1)},
		"ber, as streamed": {"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", signedMail(inner, true, 3)},
		"der, in pieces":   {"Content-Type: application/x-pkcs7-mime; smime-type=signed-data; name=smime.p7m", signedMail(inner, false, 4)},
		"no smime-type":    {"Content-Type: application/pkcs7-mime; name=smime.p7m", signedMail(inner, true, 2)},
		"only its name":    {"Content-Type: application/octet-stream; name=smime.p7m", signedMail(inner, false, 1)},
	} {
		m := parse(t, "From: a@example.org\nMessage-ID: <1@example.org>\n"+tt.head+"\nContent-Transfer-Encoding: base64\n\n"+base64.StdEncoding.EncodeToString(tt.cms)+"\n")
		var files []string
		for _, a := range m.Attachments {
			files = append(files, a.Filename)
		}
		if strings.TrimSpace(m.Text) != "Signed, Grüße" || !cmp.Equal(files, []string{"plan.pdf", "smime.p7m"}) {
			t.Errorf("%s: text %q, files %q", name, m.Text, files)
		}
		if want := (name != "only its name"); m.Protection.Signed != want || m.Protection.Encrypted {
			t.Errorf("%s: %+v", name, m.Protection)
		}
	}
	encrypted := parse(t, "From: a@example.org\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nx\n")
	if !encrypted.Protection.Encrypted || encrypted.Text != "" {
		t.Errorf("what is encrypted: %+v", encrypted)
	}
}

func TestEuroSignStays(t *testing.T) {
	t.Parallel()
	if m := parse(t, "From: a@example.org\nContent-Type: text/plain; charset=iso-8859-1\n\nSign: \xC2\x80\n"); m.Text != "Sign: Â€\n" {
		t.Errorf("%q", m.Text)
	}
}

func TestUuencoded(t *testing.T) {
	t.Parallel()
	const cat = "begin 644 cat.txt\n#0V%T\n`\nend\n"
	for name, tt := range map[string]struct{ body, text, files string }{
		"a file":           {"See this:\n\n" + cat + "\nRegards\n", "See this:\n\n\nRegards\n", "cat.txt=Cat"},
		"two":              {cat + "and\n" + strings.Replace(cat, "cat.txt", "my dog.png", 1), "and\n", "cat.txt=Cat my dog.png=Cat"},
		"base64":           {"x\nbegin-base64 644 cat.txt\nQ2F0\n====\nend\n", "x\nend\n", "cat.txt=Cat"},
		"words that begin": {"We\nbegin 2024 with joy and\nend\nit so.\n", "We\nbegin 2024 with joy and\nend\nit so.\n", ""},
		"no end":           {"x\nbegin 644 cat.txt\n#0V%T\n", "x\nbegin 644 cat.txt\n#0V%T\n", ""},
		"not encoded":      {"x\nbegin 644 cat.txt\nhello, this is no code\nend\n", "x\nbegin 644 cat.txt\nhello, this is no code\nend\n", ""},
	} {
		m := parse(t, "From: a@example.org\nMessage-ID: <1@example.org>\n\n"+tt.body)
		var files []string
		for _, a := range m.Attachments {
			files = append(files, a.Filename+"="+string(a.Body))
		}
		if got := strings.Join(files, " "); m.Text != tt.text || got != tt.files {
			t.Errorf("%s: %q with %q", name, m.Text, got)
		}
	}
}

func TestAskedNotToAnswer(t *testing.T) {
	t.Parallel()
	for field, want := range map[string][2]bool{ // auto-submitted, no automatic answer
		"X-Auto-Response-Suppress: All":                  {false, true},
		"X-Auto-Response-Suppress: DR, OOF, AutoReply":   {false, true},
		"X-Auto-Response-Suppress: DR, RN, NRN":          {false, false},
		"Precedence: bulk":                               {false, true},
		"Precedence: list":                               {false, true},
		"Precedence: junk":                               {false, true},
		"Precedence: normal":                             {false, false},
		"Precedence: auto_reply":                         {true, true},
		"Auto-Submitted: auto-replied (vacation)":        {true, true},
		"Auto-Submitted: no":                             {false, false},
		"List-Unsubscribe: <mailto:leave@example.org>":   {false, true},
		"X-Autoreply: yes":                               {true, true},
		"Return-Path: <>":                                {true, true},
		"X-Mailer: Microsoft Outlook 16.0":               {false, false},
		"Precedence: bulk\nAuto-Submitted: auto-replied": {true, true},
	} {
		m := parse(t, "From: a@example.org\n"+field+"\n\nx\n")
		if got := [2]bool{m.AutoSubmitted, m.NoAutoReply}; got != want {
			t.Errorf("%s: %t, want %t", field, got, want)
		}
	}
}

func TestTidy(t *testing.T) {
	t.Parallel()
	const plain = "From: a@example.org\r\nSubject: x\r\n\r\ntext\r\n"
	bare := strings.ReplaceAll(plain, "\r\n", "\r")
	for name, tt := range map[string]struct{ raw, want string }{
		"well":                      {plain, plain},
		"byte order mark":           {"\xEF\xBB\xBF" + plain, plain},
		"carriage returns":          {bare, plain},
		"then a newline":            {bare + "\n", plain},
		"then CR LF":                {bare + "\r\n", plain + "\r\n"},
		"mark, carriage returns":    {"\xEF\xBB\xBF" + bare, plain},
		"mbox":                      {"From a@example.org Mon Jan  2 15:04:05 2023\r\n" + plain, plain},
		"mbox, carriage returns":    {"From a@example.org Mon Jan  2 15:04:05 2023\r" + bare, plain},
		"blank lines":               {"\r\n\r\n" + plain, plain},
		"no header at all":          {"\r\nNote: a text\r\n", "\r\nNote: a text\r\n"},
		"UTF-16":                    {"\xff\xfe" + encode(t, "utf-16le", plain), plain},
		"a carriage return in text": {"From: a@example.org\r\n\r\na\rb\r\n", "From: a@example.org\r\n\r\na\rb\r\n"},
		"one inside of a field":     {"Subject: a\rb c\r\n\r\nx", "Subject: a\rb c\r\n\r\nx"},
		"nothing":                   {"", ""},
	} {
		if got := string(mail.Tidy([]byte(tt.raw))); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	// Mails that came before with fields in front of such a mark.
	m := parse(t, "Received: by x; Mon, 2 Jan 2023 15:04:05 +0000\r\n\xEF\xBB\xBFFrom: a@example.org\r\nSubject: x\r\n\r\ntext\r\n")
	if len(m.From) != 1 || m.Subject != "x" || m.Text != "text\n" {
		t.Errorf("a mark below other fields: %+v", m)
	}
}

func FuzzTidy(f *testing.F) {
	for _, s := range []string{"From: a@b\rSubject: x\r\rtext", "\xEF\xBB\xBFFrom: a@b\r\n\r\nx", "From x\r\nFrom: a\r\n", "\xff\xfeF\x00", "\r\n\r\nTo: x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tidy := mail.Tidy(raw)
		if again := mail.Tidy(tidy); !bytes.Equal(again, tidy) && !bytes.HasPrefix(tidy, []byte("\xEF\xBB\xBF")) && !bytes.HasPrefix(tidy, []byte("\xff\xfe")) && !bytes.HasPrefix(tidy, []byte("\xfe\xff")) {
			t.Errorf("%q is %q, then %q", raw, tidy, again)
		}
	})
}

func FuzzCharset(f *testing.F) {
	for _, l := range letters {
		f.Add([]byte(encode(f, strings.Fields(l.charsets)[0], l.text)), "us-ascii")
	}
	f.Add([]byte("\xff\xfea\x00"), "utf-16")
	f.Fuzz(func(t *testing.T, text []byte, charset string) {
		raw := append([]byte("From: a@b.example\r\nContent-Type: text/plain; charset=\""+charset+"\"\r\n\r\n"), text...)
		if m, err := mail.Parse(raw, mail.Limits{}); err == nil {
			checkMessage(t, m)
		}
	})
}

func FuzzSigned(f *testing.F) {
	f.Add(signedMail("Content-Type: text/plain\r\n\r\nx", true, 2))
	f.Add(signedMail("\r\nx", false, 1))
	f.Fuzz(func(t *testing.T, cms []byte) {
		raw := "From: a@b.example\nContent-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(cms)
		if m, err := mail.Parse([]byte(raw), mail.Limits{}); err == nil {
			checkMessage(t, m)
		}
	})
}

// Servers may have put fields in front of a mail whose lines end with carriage returns.
func TestReturnsBelowOtherLines(t *testing.T) {
	t.Parallel()
	mail := strings.ReplaceAll("From: Old <old@example.org>\nTo: us@example.org\nSubject: Old lines\nMessage-ID: <1@example.org>\n\nOne.\nTwo.\n", "\n", "\r")
	for name, raw := range map[string]string{
		"alone":         mail,
		"below LF":      "Return-Path: <old@example.org>\nReceived: from a by b\n\tfor us@example.org; Mon, 2 Nov 2026 14:59:00 +0000\n" + mail,
		"below CRLF":    "Delivered-To: us@example.org\r\nReceived: from a by b\r\n" + mail,
		"ended with LF": "Delivered-To: us@example.org\n" + mail + "\n",
	} {
		m := parse(t, raw)
		if m.Subject != "Old lines" || len(m.From) != 1 || m.From[0].Email != "old@example.org" || m.Text != "One.\nTwo.\n" && m.Text != "One.\nTwo.\n\n" {
			t.Errorf("%s: %q from %+v says %q", name, m.Subject, m.From, m.Text)
		}
		if _, sure := m.Author(); sure && name != "alone" {
			t.Errorf("%s: others may take another for its author", name)
		}
	}
}

// Telephone gateways send a message as a named text. A named text next to another text, or as an attachment, is a file.
func TestTextsWithNames(t *testing.T) {
	t.Parallel()
	part := func(disposition, name, text string) string {
		return "--b\nContent-Type: text/plain; charset=utf-8; name=" + name + "\nContent-Disposition: " + disposition + "; filename=" + name + "\n\n" + text + "\n"
	}
	for name, tt := range map[string]struct{ parts, want string }{
		"a message":       {part("inline", "text_0.txt", "Help, größer!"), "Help, größer!"},
		"two":             {part("inline", "text_0.txt", "One.") + part("inline", "text_1.txt", "Two."), "One.\nTwo."},
		"a file":          {part("attachment", "log.txt", "panic"), ""},
		"beside a text":   {"--b\n\nSee the file.\n" + part("inline", "log.txt", "panic"), "See the file."},
		"a large file":    {part("inline", "log.txt", strings.Repeat("panic\n", 4000)), ""},
		"an empty one":    {part("inline", "log.txt", " "), ""},
		"with a picture":  {"--b\nContent-Type: image/jpeg; name=a.jpg\n\nx\n" + part("inline", "text_0.txt", "Look!"), "Look!"},
		"in an old style": {"--b\nContent-Type: text/plain; name=text.txt\n\nHello.\n", "Hello."},
	} {
		raw := "From: a@example.org\nMessage-ID: <1@example.org>\nContent-Type: multipart/mixed; boundary=b\n\n" + tt.parts + "--b--\n"
		if m := parse(t, raw); m.Text != tt.want {
			t.Errorf("%s: it says %.100q", name, m.Text)
		}
	}
}
