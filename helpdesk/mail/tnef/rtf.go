package tnef

import (
	"encoding/binary"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// dictionary is the initial content of the window of a compressed RTF (MS-OXRTFCP section 2.1.2.1).
const dictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` +
	"\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// decompress decompresses an RTF body (MS-OXRTFCP), up to limit bytes.
func decompress(b []byte, limit int) (out []byte, ok bool) {
	if len(b) < 16 {
		return nil, false
	}
	raw, magic := uint64(binary.LittleEndian.Uint32(b[4:])), string(b[8:12])
	b = b[16:]
	switch magic {
	case "MELA":
		return b[:min(uint64(len(b)), raw, uint64(limit))], raw <= uint64(len(b))
	case "LZFu":
	default:
		return nil, false
	}
	want := int(min(raw, uint64(limit)))
	var window [4096]byte
	at := copy(window[:], dictionary)
	put := func(c byte) {
		out = append(out, c)
		window[at] = c
		at = (at + 1) % len(window)
	}
	for len(b) > 0 {
		control := b[0]
		b = b[1:]
		for bit := 0; bit < 8; bit++ {
			if len(out) >= want {
				return out[:want], raw == uint64(want)
			}
			if control>>bit&1 == 0 {
				if len(b) == 0 {
					return out, false
				}
				put(b[0])
				b = b[1:]
				continue
			}
			if len(b) < 2 {
				return out, false
			}
			token := binary.BigEndian.Uint16(b)
			b = b[2:]
			from, n := int(token>>4), int(token&0xF)+2
			if from == at {
				return out, len(out) == want // the end mark
			}
			for range n {
				put(window[from])
				from = (from + 1) % len(window)
			}
		}
	}
	return out[:min(len(out), want)], len(out) >= want && raw == uint64(want)
}

// readRTF returns the text of an RTF document, or the HTML that was converted to it and is enclosed in it (MS-OXRTFEX).
func readRTF(b []byte) (text, page string) {
	r := &rtf{in: b, charset: charmap.Windows1252}
	r.run()
	r.flush()
	out := clean(r.out.String())
	if r.html {
		return "", out
	}
	return strings.TrimSpace(out) + "\n", ""
}

// rtfState is the state that a group inherits and that is restored at its end.
type rtfState struct {
	skip   bool // a destination without text
	tag    bool // inside of \*\htmltag
	hidden bool // between \htmlrtf and \htmlrtf0
	uc     int  // bytes that represent a Unicode character for readers without support for it
}

const maxGroups = 200 // nested groups; deeper ones are read as if they were flat

type rtf struct {
	in      []byte
	charset encoding.Encoding
	out     strings.Builder
	state   rtfState
	stack   []rtfState
	deeper  int
	html    bool
	pending []byte   // bytes in the document's charset
	units   []uint16 // of \u
	swallow int      // bytes to leave out after a \u
	starred bool     // \* came
	first   bool     // nothing has occurred in this group yet
}

func (r *rtf) run() {
	r.state.uc = 1
	for len(r.in) > 0 {
		c := r.in[0]
		switch c {
		case '{':
			r.in = r.in[1:]
			r.openGroup()
		case '}':
			r.in = r.in[1:]
			r.end()
		case '\\':
			r.control()
		case '\r', '\n', 0:
			r.in = r.in[1:]
		default:
			r.in = r.in[1:]
			r.first, r.starred = false, false
			r.put(c)
		}
	}
}

func (r *rtf) openGroup() {
	if len(r.stack) >= maxGroups {
		r.deeper++
		return
	}
	r.stack = append(r.stack, r.state)
	r.first, r.starred, r.swallow = true, false, 0
}

func (r *rtf) end() {
	r.swallow = 0
	r.flush() // in the state in which it occurred
	if r.deeper > 0 {
		r.deeper--
		return
	}
	if n := len(r.stack); n > 0 {
		r.state, r.stack = r.stack[n-1], r.stack[:n-1]
	}
	r.first = false
}

// visible reports whether the next character is part of the text.
func (r *rtf) visible() bool { return !r.state.skip && !r.state.hidden }

// put adds one byte of text.
func (r *rtf) put(c byte) {
	if r.swallow > 0 {
		r.swallow--
		return
	}
	if !r.visible() {
		return
	}
	r.flushUnits()
	r.pending = append(r.pending, c)
}

// say writes text that is not in the document's charset.
func (r *rtf) say(s string) {
	if r.visible() {
		r.flush()
		r.out.WriteString(s)
	}
}

func (r *rtf) flush() {
	r.flushUnits()
	if len(r.pending) == 0 {
		return
	}
	s := string(r.pending)
	if out, err := r.charset.NewDecoder().Bytes(r.pending); err == nil {
		s = string(out)
	}
	r.pending = r.pending[:0]
	r.escape(s)
}

func (r *rtf) flushUnits() {
	if len(r.units) == 0 {
		return
	}
	s := string(utf16.Decode(r.units))
	r.units = r.units[:0]
	r.escape(s)
}

func (r *rtf) escape(s string) {
	if r.html && !r.state.tag {
		s = html.EscapeString(s)
	}
	r.out.WriteString(s)
}

// control reads a control word or symbol, which begins with a backslash.
func (r *rtf) control() {
	b := r.in[1:]
	if len(b) == 0 {
		r.in = nil
		return
	}
	if c := b[0] | 0x20; c < 'a' || c > 'z' {
		r.symbol(b)
		return
	}
	n := 0
	for n < len(b) && n < 40 && b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' {
		n++
	}
	word := string(b[:n])
	b = b[n:]
	n = 0
	for n < len(b) && n < 12 && (b[n] >= '0' && b[n] <= '9' || n == 0 && b[n] == '-') {
		n++
	}
	param, err := strconv.Atoi(string(b[:n]))
	hasParam := err == nil
	b = b[n:]
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	r.in = b
	r.word(word, param, hasParam)
	r.first, r.starred = false, false
}

func (r *rtf) symbol(b []byte) {
	c := b[0]
	r.in = b[1:]
	switch c {
	case '\'':
		if len(b) >= 3 {
			if v, err := strconv.ParseUint(string(b[1:3]), 16, 8); err == nil {
				r.put(byte(v))
			}
			r.in = b[3:]
		}
	case '*':
		r.starred = true
		return // the word after it names the kind of group
	case '\\', '{', '}':
		r.put(c)
	case '~':
		r.say("\u00A0")
	case '_':
		r.say("-")
	case '\r', '\n':
		r.lineBreak()
	}
	r.first = false
}

func (r *rtf) lineBreak() {
	if r.html && !r.state.tag {
		r.say("\r\n")
		return
	}
	r.say("\n")
}

func (r *rtf) word(word string, param int, hasParam bool) {
	switch word {
	case "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "footnote", "themedata", "listtable", "listoverridetable":
		r.state.skip = true
	case "htmltag":
		if r.html && r.starred {
			r.flush()
			r.state.tag, r.state.skip, r.state.hidden = true, false, false
			return
		}
		r.state.skip = true
	case "htmlrtf":
		r.flush()
		r.state.hidden = r.html && (!hasParam || param != 0)
	case "fromhtml":
		r.html = true
	case "ansicpg":
		if e := codepage(uint32(param)); e != nil {
			r.charset = e
		}
	case "uc":
		r.state.uc = max(0, min(param, 8))
	case "u":
		if r.visible() {
			r.flushPending()
			r.units = append(r.units, uint16(param))
		}
		r.swallow = r.state.uc
	case "par", "line", "sect", "page", "row":
		r.lineBreak()
	case "tab", "cell":
		r.say("\t")
	case "emdash", "endash", "bullet", "lquote", "rquote", "ldblquote", "rdblquote":
		r.say(map[string]string{"emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"}[word])
	default:
		if r.starred {
			r.state.skip = true
		}
	}
}

func (r *rtf) flushPending() {
	units := r.units
	r.units = nil
	r.flush()
	r.units = units
}
