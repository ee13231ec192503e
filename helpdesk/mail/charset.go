package mail

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// charsets are names used in mail that the WHATWG and IANA indexes lack or map to a smaller charset: GB 18030 contains GB
// 2312 and GBK.
var charsets = map[string]encoding.Encoding{
	"gb2312": simplifiedchinese.GB18030, "gbk": simplifiedchinese.GB18030, "gb18030": simplifiedchinese.GB18030,
	"cp936": simplifiedchinese.GB18030, "ms936": simplifiedchinese.GB18030, "windows-936": simplifiedchinese.GB18030,
	"x-gbk": simplifiedchinese.GB18030, "euc-cn": simplifiedchinese.GB18030, "gb_2312-80": simplifiedchinese.GB18030,
	"hz-gb-2312": simplifiedchinese.HZGB2312, "hz": simplifiedchinese.HZGB2312,
	"cp932": japanese.ShiftJIS, "ms932": japanese.ShiftJIS, "windows-932": japanese.ShiftJIS, "sjis": japanese.ShiftJIS,
	"iso-2022-jp-1": japanese.ISO2022JP, "iso-2022-jp-2": japanese.ISO2022JP, "iso-2022-jp-3": japanese.ISO2022JP,
	"iso-2022-jp-ms": japanese.ISO2022JP, "cp50220": japanese.ISO2022JP, "cp50221": japanese.ISO2022JP,
	"cp949": korean.EUCKR, "ms949": korean.EUCKR, "uhc": korean.EUCKR, "x-windows-949": korean.EUCKR,
	"cp950": traditionalchinese.Big5, "ms950": traditionalchinese.Big5, "windows-950": traditionalchinese.Big5,
	"utf-16":   unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	"utf-32":   utf32.UTF32(utf32.BigEndian, utf32.UseBOM),
	"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"cp437":    charmap.CodePage437, "cp850": charmap.CodePage850, "cp852": charmap.CodePage852,
	"cp858": charmap.CodePage858, "cp866": charmap.CodePage866, "mac": charmap.Macintosh,
	"ansi": charmap.Windows1252, "latin-1": charmap.Windows1252,
}

func normalCharset(name string) string {
	name = strings.ToLower(strings.Trim(name, " \t\"'<>;,"))
	if i := strings.IndexByte(name, '*'); i >= 0 { // RFC 2231 language
		name = name[:i]
	}
	name = strings.TrimPrefix(name, "charset=")
	if rest, ok := strings.CutPrefix(name, "cp-"); ok {
		name = "cp" + rest
	}
	if rest, ok := strings.CutPrefix(name, "cp125"); ok {
		name = "windows-125" + rest
	}
	return name
}

// lookupCharset returns nil for a charset that is unknown or needs no table.
func lookupCharset(name string) encoding.Encoding {
	if e := findCharset(name); e != nil || !strings.Contains(name, "_") {
		return e
	}
	return findCharset(strings.ReplaceAll(name, "_", "-"))
}

func findCharset(name string) encoding.Encoding {
	if e, ok := charsets[name]; ok {
		return e
	}
	e, err := htmlindex.Get(name)
	if err != nil || e == encoding.Replacement {
		e, err = ianaindex.MIME.Encoding(name)
	}
	if err != nil || e == nil || e == encoding.Replacement {
		return nil
	}
	return e
}

// decodeCharset converts b to UTF-8; known is false if the charset is unknown or b is not in it. It never fails: bytes that
// are not a character of the declared charset are read as UTF-8 or else as windows-1252.
func decodeCharset(b []byte, name string) (s string, known bool) {
	name = normalCharset(name)
	switch name {
	case "utf-7", "unicode-1-1-utf-7", "utf7":
		return decodeUTF7(b), true
	case "", "us-ascii", "ascii", "ansi-x3.4-1968":
		return guessText(b), true
	case "utf-8", "utf8", "unicode-1-1-utf-8":
		if utf8.Valid(b) {
			return string(b), true
		}
		return guessText(b), false
	}
	e := lookupCharset(name)
	if e == nil {
		return guessText(b), false
	}
	if isSevenBit(b) && asciiCompatible(e) {
		return string(b), true
	}
	out, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return guessText(b), false
	}
	if bytes.Contains(out, []byte("\uFFFD")) {
		// The label may be wrong: prefer a charset that decodes without loss.
		if utf8.Valid(b) && !isSevenBit(b) {
			return string(b), false
		}
		return string(out), false
	}
	return string(out), true
}

