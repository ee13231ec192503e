package mail

import (
	"bytes"
	"strings"
)

// transferLabel returns a Content-Transfer-Encoding without comments and parameters, in lower case.
func transferLabel(raw string) string {
	label := uncommented(bounded(raw))
	if i := strings.IndexAny(label, ";,"); i > 0 {
		label = label[:i]
	}
	return strings.ToLower(strings.Trim(label, " \t\r\n;\"'"))
}

// decoded undoes the transfer encoding of a part that is no multipart.
func (p *parser) decoded(e *entity) (body []byte, ok bool) {
	label := bounded(e.h.Get("Content-Transfer-Encoding"))
	former := func() ([]byte, bool) { return decodeTransfer(e.body, label) }
	if !p.closely {
		body, ok = former()
		if !p.doubt && (strings.Contains(label, "(") || strings.HasPrefix(e.ctype, "message/") || !ok || interrupted(e.body)) {
			careful, _ := p.decodedClosely(e, transferLabel(label))
			p.doubt = !bytes.Equal(body, careful)
		}
		return body, ok
	}
	return p.decodedClosely(e, transferLabel(label))
}

func (p *parser) decodedClosely(e *entity, label string) (body []byte, ok bool) {
	if e.undone {
		return e.body, true
	}
	if label == "" && e.outer != "" && surelyEncoded(e.body, e.outer) {
		label = e.outer
	}
	if strings.HasPrefix(e.ctype, "message/") && encodes(label) && plainMessage(e.body, label) {
		return e.body, true
	}
	body, ok = decodeTransfer(e.body, label)
	if !isBase64Label(label) {
		return body, ok
	}
	text := strings.HasPrefix(e.ctype, "text/") && e.disposition != "attachment"
	charset := normalCharset(e.params["charset"])
	if ok && !interrupted(e.body) && (!text || wide(charset) || readable(body, charset)) {
		return body, true
	}
	if among, found := decodeAmongText(e.body, text, charset); found {
		p.msg.warn("text around base64")
		return among, true
	}
	return body, ok
}

func isBase64Label(label string) bool {
	switch label {
	case "base64", "base-64", "b":
		return true
	}
	return false
}

// encodes reports whether a label names an encoding that changes the bytes of a body.
func encodes(label string) bool {
	switch label {
	case "", "7bit", "8bit", "binary", "7-bit", "8-bit", "none":
		return false
	}
	return true
}

// containerBody returns the parts of a multipart with their boundary lines. RFC 2045 section 6.4 forbids to encode them: a
// label is void where boundary lines stand in the raw body. void is then the label, which the sender may have meant for the
// parts.
func (p *parser) containerBody(e *entity) (body []byte, void string) {
	raw := e.h.Get("Content-Transfer-Encoding")
	if !p.closely {
		if encodes(transferLabel(raw)) {
			p.doubt = true
		}
		if label := strings.ToLower(raw); label == "base64" || label == "quoted-printable" {
			p.msg.warn("encoded multipart")
			body, _ = decodeTransfer(e.body, label)
			return body, ""
		}
		return e.body, ""
	}
	label := transferLabel(raw)
	if label == "" {
		label = e.outer
	}
	if !encodes(label) {
		return e.body, ""
	}
	p.msg.warn("encoded multipart")
	boundary := e.params["boundary"]
	if boundary == "" {
		return e.body, label
	}
	parts, _ := p.split(e.body, boundary)
	if len(parts) > 0 && !quotedHeaders(parts, label) {
		return e.body, label
	}
	out, _ := decodeTransfer(e.body, label)
	if inner, _ := p.split(out, boundary); len(inner) > 0 || len(parts) == 0 && len(out) > 0 {
		e.undone = true
		return out, ""
	}
	return e.body, label
}

// quotedHeaders reports whether the headers of parts are quoted-printable themselves. Such an encoding leaves most boundary
// lines as they are, but no "=" of a parameter.
func quotedHeaders(parts [][]byte, label string) bool {
	if !isQuoted(label) {
		return false
	}
	found := false
	for _, part := range parts {
		switch quotedness(headerOf(part)) {
		case quotedNever:
			return false
		case quotedSurely:
			found = true
		}
	}
	return found
}

func isQuoted(label string) bool {
	return label == "quoted-printable" || label == "quotedprintable" || label == "q"
}

// headerOf returns the lines before the first blank one.
func headerOf(b []byte) []byte {
	for rest := b; len(rest) > 0; {
		line, after := cutLine(rest)
		if len(bytes.Trim(line, " \t\r")) == 0 {
			return b[:len(b)-len(rest)]
		}
		rest = after
	}
	return b
}

const (
	quotedMaybe  = iota // nothing in it tells
	quotedNever         // an "=" that begins no escape
	quotedSurely        // an escaped "=", and no other one
)

// quotedness tells from its equals signs whether a header is quoted-printable.
func quotedness(b []byte) int {
	out := quotedMaybe
	for i := bytes.IndexByte(b, '='); i >= 0; i = bytes.IndexByte(b, '=') {
		b = b[i+1:]
		if line, _ := cutLine(b); len(bytes.TrimRight(line[:min(len(line), 3)], " \t\r")) == 0 {
			continue
		}
		if len(b) < 2 {
			return quotedNever
		}
		switch v, hex := unhex(b[0], b[1]); {
		case !hex:
			return quotedNever
		case v == '=':
			out = quotedSurely
		}
	}
	return out
}

// plainMessage reports whether the body of a message part begins with header lines, so that its label is void.
func plainMessage(body []byte, label string) bool {
	rest := stripEnvelope(bytes.TrimLeft(body, " \t\r\n"))
	line, _ := cutLine(rest)
	if fieldName(line) == "" {
		return false
	}
	if !isQuoted(label) {
		return true
	}
	header := headerOf(rest)
	switch quotedness(header) {
	case quotedSurely:
		return false
	case quotedNever:
		return true
	}
	labelled := bytes.Contains(bytes.ToLower(header), []byte("content-transfer-encoding:"))
	return labelled || !surelyEncoded(rest, label)
}

// surelyEncoded reports whether a body is so certainly in an encoding that a label around it was meant for it.
func surelyEncoded(body []byte, label string) bool {
	switch {
	case isBase64Label(label):
		digits := bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return -1
			}
			return r
		}, bytes.TrimSpace(body))
		return len(digits) >= 16 && len(digits)%4 == 0 && pureBase64(digits)
	case isQuoted(label):
		return surelyQuoted(body)
	}
	return false
}

// surelyQuoted reports whether each "=" begins an escape, and one of them no address or sum would contain.
func surelyQuoted(b []byte) bool {
	sure := false
	for i := bytes.IndexByte(b, '='); i >= 0; i = bytes.IndexByte(b, '=') {
		b = b[i+1:]
		switch {
		case bytes.HasPrefix(b, []byte("\n")), bytes.HasPrefix(b, []byte("\r")):
			sure = true
			continue
		case len(b) < 2:
			return false
		}
		v, hex := unhex(b[0], b[1])
		if !hex {
			return false
		}
		sure = sure || v >= 0x80 && b[0] < 'a' && b[1] < 'a'
	}
	return sure
}

// pureBase64 reports whether b consists of digits of base64, with padding at its end at most.
func pureBase64(b []byte) bool {
	for i, c := range b {
		if _, digit := base64Value(c); !digit {
			rest := b[i:]
			return i > 0 && len(rest) <= 2 && len(bytes.Trim(rest, "=")) == 0
		}
	}
	return len(b) > 0
}
