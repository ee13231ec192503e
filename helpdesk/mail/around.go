package mail

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// longLine is the length from which a line of digits is base64 and no word.
const longLine = 40

// run is a piece of a body: base64, or text around it.
type run struct {
	raw     []byte   // with its newlines
	lines   [][]byte // of base64
	decoded []byte
}

// interrupted reports whether base64 may have words before or behind it: its first line is shorter than the second one, or
// digits follow its padding.
func interrupted(b []byte) bool {
	if i := bytes.IndexByte(b, '='); i >= 0 && len(bytes.Trim(b[i:], "= \t\r\n")) > 0 {
		return true
	}
	first, rest := cutLine(b)
	second, _ := cutLine(rest)
	first, second = bytes.TrimSpace(first), bytes.TrimSpace(second)
	return len(first) > 0 && len(first) < len(second)
}

// decodeAmongText decodes base64 that has text before, after or around it, as servers add it. In a text, what is added stays
// as it is, except around wide characters; a file has only what is base64. found is false if the body has no such text, or
// nothing but it.
func decodeAmongText(b []byte, text bool, charset string) (out []byte, found bool) {
	text = text && !wide(charset)
	runs := runsOf(b)
	longest := 0
	for _, r := range runs {
		for _, line := range r.lines {
			longest = max(longest, len(line))
		}
	}
	encoded, added := false, false
	for i := range runs {
		r := &runs[i]
		if !r.decode(text, charset, min(longest, longLine)) {
			r.decoded = nil
			added = added || wordy(r.raw)
			if noisy(r.raw) {
				return nil, false
			}
			continue
		}
		encoded = true
	}
	if !encoded || !added {
		return nil, false
	}
	if !text {
		for _, r := range runs {
			out = append(out, r.decoded...)
		}
		return out, true
	}
	for i, r := range runs {
		blank := r.decoded == nil && len(bytes.TrimSpace(r.raw)) == 0
		if blank && i > 0 && runs[i-1].decoded != nil && (i+1 == len(runs) || runs[i+1].decoded != nil) {
			continue // a blank line inside of base64
		}
		if r.decoded != nil {
			out = append(out, r.decoded...)
			continue
		}
		if i > 0 && runs[i-1].decoded != nil && r.raw[0] != '<' && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, r.raw...)
	}
	return out, true
}

// runsOf splits a body into runs: base64 has lines of one length, of which only the last one may be shorter.
func runsOf(b []byte) []run {
	var runs []run
	var last *run
	whole := false // the run of base64 has had its last line
	add := func(raw []byte, pure bool) {
		line := bytes.TrimSpace(raw)
		if last != nil && !pure && last.lines == nil {
			last.raw = last.raw[:len(last.raw)+len(raw)]
			return
		}
		if last != nil && pure && last.lines != nil && !whole && len(line) <= len(last.lines[0]) {
			last.raw = last.raw[:len(last.raw)+len(raw)]
			last.lines = append(last.lines, line)
			whole = len(line) < len(last.lines[0]) || line[len(line)-1] == '='
			return
		}
		r := run{raw: raw}
		if pure {
			r.lines = [][]byte{line}
			whole = line[len(line)-1] == '='
		}
		runs = append(runs, r)
		last = &runs[len(runs)-1]
	}
	for len(b) > 0 {
		_, rest := cutLine(b)
		line := b[:len(b)-len(rest)]
		b = rest
		before, after := untagged(line)
		for _, piece := range [][]byte{line[:before], line[before:after], line[after:]} {
			if len(piece) > 0 {
				add(piece, digits(bytes.TrimSpace(piece)))
			}
		}
	}
	return runs
}

// untagged returns where the base64 in a line of HTML begins and ends.
func untagged(line []byte) (from, to int) {
	open, end := bytes.IndexByte(line, '<'), bytes.LastIndexByte(line, '>')
	if open < 0 && end < 0 {
		pad := bytes.IndexByte(line, '=')
		for pad > 0 && pad < len(line) && line[pad] == '=' && pad%4 > 0 {
			pad++
		}
		if pad > 0 && pad%4 == 0 && pureBase64(line[:pad]) && len(bytes.TrimSpace(line[pad:])) > 0 {
			return 0, pad // text follows the padding
		}
		return 0, len(line)
	}
	if tail := bytes.TrimSpace(line[end+1:]); end >= 0 && len(tail) >= 4 && digits(tail) {
		return end + 1, len(line)
	}
	if open > 0 && digits(bytes.TrimSpace(line[:open])) {
		return 0, open
	}
	if open >= 0 { // the whole body between two tags
		begin := open + bytes.IndexByte(line[open:], '>') + 1
		for begin > open && begin < len(line) {
			n := bytes.IndexByte(line[begin:], '<')
			if n < 0 {
				break
			}
			if n >= 16 && digits(bytes.TrimSpace(line[begin:begin+n])) {
				return begin, begin + n
			}
			next := bytes.IndexByte(line[begin+n:], '>')
			if next < 0 {
				break
			}
			begin += n + next + 1
		}
	}
	return 0, len(line)
}

// digits reports whether a line can be base64; lines that divide a text cannot.
func digits(line []byte) bool {
	return pureBase64(line) && len(bytes.Trim(line, "-_=+/")) > 0
}

// decode decodes the run, if it is base64 and no words.
func (r *run) decode(text bool, charset string, least int) bool {
	if r.lines == nil {
		return false
	}
	joined := bytes.Join(r.lines, nil)
	long := len(r.lines) > 1 && len(r.lines[0]) >= longLine
	if trimmed := bytes.TrimRight(joined, "="); len(joined)%4 != 0 && (len(trimmed)%4 == 1 || !long && len(trimmed) == len(joined)) {
		return false
	}
	var ok bool
	if r.decoded, ok = decodeBase64(joined); !ok || len(r.decoded) == 0 {
		return false
	}
	if text {
		return long || readable(r.decoded, charset)
	}
	return len(r.lines[0]) >= least
}

// readable reports whether decoded bytes can be text in a charset: no control characters, and UTF-8 unless another is declared
// or the text is long.
func readable(b []byte, charset string) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1B || c == 0x7F {
			return false
		}
	}
	if len(b) >= 24 || utf8.Valid(b) || !undeclared(charset) {
		return true
	}
	high := 0
	for _, c := range b {
		if c >= 0x80 {
			high++
		}
	}
	return high*4 < len(b)
}

// wordy reports whether a piece of a body is text that was added to it: not noise, and no padding in the wrong place.
func wordy(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) >= 3 && !misplacedPadding(raw)
}

func misplacedPadding(line []byte) bool {
	return bytes.IndexByte(line, '=') >= 0 && len(bytes.Trim(line, base64Letters+"-_")) == 0
}

// noisy reports whether a line is base64 with a few characters that were damaged in transit.
func noisy(raw []byte) bool {
	for rest := raw; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		line = bytes.TrimSpace(line)
		if len(line) >= longLine && misplacedPadding(line) {
			return true
		}
		foreign := 0
		for _, c := range line {
			if c < ' ' && c != '\t' && c != '\r' && len(line) >= longLine {
				return true
			}
			if _, digit := base64Value(c); !digit && c != '=' {
				foreign++
			}
		}
		if len(line) >= 12 && foreign > 0 && foreign*16 <= len(line) {
			joined := bytes.Join(bytes.FieldsFunc(line, func(r rune) bool { return r >= 0x80 || r < '+' }), nil)
			if out, err := base64.StdEncoding.DecodeString(string(joined)); err == nil && (readable(out, "") || bytes.IndexByte(line, ' ') < 0) {
				return true
			}
		}
	}
	return false
}
