package mail_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// grammar makes mails of every structure, with labels right, void, in odd case and with comments, and knows what it put in.
type grammar struct {
	*rand.Rand
	texts, pages []string // a sentence of each text and page that must be shown
	files        []string // "name=content", newlines as LF
	count        int
}

func (g *grammar) one(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *grammar) chance(percent int) bool { return g.IntN(100) < percent }

// field writes a structured field, with a comment now and then.
func (g *grammar) field(name, value string) string {
	if g.chance(15) {
		value += g.one(" (a comment)", " (one; two=3)", " (a (nested) one)")
	}
	if g.chance(15) {
		name = g.one(strings.ToLower(name), strings.ToUpper(name))
	}
	return name + ": " + value + "\n"
}

func (g *grammar) oddCase(s string) string {
	return g.one(s, s, strings.ToUpper(s), strings.Title(s)) //nolint:staticcheck // ASCII
}

// encoded writes a body in a transfer encoding that suits it, with its label.
func (g *grammar) encoded(body []byte, text bool) (label, out string) {
	ascii := text && !slices.ContainsFunc(body, func(c byte) bool { return c >= 0x80 })
	switch choice := g.one("base64", "quoted-printable", "8bit", "uuencode"); {
	case choice == "uuencode" && !text:
		return g.oddCase(g.one("x-uuencode", "uuencode")), "begin 644 x\n" + uuLines(string(body)) + "`\nend\n"
	case choice == "8bit" && ascii:
		return g.oddCase(g.one("7bit", "8bit", "binary")), string(body)
	case choice == "8bit" && text:
		return g.oddCase("8bit"), string(body)
	case choice == "quoted-printable" && text:
		return g.oddCase(choice), quotedPrintable(string(body))
	}
	out = b64(string(body))
	if text && g.chance(15) {
		out += g.one("-- \nThis mail was scanned by AV Example.\n", "\nRegards,\nthe list\n", strings.Repeat("_", 47)+"\nA list of people.\n")
	}
	if g.chance(15) {
		out = g.one("CAUTION: This mail came from outside.\n", "[EXTERNAL]\n\n", "Do not click any links here.\n") + out
	}
	if !text && g.chance(15) {
		out += "-- \nThis mail was scanned by AV Example.\n"
	}
	return g.oddCase("base64"), out
}

