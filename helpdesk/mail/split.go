package mail

import (
	"bufio"
	"bytes"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"
)

// stripEnvelope removes everything before the header that is not part of the mail: a byte order mark, mbox "From " lines and
// blank lines.
func stripEnvelope(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	for {
		rest := bytes.TrimLeft(raw, "\r\n\x00")
		line, after := cutLine(rest)
		if fieldName(line) != "" {
			return rest
		}
		if bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From ")) {
			raw = after
			continue
		}
		return raw
	}
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// Tidy prepares a mail for prepending header fields: it removes a byte order mark, mbox "From " lines and blank lines before
// its header, and replaces bare carriage returns by newlines. It returns raw itself if nothing needs to change.
func Tidy(raw []byte) []byte {
	raw = bytes.TrimPrefix(fromUTF16(raw), byteOrderMark)
	for rest := raw; ; {
		rest = bytes.TrimLeft(rest, "\r\n\x00")
		line := rest
		if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
			line = rest[:end]
		}
		switch {
		case bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From ")):
			rest = rest[len(line):]
			continue
		case knownField(line):
			raw = rest // otherwise there is no header, and the blank line that marks this must stay
		}
		return newlines(raw)
	}
}

// newlines replaces bare carriage returns used as newlines.
func newlines(raw []byte) []byte {
	if !bareReturns(raw) {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(raw)/32)
	for i, c := range raw {
		switch {
		case c != '\r':
			out = append(out, c)
		case i+1 == len(raw) || raw[i+1] != '\n':
			out = append(out, '\r', '\n')
		default:
			out = append(out, '\r')
		}
	}
	return out
}

// bareReturns reports whether bare carriage returns end the lines of the header. The first line, split at newlines, then
// contains more than one field, or the whole mail; or the last one does, if servers have prepended their own fields.
func bareReturns(raw []byte) bool {
	first := true
	for len(raw) > 0 {
		line, rest := cutLine(raw)
		if len(bytes.TrimRight(line, "\r")) == 0 {
			return false
		}
		if severalFields(line) && (first || bytes.Contains(line, []byte("\r\r")) || len(rest) == 0) {
			return true
		}
		raw, first = rest, false
	}
	return false
}

// doubledReturns reports whether lines of the header end with CR CR LF, as some programs write that convert newlines twice.
func doubledReturns(raw []byte) bool {
	return bytes.Contains(headerOf(raw), []byte("\r\r\n"))
}

// singleReturns makes one line end of any number of carriage returns before a newline.
func singleReturns(b []byte) []byte {
	if !bytes.Contains(b, []byte("\r\r\n")) {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return append(out, b...)
		}
		line := bytes.TrimRight(b[:i], "\r")
		out = append(out, line...)
		out = append(out, b[max(len(line), i-1):i+1]...)
		b = b[i+1:]
	}
	return out
}

// severalFields reports whether a line contains a header field and, after a carriage return, a possible continuation.
func severalFields(line []byte) bool {
	first, rest, found := bytes.Cut(bytes.TrimRight(line, "\r"), []byte("\r"))
	if !found || fieldName(first) == "" {
		return false
	}
	second, _, _ := bytes.Cut(rest, []byte("\r"))
	return len(second) == 0 || second[0] == ' ' || second[0] == '\t' || fieldName(second) != ""
}

// fromUTF16 converts a whole mail that was saved as UTF-16.
func fromUTF16(raw []byte) []byte {
	if len(raw) < 4 || !(raw[0] == 0xFF && raw[1] == 0xFE || raw[0] == 0xFE && raw[1] == 0xFF) {
		return raw
	}
	out, err := wideCharset(raw, "utf-16").NewDecoder().Bytes(raw)
	if err != nil {
		return raw
	}
	return out
}

// cutLine splits off the first line of b, without its newline.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.TrimSuffix(b, []byte("\r")), nil
	}
	return bytes.TrimSuffix(b[:i], []byte("\r")), b[i+1:]
}

// fieldName returns the name of the header field in a line, "" if there is none.
func fieldName(line []byte) string {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i > 200 {
		return ""
	}
	if bytes.HasPrefix(line[i:], []byte("://")) {
		return ""
	}
	name := bytes.TrimRight(line[:i], " \t")
	for _, c := range name {
		if c <= 32 || c >= 127 {
			return ""
		}
	}
	return string(name)
}

// withoutSpace returns a field's line without the white space that may precede its colon (RFC 5322 section 4.5).
func withoutSpace(line []byte) []byte {
	name := fieldName(line)
	if line[len(name)] == ':' {
		return line
	}
	return slices.Concat([]byte(name), line[bytes.IndexByte(line, ':'):])
}

