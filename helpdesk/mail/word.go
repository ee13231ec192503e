package mail

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decodeHeader converts a raw header value to one line of UTF-8: it decodes encoded words (RFC 2047), guesses the charset of
// raw 8-bit bytes, and replaces control characters by spaces.
func decodeHeader(raw, charset string) string {
	return oneLine(decodeWords(raw, charset))
}

// decodeWords decodes the encoded words of s. Neighbouring words of one charset are decoded together, because senders split
// characters between them.
func decodeWords(s, charset string) string {
	if !strings.Contains(s, "=?") {
		return guessRaw(s, charset)
	}
	var out strings.Builder
	var pending []byte
	pendingSet := ""
	flush := func() {
		if len(pending) > 0 {
			out.WriteString(decodeWord(pending, pendingSet, charset))
		}
		pending, pendingSet = nil, ""
	}
	after := false // the last thing written was an encoded word
	for len(s) > 0 {
		i := strings.Index(s, "=?")
		if i < 0 {
			break
		}
		set, data, n := encodedWord(s[i:])
		if n == 0 {
			flush()
			out.WriteString(guessRaw(s[:i+2], charset))
			s, after = s[i+2:], false
			continue
		}
		if gap := s[:i]; !after || strings.Trim(gap, " \t\r\n") != "" {
			flush()
			out.WriteString(guessRaw(gap, charset))
		}
		if !strings.EqualFold(set, pendingSet) {
			flush()
			pendingSet = set
		}
		pending = append(pending, data...)
		s, after = s[i+n:], true
	}
	flush()
	out.WriteString(guessRaw(s, charset))
	return out.String()
}

// decodeWord decodes the bytes of encoded words; charset is that of raw bytes.
func decodeWord(b []byte, set, charset string) string {
	if name := normalCharset(set); charset != "" && lookupCharset(name) == nil && undeclared(name) && !utf8.Valid(b) {
		if text, ok := decodeCharset(b, charset); ok {
			return text
		}
	}
	if _, single := lookupCharset(normalCharset(set)).(*charmap.Charmap); single && utf8.Valid(b) {
		return string(b) // UTF-8 in disguise
	}
	text, _ := decodeCharset(b, set)
	return text
}

// encodedWord parses the encoded word at the beginning of s and returns its charset, its bytes and its length in s; the
// length is 0 if there is none.
func encodedWord(s string) (charset string, data []byte, n int) {
	rest := s[2:]
	i := strings.IndexByte(rest[:min(len(rest), 80)], '?')
	if i <= 0 || strings.ContainsAny(rest[:i], " \t\r\n=") || len(rest) < i+4 || rest[i+2] != '?' {
		return "", nil, 0
	}
	charset, enc, text := rest[:i], rest[i+1], rest[i+3:]
	// Longer than any genuine encoded word; the bound keeps the search linear.
	end := strings.Index(text[:min(len(text), 8192)], "?=")
	if end < 0 {
		return "", nil, 0
	}
	n = 2 + i + 3 + end + 2
	text = text[:end]
	switch enc {
	case 'B', 'b':
		data, _ = decodeBase64([]byte(text))
	case 'Q', 'q':
		data = make([]byte, 0, len(text))
		for j := 0; j < len(text); j++ {
			switch c := text[j]; {
			case c == '_':
				data = append(data, ' ')
			case c == '=' && j+2 < len(text):
				if v, ok := unhex(text[j+1], text[j+2]); ok {
					data = append(data, v)
					j += 2
					continue
				}
				data = append(data, c)
			default:
				data = append(data, c)
			}
		}
	default:
		return "", nil, 0
	}
	return charset, data, n
}

// guessRaw decodes raw header bytes: as UTF-8, otherwise in the charset that the body declares, otherwise byte by byte as
// windows-1252.
func guessRaw(s, charset string) string {
	if strings.Contains(s, "\x1b$") {
		return guessText([]byte(s))
	}
	if utf8.ValidString(s) {
		return s
	}
	if charset != "" {
		if text, ok := decodeCharset([]byte(s), charset); ok {
			return text
		}
	}
	return guessText([]byte(s))
}

// oneLine makes s a single line without control characters.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == 0, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1 // NUL, and characters that change the direction of the rest of a line
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// encodeText returns the words of a header value: plain ones if s is simple ASCII, otherwise encoded words (RFC 2047) short
// enough to fold. The words are to be joined with white space, which may be a fold.
func encodeText(s string) []string {
	s = oneLine(s)
	if plainHeader(s) {
		return strings.Fields(s)
	}
	return encodeWords(s)
}

func plainHeader(s string) bool {
	word := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x7F || c < ' ' || c == '=' && i+1 < len(s) && s[i+1] == '?' || c == ' ' && i > 0 && s[i-1] == ' ' {
			return false
		}
		if word++; c == ' ' {
			word = 0
		}
		if word > 200 {
			return false
		}
	}
	return true
}

const maxWord = 64 // leaves room for "Subject: " and "Reply-To: " within 76 columns

// encodeWords writes s as encoded words of at most maxWord bytes, each of whole characters, in the shorter of the two
// encodings.
func encodeWords(s string) []string {
	special := 0
	for i := range len(s) {
		if !wordByte(s[i]) && s[i] != ' ' {
			special++
		}
	}
	b64 := special*3 > len(s)
	room := maxWord - len("=?utf-8?q??=")
	if b64 {
		room = room / 4 * 3
	}
	var out []string
	var chunk []byte
	used := 0
	flush := func() {
		if len(chunk) == 0 {
			return
		}
		if b64 {
			out = append(out, "=?utf-8?b?"+base64.StdEncoding.EncodeToString(chunk)+"?=")
		} else {
			out = append(out, "=?utf-8?q?"+string(chunk)+"?=")
		}
		chunk, used = chunk[:0], 0
	}
	for _, r := range s {
		var buf [12]byte
		enc := utf8.AppendRune(buf[:0], r)
		if !b64 {
			enc = quoteWord(enc)
		}
		if used+len(enc) > room {
			flush()
		}
		chunk = append(chunk, enc...)
		used += len(enc)
	}
	flush()
	return out
}

func quoteWord(b []byte) []byte {
	const hex = "0123456789ABCDEF"
	var out []byte
	for _, c := range b {
		switch {
		case c == ' ':
			out = append(out, '_')
		case wordByte(c):
			out = append(out, c)
		default:
			out = append(out, '=', hex[c>>4], hex[c&15])
		}
	}
	return out
}

// wordByte reports whether a byte needs no escape in a Q encoded word, even inside a phrase (RFC 2047 section 5 rule 3).
func wordByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '!' || c == '*' || c == '+' || c == '-' || c == '/'
}
