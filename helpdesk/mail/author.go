package mail

import (
	"bytes"
	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"strings"
	"unicode/utf8"
)

// Author returns the mailbox that wrote the mail. ok is false if the mail does not identify it beyond doubt: it has no From
// field, or several; the field contains no address, several, a group, or text from which a reader has to guess an address.
// Two programs might then identify different mailboxes as the author, so one must not rely on the other's findings about the
// author, by DMARC for example.
func (m *Message) Author() (author mailaddr.Address, ok bool) {
	if m.author == nil {
		return mailaddr.Address{}, false
	}
	return *m.author, true
}

// findAuthor compares the mail as parsed with the mail as parsed by a verifier of signatures.
func (p *parser) findAuthor(raw []byte) {
	values := p.msg.Header.RawValues("From")
	if len(values) != 1 || len(p.msg.From) != 1 {
		return
	}
	strict, ok := fromField(raw)
	if !ok {
		return
	}
	author := p.msg.From[0]
	for _, value := range []string{values[0], strict} {
		if !soleMailbox(value, author.Email) {
			return
		}
	}
	p.msg.author = &author
}

// fromField returns the value of the one From field, parsed strictly by RFC 5322 like verifiers of signatures do: the header
// ends with the first empty line only, and every line in it that does not begin with a space begins a field. Anything that
// some reader might take for a From field counts.
func fromField(raw []byte) (value string, ok bool) {
	found, open := 0, false
	for len(raw) > 0 {
		line, rest := cutLine(raw)
		raw = rest
		if len(line) == 0 {
			break
		}
		folded := line[0] == ' ' || line[0] == '\t'
		for i, piece := range bytes.Split(line, []byte("\r")) { // some readers end lines at a bare CR
			switch name, body, isField := bytes.Cut(piece, []byte(":")); {
			case i == 0 && folded:
				if open {
					value += " " + string(piece)
				}
			case isField && strings.EqualFold(string(bytes.Trim(name, " \t\x00\ufeff")), "from"):
				found++
				value, open = string(body), true
			default:
				open = false
			}
		}
	}
	return value, found == 1
}

// longestFrom is longer than any honest From field with one mailbox.
const longestFrom = 4 << 10

// oneEncodedWord matches one encoded word of RFC 2047, which contains no address, whatever it decodes to. Angle brackets and
// quotes in it mean something else to readers that know no encoded words.
var oneEncodedWord = lazyregexp.New(`=\?[^?\s]+\?[bBqQ]\?[^?\s<>"\\]*\?=`)

// mailboxForm matches a mailbox whose quoted strings and comments have been removed: a name and an address in angle
// brackets, or an address alone. A comma in a name should be quoted, and often is not.
var mailboxForm = lazyregexp.New(`^\s*(?:([^<>()":;\\]*?)<\s*([^<>\s,:;()]+)\s*>|([^<>\s,:;()]+))\s*$`)

// soleMailbox reports whether the value of a From field is one mailbox with this address, and contains no other address that
// a reader might use instead.
func soleMailbox(value, email string) bool {
	if len(value) > longestFrom || !strings.Contains(email, "@") ||
		strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return false
	}
	form := mailboxForm().FindStringSubmatch(withoutQuotes(oneEncodedWord().ReplaceAllString(value, "x")))
	if form == nil {
		return false
	}
	name, address := form[1], form[2]+form[3]
	for _, word := range strings.Fields(strings.ReplaceAll(name, ",", " ")) {
		if strings.Contains(word, "@") && !sameAddress(strings.Trim(word, "'"), email) {
			return false // "ada@example.com" <eve@example.net> needs its quotes
		}
	}
	return utf8.ValidString(address) && sameAddress(address, email)
}

func sameAddress(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "."), strings.TrimRight(b, "."))
}

// withoutQuotes replaces each comment, and each quoted string that is not a local part, by a space.
func withoutQuotes(s string) string {
	var out strings.Builder
	open := 0
	for i := 0; i < len(s); {
		n := 1
		switch s[i] {
		case '"':
			_, n = quotedString(s[i:])
		case '(':
			_, n = comment(s[i:])
		}
		if n == 1 && (s[i] == '"' || s[i] == '(') {
			if open++; open > 50 {
				return "" // no honest field has so many unterminated ones
			}
		}
		switch {
		case n > 1 && !strings.HasPrefix(s[i+n:], "@"):
			out.WriteByte(' ')
		default:
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}
