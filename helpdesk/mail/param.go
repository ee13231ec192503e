package mail

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// parseParams parses a value with parameters such as Content-Type (RFC 2045, RFC 2231), as far as possible. Comments are
// left out; the parameters are decoded; the first of a name counts.
func parseParams(raw, charset string) (value string, params map[string]string) {
	end := endOfValue(raw)
	return readParams(uncommented(raw[:end]), raw[end:], charset, carefulParam)
}

// formerParams is parseParams as it was when it knew comments in the value only, and took any quote for the closing one.
// Identities depend on it.
func formerParams(raw, charset string) (value string, params map[string]string) {
	value, rest, _ := strings.Cut(raw, ";")
	return readParams(value, rest, charset, nextParam)
}

func readParams(value, rest, charset string, nextParam func(string) (name, val, rest string)) (string, map[string]string) {
	value = strings.ToLower(strings.Trim(stripComments(value), " \t\r\n\""))
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		value = value[:i]
	}
	plain := map[string]string{}
	pieces := map[string][]piece{}
	for n := 0; len(rest) > 0 && n < 200; n++ {
		var name, val string
		name, val, rest = nextParam(rest)
		if name == "" {
			continue
		}
		base, star, ok := strings.Cut(name, "*")
		if !ok {
			if _, dup := plain[name]; !dup {
				plain[name] = val
			}
			continue
		}
		p := piece{val: val, ext: star == "" || strings.HasSuffix(star, "*")}
		p.n, _ = strconv.Atoi(strings.TrimSuffix(star, "*"))
		pieces[base] = append(pieces[base], p)
	}
	params := map[string]string{}
	for k, v := range plain {
		params[k] = decodeHeader(v, charset)
	}
	for k, v := range pieces {
		params[k] = oneLine(joinPieces(v))
	}
	return value, params
}

// piece is one section of a parameter value (RFC 2231 section 3).
type piece struct {
	n   int
	ext bool // percent-encoded
	val string
}

func joinPieces(ps []piece) string {
	sort.SliceStable(ps, func(i, j int) bool { return ps[i].n < ps[j].n })
	set := ""
	var raw []byte
	for i, p := range ps {
		v := p.val
		if !p.ext {
			raw = append(raw, v...)
			continue
		}
		if i == 0 {
			if cs, rest, ok := strings.Cut(v, "'"); ok {
				if _, text, ok := strings.Cut(rest, "'"); ok {
					set, v = cs, text
				}
			}
		}
		raw = append(raw, unpercent(v)...)
	}
	s, _ := decodeCharset(raw, set)
	if len(ps) > 0 && !ps[0].ext {
		s = decodeWords(s, set)
	}
	return s
}

func unpercent(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, ok := unhex(s[i+1], s[i+2]); ok {
				out = append(out, v)
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return out
}

// endOfValue returns where the parameters begin: at the first semicolon outside of comments.
func endOfValue(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ';':
			return i
		case '(':
			n := commentLen(s[i:])
			if n == 0 { // no comment, and none behind it
				if end := strings.IndexByte(s[i:], ';'); end >= 0 {
					return i + end
				}
				return len(s)
			}
			i += n - 1
		}
	}
	return len(s)
}

// longestComment bounds the search for the end of a comment, in bytes.
const longestComment = 200

// commentLen returns the length of the comment at the beginning of s, which may have others inside; 0 if it does not end.
func commentLen(s string) int {
	depth := 0
	for i := 0; i < min(len(s), longestComment); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// uncommented removes the comments from a value, up to one that does not end.
func uncommented(s string) string {
	var b strings.Builder
	for i := strings.IndexByte(s, '('); i >= 0; i = strings.IndexByte(s, '(') {
		n := commentLen(s[i:])
		if n == 0 {
			break
		}
		b.WriteString(s[:i] + " ")
		s = s[i+n:]
	}
	return b.String() + s
}

// skipComments removes white space and comments from the beginning of s.
func skipComments(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		n := 0
		if strings.HasPrefix(s, "(") {
			n = commentLen(s)
		}
		if n == 0 {
			return s
		}
		s = s[n:]
	}
}

// carefulParam is nextParam with comments between the tokens, and with quotes inside of quoted values.
func carefulParam(s string) (name, val, rest string) {
	for {
		s = skipComments(s)
		if s == "" || s[0] != ';' && s[0] != ',' {
			break
		}
		s = s[1:]
	}
	i := strings.IndexAny(s, "=;")
	if i < 0 {
		return "", "", ""
	}
	if s[i] == ';' {
		return "", "", s[i+1:]
	}
	name = strings.ToLower(strings.TrimSpace(uncommented(s[:i])))
	s = skipComments(s[i+1:])
	if strings.HasPrefix(s, `"`) {
		val, rest = quotedValue(s[1:])
		return name, val, rest
	}
	end := endOfValue(s)
	val = strings.TrimSpace(s[:end])
	if rest = s[end:]; strings.HasPrefix(rest, ";") {
		rest = rest[1:]
	}
	return name, withoutComment(name, val), rest
}

