package mail

import (
	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxAddresses = 1000 // of one kind of field

// addresses parses all fields of the given names as address lists.
func (p *parser) addresses(names ...string) []mailaddr.Address {
	var out []mailaddr.Address
	for _, name := range names {
		for _, raw := range p.msg.Header.RawValues(name) {
			list, bad := ParseAddresses(raw, p.msg.Header.charset)
			if bad > 0 {
				p.msg.warn("an address in " + name + " could not be read")
			}
			out = append(out, list...)
		}
	}
	if len(out) > maxAddresses {
		p.msg.warn("more than 1000 addresses in " + names[0])
		out = out[:maxAddresses]
	}
	return out
}

// ParseAddresses parses an address list (RFC 5322 section 3.4) as leniently as people write it: groups, comments, commas in
// unquoted names, "a@b via List <c@d>", bare MAILER-DAEMON. charset is the guess for raw 8-bit names and may be empty. It
// returns the addresses and the number of entries without one.
func ParseAddresses(raw, charset string) (list []mailaddr.Address, bad int) {
	s := addressScanner{in: raw, charset: charset}
	s.scan()
	return s.list, s.bad
}

// addressScanner scans a list once, collecting the pieces of the current mailbox.
type addressScanner struct {
	in, charset string
	phrase      strings.Builder // text outside <> and ()
	quoted      bool            // the phrase has a quoted string
	comment     strings.Builder
	angle       string
	hasAngle    bool
	before      int // length of the phrase where the angle brackets began
	list        []mailaddr.Address
	bad         int
	open        int // unterminated quotes and comments so far
}

// bounded parses a quoted string or comment, but stops looking for the end after too many were unterminated: the cost of a
// header full of brackets must be linear.
func (s *addressScanner) bounded(read func(string) (string, int), i int) (string, int) {
	if s.open > 50 {
		return "", 1
	}
	text, n := read(s.in[i:])
	if n == 1 {
		s.open++
	}
	return text, n
}

func (s *addressScanner) scan() {
	for i := 0; i < len(s.in); {
		switch c := s.in[i]; c {
		case '"':
			text, n := s.bounded(quotedString, i)
			if strings.HasPrefix(s.in[i+n:], "@") { // "a b"@example.org
				s.phrase.WriteString(s.in[i : i+n])
			} else {
				s.phrase.WriteString(text)
				s.quoted = true
			}
			i += n
		case '(':
			text, n := s.bounded(comment, i)
			if s.comment.Len() > 0 && text != "" {
				s.comment.WriteByte(' ')
			}
			s.comment.WriteString(text)
			i += n
		case '<':
			if s.hasAngle {
				s.emitBefore()
			}
			s.before = s.phrase.Len()
			end := strings.IndexAny(s.in[i+1:], ">")
			if end < 0 {
				end = len(s.in) - i - 1
			}
			s.angle, s.hasAngle = strings.TrimLeft(s.in[i+1:i+1+end], "< "), true
			i += end + 2
		case '>':
			i++ // left over from <<a@b>>
		case ':':
			// The name of a group, unless it is inside an address (mailto:, IPv6). A URL in a name is not a group either.
			if !s.hasAngle && !strings.ContainsAny(s.phrase.String(), "@[") && !strings.HasPrefix(s.in[i:], "://") {
				s.resetPhrase()
			} else {
				s.phrase.WriteByte(c)
			}
			i++
		case ',', ';':
			s.separator(c)
			i++
		default:
			n := 1
			if c == '=' {
				n = max(1, wordLength(s.in[i:]))
			}
			s.phrase.WriteString(s.in[i : i+n])
			i += n
		}
	}
	s.emit()
}

// wordLength returns the length of the encoded word at the beginning of s, 0 if there is none. It is one token, even if its
// sender left characters unencoded that have a meaning outside (RFC 2047 section 5 forbids that). A word that was never
// closed must not swallow the next mailbox.
func wordLength(s string) int {
	if !strings.HasPrefix(s, "=?") {
		return 0
	}
	_, _, n := encodedWord(s)
	if n > 0 && strings.Contains(s[2:n-2], "=?") {
		return 0
	}
	return n
}

// separator ends a mailbox, unless the text so far can only be the first half of a name that should have been quoted: "Doe,
// John <john@example.org>".
func (s *addressScanner) separator(c byte) {
	text := s.phrase.String()
	if c == ',' && len(text) < 500 && !s.hasAngle && !s.quoted && !strings.Contains(text, "@") &&
		!strings.Contains(text, "=?") && strings.TrimSpace(text) != "" && !isDaemon(strings.TrimSpace(text)) {
		s.phrase.WriteByte(c)
		return
	}
	s.emit()
}

func (s *addressScanner) resetPhrase() {
	s.phrase.Reset()
	s.quoted = false
}

// emitBefore ends a mailbox if the comma after it is missing: the text after its angle brackets is the next one's name.
func (s *addressScanner) emitBefore() {
	text := s.phrase.String()
	before := min(s.before, len(text))
	s.resetPhrase()
	s.phrase.WriteString(text[:before])
	s.emit()
	s.phrase.WriteString(strings.TrimLeft(text[before:], " "))
}

func (s *addressScanner) emit() {
	phrase := strings.Join(strings.Fields(s.phrase.String()), " ")
	note := s.comment.String()
	angle, hasAngle := s.angle, s.hasAngle
	s.resetPhrase()
	s.comment.Reset()
	s.angle, s.hasAngle = "", false
	switch {
	case hasAngle:
		name := phrase
		if name == "" {
			name = note
		}
		if email := cleanEmail(angle); email != "" {
			s.add(name, email)
			return
		}
		if strings.TrimSpace(angle) == "" && phrase == "" {
			return // <> is the null path
		}
		// A broken address may contain half of another person's, so only a complete one counts.
		if email := cleanEmail(decodeHeader(angle, s.charset)); email != "" {
			s.add(name, email)
		} else if strings.TrimSpace(angle) == "" || strings.Contains(phrase, "@") {
			s.bare(phrase, note)
		} else {
			s.bad++
		}
	case phrase != "":
		s.bare(phrase, note)
	}
}

// bare finds the address in a mailbox without angle brackets. The name before it may contain commas, so each word is tried.
func (s *addressScanner) bare(phrase, note string) {
	if strings.Contains(phrase, "=?") && !strings.Contains(phrase, "@") {
		phrase = decodeHeader(phrase, s.charset)
		if i := strings.IndexByte(phrase, '<'); i >= 0 {
			if email := cleanEmail(strings.TrimRight(phrase[i+1:], "> ")); email != "" {
				s.add(phrase[:i], email)
				return
			}
		}
	}
	// White space and comments, which have been removed, are allowed around "@" and ".".
	if whole := aroundSigns().ReplaceAllString(phrase, "$1"); whole != phrase && !strings.Contains(whole, " ") && strings.Count(whole, "@") == 1 {
		phrase = whole
	}
	words := strings.FieldsFunc(phrase, func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	for i, w := range words {
		email := cleanEmail(strings.Trim(w, "'[]()<>"))
		if email == "" || !strings.Contains(email, "@") && len(words) > 1 {
			continue
		}
		name := note
		if name == "" {
			name = strings.Join(append(append([]string{}, words[:i]...), words[i+1:]...), " ")
		}
		s.add(name, email)
		return
	}
	if decoded := decodeHeader(phrase, s.charset); strings.Contains(phrase, "=?") && cleanEmail(decoded) != "" {
		s.add(note, cleanEmail(decoded)) // an address that was encoded as a whole
		return
	}
	s.bad++
}

func (s *addressScanner) add(name, email string) {
	if len(s.list) > maxAddresses {
		return
	}
	name = decodeHeader(name, s.charset)
	if len(name) >= 2 && (name[0] == '\'' && name[len(name)-1] == '\'' || name[0] == '"' && name[len(name)-1] == '"') {
		name = strings.TrimSpace(name[1 : len(name)-1])
	}
	s.list = append(s.list, mailaddr.Address{Name: name, Email: email})
}

// quotedString returns the quoted string at the start of s; if it is unterminated, only the quote sign.
func quotedString(s string) (text string, n int) {
	var b strings.Builder
	for i := 1; i < len(s) && i < 4096; i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), i + 1
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 1
}

// comment returns the comment at the start of s; if it is unterminated, only the bracket.
func comment(s string) (text string, n int) {
	depth := 0
	for i := 0; i < len(s) && i < 4096; i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return strings.TrimSpace(escapedSign().ReplaceAllString(s[1:i], "$1")), i + 1
			}
		}
	}
	return "", 1
}