func quotedPrintable(s string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// text writes a text part with a sentence that no other part has.
func (g *grammar) text(kind string) string {
	sets := map[string]encoding.Encoding{"iso-8859-1": charmap.ISO8859_1, "windows-1252": charmap.Windows1252, "koi8-r": charmap.KOI8R}
	charset := g.one("us-ascii", "utf-8", "iso-8859-1", "windows-1252", "koi8-r")
	g.count++
	sentence := fmt.Sprintf("Sentence %d tells https://shop.example/?id=41&n=%d of ", g.count, g.count)
	switch charset {
	case "us-ascii":
		sentence += "kettles."
	case "koi8-r":
		sentence += "чайники и другие вещи."
	default:
		sentence += "Grüße aus Köln."
	}
	body := sentence
	for g.chance(30) {
		body += "\n" + g.one("Another line.", "", "-- ", "--", "= a sum =", "From here on.")
	}
	body += "\n"
	if kind == "text/html" {
		g.pages = append(g.pages, sentence)
		body = "<p>" + body + "</p>\n"
	} else {
		g.texts = append(g.texts, sentence)
	}
	raw := []byte(body)
	if set := sets[charset]; set != nil {
		raw, _ = set.NewEncoder().Bytes(raw)
	}
	label, out := g.encoded(raw, true)
	return g.header(g.field("Content-Type", g.oddCase(kind)+"; charset="+g.one(charset, `"`+charset+`"`)), g.field("Content-Transfer-Encoding", label)) + out
}

// header joins the fields of a part in any order, with dashes above them now and then.
func (g *grammar) header(fields ...string) string {
	g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return strings.Join(fields, "") + "\n"
}

// name returns a file name as a parameter and as it is shown. The name is written in one of the forms of real mails.
func (g *grammar) name() (param, shown string) {
	g.count++
	n := g.count
	switch g.IntN(7) {
	case 0:
		return fmt.Sprintf(`filename="The "final" report %d.pdf"`, n), fmt.Sprintf("The _final_ report %d.pdf", n)
	case 1:
		return fmt.Sprintf("filename*=utf-8''Gr%%C3%%BC%%C3%%9Fe%%20%d.pdf", n), fmt.Sprintf("Grüße %d.pdf", n)
	case 2:
		return fmt.Sprintf("filename*0=\"Report \"; filename*1=\"%d.pdf\"", n), fmt.Sprintf("Report %d.pdf", n)
	case 3:
		return fmt.Sprintf("filename=\"=?utf-8?q?Gr=C3=BC=C3=9Fe_%d=2Epdf?=\"", n), fmt.Sprintf("Grüße %d.pdf", n)
	case 4:
		return fmt.Sprintf("filename=report (%d).pdf", n), fmt.Sprintf("report (%d).pdf", n)
	case 5:
		return fmt.Sprintf(`filename="a; b, (c) %d.pdf"`, n), fmt.Sprintf("a; b, (c) %d.pdf", n)
	}
	return fmt.Sprintf("filename=report-%d.pdf", n), fmt.Sprintf("report-%d.pdf", n)
}

func (g *grammar) file(ctype, disposition string) string {
	param, name := g.name()
	content := make([]byte, 1+g.IntN(300))
	for i := range content {
		content[i] = byte(g.Uint32())
	}
	g.files = append(g.files, name+"="+string(content))
	label, out := g.encoded(content, false)
	return g.header(g.field("Content-Type", ctype), "Content-Disposition: "+disposition+"; "+param+g.one("", "; size=33")+"\n", g.field("Content-Transfer-Encoding", label)) + out
}

// message attaches a mail, which may use the boundary of the mail around it.
func (g *grammar) message(outer string) string {
	inner := &grammar{Rand: g.Rand, count: g.count}
	body := "From: Bob <bob@example.org>\nSubject: Inner =?utf-8?q?=C3=BC?=\n" + inner.mixed(outer, 1, true)
	g.count = inner.count + 1
	g.files = append(g.files, fmt.Sprintf("mail %d.eml=%s", g.count, body))
	label, out := g.container(body)
	return g.header(g.field("Content-Type", "message/rfc822"), fmt.Sprintf("Content-Disposition: attachment; filename=\"mail %d.eml\"\n", g.count), label) + out
}

// container labels a body that has parts or a header: not at all, wrongly, or, though it is forbidden, rightly.
func (g *grammar) container(body string) (field, out string) {
	label := func(s string) string { return g.field("Content-Transfer-Encoding", g.oddCase(s)) }
	switch g.IntN(12) {
	case 0:
		return label("base64"), body
	case 1:
		return label("quoted-printable"), body
	case 2:
		return label(g.one("x-uuencode", "x-own", "7bit", "8bit", "binary")), body
	case 3:
		return label("base64"), b64(body)
	case 4:
		return label("quoted-printable"), quotedPrintable(body)
	}
	return "", body
}

// multi joins parts to a multipart, in a boundary of its own or in that around it. The parts are made for that boundary.
func (g *grammar) multi(kind, outer string, plain bool, parts ...func(boundary string) string) string {
	g.count++
	boundary := fmt.Sprintf("%s%d", g.one("b_", "----=_Part_", "b-", "'()+_,-./:=?"), g.count)
	switch {
	case outer != "" && g.chance(15):
		boundary = outer
	case outer != "" && g.chance(15):
		boundary = outer + "x" // outer is a prefix of it
	case len(outer) > 4 && g.chance(10):
		boundary = outer[:len(outer)-1] + "y"
	}
	blanks := []string{"", "", "", " ", "\t"}
	if boundary == outer {
		blanks = blanks[:1] // quoted-printable would hide the line
	}
	var b strings.Builder
	if g.chance(30) {
		b.WriteString("This is a multi-part message.\n\n")
	}
	for _, part := range parts {
		b.WriteString("--" + boundary + g.one(blanks...) + "\n" + g.one("", "", "", "", "--\n", "----\n"))
		b.WriteString(part(boundary) + "\n")
	}
	b.WriteString("--" + boundary + "--\n" + g.one("", "", "\nAn epilogue.\n"))
	head := g.field("Content-Type", g.oddCase("multipart/"+kind)+";"+g.one(" ", "\n\t")+"boundary=\""+boundary+"\"")
	if plain {
		return g.header(head) + b.String()
	}
	label, out := g.container(b.String())
	if boundary == outer && out != b.String() {
		label, out = "", b.String() // nobody does both, and the lines of an encoded body may hide
	}
	return g.header(head, label) + out
}

func (g *grammar) body(outer string, depth int) string {
	if depth <= 0 {
		return g.text(g.one("text/plain", "text/html"))
	}
	text := func(string) string { return g.text("text/plain") }
	page := func(string) string { return g.text("text/html") }
	switch g.IntN(5) {
	case 0:
		return g.multi("alternative", outer, false, text, page)
	case 1:
		return g.multi("alternative", outer, false, text, func(outer string) string {
			return g.multi("related", outer, false, page, func(string) string { return g.file("image/png", "inline") })
		})
	case 2:
		return g.mixed(outer, depth, false)
	}
	return g.text(g.one("text/plain", "text/html"))
}

func (g *grammar) mixed(outer string, depth int, plain bool) string {
	parts := []func(string) string{func(outer string) string { return g.body(outer, depth-1) }}
	for range g.IntN(3) {
		switch {
		case depth > 1 && g.chance(25):
			parts = append(parts, g.message)
		case g.chance(15):
			parts = append(parts, func(outer string) string { return g.body(outer, depth-1) })
		default:
			parts = append(parts, func(string) string { return g.file("application/pdf", "attachment") })
		}
	}
	return g.multi(g.one("mixed", "mixed", "mixed", "x-unknown"), outer, plain, parts...)
}

func (g *grammar) root() string {
	switch g.IntN(6) {
	case 0:
		return g.text(g.one("text/plain", "text/html"))
	case 1:
		return g.multi("signed", "", true, func(outer string) string { return g.body(outer, 2) }, func(string) string {
			g.count++
			g.files = append(g.files, fmt.Sprintf("sig-%d.asc=A signature.\n", g.count))
			return fmt.Sprintf("Content-Type: application/pgp-signature; name=sig-%d.asc\n\nA signature.\n", g.count)
		})
	case 2:
		return g.body("", 2)
	}
	return g.mixed("", 3, false)
}

// lineEnds writes the lines with one kind of end or with several.
func (g *grammar) lineEnds(s string) string {
	ends := [][]string{{"\n"}, {"\r\n"}, {"\r\n"}, {"\r\r\n"}, {"\n", "\r\n"}, {"\r\n", "\r\r\n"}, {"\r\r\n", "\n", "\r\r\r\n"}}[g.IntN(7)]
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimSuffix(line, "\n") + ends[g.IntN(len(ends))])
	}
	return b.String()
}

