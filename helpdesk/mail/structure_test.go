package mail_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// seen is what a reader of a mail sees of its body: texts without white space at their ends, and files as "name=content".
type seen struct {
	Text, HTML string
	Files      []string
}

func seenIn(m *mail.Message) seen {
	out := seen{Text: strings.TrimSpace(m.Text), HTML: strings.TrimSpace(m.HTML)}
	for _, a := range m.Attachments {
		out.Files = append(out.Files, a.Filename+"="+string(a.Body))
	}
	return out
}

const structureHead = "From: Ann <ann@example.org>\nTo: desk@example.com\nSubject: Kettle\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n"

func checkSeen(t *testing.T, raw string, want seen) {
	t.Helper()
	for name, raw := range map[string]string{"LF": raw, "CRLF": strings.ReplaceAll(raw, "\n", "\r\n")} {
		m := parse(t, raw)
		checkMessage(t, m)
		got := seenIn(m)
		for i := range got.Files {
			got.Files[i] = strings.ReplaceAll(got.Files[i], "\r\n", "\n")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		if m.Subject != "Kettle" || m.MessageID != "1@example.org" {
			t.Errorf("%s: subject %q, Message-ID %q", name, m.Subject, m.MessageID)
		}
	}
}

func b64(s string) string {
	s = base64.StdEncoding.EncodeToString([]byte(s))
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return b.String() + s + "\n"
}

func quoted(s string) string { return strings.ReplaceAll(s, "=", "=3D") }

// The label of a multipart or message is void where its body is not encoded (RFC 2045 section 6.4).
func TestVoidTransferEncoding(t *testing.T) {
	t.Parallel()
	const parts = "--b_1\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe, https://shop.example/?id=3D41=\n42\n" +
		"--b_1\nContent-Type: application/pdf; name=\"a.pdf\"\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQKJSBiaWxsCg==\n--b_1--\n"
	both := seen{Text: "Grüße, https://shop.example/?id=4142", Files: []string{"a.pdf=%PDF-1.4\n% bill\n"}}
	multi := func(label string) string {
		return "Content-Type: multipart/mixed; boundary=\"b_1\"\nContent-Transfer-Encoding: " + label + "\n\n"
	}
	inside := func(part string) string {
		return "Content-Type: multipart/mixed; boundary=outer\n\n--outer\n" + part + "\n--outer--\n"
	}
	const message = "From: x@example.org\nSubject: Inner\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe\n"
	attached := func(label, body string) string {
		return inside("Content-Type: message/rfc822; name=\"inner.eml\"\nContent-Transfer-Encoding: " + label + "\n\n" + body)
	}
	eml := seen{Files: []string{"inner.eml=" + message}}
	for name, tt := range map[string]struct {
		raw  string
		want seen
	}{
		"base64":                      {multi("base64") + parts, both},
		"quoted-printable":            {multi("quoted-printable") + parts, both},
		"odd case":                    {multi("BASE64") + parts, both},
		"with a comment":              {multi("Quoted-Printable (all of it)") + parts, both},
		"uuencode":                    {multi("x-uuencode") + parts, both},
		"unknown":                     {multi("x-own") + parts, both},
		"8bit":                        {multi("8bit") + parts, both},
		"after a preamble":            {multi("base64") + "This is a multi-part message.\n\n" + parts, both},
		"inside":                      {inside(multi("base64") + parts), both},
		"inside, quoted":              {inside(multi("quoted-printable") + parts), both},
		"at both levels":              {strings.Replace(inside(multi("base64")+parts), "boundary=outer", "boundary=outer\nContent-Transfer-Encoding: base64", 1), both},
		"really base64":               {multi("base64") + b64(parts), both},
		"really base64, inside":       {inside(multi("base64") + b64(parts)), both},
		"really base64, commented":    {multi("base64 (really)") + b64(parts), both},
		"really quoted":               {multi("quoted-printable") + quoted(parts), both},
		"really quoted, inside":       {inside(multi("quoted-printable") + quoted(parts)), both},
		"quoted, with its boundary":   {strings.ReplaceAll(multi("quoted-printable"), "b_1", "=_b") + quoted(strings.ReplaceAll(parts, "b_1", "=_b")), both},
		"really uuencoded":            {multi("x-uuencode") + "begin 644 x\n" + uuLines(parts) + "`\nend\n", both},
		"parts without labels":        {multi("base64") + "--b_1\nContent-Type: text/plain; charset=utf-8\n\n" + b64("Grüße aus Köln") + "--b_1--\n", seen{Text: "Grüße aus Köln"}},
		"quoted without labels":       {multi("quoted-printable") + "--b_1\nContent-Type: text/plain; charset=utf-8\n\nGr=C3=BC=C3=9Fe\n--b_1--\n", seen{Text: "Grüße"}},
		"an address without labels":   {multi("quoted-printable") + "--b_1\n\nhttps://shop.example/?id=41\n--b_1--\n", seen{Text: "https://shop.example/?id=41"}},
		"words without labels":        {multi("base64") + "--b_1\n\nHello\n--b_1--\n", seen{Text: "Hello"}},
		"a message":                   {attached("base64", message), eml},
		"a message, quoted":           {attached("quoted-printable", message), eml},
		"a message, uuencode":         {attached("x-uuencode", message), eml},
		"a message, unknown":          {attached("x-own", message), eml},
		"a message, odd case":         {attached("Base64 (a mail)", message), eml},
		"a message, really base64":    {attached("base64", b64(message)), eml},
		"a message, really quoted":    {attached("quoted-printable", quoted(message)), eml},
		"a message without labels":    {attached("quoted-printable", "Subject: Inner\n\nGr=C3=BC=C3=9Fe"), seen{Files: []string{"inner.eml=Subject: Inner\n\nGrüße"}}},
		"a message with an address":   {attached("quoted-printable", "Subject: Inner\n\nhttps://shop.example/?id=41"), seen{Files: []string{"inner.eml=Subject: Inner\n\nhttps://shop.example/?id=41"}}},
		"a message with encoded word": {attached("quoted-printable", "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nx=3D"), seen{Files: []string{"inner.eml=Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nx=3D"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSeen(t, structureHead+tt.raw, tt.want)
		})
	}
}

func uuLines(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := min(45, len(s))
		group := []byte(s[:n])
		s = s[n:]
		b.WriteByte(byte(n) + ' ')
		for len(group)%3 != 0 {
			group = append(group, 0)
		}
		for i := 0; i < len(group); i += 3 {
			v := uint(group[i])<<16 | uint(group[i+1])<<8 | uint(group[i+2])
			for shift := 18; shift >= 0; shift -= 6 {
				if c := byte(v >> shift & 63); c == 0 {
					b.WriteByte('`')
				} else {
					b.WriteByte(c + ' ')
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Servers add text to bodies that they do not decode.
func TestTextAroundBase64(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Guten Tag, der Kessel summt und tropft.\n", 6) + "Grüße"
	text := func(body string) string {
		return "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + body
	}
	page := func(body string) string { return strings.Replace(text(body), "text/plain", "text/html", 1) }
	file := func(body string) string {
		return "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n" + body
	}
	pdf := "%PDF-1.4\n" + strings.Repeat("\x00\xff bill", 30)
	bill := seen{Files: []string{"a.pdf=" + pdf}}
	const caution = "CAUTION: This email came from outside of the organization. Do not click links.\n"
	const footer = "_______________________________________________\nlist mailing list\nlist@lists.example.org\nhttps://lists.example.org/list\n"
	for name, tt := range map[string]struct {
		raw  string
		want seen
	}{
		"warning":                 {text(caution + "\n" + b64(long)), seen{Text: caution + "\n" + long}},
		"warning, no blank line":  {text(caution + b64(long)), seen{Text: caution + long}},
		"warning, short text":     {text(caution + "\n" + b64("Hello Ann.")), seen{Text: caution + "\nHello Ann."}},
		"one word":                {text("CAUTION\n" + b64(long)), seen{Text: "CAUTION\n" + long}},
		"one word of four":        {text("EXTERNAL\n" + b64(long)), seen{Text: "EXTERNAL\n" + long}},
		"footer":                  {text(b64("Der Kessel ist kaputt.") + "-- \nThis mail was scanned by AV Example 3.\n"), seen{Text: "Der Kessel ist kaputt.\n-- \nThis mail was scanned by AV Example 3."}},
		"list footer":             {text(b64(long) + footer), seen{Text: long + "\n" + strings.TrimSpace(footer)}},
		"list footer, aligned":    {text(b64(long[:57*3]) + footer), seen{Text: long[:57*3] + "\n" + strings.TrimSpace(footer)}},
		"footer of words":         {text(b64("Der Kessel ist kaputt!") + "\nRegards\nAnn\n"), seen{Text: "Der Kessel ist kaputt!\n\nRegards\nAnn"}},
		"before and after":        {text(caution + b64(long) + footer), seen{Text: caution + long + "\n" + strings.TrimSpace(footer)}},
		"two pieces":              {text(b64("One piece here.\n") + "and\n" + b64("another piece.\n")), seen{Text: "One piece here.\nand\nanother piece."}},
		"HTML":                    {page("<table><tr><td>By Alias</td></tr><tr><td>" + b64("<p>"+long+"</p>") + "</td></tr></table>\n"), seen{HTML: "<table><tr><td>By Alias</td></tr><tr><td><p>" + long + "</p></td></tr></table>"}},
		"HTML, closed on a line":  {page("<div>By Alias</div>\n<div>" + strings.TrimSpace(b64("<p>"+long+"</p>")) + "</div>\n"), seen{HTML: "<div>By Alias</div>\n<div><p>" + long + "</p></div>"}},
		"HTML, all on a line":     {page("<div>By Alias</div><div>" + strings.TrimSpace(b64("<p>Hello, Ann and Bob.</p>")) + "</div>\n"), seen{HTML: "<div>By Alias</div><div><p>Hello, Ann and Bob.</p></div>"}},
		"a pixel after HTML":      {page(b64("<p>"+long+"</p>") + "<img src=\"https://t.example/p.gif\">\n"), seen{HTML: "<p>" + long + "</p><img src=\"https://t.example/p.gif\">"}},
		"file, warning":           {file(caution + b64(pdf)), bill},
		"file, footer":            {file(b64(pdf) + "-- \nThis mail was scanned by AV Example 3.\n"), bill},
		"file, list footer":       {file(b64(pdf) + footer), bill},
		"file, both":              {file(caution + "\n" + b64(pdf) + "\n" + footer), bill},
		"file, one word":          {file("EXTERNAL\n" + b64(pdf)), bill},
		"file, many paddings":     {file(strings.Repeat(base64.StdEncoding.EncodeToString([]byte("abcd")), 3) + "\n" + b64("abcd")), seen{Files: []string{"a.pdf=abcdabcdabcdabcd"}}},
		"file, in the middle":     {file(b64(pdf[:57]) + "*** page 2 of 3 ***\n" + b64(pdf[57:])), bill},
		"footer glued to it":      {text(strings.TrimSpace(b64(long+".")) + "-- \nfooter here\n"), seen{Text: long + ".\n-- \nfooter here"}},
		"short, then a notice":    {text("SGVsbG8=\n\nThis message is confidential.\n"), seen{Text: "Hello\n\nThis message is confidential."}},
		"in Chinese":              {strings.Replace(text("CAUTION: external mail\n\nxOO6w6OsuavLvg==\n"), "utf-8", "gb2312", 1), seen{Text: "CAUTION: external mail\n\n你好，公司"}},
		"in Japanese":             {strings.Replace(text("CAUTION: external mail\n\nGyRCRnxLXBsoQg==\n"), "utf-8", "iso-2022-jp", 1), seen{Text: "CAUTION: external mail\n\n日本"}},
		"wide":                    {strings.Replace(text("CAUTION: external mail\n\nSABlAGwAbABvAA==\n"), "utf-8", "utf-16le", 1), seen{Text: "Hello"}},
		"a warning not in ASCII":  {text("ВНИМАНИЕ: внешнее письмо\n\n" + b64(long)), seen{Text: "ВНИМАНИЕ: внешнее письмо\n\n" + long}},
		"a warning in brackets":   {text("<<< external >>>\n" + b64(long)), seen{Text: "<<< external >>>\n" + long}},
		"two padded pieces":       {text("SGVsbG8=\nSGVsbG8=\n"), seen{Text: "HelloHello"}},
		"words only":              {text("This was never base64.\nSays Ann.\n"), seen{Text: "This was never base64.\nSays Ann."}},
		"noise":                   {text("SGVsbG8gV29y!bGQh\nSGVsbG8\n"), seen{Text: "Hello World!Hello"}},
		"nothing but base64":      {text(b64(long)), seen{Text: long}},
		"a blank line inside":     {text(b64(long[:57]) + "\n" + b64(long[57:])), seen{Text: long}},
		"spaces around the lines": {text(strings.ReplaceAll(b64(long), "\n", " \n ")), seen{Text: long}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.Text, tt.want.HTML = strings.TrimSpace(tt.want.Text), strings.TrimSpace(tt.want.HTML)
			m := parse(t, structureHead+tt.raw)
			checkMessage(t, m)
			if d := cmp.Diff(tt.want, seenIn(m)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A boundary may be used twice, and parts may stand behind the final boundary. No file is lost.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	const pdf = "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERg==\n"
	const png = "Content-Type: image/png; name=b.png\nContent-ID: <b@x>\nContent-Transfer-Encoding: base64\n\niVBORw0=\n"
	const plain, page = "Content-Type: text/plain\n\nPlain.\n", "Content-Type: text/html\n\n<p>HTML.</p>\n"
	multi := func(kind, boundary string, parts ...string) string {
		out := "Content-Type: multipart/" + kind + "; boundary=\"" + boundary + "\"\n\n"
		for _, part := range parts {
			out += "--" + boundary + "\n" + part
		}
		return out + "--" + boundary + "--\n"
	}
	message := "Content-Type: message/rfc822; name=m.eml\n\n"
	inner := "Subject: Inner\n" + multi("mixed", "b", plain, png)
	file := seen{Text: "Plain.", HTML: "<p>HTML.</p>", Files: []string{"a.pdf=%PDF"}}
	files := seen{Text: "Plain.", HTML: "<p>HTML.</p>", Files: []string{"b.png=\x89PNG\r", "a.pdf=%PDF"}}
	plainFile := seen{Text: "Plain.", Files: []string{"a.pdf=%PDF"}}
	const quote = "Content-Type: multipart/mixed; boundary=b\n\nis what it said.\n"
	for name, tt := range map[string]struct {
		raw  string
		want seen
	}{
		"inside":                {multi("mixed", "b", multi("alternative", "b", plain, page), pdf), file},
		"two levels inside":     {multi("mixed", "b", multi("alternative", "c", plain, multi("related", "b", page, png)), pdf), files},
		"thrice":                {multi("mixed", "b", multi("alternative", "b", plain, multi("related", "b", page, png)), pdf), files},
		"folded":                {multi("mixed", "b", strings.Replace(multi("alternative", "b", plain, page), "; boundary", ";\n\tboundary", 1), pdf), file},
		"after a file":          {multi("mixed", "b", multi("alternative", "b", plain, page), pdf, strings.ReplaceAll(png, "b.png", "c.png")), seen{Text: file.Text, HTML: file.HTML, Files: []string{"a.pdf=%PDF", "c.png=\x89PNG\r"}}},
		"never closed":          {multi("mixed", "b", strings.TrimSuffix(multi("alternative", "b", plain, page), "--b--\n"), pdf), file},
		"in an attached mail":   {multi("mixed", "b", plain, message+inner, pdf), seen{Text: "Plain.", Files: []string{"m.eml=" + inner, "a.pdf=%PDF"}}},
		"in half a mail":        {multi("mixed", "b", plain, message+"Subject: Inner\nContent-Type: multipart/mixed; boundary=b\n\n", pdf), seen{Text: "Plain.", Files: []string{"m.eml=Subject: Inner\nContent-Type: multipart/mixed; boundary=b\n\n", "a.pdf=%PDF"}}},
		"in a quoted header":    {multi("mixed", "b", "\n"+quote, pdf), seen{Text: strings.TrimSpace(quote), Files: plainFile.Files}},
		"inside base64":         {multi("mixed", "b", "Content-Transfer-Encoding: base64\nContent-Type: multipart/alternative; boundary=b\n\n"+b64("--b\n"+plain+"--b\n"+page+"--b--\n"), pdf), file},
		"a prefix":              {multi("mixed", "b_1", multi("alternative", "b", plain, page), pdf), file},
		"a longer one":          {multi("mixed", "b", multi("alternative", "b_1", plain, page), pdf), file},
		"a longer one of lines": {multi("mixed", "b", multi("alternative", "b-", plain, page), pdf), file},
		"behind the final one":  {multi("mixed", "b", plain) + "--b\n" + pdf + "--b--\n", plainFile},
		"behind a footer":       {multi("mixed", "b", plain) + "\nA footer.\n\n--b\n" + pdf, plainFile},
		"an epilogue":           {multi("mixed", "b", plain, pdf) + "\nNot shown.\n", plainFile},
		"two final ones":        {multi("mixed", "b", plain, pdf) + "--b--\n", plainFile},
		"blanks behind":         {strings.ReplaceAll(multi("mixed", "b", plain, pdf), "--b\n", "--b \t\n"), plainFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(name, "attached") && !strings.Contains(name, "half") {
				checkSeen(t, structureHead+tt.raw, tt.want)
				return
			}
			got := seenIn(parse(t, structureHead+tt.raw))
			for i := range got.Files {
				got.Files[i], tt.want.Files[i] = strings.TrimSpace(got.Files[i]), strings.TrimSpace(tt.want.Files[i])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Only the boundary delimits.
func TestStrayDashes(t *testing.T) {
	t.Parallel()
	const part = "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERg==\n"
	want := seen{Text: "Grüße", Files: []string{"a.pdf=%PDF"}}
	for _, stray := range []string{"--\n", "-- \n", "---\n", "--------\n", "--\n--\n", "------\n--\n"} {
		mixed := func(text, file string) string {
			return "Content-Type: multipart/mixed; boundary=\"----=_x\"\n\n------=_x\n" + text + "------=_x\n" + file + "------=_x--\n"
		}
		const text = "Content-Transfer-Encoding: quoted-printable\nContent-Type: text/plain; charset=utf-8\n\nGr=C3=BC=C3=9Fe\n"
		checkSeen(t, structureHead+mixed(stray+text, stray+part), want)
		checkSeen(t, structureHead+mixed(strings.Replace(text, "Content-Type", stray+"Content-Type", 1), part), want)
		checkSeen(t, structureHead+mixed(text, stray+part), want)
	}
	// Dashes in a text are a part of it.
	checkSeen(t, structureHead+"Content-Type: multipart/mixed; boundary=b\n\n--b\n--\n\nHello\n--b\n"+part+"--b--\n", seen{Text: "--\n\nHello", Files: []string{"a.pdf=%PDF"}})
	checkSeen(t, structureHead+"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n-- \nFrom: Ann\n--b--\n", seen{Text: "Hello\n-- \nFrom: Ann"})
	checkSeen(t, structureHead+"Content-Type: multipart/mixed; boundary=b\n--b\nContent-Type: text/plain\n\nHello\n--b--\n", seen{Text: "Hello"})
}

// CR CR LF is one line end.
func TestDoubledReturns(t *testing.T) {
	t.Parallel()
	const raw = structureHead + "References: <a@example.org>\n <b@example.org>\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nOne.\n\nTwo.\n" +
		"--b\nContent-Type: text/csv; name=a.csv\n\n1,2\n3,4\n--b\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0x\nLjQK\n--b--\n"
	head, body, _ := strings.Cut(raw, "\n\n")
	head += "\n"
	body = "\n" + body
	ends := func(s, end string) string { return strings.ReplaceAll(s, "\n", end) }
	mixed := func(s string) string {
		var b strings.Builder
		for i, line := range strings.SplitAfter(s, "\n") {
			b.WriteString(ends(line, []string{"\r\r\n", "\n", "\r\n", "\r\r\r\n"}[i%4]))
		}
		return b.String()
	}
	for name, raw := range map[string]string{
		"all":               ends(raw, "\r\r\n"),
		"three":             ends(raw, "\r\r\r\n"),
		"header only":       ends(head, "\r\r\n") + ends(body, "\r\n"),
		"header, then LF":   ends(head, "\r\r\n") + body,
		"mixed":             mixed(raw),
		"below a server's":  "Received: by x; Mon, 02 Jan 2023 15:04:05 +0100\r\n" + ends(raw, "\r\r\n"),
		"below, LF":         "Received: by x; Mon, 02 Jan 2023 15:04:05 +0100\n" + ends(raw, "\r\r\n"),
		"mbox":              "From ann@example.org Mon Jan  2 15:04:05 2023\r\r\n" + ends(raw, "\r\r\n"),
		"body, but no file": ends(head, "\r\n") + strings.Replace(ends(body, "\r\n"), "One.\r\n\r\nTwo.", "One.\r\r\n\r\r\nTwo.", 1),
	} {
		m := parse(t, raw)
		got := seenIn(m)
		for i := range got.Files {
			got.Files[i] = strings.ReplaceAll(got.Files[i], "\r\n", "\n")
		}
		if d := cmp.Diff(seen{Text: "One.\n\nTwo.", Files: []string{"a.csv=1,2\n3,4", "a.pdf=%PDF-1.4\n"}}, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if m.Subject != "Kettle" || m.MessageID != "1@example.org" || m.Date.IsZero() || len(m.From) != 1 || len(m.References) != 2 {
			t.Errorf("%s: %+v", name, m.Message)
		}
		if subject, from := mail.Head([]byte(raw)); subject != "Kettle" || from.Email != "ann@example.org" {
			t.Errorf("%s: head %q %v", name, subject, from)
		}
		if tidy := mail.Tidy([]byte(raw)); !strings.HasSuffix(raw, string(tidy)) {
			t.Errorf("%s: Tidy rewrote it", name)
		}
	}
}

func TestComments(t *testing.T) {
	t.Parallel()
	const pdf = "Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERg==\n"
	for _, ctype := range []string{
		"multipart/mixed (mixed parts); boundary=abc (the boundary)",
		"multipart/mixed (a; b); boundary=abc",
		"(a comment) multipart/mixed; boundary=abc",
		"multipart/mixed; (a; comment) boundary=abc",
		"multipart/mixed; boundary (name) = (value) abc",
		"multipart/mixed; boundary=\"abc\" (the; boundary=xyz)",
		"multipart/mixed; boundary=abc(nested (comments) \\) too); charset=utf-8",
		"multipart/mixed; charset=utf-8 (set); boundary=\"abc\"",
		"multipart/mixed\n (folded\n comment);\n boundary=abc\n (here)",
	} {
		for _, encoding := range []string{"quoted-printable (encoded)", "(encoded) quoted-printable", "Quoted-Printable(x; y)", "quoted-printable (a (nested) one)"} {
			raw := strings.Replace(structureHead, "MIME-Version: 1.0", "MIME-Version: (by hand) 1.0 (really)", 1) + "Content-Type: " + ctype + "\n\n--abc\nContent-Type: text/plain (text); charset=utf-8 (ASCII would do)\n" +
				"Content-Disposition: inline (shown); (not a file)\nContent-Transfer-Encoding: " + encoding + "\n\nGr=C3=BC=C3=9Fe\n--abc\n" + pdf + "--abc--\n"
			checkSeen(t, raw, seen{Text: "Grüße", Files: []string{"a.pdf=%PDF"}})
		}
	}
	checkSeen(t, structureHead+"Content-Type: text/plain; charset=utf-8 (a set)\nContent-Transfer-Encoding: base64 (encoded)\n\nR3LDvMOfZQ==\n", seen{Text: "Grüße"})
}

// Parentheses in a boundary may be a part of it.
func TestParenthesesInBoundaries(t *testing.T) {
	t.Parallel()
	for param, boundary := range map[string]string{
		`"a(b)c"`: "a(b)c", "a(b)c": "a(b)c", "----=_(x)_1": "----=_(x)_1", "abc(1)": "abc(1)", "abc (1)": "abc", "abc(d)": "abc", "(x)abc": "abc",
	} {
		checkSeen(t, structureHead+"Content-Type: multipart/mixed; boundary="+param+"\n\n--"+boundary+"\n\nHello\n--"+boundary+"--\n", seen{Text: "Hello"})
	}
	for _, label := range []string{"base64; x=y", "\"base64\" (x)", "base64, 8bit", "base64 (a); b"} {
		checkSeen(t, structureHead+"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: "+label+"\n\nR3LDvMOfZQ==\n", seen{Text: "Grüße"})
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for param, want := range map[string]string{
		`filename="Report "final" 2026.pdf"; size=33`:         "Report _final_ 2026.pdf",
		`filename="Report "final".pdf"`:                       "Report _final_.pdf",
		`filename=""final" report.pdf"; size=33`:              "_final_ report.pdf",
		`filename="a "b" c "d".pdf" ; size=33`:                "a _b_ c _d_.pdf",
		`filename="27" screen.pdf"; size=33`:                  "27_ screen.pdf",
		`filename="27"; screen.pdf"; size=33`:                 "27_; screen.pdf",
		`filename="a \"b\".pdf"; size=33`:                     "a _b_.pdf",
		`filename="C:\Users\Ann\a.pdf"; size=33`:              "a.pdf",
		`filename="\\server\share\a.pdf"; size=33`:            "a.pdf",
		`filename="Report; final.pdf"; size=33`:               "Report; final.pdf",
		`filename="Report; final.pdf; size=33`:                "Report; final.pdf",
		`filename="Report.pdf; size=33`:                       "Report.pdf",
		`filename="Report final.pdf`:                          "Report final.pdf",
		`filename="a.pdf"size=33`:                             "a.pdf",
		`filename="a.pdf" size=33`:                            "a.pdf",
		`filename="a.pdf" (the report); size=33`:              "a.pdf",
		`filename="a (1).pdf"; size=33`:                       "a (1).pdf",
		`filename=a (1).pdf; size=33`:                         "a (1).pdf",
		`filename=a.pdf (the report); size=33`:                "a.pdf",
		`filename=Report (final); size=33`:                    "Report (final)",
		`filename*=utf-8''Gr%C3%BC%C3%9Fe.pdf (x); size=33`:   "Grüße.pdf",
		`filename*0="Report "; filename*1="final.pdf"`:        "Report final.pdf",
		`filename="=?utf-8?q?Gr=C3=BC=C3=9Fe=22x=22?=.pdf"`:   "Grüße_x_.pdf",
		`filename="x=1; y.pdf"; size=33`:                      "x=1; y.pdf",
		`filename="a, b.pdf", size=33`:                        "a, b.pdf",
		`filename="";size=33`:                                 "attachment-1.pdf",
		`filename="Invoice "A" (v2); paid.pdf"; x="1"; y="2"`: "Invoice _A_ (v2); paid.pdf",
	} {
		m := parse(t, structureHead+"Content-Type: application/pdf\nContent-Disposition: attachment; "+param+"\n\nx\n")
		if got := m.Attachments[0].Filename; got != want {
			t.Errorf("%s: %q, want %q", param, got, want)
		}
	}
}

// A body is shown whatever its name or its kind of text is; files stay files.
func TestShownTexts(t *testing.T) {
	t.Parallel()
	multi := func(kind string, parts ...string) string {
		return "Content-Type: multipart/" + kind + "; boundary=b\n\n--b\n" + strings.Join(parts, "\n--b\n") + "\n--b--\n"
	}
	part := func(ctype, disposition, body string) string {
		out := "Content-Type: " + ctype + "\n"
		if disposition != "" {
			out += "Content-Disposition: " + disposition + "\n"
		}
		return out + "\n" + body
	}
	plain := part("text/plain", "", "Plain.")
	named := part("text/html; charset=utf-8; name=body.html", "inline; filename=body.html", "<p>HTML.</p>")
	pdf := part("application/pdf; name=a.pdf", "attachment", "x")
	const page = "<p>HTML.</p>"
	patch := part("text/x-patch", "inline", "--- a\n+++ b")
	for name, tt := range map[string]struct {
		raw  string
		want seen
	}{
		"HTML with a name":           {multi("mixed", named, pdf), seen{HTML: page, Files: []string{"a.pdf=x"}}},
		"name without a disposition": {multi("mixed", part("text/html; name=body.html", "", page), pdf), seen{HTML: page, Files: []string{"a.pdf=x"}}},
		"the only part":              {multi("mixed", named), seen{HTML: page}},
		"the whole mail":             {named, seen{HTML: page}},
		"after a file":               {multi("mixed", pdf, named), seen{HTML: page, Files: []string{"a.pdf=x"}}},
		"after an empty text":        {multi("mixed", part("text/plain", "", " "), named), seen{HTML: page}},
		"after a text":               {multi("mixed", plain, named), seen{Text: "Plain.", Files: []string{"body.html=" + page}}},
		"after a page":               {multi("mixed", named, strings.ReplaceAll(named, "body.html", "file.html")), seen{HTML: page, Files: []string{"file.html=" + page}}},
		"an attached page":           {multi("mixed", part("text/html; name=body.html", "attachment; filename=body.html", page)), seen{Files: []string{"body.html=" + page}}},
		"in an alternative":          {multi("alternative", plain, named), seen{Text: "Plain.", HTML: page}},
		"in a related":               {multi("related", named, part("image/png; name=a.png", "", "x")), seen{HTML: page, Files: []string{"a.png=x"}}},
		"markdown":                   {part("text/markdown; charset=utf-8", "", "**Grüße**"), seen{Text: "**Grüße**"}},
		"markdown in a mixed":        {multi("mixed", part("text/markdown", "", "**Hi**"), pdf), seen{Text: "**Hi**", Files: []string{"a.pdf=x"}}},
		"markdown as a file":         {multi("mixed", plain, part("text/markdown", "attachment; filename=a.md", "**Hi**")), seen{Text: "Plain.", Files: []string{"a.md=**Hi**"}}},
		"markdown with a name":       {multi("mixed", plain, part("text/markdown; name=a.md", "", "**Hi**")), seen{Text: "Plain.", Files: []string{"a.md=**Hi**"}}},
		"markdown with a name alone": {multi("mixed", part("text/markdown; name=a.md", "", "**Hi**")), seen{Text: "**Hi**", Files: []string{"a.md=**Hi**"}}},
		"enriched":                   {part("text/enriched", "", "<bold>Now</bold> is\nthe <color><param>red</param>time</color>\n\nfor a << b"), seen{Text: "Now is the time\nfor a < b"}},
		"richtext":                   {part("text/richtext", "", "<bold>Now</bold><nl>then"), seen{Text: "Now\nthen"}},
		"AMP alone":                  {part("text/x-amp-html", "", page), seen{HTML: page}},
		"AMP as the only choice":     {multi("alternative", part("text/x-amp-html", "", page)), seen{HTML: page}},
		"AMP as a third choice":      {multi("alternative", plain, part("text/x-amp-html", "", "<p>AMP</p>"), part("text/html", "", page)), seen{Text: "Plain.", HTML: page}},
		"markdown as the only one":   {multi("alternative", part("text/markdown", "", "**Hi**")), seen{Text: "**Hi**"}},
		"a reaction":                 {multi("alternative", plain, part("text/vnd.google.email-reaction+json", "", `{"emoji":"x"}`), part("text/html", "", page)), seen{Text: "Plain.", HTML: page}},
		"unknown":                    {part("text/x-own; charset=iso-8859-1", "", "Hello"), seen{Text: "Hello"}},
		"unknown, second":            {multi("mixed", plain, part("text/x-own", "", "More.")), seen{Text: "Plain.\nMore."}},
		"a calendar":                 {multi("mixed", plain, part("text/calendar", "", "BEGIN:VCALENDAR")), seen{Text: "Plain.", Files: []string{"invite.ics=BEGIN:VCALENDAR"}}},
		"a patch":                    {multi("mixed", plain, patch), seen{Text: "Plain.", Files: []string{"attachment-1.patch=--- a\n+++ b"}}},
		"a patch alone":              {multi("mixed", patch), seen{Text: "--- a\n+++ b", Files: []string{"attachment-1.patch=--- a\n+++ b"}}},
		"a table":                    {multi("mixed", plain, part("text/csv; name=a.csv", "inline", "1,2")), seen{Text: "Plain.", Files: []string{"a.csv=1,2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSeen(t, structureHead+tt.raw, tt.want)
		})
	}
}