// readCharset is decodeCharset for display: text that is declared wrongly or not at all is read in the most likely charset;
// guess is the charset of the rest of the mail or "". decodeCharset must not change, because the identity of mails depends
// on it.
func readCharset(b []byte, name, guess string) (s string, known bool) {
	name = normalCharset(name)
	if e := wideCharset(b, name); e != nil {
		if out, err := e.NewDecoder().Bytes(b); err == nil {
			return string(out), wide(name)
		}
	}
	if isSevenBit(b) {
		if escapes(b) && (undeclared(name) || latinOne(name)) {
			name = "iso-2022-jp"
		}
		return decodeCharset(b, name)
	}
	e, undeclared := lookupCharset(name), undeclared(name)
	_, single := e.(*charmap.Charmap)
	switch {
	case utf8.Valid(b) && (undeclared || single && !controls(b)): // text in another alphabet is not valid UTF-8 by chance
		return string(b), undeclared
	case !undeclared && !latinOne(name), undeclared && mostlyUTF8(b):
		return decodeCharset(b, name)
	}
	// Programs that do not know charsets declare none, or a Western one.
	likely := guess
	if guess == "" || !fits(b, guess) {
		likely = guessCharset(b)
	}
	if likely == "" && guess != "" && undeclared && western(b) < surely && !unreadable(b, guess) {
		likely = guess
	}
	if likely != "" && lookupCharset(likely) != e {
		s, _ := decodeCharset(b, likely)
		return s, undeclared
	}
	return decodeCharset(b, name)
}

// escapes reports whether b has the escape sequences that only Japanese uses.
func escapes(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))
}

// controls reports whether b, read as UTF-8, contains control characters that do not occur in text.
func controls(b []byte) bool {
	return bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x80 && r < 0xA0 })
}

// undeclared reports whether a charset name is unknown or does not define the bytes above 127.
func undeclared(name string) bool {
	switch name {
	case "", "us-ascii", "ascii", "ansi-x3.4-1968", "utf-8", "utf8", "unicode-1-1-utf-8":
		return true
	}
	return lookupCharset(name) == nil && !strings.Contains(name, "utf-7") && name != "utf7"
}

// latinOne reports whether a charset name is the one that programs without support for charsets declare.
func latinOne(name string) bool {
	e := lookupCharset(name)
	return e == charmap.Windows1252 || e == charmap.ISO8859_1
}

// mostlyUTF8 reports whether so much of b is UTF-8 that the rest was probably pasted into it. By chance, every third
// character of a Chinese text is valid.
func mostlyUTF8(b []byte) bool {
	valid, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n <= 1:
			bad++
		case n > 1:
			valid++
		}
		b = b[n:]
	}
	return valid > 3*bad
}

// unreadable reports whether b contains bytes that are not a character of the charset.
func unreadable(b []byte, name string) bool {
	s, ok := decodeCharset(b, name)
	return !ok || strings.Contains(s, "\uFFFD")
}

// wide reports whether a charset uses two bytes for every character.
func wide(name string) bool {
	switch name {
	case "utf-16", "utf-16le", "utf-16be", "utf16", "utf16le", "utf16be", "ucs-2", "ucs-2le", "ucs-2be", "iso-10646-ucs-2", "unicode", "csunicode", "unicodefffe":
		return true
	}
	return false
}