var anyLineEnd = regexp.MustCompile(`\r*\n`)

// checkGrammar makes a mail from a seed, reads it and compares.
func checkGrammar(t *testing.T, seed uint64) {
	t.Helper()
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, 1))}
	content := g.root()
	raw := "From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>\nTo: Desk <desk@example.com>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= and kettles\n" +
		"Date: Mon, 02 Jan 2023 15:04:05 +0100\nMessage-ID: <1@example.org>\n" + g.field("MIME-Version", "1.0") + content
	raw = g.lineEnds(raw)
	m, err := mail.Parse([]byte(raw), mail.Limits{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	checkMessage(t, m)
	failed := func(format string, args ...any) {
		t.Errorf("seed %d: %s\n%.20000s", seed, fmt.Sprintf(format, args...), strings.ReplaceAll(raw, "\r", "^M"))
	}
	if m.Subject != "Grüße and kettles" || m.MessageID != "1@example.org" || m.Date.IsZero() || len(m.From) != 1 || m.From[0].Name != "Jürgen" || len(m.To) != 1 || m.To[0].Email != "desk@example.com" {
		failed("the header is read as %q %q %v %v %v", m.Subject, m.MessageID, m.Date, m.From, m.To)
	}
	for _, s := range g.texts {
		if strings.Count(m.Text, s) != 1 {
			failed("%d times %q in the text %q", strings.Count(m.Text, s), s, m.Text)
		}
	}
	for _, s := range g.pages {
		if strings.Count(m.HTML, s) != 1 {
			failed("%d times %q in the HTML %q", strings.Count(m.HTML, s), s, m.HTML)
		}
	}
	for _, junk := range []string{"Content-T", "=C3", "=3D", "--b", "Part_", "boundary"} {
		if strings.Contains(m.Text, junk) || strings.Contains(m.HTML, junk) {
			failed("%q in the text %q or the HTML %q", junk, m.Text, m.HTML)
		}
	}
	var files []string
	for _, a := range m.Attachments {
		body := string(a.Body)
		if strings.HasSuffix(a.Filename, ".eml") || strings.HasSuffix(a.Filename, ".asc") {
			body = anyLineEnd.ReplaceAllString(body, "\n")
		}
		files = append(files, a.Filename+"="+body)
	}
	for i := range g.files {
		if name, body, _ := strings.Cut(g.files[i], "="); strings.HasSuffix(name, ".eml") || strings.HasSuffix(name, ".asc") {
			g.files[i] = strings.TrimRight(name+"="+body, "\r\n")
		}
	}
	for i := range files {
		if name, body, _ := strings.Cut(files[i], "="); strings.HasSuffix(name, ".eml") || strings.HasSuffix(name, ".asc") {
			files[i] = strings.TrimRight(name+"="+body, "\r\n")
		}
	}
	if d := cmp.Diff(g.files, files); d != "" {
		failed("files: %s", d)
	}
}

// TestGrammar reads mails of all structures, labels and line ends, and finds everything that was put in.
func TestGrammar(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		checkGrammar(t, seed)
		if t.Failed() {
			return
		}
	}
}

func FuzzGrammar(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(checkGrammar)
}