// knownField reports whether a line is so certainly a header field that invalid lines before it must be inside a header.
func knownField(line []byte) bool {
	name := strings.ToLower(fieldName(line))
	switch name {
	case "received", "from", "to", "cc", "bcc", "subject", "date", "sender", "reply-to", "message-id",
		"in-reply-to", "references", "mime-version", "return-path", "delivered-to", "precedence", "dkim-signature":
		return true
	}
	return strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "content-") || strings.HasPrefix(name, "list-")
}

// splitHeader splits an entity into header and body. Invalid lines are dropped if more header follows; otherwise the body
// begins there.
func (p *parser) splitHeader(raw []byte) (textproto.Header, []byte, error) {
	var block bytes.Buffer
	rest, started, empty := raw, false, false
	for len(rest) > 0 {
		line, after := cutLine(rest)
		if len(bytes.Trim(line, "\r")) == 0 {
			rest = after
			break
		}
		if bytes.HasPrefix(line, byteOrderMark) { // fields were prepended in transit
			p.doubt = true
			if p.closely {
				line = line[len(byteOrderMark):]
			}
		}
		switch {
		case empty && unfolded(line):
			writeFieldLine(&block, append([]byte(" "), line...))
		case (line[0] == ' ' || line[0] == '\t') && started:
			if len(bytes.TrimSpace(line)) > 0 {
				writeFieldLine(&block, line)
			}
		case fieldName(line) != "":
			started = true
			writeFieldLine(&block, withoutSpace(line))
		case strayDashes(line) && p.dashesBeforeHeader(after):
		case !bytes.HasPrefix(line, []byte("--")) && p.headerGoesOn(after):
			p.msg.warn("a line in a header is no header field")
			// Continuations of a dropped line are dropped, too.
			for len(after) > 0 && (after[0] == ' ' || after[0] == '\t') {
				_, after = cutLine(after)
			}
		default:
			p.msg.warn("no blank line between header and body")
			h, err := p.readFields(&block)
			return h, rest, err
		}
		empty = bytes.HasSuffix(bytes.TrimRight(line, " \t"), []byte(":"))
		rest = after
		if int64(len(raw)-len(rest)) > p.limits.HeaderBytes {
			return textproto.Header{}, nil, &LimitError{What: LimitHeader, Limit: p.limits.HeaderBytes}
		}
	}
	h, err := p.readFields(&block)
	return h, rest, err
}

// unfolded reports whether the line is the value of the empty field above it and has lost its leading space. Exchange does
// so with the long values of its own fields.
func unfolded(line []byte) bool {
	return len(line) > 60 && line[0] > ' ' && fieldName(line) == "" && !bytes.HasPrefix(line, []byte("--")) &&
		bytes.IndexByte(line, ' ') < 0
}

// writeFieldLine appends a line; a CR or NUL inside it could end or hide a field later.
func writeFieldLine(block *bytes.Buffer, line []byte) {
	start := block.Len()
	block.Write(line)
	b := block.Bytes()[start:]
	for i, c := range b {
		if c == '\r' || c == 0 {
			b[i] = ' '
		}
	}
	block.WriteString("\r\n")
}

// strayDashes reports whether a line has dashes but no boundary.
func strayDashes(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	return len(line) >= 2 && len(bytes.Trim(line, "-")) == 0
}

// dashesBeforeHeader reports whether a well-known field follows a line of dashes.
func (p *parser) dashesBeforeHeader(rest []byte) bool {
	if p.closely && p.headerGoesOn(rest) {
		return true
	}
	for range 20 {
		var line []byte
		if line, rest = cutLine(rest); !strayDashes(line) {
			p.doubt = p.doubt || fieldName(line) != ""
			break
		}
	}
	return false
}

// headerGoesOn looks for a well-known field before the next blank line. Both the look-ahead and the number of calls are
// bounded.
func (p *parser) headerGoesOn(rest []byte) bool {
	p.junk++
	if p.junk > 1000 {
		return false
	}
	for range 20 {
		line, after := cutLine(rest)
		if len(line) == 0 || bytes.HasPrefix(line, []byte("--")) && !(p.closely && strayDashes(line)) {
			return false
		}
		if knownField(line) {
			return true
		}
		rest = after
	}
	return false
}

func (p *parser) readFields(block *bytes.Buffer) (textproto.Header, error) {
	block.WriteString("\r\n")
	h, err := textproto.ReadHeader(bufio.NewReaderSize(block, 1024))
	if err != nil {
		p.msg.warn("a header could not be read to its end")
	}
	return h, nil
}

// delimiter is a boundary line: it begins at, and what follows it begins after.
type delimiter struct {
	at, after int
	final     bool
}

// nextDelimiter finds the first boundary line from pos on. A longer boundary is that of another multipart.
func nextDelimiter(body, delim []byte, pos int) (d delimiter, found bool) {
	for {
		i := bytes.Index(body[pos:], delim)
		if i < 0 {
			return delimiter{}, false
		}
		at := pos + i
		pos = at + len(delim)
		if at > 0 && body[at-1] != '\n' {
			continue
		}
		tail, after := cutLine(body[pos:])
		tail, final := bytes.CutPrefix(tail, []byte("--"))
		if len(bytes.TrimRight(tail, " \t\r")) == 0 {
			return delimiter{at, len(body) - len(after), final}, true
		}
	}
}

