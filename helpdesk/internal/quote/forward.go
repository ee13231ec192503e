package quote

import (
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// Address is an email address with its display name.
type Address struct{ Name, Email string }

// Header contains the header fields that mailers write above a forwarded message. Missing or unreadable ones are zero.
type Header struct {
	From            Address
	ReplyTo, To, Cc []Address
	Subject         string
	Date            time.Time
	Zoned           bool // Date is that time; else it is the time on the clock of who passed the mail on, as if in UTC
}

// Forward is a message forwarded by another one.
type Forward struct {
	Start  int // line of what introduces it
	Text   int // line that its own text begins with; the number of lines when there is none
	Header Header
}

// FindForward finds the message that a message forwards, the outermost of nested ones. A quoted header alone does not show
// whether the message replies to the one below or forwards it; the subject decides. A message with a quote before it
// forwards nothing.
func FindForward(lines []Line, subject string) (Forward, bool) {
	s := scan{lines: lines, msg: Message{Reply: true}, kinds: make([]Kind, len(lines)), tries: maxTries}
	s.next, s.field = make([]int, len(lines)), make([]role, len(lines))
	for i, next := len(lines)-1, len(lines); i >= 0; i-- {
		lines[i].Text = normal(lines[i].Text)
		if s.next[i] = next; !s.blank(i) {
			next = i
		}
		s.field[i] = fieldOf(lines[i].Text)
	}
	for i := range lines {
		if s.blank(i) || lines[i].Rule {
			continue
		}
		if found, here := s.forwardAt(i, subject); here {
			return found, found.Text > 0
		}
	}
	return Forward{}, false
}

// forwardAt reads the mail that begins at a line; here tells whether one does, be it passed on or quoted.
func (s *scan) forwardAt(i int, subject string) (found Forward, here bool) {
	line := s.lines[i].Text
	if separates(line) {
		says, at := forwardWords().MatchString(line), s.next[i]
		h, name, after, ok := s.forwardHeader(at, says)
		if !ok && says {
			h, after, ok = s.forwardSentence(at)
		}
		if !ok || !says && !forwardSubject(subject, name) {
			return Forward{}, true
		}
		return Forward{Start: i, Text: after, Header: h}, true
	}
	if r := s.field[i]; r > fieldUnknown && r != fieldForm {
		if h, name, after, ok := s.forwardHeader(i, false); ok {
			if !forwardSubject(subject, name) {
				return Forward{}, true
			}
			return Forward{Start: s.dashesAbove(i), Text: after, Header: h}, true
		}
	}
	if start, _ := s.attribution(i); start >= 0 || s.lines[i].Quoted == Yes {
		return Forward{}, true
	}
	return Forward{}, false
}

// forwardHeader reads the header of a mail that begins at a line. name is what its From is called, which tells a language;
// after is the line that follows it.
func (s *scan) forwardHeader(at int, announced bool) (h Header, name string, after int, ok bool) {
	var seen roles
	values := map[string]*string{}
	var last *string
	end := at
	for i, n := at, 0; i < len(s.lines) && n < maxHeader && s.lines[i].Quoted == s.lines[at].Quoted; i, n = s.next[i], n+1 {
		r := s.field[i]
		again := r != fieldOther && r != 0 && seen[r]
		if r <= fieldUnknown || r == fieldForm || again {
			if last == nil || again || !s.goesOn(i, seen) {
				break
			}
			*last += " " + s.lines[i].Text
			continue
		}
		if blank := i > end+1; blank && parts(seen) == 3 && seen[fieldFrom] {
			break // the text begins with what only looks like a field
		}
		key, value := cutField(s.lines[i].Text)
		if r == fieldFrom {
			name = key
		}
		seen[r], end, last = true, i, &value
		if kind := kindOf(r, key); values[kind] == nil {
			values[kind] = last
		}
	}
	if !seen[fieldFrom] || parts(seen) == 0 || !announced && parts(seen) < 2 {
		return s.flatHeader(at)
	}
	get := func(kind string) string {
		if v := values[kind]; v != nil {
			return *v
		}
		return ""
	}
	return header(get), name, s.next[end], true
}

// goesOn: a line is the rest of a field, because another field follows right below.
func (s *scan) goesOn(i int, seen roles) bool {
	for n := i + 1; n < len(s.lines) && n < i+5 && !s.blank(n); n++ {
		if r := s.field[n]; r > fieldUnknown && r != fieldForm {
			return !seen[r] || r == fieldOther
		}
	}
	return false
}

// flatHeader reads a header that stands on one line.
func (s *scan) flatHeader(at int) (h Header, name string, after int, ok bool) {
	if at >= len(s.lines) || !s.inOneLine(s.lines[at].Text) {
		return Header{}, "", 0, false
	}
	values := map[string]string{}
	kind := ""
	for word := range strings.FieldsSeq(s.lines[at].Text) {
		if key, isField := strings.CutSuffix(word, ":"); isField {
			key = strings.ToLower(strings.Trim(key, "*_"))
			if r := fieldNames[key]; r > fieldUnknown && r != fieldForm && values[kindOf(r, key)] == "" {
				if kind = kindOf(r, key); r == fieldFrom {
					name = key
				}
				continue
			}
		}
		values[kind] += " " + word
	}
	return header(func(kind string) string { return strings.TrimSpace(values[kind]) }), name, s.next[at], true
}

// forwardSentence reads what some mailers write in place of a header: date and author.
func (s *scan) forwardSentence(at int) (h Header, after int, ok bool) {
	if at >= len(s.lines) || !endsColon(s.lines[at].Text) || len(s.lines[at].Text) > maxSentence {
		return Header{}, 0, false
	}
	from := addressesIn(s.lines[at].Text)
	if len(from) != 1 {
		return Header{}, 0, false
	}
	h.From.Email = from[0].Email
	date, quoted, found := strings.Cut(s.lines[at].Text, `"`)
	if found {
		h.From.Name, _, _ = strings.Cut(quoted, `"`)
	}
	h.Date, h.Zoned = readDate(bareEmail().ReplaceAllString(date, ""))
	return h, s.next[at], true
}

// cutField splits a line into the name of a field, in lower case, and its value.
func cutField(line string) (name, value string) {
	i := strings.IndexAny(line, ":：")
	name = strings.ToLower(strings.Trim(line[:i], "*_ "))
	return name, strings.Trim(strings.TrimPrefix(strings.TrimPrefix(line[i:], ":"), "："), "* ")
}

// kindOf is what a field is of a Header.
func kindOf(r role, name string) string {
	switch {
	case r == fieldFrom:
		return "from"
	case r == fieldDate:
		return "date"
	case r == fieldTo:
		return "to"
	case r == fieldSubject:
		return "subject"
	case slices.Contains(replyToNames, name):
		return "reply-to"
	case slices.Contains(ccNames, name):
		return "cc"
	}
	return name
}

var (
	replyToNames = []string{"reply-to", "reply to", "antwort an", "répondre à", "responder a"}
	ccNames      = []string{"cc", "copie", "copie à", "copia", "kopie", "kopie an", "kopia", "kopi", "kopio", "копия", "копія", "bilgi", "másolatot kap",
		"κοιν", "κοινοποίηση", "עותק", "نسخة", "抄送", "副本", "참조"}
)

func header(get func(kind string) string) Header {
	h := Header{Subject: get("subject"), To: addressesIn(get("to")), Cc: addressesIn(get("cc")), ReplyTo: addressesIn(get("reply-to"))}
	if from := addressesIn(get("from")); len(from) > 0 {
		h.From = from[0] // "on behalf of": who has sent it comes first
	}
	h.Date, h.Zoned = readDate(get("date"))
	return h
}

// listedAddress is an address in a text, with the brackets around it and what mailers write in front of it.
var listedAddress = lazyregexp.New(`[<(\[]*\s*(?i:mailto:)?([^\s<>()\[\]"',;:*|]+@[^\s<>()\[\]"',;:*|]+)\s*[>)\]]*`)

const maxListed = 100 // addresses of a field

// addressesIn reads the addresses of a field as a mailer shows it.
func addressesIn(value string) []Address {
	var out []Address
	from := 0
	for _, at := range listedAddress().FindAllStringSubmatchIndex(value, maxListed) {
		email := strings.Trim(value[at[2]:at[3]], ".")
		name := strings.Trim(value[from:at[0]], " \t,;\"'*<>()[]")
		after := at[1]
		if name == "" && from == 0 { // ada@example.com (Ada)
			if rest, isComment := strings.CutPrefix(strings.TrimLeft(value[at[1]:], " "), "("); isComment {
				name, _, _ = strings.Cut(rest, ")")
				after = len(value) - len(rest) + len(name)
			}
		}
		if strings.Contains(name, "@") || len(name) > 200 {
			name = ""
		}
		from = after
		if !slices.ContainsFunc(out, func(a Address) bool { return strings.EqualFold(a.Email, email) }) {
			out = append(out, Address{Name: strings.Join(strings.Fields(name), " "), Email: email})
		}
	}
	return out
}

// forwardWords say on the line above a mail that it is passed on.
var forwardWords = lazyregexp.New(`(?i)forward|weitergeleitet|transf[ée]r|r[ée]exp[ée]di|reenviad|reencaminhad|encaminhad|inoltrat|doorgestuurd|videresend|vidarebefordra|` +
	`välitetty|przekazan|пересыла|переслан|переадресован|přeposlan|továbbított|iletilen|redirecționat|προωθ|שהועברה|转发|轉寄|転送|전달`)

// forwardPrefix is how mailers mark the subject of what they pass on.
var forwardPrefix = lazyregexp.New(`(?i)^\s*(fwd?|wg|tr|rv|i|enc|doorst|vb|vl|vs|pd|rtr|ilt|videres|továbbítás|πρθ|пер|转发|轉寄|転送|전달)\s*([\[(*^]\d+[\])]?)?\s*[:：]`)

// forwardSubject reports whether a subject says that a mail is passed on, whose From has some name: "VS" is a Dane's forward
// and a Finn's answer.
func forwardSubject(subject, fromName string) bool {
	found := forwardPrefix().FindStringSubmatch(subject)
	return found != nil && (!strings.EqualFold(found[1], "vs") || fromName == "fra")
}

// ForwardSubject reports whether a subject marks a forward, and returns the subject without the mark.
func ForwardSubject(subject string) (rest string, ok bool) {
	at := forwardPrefix().FindStringIndex(subject)
	if at == nil {
		return strings.TrimSpace(subject), false
	}
	return strings.TrimSpace(subject[at[1]:]), true
}