// wideCharset recognises UTF-16 by its byte order mark or by its zeros, or takes the declared one in the plausible byte
// order. It returns nil if b is not UTF-16.
func wideCharset(b []byte, name string) encoding.Encoding {
	little, big := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	declared := wide(name)
	if len(b) < 2 || !declared && (!undeclared(name) && !latinOne(name) || len(b) < 4) {
		return nil
	}
	switch {
	case b[0] == 0xFF && b[1] == 0xFE:
		return little
	case b[0] == 0xFE && b[1] == 0xFF:
		return big
	}
	zeros, spaces := [2]int{}, [2]int{} // at even and odd places
	sample := b[:min(len(b), 4096)&^1]
	for i := 0; i < len(sample); i += 2 {
		for at := range 2 {
			if sample[i+at] == 0 {
				zeros[at]++
				if c := sample[i+1-at]; c == ' ' || c == '\n' || c == '\r' {
					spaces[at]++
				}
			}
		}
	}
	switch units := len(sample) / 2; {
	case !declared && (zeros[0]+zeros[1])*10 < units*7:
		return nil
	case zeros[1] > 4*zeros[0], declared && spaces[1] > spaces[0]:
		return little
	case zeros[0] > 4*zeros[1], declared && spaces[0] > spaces[1]:
		return big
	case !declared:
		return nil
	case strings.HasSuffix(name, "le"):
		return little
	}
	return big // RFC 2781 section 4.3
}

func asciiCompatible(e encoding.Encoding) bool {
	_, ok := e.(*charmap.Charmap)
	return ok && e != charmap.CodePage037 && e != charmap.CodePage1047 && e != charmap.CodePage1140
}

func isSevenBit(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// guessText reads b as UTF-8, or else in a charset that is certain ([recognised]), or else each byte that is not UTF-8 as
// windows-1252, so that no byte is lost in a text whose charset is unknown or mixed.
func guessText(b []byte) string {
	if e := recognised(b); e != nil {
		if out, err := e.NewDecoder().Bytes(b); err == nil {
			return string(out)
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b) + len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			r = charmap.Windows1252.DecodeByte(b[0])
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// recognised returns the charset of an undeclared text if its bytes leave no doubt: Japanese with its escapes, and Russian,
// which its six commonest letters distinguish from other alphabets. It returns nil otherwise.
func recognised(b []byte) encoding.Encoding {
	if bytes.Contains(b, []byte("\x1b$B")) && isSevenBit(b) {
		return japanese.ISO2022JP
	}
	letters, koi, ansi, ascii := 0, 0, 0, 0
	for _, c := range b[:min(len(b), 64<<10)] {
		switch {
		case c >= 0xC0:
			letters++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			ascii++
		}
		switch c {
		case 0xCF, 0xC5, 0xC1, 0xC9, 0xCE, 0xD4: // о е а и н т
			koi++
		case 0xEE, 0xE5, 0xE0, 0xE8, 0xED, 0xF2:
			ansi++
		}
	}
	switch { // accented letters of other languages occur singly among ASCII letters
	case letters < 6 || letters < ascii/4 || utf8.Valid(b):
	case koi*3 > letters && koi > 2*ansi:
		return charmap.KOI8R
	case ansi*3 > letters && ansi > 2*koi:
		return charmap.Windows1251
	}
	return nil
}

// decodeUTF7 decodes RFC 2152. Broken shift sequences are kept unchanged.
func decodeUTF7(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		i := bytes.IndexByte(b, '+')
		if i < 0 {
			out.WriteString(guessText(b))
			break
		}
		out.WriteString(guessText(b[:i]))
		b = b[i+1:]
		n := 0
		for n < len(b) && isBase64(b[n]) {
			n++
		}
		switch units, err := base64.RawStdEncoding.DecodeString(string(b[:n])); {
		case n == 0:
			out.WriteByte('+')
		case err != nil && len(units) < 2:
			out.WriteByte('+')
			out.Write(b[:n])
		default:
			u := make([]uint16, len(units)/2)
			for j := range u {
				u[j] = binary.BigEndian.Uint16(units[2*j:])
			}
			out.WriteString(string(utf16.Decode(u)))
		}
		b = b[n:]
		if len(b) > 0 && b[0] == '-' {
			b = b[1:]
		}
	}
	return out.String()
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}

// cleanText prepares decoded text for storage: valid UTF-8, no NUL, LF newlines, no byte order mark.
func cleanText(s string) string {
	s = strings.TrimPrefix(s, "\uFEFF")
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