// splitMultipart splits the body of a multipart entity at its boundary lines (RFC 2046 section 5.1). If the final boundary
// is missing, the last part ends with the body. A boundary that never occurs gives no parts.
func splitMultipart(body []byte, boundary string, maxParts int) (parts [][]byte, closed bool) {
	delim := []byte("--" + boundary)
	start := -1
	for pos := 0; ; {
		d, found := nextDelimiter(body, delim, pos)
		if !found {
			break
		}
		if start >= 0 {
			parts = append(parts, trimNewline(body[start:d.at]))
			if len(parts) > maxParts {
				return parts, true
			}
		}
		if d.final {
			return parts, true
		}
		if pos, start = d.after, d.after; start == len(body) {
			return parts, false
		}
	}
	if start >= 0 {
		parts = append(parts, body[start:])
	}
	return parts, false
}

// splitNested is splitMultipart for a body that has more boundary lines than its own: of a multipart inside of it that uses
// the same boundary, or of parts that were added behind the final boundary.
func splitNested(body []byte, boundary string, maxParts int) (parts [][]byte, closed bool) {
	delim := []byte("--" + boundary)
	start, depth, message := -1, 0, false
	for last := 0; ; {
		d, found := nextDelimiter(body, delim, last)
		if !found {
			break
		}
		segment := body[last:d.at]
		last = d.after
		if start >= 0 && !d.final {
			if declared, attached := declares(segment, boundary); declared {
				depth++
				message = message || attached
				continue
			}
		}
		switch {
		case depth > 0 && d.final:
			depth--
			continue
		case depth > 0:
			continue
		case start >= 0:
			parts = append(parts, trimNewline(body[start:d.at]))
			if len(parts) > maxParts {
				return parts, true
			}
		}
		start, closed = d.after, d.final
		if d.final || start == len(body) {
			start = -1
		}
	}
	if message && (depth > 0 || start >= 0) {
		return splitMultipart(body, boundary, maxParts) // the attached mail is not whole
	}
	if start >= 0 {
		parts = append(parts, body[start:])
	}
	return parts, closed
}

// declares reports whether a header in a piece of a multipart declares another multipart with the boundary, and whether that
// is the header of an attached mail.
func declares(segment []byte, boundary string) (declared, attached bool) {
	if !bytes.Contains(segment, []byte(boundary)) {
		return false, false
	}
	header, message, inMessage := true, false, false
	var value []byte
	end := func() bool {
		ctype, params := parseParams(strings.ReplaceAll(string(value), "=3D", "="), "") // it may be encoded
		value = nil
		message = message || strings.HasPrefix(ctype, "message/")
		return strings.HasPrefix(ctype, "multipart/") && params["boundary"] == boundary
	}
	for rest := segment; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		blank := len(bytes.TrimRight(line, " \t\r")) == 0
		switch {
		case !header:
			if bytes.HasPrefix(line, []byte("--")) && len(bytes.TrimSpace(line)) > 2 {
				header, message, inMessage = true, false, false
			}
			continue
		case !blank && (line[0] == ' ' || line[0] == '\t') && value != nil:
			if len(value) < 16<<10 {
				value = append(append(value, ' '), line...)
			}
			continue
		}
		if value != nil && end() {
			preamble := rest[len(headerOf(rest)):]
			if blank {
				preamble = rest
			}
			// Its own boundary lines must not be hidden by an encoding.
			escaped := "--" + strings.ReplaceAll(boundary, "=", "=3D")
			hidden := strings.Contains(boundary, "=") && bytes.Contains(preamble, []byte(escaped))
			return !hidden && !surelyEncoded(preamble, "base64"), inMessage
		}
		if blank {
			header, message, inMessage = message, false, message
		} else if strings.EqualFold(fieldName(line), "Content-Type") {
			_, after, _ := bytes.Cut(line, []byte(":"))
			value = bytes.Clone(after)
		}
	}
	return value != nil && end(), inMessage
}

// split splits a multipart. The second reading finds the parts behind boundary lines that are used twice.
func (p *parser) split(body []byte, boundary string) (parts [][]byte, closed bool) {
	if p.closely {
		return splitNested(body, boundary, p.limits.Parts)
	}
	parts, closed = splitMultipart(body, boundary, p.limits.Parts)
	if !p.doubt {
		nested, _ := splitNested(body, boundary, p.limits.Parts)
		p.doubt = !slices.EqualFunc(parts, nested, func(a, b []byte) bool { return len(a) == len(b) })
	}
	return parts, closed
}

// trimNewline removes the one newline that belongs to the boundary after it.
func trimNewline(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}