// fileWithExtension matches a file name before a comment.
var fileWithExtension = lazyregexp.New(`^[^()]*\.[A-Za-z0-9]{1,5}\s*\(`)

// withoutComment removes the comments from an unquoted value. In a file name, parentheses belong to the name unless they
// follow its extension: "Invoice (1).pdf".
func withoutComment(name, val string) string {
	if !strings.Contains(val, "(") {
		return val
	}
	if i := strings.IndexByte(val, '('); !strings.ContainsAny(val[:i], " \t") && !strings.HasSuffix(val, ")") {
		return val // an illegal, but common token: "----=_(x)_1"
	}
	if base, _, _ := strings.Cut(name, "*"); (base == "name" || base == "filename") &&
		!(fileWithExtension().MatchString(val) && strings.HasSuffix(val, ")")) {
		return val
	}
	return strings.TrimSpace(uncommented(val))
}

// quotedValue reads a quoted value from behind its first quote. Only a quote before the next parameter closes it; others
// are part of it, as in "Report "final".pdf". A value that is never closed ends before the next parameter.
func quotedValue(s string) (val, rest string) {
	var b strings.Builder
	for j := 0; j < len(s); j++ {
		switch c := s[j]; {
		case c == '\\' && j+1 < len(s) && s[j+1] == '"' && paramFollows(s[j+2:]) && !strings.Contains(s[j+2:], `"`):
			b.WriteByte(c) // the last one of a path: "C:\temp\"
		case c == '\\' && j+1 < len(s) && (s[j+1] == '"' || s[j+1] == '\\'):
			j++
			b.WriteByte(s[j])
		case c == '"' && paramFollows(s[j+1:]):
			return b.String(), s[j+1:]
		default:
			b.WriteByte(c)
		}
	}
	for j := range len(s) {
		if s[j] == ';' && paramFollows(s[j:]) {
			return strings.TrimSpace(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s[:j])), s[j+1:]
		}
	}
	return b.String(), ""
}

// nameByte reports whether a byte occurs in names of parameters.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '*'
}

// paramFollows reports whether a value ends here: at the end of the field, or before the next parameter. The semicolon
// between two parameters may be missing, or a comma.
func paramFollows(s string) bool {
	s = skipComments(s)
	for s != "" && (s[0] == ';' || s[0] == ',') {
		s = skipComments(s[1:])
	}
	n := 0
	for n < min(len(s), 40) && (nameByte(s[n])) {
		n++
	}
	return s == "" || n > 0 && strings.HasPrefix(strings.TrimLeft(s[n:min(len(s), n+20)], " \t\r\n"), "=")
}

// nextParam parses "name=value" up to the next semicolon. An unquoted value may contain spaces, such as the file names of
// careless senders.
func nextParam(s string) (name, val, rest string) {
	s = strings.TrimLeft(s, " \t\r\n;")
	i := strings.IndexAny(s, "=;")
	if i < 0 {
		return "", "", ""
	}
	if s[i] == ';' {
		return "", "", s[i+1:]
	}
	name = strings.ToLower(strings.TrimSpace(s[:i]))
	s = strings.TrimLeft(s[i+1:], " \t\r\n")
	if !strings.HasPrefix(s, `"`) {
		val, rest, _ = strings.Cut(s, ";")
		return name, strings.TrimSpace(val), rest
	}
	var b strings.Builder
	for j := 1; j < len(s); j++ {
		switch c := s[j]; {
		case c == '\\' && j+1 < len(s) && (s[j+1] == '"' || s[j+1] == '\\'):
			j++
			b.WriteByte(s[j])
		case c == '"':
			rest = s[j+1:]
			// The semicolon between two parameters may be missing.
			if k := strings.IndexAny(rest, "=;"); k >= 0 && rest[k] == ';' {
				rest = rest[k+1:]
			}
			return name, b.String(), rest
		default:
			b.WriteByte(c)
		}
	}
	return name, b.String(), ""
}

func stripComments(s string) string {
	if !strings.Contains(s, "(") {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := range len(s) {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// folders matches the beginning of a name that includes its folders.
var folders = lazyregexp.New(`^([a-zA-Z]:)?[/\\]|^\.\.?[/\\]|^~|\\`)

// cleanFilename makes a name safe to use as the name of a file: no folders (a slash that is part of the name, as in "Invoice
// 3/2024.pdf", becomes "_"), no control characters, no characters that change the direction of writing, at most 255 bytes
// with the extension kept. It may return "".
func cleanFilename(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.TrimSpace(s)
	if i := strings.LastIndexAny(s, `/\`); i >= 0 && folders().MatchString(s) && strings.Trim(s[i+1:], ". ") != "" {
		s = s[i+1:]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\uFEFF', r == '\u200B':
			return -1
		case strings.ContainsRune(`/\:*?"<>|`, r):
			return '_'
		}
		return r
	}, s)
	s = strings.Trim(s, " .")
	const limit = 255
	if len(s) <= limit {
		return s
	}
	ext := ""
	if i := strings.LastIndexByte(s, '.'); i > 0 && len(s)-i <= 20 {
		ext = s[i:]
	}
	cut := limit - len(ext)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.TrimRight(s[:cut], " .") + ext
}
