package mail_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

// The author of a mail is known if all programs that read it would name the same.
func TestAuthor(t *testing.T) {
	t.Parallel()
	const sole, nobody = "ada@example.com", ""
	signed := "From: Eve <eve@example.com>\r\nDKIM-Signature: v=1; h=Date:\r\n From:To; b=x\r\n"
	for name, tt := range map[string]struct{ header, want string }{
		"an address":                     {"From: ada@example.com\r\n", sole},
		"with a name":                    {"From: Ada <ada@example.com>\r\n", sole},
		"with a quoted name":             {"From: \"Lovelace, Ada (x) <y>\" <ada@example.com>\r\n", sole},
		"with a name that needs quotes":  {"From: Lovelace, Ada <ada@example.com>\r\n", sole},
		"with an encoded name":           {"From: =?utf-8?q?Ada:_L=C3=B6?= =?utf-8?b?w7w=?= <ada@example.com>\r\n", sole},
		"with signs in an encoded name":  {"From: =?utf-8?q?L=C3=B6,_Ada:_(x)?= <ada@example.com>\r\n", sole},
		"with its own address as a name": {"From: ada@example.com <ADA@example.com>\r\n", "ADA@example.com"},
		"with it in quotes of Outlook":   {"From: 'ada@example.com' <ada@example.com>\r\n", sole},
		"with another, quoted":           {"From: \"eve@example.net\" <ada@example.com>\r\n", sole},
		"with a comment":                 {"From: ada@example.com (Ada (Lady) <x@y>)\r\n", sole},
		"folded":                         {"From:\r\n Ada\r\n\t<ada@example.com>\r\n", sole},
		"in another case":                {"fRoM: ada@example.com\r\n", sole},
		"a space before the colon":       {"From \t: ada@example.com\r\n", sole},
		"among others":                   {"Subject: x\r\nX-From: eve@example.net\r\nFrom: ada@example.com\r\nResent-From: eve@example.net\r\nSender: eve@example.net\r\n", sole},
		"named by a signature":           {"DKIM-Signature: v=1; h=Date:\r\n From:To; b=x\r\nFrom: ada@example.com\r\n", sole},
		"of a domain in Unicode":         {"From: Ada <ada@bücher.example>\r\n", "ada@bücher.example"},

		"none":                               {"Subject: x\r\n", nobody},
		"a Sender alone":                     {"Sender: ada@example.com\r\n", nobody},
		"a Reply-To alone":                   {"Reply-To: ada@example.com\r\n", nobody},
		"an empty one":                       {"From:\r\nSender: ada@example.com\r\n", nobody},
		"the null path":                      {"From: <>\r\nSender: ada@example.com\r\n", nobody},
		"a name":                             {"From: Ada\r\n", nobody},
		"a program without a domain":         {"From: MAILER-DAEMON\r\n", nobody},
		"two addresses":                      {"From: ada@example.com, eve@example.net\r\n", nobody},
		"the same twice":                     {"From: ada@example.com, ada@example.com\r\n", nobody},
		"two, the comma forgotten":           {"From: <ada@example.com> <eve@example.net>\r\n", nobody},
		"two, one unreadable":                {"From: ada@example.com, <eve@ x>\r\n", nobody},
		"two, in front of the brackets":      {"From: eve@example.net <ada@example.com>\r\n", nobody},
		"two, behind the brackets":           {"From: <ada@example.com> eve@example.net\r\n", nobody},
		"words behind the brackets":          {"From: <ada@example.com> x\r\n", nobody},
		"two, one within the other":          {"From: <ada@example.com<eve@example.net>>\r\n", nobody},
		"two fields":                         {"From: ada@example.com\r\nFrom: eve@example.net\r\n", nobody},
		"two fields, one with a space":       {"From: ada@example.com\r\nFrom : eve@example.net\r\n", nobody},
		"two fields, one in another case":    {"FROM: ada@example.com\r\nTo: x@y.example\r\nfrom: eve@example.net\r\n", nobody},
		"two fields, one empty":              {"From:\r\nFrom: ada@example.com\r\n", nobody},
		"two fields, alike":                  {"From: ada@example.com\r\nFrom: ada@example.com\r\n", nobody},
		"a group":                            {"From: All: ada@example.com;\r\n", nobody},
		"a group without an end":             {"From: All: ada@example.com\r\n", nobody},
		"an encoded word":                    {"From: =?utf-8?q?ada=40example.com?=\r\n", nobody},
		"an encoded word in brackets":        {"From: <=?utf-8?q?ada=40example.com?=>\r\n", nobody},
		"a quote in an encoded name":         {"From: =?utf-8?q?Ada_\"?= <ada@example.com>\r\n", nobody},
		"an address between half words":      {"From: (=?utf-8?q?x),eve@example.net,(y?=) <ada@example.com>\r\n", nobody},
		"brackets in an encoded name":        {"From: =?utf-8?q?Ada_<eve@example.net>?= <ada@example.com>\r\n", nobody},
		"an encoded mailbox":                 {"From: =?utf-8?q?Ada_=3Cada=40example.com=3E?=\r\n", nobody},
		"a route":                            {"From: <@eve.example,@x.example:ada@example.com>\r\n", nobody},
		"a link":                             {"From: <mailto:ada@example.com>\r\n", nobody},
		"a comment inside of the address":    {"From: ada(eve@example.net)@example.com\r\n", nobody},
		"a quote without an end":             {"From: \"eve@example.net <ada@example.com>\r\n", nobody},
		"a comment without an end":           {"From: (eve@example.net <ada@example.com>\r\n", nobody},
		"brackets without an end":            {"From: Ada <ada@example.com\r\n", nobody},
		"words around an address":            {"From: Ada ada@example.com\r\n", nobody},
		"NUL in it":                          {"From: Ada\x00 <ada@example.com>\r\n", nobody},
		"a bare CR in it":                    {"From: ada@example.com\rX: y\r\n", nobody},
		"too long":                           {"From: " + strings.Repeat("x", 5000) + " <ada@example.com>\r\n", nobody},
		"much in brackets":                   {"From: " + strings.Repeat("((\"", 5000) + " <ada@example.com>\r\n", nobody},
		"below the signed one":               {signed + "From: ada@example.com\r\n", nobody},
		"above the signed one":               {"From: ada@example.com\r\n" + signed, nobody},
		"an end that only we see":            {"From: ada@example.com\r\n\r\r\n" + signed, nobody},
		"an end of two such":                 {"From: ada@example.com\r\n\r\r\r\n" + signed, nobody},
		"a boundary, which ends our header":  {"From: ada@example.com\r\n--x\r\n" + signed, nobody},
		"words, which end our header":        {"From: ada@example.com\r\nHello\r\n" + strings.Repeat("y\r\n", 30) + signed, nobody},
		"a line of spaces":                   {"From: ada@example.com\r\n \t \r\n" + signed, nobody},
		"a field behind a bare CR":           {"X: y\rFrom: ada@example.com\r\n" + signed, nobody},
		"behind an mbox line":                {"From eve@example.net Mon Nov  2\r\n\r\nFrom: ada@example.com\r\n", nobody},
		"behind an empty line":               {"\r\nFrom: ada@example.com\r\n", nobody},
		"behind a mark of byte order":        {"\xEF\xBB\xBFFrom: ada@example.com\r\n", sole},
		"a long line that lost its space":    {"From:\r\n" + strings.Repeat("a", 60) + "@example.com\r\nFrom : ada@example.com\r\n", nobody},
		"the same, alone":                    {"From:\r\n" + strings.Repeat("a", 60) + "@example.com\r\n", nobody},
		"a name of a field with a mark":      {"From: ada@example.com\r\n\xEF\xBB\xBFFrom: eve@example.net\r\n", nobody},
		"a name of a field with a character": {"From: ada@example.com\r\nFrom\x00: eve@example.net\r\n", nobody},
	} {
		m, err := mail.Parse([]byte(tt.header+"\r\nHello\r\n"), mail.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		author, ok := m.Author()
		if diff := cmp.Diff(tt.want, author.Email); diff != "" || ok != (tt.want != "") {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
		if ok && author != m.From[0] {
			t.Errorf("%s: %v is shown", name, m.From)
		}
	}
}

// A second From cannot be hidden: whatever surrounds it, a header that names another author has none.
func FuzzAuthor(f *testing.F) {
	f.Add("X: y\r\n", "Z: a\r\n")
	f.Add("", "--x\r\n")
	f.Add("\r\r\n", "\r\r\n")
	f.Add(" \r\n", "Hello\r\n")
	f.Fuzz(func(t *testing.T, above, between string) {
		above, between = strings.ReplaceAll(above, "\n", "\r\n"), strings.ReplaceAll(between, "\n", "\r\n")
		raw := above + "From: ada@example.com\r\n" + between + "From: eve@example.com\r\n\r\nHello\r\n"
		// An end of the header for all readers is not a hiding place.
		if strings.Contains("\n"+strings.ReplaceAll(raw[:strings.Index(raw, "eve@")], "\r\n", "\n"), "\n\n") {
			return
		}
		if (above != "" && !strings.HasSuffix(above, "\n")) || (between != "" && !strings.HasSuffix(between, "\n")) {
			return
		}
		m, err := mail.Parse([]byte(raw), mail.Limits{})
		if err != nil {
			return
		}
		if author, ok := m.Author(); ok {
			t.Errorf("%q: %v", raw, author)
		}
	})
}
