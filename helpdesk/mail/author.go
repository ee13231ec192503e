package mail

import (
	"bytes"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Author is the mailbox that wrote the mail. ok is false when the mail does not say so beyond doubt: it has no
// From field, or several; the field holds no address, or several, a group, or what a reader has to guess an address
// from. Two programs may then take two different mailboxes for the author, so that nothing that one of them found
// out about the author, by DMARC for example, may be believed by the other.
func (m *Message) Author() (author mailaddr.Address, ok bool) {
	if m.author == nil {
		return mailaddr.Address{}, false
	}
	return *m.author, true
}

// findAuthor compares how the mail was read with how a verifier of signatures reads it.
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

// fromField is the value of the one From field, read as RFC 5322 has it and verifiers of signatures do: the header
// ends with the first empty line and nowhere else, and every line in it that does not begin with a space begins a
// field. Whatever any reader might take for a From field counts.
func fromField(raw []byte) (value string, ok bool) {
	found, open := 0, false
	for len(raw) > 0 {
		line, rest := cutLine(raw)
		raw = rest
		if len(line) == 0 {
			break
		}
		folded := line[0] == ' ' || line[0] == '\t'
		for i, piece := range bytes.Split(line, []byte("\r")) { // some end lines with a bare CR
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

// oneEncodedWord is one of RFC 2047, which holds no address, whatever it decodes to.
var oneEncodedWord = regexp.MustCompile(`=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=`)

// mailboxForm is a mailbox whose quoted strings and comments are taken out: a name and an address in angle
// brackets, or an address alone. A comma in a name should be quoted, and often is not.
var mailboxForm = regexp.MustCompile(`^\s*(?:([^<>()":;\\]*?)<\s*([^<>\s,:;()]+)\s*>|([^<>\s,:;()]+))\s*$`)

// soleMailbox reports whether the value of a From field is one mailbox with this address, and holds no other that a
// reader might take instead.
func soleMailbox(value, email string) bool {
	if len(value) > longestFrom || !strings.Contains(email, "@") ||
		strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return false
	}
	form := mailboxForm.FindStringSubmatch(oneEncodedWord.ReplaceAllString(withoutQuotes(value), "x"))
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

// withoutQuotes puts a space in the place of each comment and of each quoted string that is no local part.
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
				return "" // no honest one has so many without an end
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
