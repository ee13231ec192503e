package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// decodeTransfer decodes a Content-Transfer-Encoding (RFC 2045 section 6) as far as possible; ok is false if something could
// not be decoded.
func decodeTransfer(b []byte, cte string) (out []byte, ok bool) {
	switch strings.ToLower(strings.Trim(cte, " \t;\"'")) {
	case "", "7bit", "8bit", "binary", "7-bit", "8-bit", "none":
		return b, true
	case "base64", "base-64", "b":
		return decodeBase64(b)
	case "quoted-printable", "quotedprintable", "q":
		return decodeQuotedPrintable(b)
	case "x-uuencode", "uuencode", "x-uue", "uue":
		return decodeUU(b)
	}
	return b, false
}

// decodeBase64 decodes the base64 in b: foreign characters are skipped, inner padding ends a group, an incomplete last group
// gives the bytes it has. Mislabelled text is returned unchanged.
func decodeBase64(b []byte) (out []byte, ok bool) {
	out = make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	if n, err := base64.StdEncoding.Decode(out, bytes.TrimRight(b, " \t\r\n\x00")); err == nil {
		return out[:n], true
	}
	out, ok = out[:0], true
	var acc uint32
	n, foreign := 0, 0
	flush := func() {
		switch n {
		case 2:
			out = append(out, byte(acc>>4))
		case 3:
			out = append(out, byte(acc>>10), byte(acc>>2))
		case 1:
			ok = false
		}
		acc, n = 0, 0
	}
	for _, c := range b {
		v, digit := base64Value(c)
		switch {
		case c == '=':
			flush()
			continue
		case !digit:
			if c != '\r' && c != '\n' {
				foreign++
				ok = ok && (c == ' ' || c == '\t')
			}
			continue
		}
		if acc, n = acc<<6|uint32(v), n+1; n == 4 {
			out = append(out, byte(acc>>16), byte(acc>>8), byte(acc))
			acc, n = 0, 0
		}
	}
	flush()
	if foreign > 4 && foreign*20 > len(b) {
		return b, false
	}
	return out, ok
}

// base64Value returns the value of a digit, including the URL-safe alphabet.
func base64Value(c byte) (v byte, ok bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return c - 'A', true
	case c >= 'a' && c <= 'z':
		return c - 'a' + 26, true
	case c >= '0' && c <= '9':
		return c - '0' + 52, true
	case c == '+' || c == '-':
		return 62, true
	case c == '/' || c == '_':
		return 63, true
	}
	return 0, false
}

// decodeQuotedPrintable decodes RFC 2045 section 6.7; an "=" without a valid escape is kept.
func decodeQuotedPrintable(b []byte) (out []byte, ok bool) {
	out, ok = make([]byte, 0, len(b)), true
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		line, eol := b, []byte(nil)
		if i >= 0 {
			line, eol = b[:i], b[i:i+1]
			if bytes.HasSuffix(line, []byte("\r")) {
				line, eol = b[:i-1], b[i-1:i+1]
			}
			b = b[i+1:]
		} else {
			b = nil
		}
		line = bytes.TrimRight(line, " \t\r") // trailing white space was added in transit
		if bytes.HasSuffix(line, []byte("=")) {
			line, eol = line[:len(line)-1], nil
		}
		for j := 0; j < len(line); j++ {
			if line[j] != '=' {
				out = append(out, line[j])
				continue
			}
			if j+2 < len(line) {
				if v, hex := unhex(line[j+1], line[j+2]); hex {
					out = append(out, v)
					j += 2
					continue
				}
			}
			ok = false
			out = append(out, '=')
		}
		out = append(out, eol...)
	}
	return out, ok
}

func unhex(hi, lo byte) (byte, bool) {
	h, ok1 := hexDigit(hi)
	l, ok2 := hexDigit(lo)
	return h<<4 | l, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// decodeUU decodes the first uuencoded file in b.
func decodeUU(b []byte) (out []byte, ok bool) {
	in := false
	for rest := b; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		switch {
		case !in:
			in = bytes.HasPrefix(line, []byte("begin "))
			continue
		case bytes.Equal(bytes.TrimSpace(line), []byte("end")):
			return out, true
		case len(line) == 0:
			continue
		}
		n := int(line[0]-' ') & 63
		var group []byte
		for i := 1; i < len(line) && len(group) < n; i += 4 {
			var q [4]byte
			for j := range q {
				if i+j < len(line) {
					q[j] = (line[i+j] - ' ') & 63
				}
			}
			group = append(group, q[0]<<2|q[1]>>4, q[1]<<4|q[2]>>2, q[2]<<6|q[3])
		}
		out = append(out, group[:min(n, len(group))]...)
	}
	if !in {
		return b, false
	}
	return out, false
}
