package mail

import (
	"strings"
	"unicode/utf8"
)

// doubts collects the parts of a mail that a second reading may read better.
type doubts struct {
	doubt    bool
	declared []string // charsets of other parts and of words in the header
	texts    []byte   // a sample of text in undeclared charsets
	guess    string   // for the second reading: the likely charset found by the first one
}

const maxDeclared = 20

func (d *doubts) sample(b []byte) {
	d.doubt = true
	if room := maxSample - len(d.texts); room > 0 {
		d.texts = append(append(d.texts, b[:min(len(b), room)]...), '\n')
	}
}

func (d *doubts) declare(name string) {
	if name = normalCharset(name); len(d.declared) < maxDeclared && !undeclared(name) && !wide(name) {
		d.declared = append(d.declared, name)
	}
}

// likely returns the charset of texts that declare none: that of another part, if they can be in it, or otherwise the one
// that fits their bytes best.
func (d *doubts) likely() string {
	if len(d.texts) == 0 {
		return ""
	}
	for _, name := range d.declared {
		if fits(d.texts, name) {
			return name
		}
	}
	return guessCharset(d.texts)
}

// read decodes a text part.
func (p *parser) read(b []byte, charset string) (s string, known bool) {
	p.examine(b, charset)
	if p.closely {
		return readCharset(b, charset, p.guess)
	}
	return decodeCharset(b, charset)
}

// examine notes what a text part tells about the charset of the mail.
func (p *parser) examine(b []byte, charset string) {
	name := normalCharset(charset)
	p.declare(name)
	switch {
	case wideCharset(b, name) != nil:
		p.doubt = true
	case isSevenBit(b):
		p.doubt = p.doubt || escapes(b)
	case utf8.Valid(b):
		p.doubt = p.doubt || !undeclared(name)
	case undeclared(name), latinOne(name) && unlikelyWestern(b) && guessCharset(b) != "":
		p.sample(b)
	}
}

// unlikelyWestern reports whether a text labelled as Western does not look like one, or has Polish letters, which are signs
// in that charset ("otrzyma³em"), or letters of another language.
func unlikelyWestern(b []byte) bool {
	b = b[:min(len(b), maxSample)]
	if western(b) < surely || byLetters(b) != "" {
		return true
	}
	for i := 1; i+1 < len(b); i++ {
		if strings.IndexByte("\xb3\xbf\xb6\xb1\xb9\xbc", b[i]) >= 0 && asciiLetter(b, i-1) && asciiLetter(b, i+1) {
			return true
		}
	}
	return false
}

// doubtHeader looks for raw bytes in the fields that people read, and for words whose charset does not define them.
func (p *parser) doubtHeader() {
	h := &p.msg.Header
	for _, name := range []string{"Subject", "From", "To", "Cc", "Reply-To", "Sender"} {
		for _, value := range h.RawValues(name) {
			if !utf8.ValidString(value) {
				p.sample([]byte(value[:min(len(value), maxSample)]))
			}
			p.doubtWords(value)
		}
	}
}

func (p *parser) doubtWords(s string) {
	for range 200 {
		i := strings.Index(s, "=?")
		if i < 0 {
			return
		}
		set, data, n := encodedWord(s[i:])
		switch name := normalCharset(set); {
		case n == 0:
			n = 2
		case !undeclared(name):
			p.declare(name)
		case lookupCharset(name) == nil && name != "" && !utf8.Valid(data):
			p.sample(data)
		}
		s = s[i+n:]
	}
}