func isDaemon(local string) bool {
	return strings.EqualFold(local, "mailer-daemon") || strings.EqualFold(local, "postmaster")
}

// escapedSign is a sign that is escaped in a comment and has no special meaning elsewhere.
var escapedSign = lazyregexp.New(`\\([()\\"])`)

// aroundSigns matches white space around the signs of an address.
var aroundSigns = lazyregexp.New(`[ \t]*([.@])[ \t]*`)

// cleanEmail returns the address in s, its domain in lower case, or "".
func cleanEmail(s string) string {
	s = guessRaw(strings.Trim(s, " \t\r\n"), "")
	if strings.ContainsAny(s, "( \t") && !strings.Contains(s, `"`) { // RFC 5322 section 4.4
		s = aroundSigns().ReplaceAllString(strings.TrimSpace(stripComments(s)), "$1")
	}
	if len(s) >= 7 && strings.EqualFold(s[:7], "mailto:") {
		s = s[7:]
	}
	if strings.HasPrefix(s, "@") { // RFC 5322 section 4.4, source route
		if i := strings.LastIndexByte(s, ':'); i >= 0 {
			s = s[i+1:]
		}
	}
	if isDaemon(s) {
		return s
	}
	at := strings.LastIndexByte(s, '@')
	if at <= 0 || len(s) > 320 {
		return ""
	}
	local, domain := s[:at], strings.ToLower(strings.TrimRight(s[at+1:], "."))
	if !validLocal(local) || !validDomain(domain) {
		return ""
	}
	return local + "@" + domain
}

func validLocal(s string) bool {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return !strings.ContainsFunc(s, unicode.IsControl)
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError || strings.ContainsRune(`<>(),;:"[]\@`, r)
	})
}

func validDomain(s string) bool {
	if len(s) > 255 || s == "" {
		return false
	}
	if s[0] == '[' && s[len(s)-1] == ']' {
		return !strings.ContainsFunc(s[1:len(s)-1], func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == ':' || r == '-')
		})
	}
	for _, label := range strings.Split(s, ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool { return !hostRune(r) }) {
			return false
		}
	}
	return true
}

// hostRune reports whether a rune may occur in a label of a domain, including internationalised ones.
func hostRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}
