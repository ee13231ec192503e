package imap

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
)

// guard filters the decrypted connection for the client library: it passes only responses to the library's own commands, in
// their proper form. The library recurses into nested lists until the stack is full, spins on a parenthesis among
// capabilities, and reads beyond the end of a line in search of a quote or a bracket; a server must not be able to trigger
// any of these.
//
//   - Status lines, capabilities, EXISTS, and FETCH with the attributes of fetchValue pass.
//   - Results of a search are collected here: see [found].
//   - All other untagged data, which a server may send at any time, is dropped.
//
// The content of a mail always passes: it is a literal, and only a response to FETCH can have one, with the requested size.
type guard struct {
	net.Conn
	refuse func(error)
	r      *bufio.Reader // its buffer is the longest line

	most   atomic.Int64          // maximum bytes of a literal; 0 if no mail was requested
	result atomic.Pointer[found] // of the search in progress; nil for none

	out     []byte // for the library, in the buffer of r
	literal int64  // bytes that pass after out
	within  func(line []byte, whole bool) error
	err     error
	skip    int64 // bytes of a literal in dropped data
	body    bool  // the answer to FETCH has a section already
}

// maxLine is the longest line passed to the library; collected or dropped ones may be longer.
const maxLine = 64 << 10

func newGuard(conn net.Conn, refuse func(error)) *guard {
	return &guard{Conn: conn, refuse: refuse, r: bufio.NewReaderSize(conn, maxLine)}
}

// Read implements net.Conn.
func (g *guard) Read(b []byte) (int, error) {
	for {
		switch {
		case len(g.out) > 0:
			n := copy(b, g.out)
			g.out = g.out[n:]
			return n, nil
		case g.literal > 0:
			n, err := g.r.Read(b[:min(int64(len(b)), g.literal)])
			g.literal -= int64(n)
			return n, err
		case g.err != nil:
			return 0, g.err
		}
		if g.err = g.next(); errors.Is(g.err, ErrProtocol) || errors.Is(g.err, ErrTooMuch) {
			g.refuse(g.err)
		}
	}
}

// next reads a line, or part of a line longer than the buffer, and decides how to handle it.
func (g *guard) next() error {
	for g.skip > 0 {
		n, err := g.r.Discard(int(min(g.skip, maxLine)))
		g.skip -= int64(n)
		if err != nil {
			return err
		}
	}
	line, err := g.r.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	whole := err == nil
	if g.within != nil {
		return g.within(line, whole)
	}
	return g.firstPart(line, whole)
}

// firstPart handles the first part of a response.
func (g *guard) firstPart(line []byte, whole bool) error {
	untagged, ok := bytes.CutPrefix(line, []byte("* "))
	if !ok {
		if line[0] == '*' {
			return ErrProtocol
		}
		_, status, _ := bytes.Cut(line, []byte(" ")) // a tag, or a + and then any text
		return g.pass(line, whole, line[0] == '+' || codeIsClosed(status))
	}
	kind, rest := word(untagged)
	numbered := kind != "" && kind[0] >= '0' && kind[0] <= '9'
	if numbered {
		kind, rest = word(rest)
	}
	switch {
	case numbered && kind == "EXISTS":
		return g.pass(line, whole, true)
	case numbered && kind == "FETCH":
		g.body = false
		return g.fetch(line, bytes.TrimPrefix(rest, []byte("(")), whole && bytes.HasPrefix(rest, []byte("(")))
	case numbered:
	case kind == "OK", kind == "NO", kind == "BAD", kind == "BYE", kind == "PREAUTH":
		return g.pass(line, whole, codeIsClosed(untagged))
	case kind == "CAPABILITY", kind == "ENABLED":
		return g.pass(line, whole, !bytes.Contains(line, []byte("(")))
	case kind == "SEARCH":
		return g.collect((&searchResult{}).read)(rest, whole)
	case kind == "ESEARCH":
		return g.collect((&esearchResult{}).read)(rest, whole)
	}
	return g.drop(line, whole)
}

// pass passes a complete, well-formed line to the library.
func (g *guard) pass(line []byte, whole, ok bool) error {
	switch {
	case !whole:
		return ErrTooMuch
	case !ok:
		return ErrProtocol
	}
	g.out = line
	return nil
}

// drop drops a response with its literals.
func (g *guard) drop(line []byte, whole bool) error {
	if g.within = nil; !whole {
		g.within = g.drop
		return nil
	}
	if size, ok := literalAtEnd(line); ok {
		g.skip, g.within = size, g.drop
	}
	return nil
}

// collect parses the numbers of a search, and keeps them if one is in progress.
func (g *guard) collect(read func(to *found, part []byte) error) func(part []byte, whole bool) error {
	to := g.result.Load()
	if to == nil {
		to = new(found)
	}
	var take func(part []byte, whole bool) error
	take = func(part []byte, whole bool) error {
		if g.within = nil; !whole {
			g.within = take
		}
		return read(to, part)
	}
	return take
}

// fetch parses the attributes in part of a FETCH response. After a literal the response continues in the next line.
func (g *guard) fetch(line, attributes []byte, whole bool) error {
	if !whole {
		if len(line) == maxLine {
			return ErrTooMuch
		}
		return ErrProtocol
	}
	g.within = nil
	for len(attributes) > 0 && attributes[0] != ')' {
		rest, size, err := g.attribute(attributes)
		if err != nil {
			return err
		}
		if size >= 0 {
			g.out, g.literal = line, size
			g.within = func(line []byte, whole bool) error {
				return g.fetch(line, bytes.TrimPrefix(line, []byte(" ")), whole)
			}
			return nil
		}
		attributes = bytes.TrimPrefix(rest, []byte(" "))
	}
	if end, ok := bytes.CutPrefix(attributes, []byte(")")); !ok || !atEnd(end) {
		return ErrProtocol
	}
	g.out = line
	return nil
}

// attribute parses one attribute and its value: a requested one, or one that a server may send unsolicited (RFC 9051,
// section 7.5.2; RFC 7162, section 3.1). size is that of the literal after the line, -1 if there is none.
func (g *guard) attribute(b []byte) (rest []byte, size int64, err error) {
	end := bytes.IndexAny(b, " [(\r\n")
	if end < 0 || end > len("INTERNALDATE") {
		return nil, 0, ErrProtocol
	}
	name, value, ok := string(bytes.ToUpper(b[:end])), bytes.TrimPrefix(b[end:], []byte(" ")), false
	switch name {
	case "UID", "RFC822.SIZE":
		rest = bytes.TrimLeft(value, "0123456789")
		ok = len(rest) < len(value)
	case "INTERNALDATE":
		if value, ok = bytes.CutPrefix(value, []byte(`"`)); ok {
			rest, ok = endOfQuoted(value)
		}
	case "FLAGS", "MODSEQ":
		var list []byte
		list, rest, ok = bytes.Cut(value, []byte(")"))
		ok = ok && bytes.HasPrefix(list, []byte("(")) && !bytes.ContainsAny(list[1:], "({\"\r\n")
	case "BODY":
		if g.body { // only one section at a time is requested
			return nil, 0, ErrProtocol
		}
		g.body = true
		return g.section(value)
	}
	if !ok {
		return nil, 0, ErrProtocol
	}
	return rest, -1, nil
}

// section parses a message's section, from its bracket on.
func (g *guard) section(b []byte) (rest []byte, size int64, err error) {
	name, rest, ok := bytes.Cut(b, []byte("]"))
	if name := string(bytes.ToUpper(name)); !ok || name != "[" && name != "[HEADER" {
		return nil, 0, ErrProtocol
	}
	if origin, ok := bytes.CutPrefix(rest, []byte("<")); ok {
		rest = bytes.TrimPrefix(bytes.TrimLeft(origin, "0123456789"), []byte(">"))
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(" ")); !ok {
		return nil, 0, ErrProtocol
	}
	if after, ok := bytes.CutPrefix(rest, []byte("NIL")); ok {
		return after, -1, nil
	}
	if quoted, ok := bytes.CutPrefix(rest, []byte(`"`)); ok {
		after, ok := endOfQuoted(quoted)
		if !ok {
			return nil, 0, ErrProtocol
		}
		return after, -1, nil
	}
	if size, ok = literalAtEnd(rest); !ok || rest[0] != '{' {
		return nil, 0, ErrProtocol
	}
	switch most := g.most.Load(); {
	case most == 0:
		return nil, 0, ErrProtocol
	case size > most:
		return nil, 0, ErrTooMuch
	}
	return nil, size, nil
}

// endOfQuoted returns the rest after a quoted string, given from after its first quote. The string ends in the same line.
func endOfQuoted(b []byte) (rest []byte, ok bool) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			return b[i+1:], true
		case '\\':
			i++
		}
	}
	return nil, false
}

// literalAtEnd returns the size of the literal that a line announces (RFC 9051, section 4.3).
func literalAtEnd(line []byte) (size int64, ok bool) {
	text, ok := bytes.CutSuffix(bytes.TrimRight(line, "\r\n"), []byte("}"))
	open := bytes.LastIndexByte(text, '{')
	if !ok || open < 0 {
		return 0, false
	}
	size, err := strconv.ParseInt(string(bytes.TrimSuffix(text[open+1:], []byte("+"))), 10, 63)
	return size, err == nil && size >= 0
}

// codeIsClosed reports whether a status line's response code, if any, ends in the line. A list of capabilities has no
// parenthesis.
func codeIsClosed(status []byte) bool {
	_, text, _ := bytes.Cut(status, []byte(" "))
	code, ok := bytes.CutPrefix(text, []byte("["))
	if !ok {
		return true
	}
	code, _, ok = bytes.Cut(code, []byte("]"))
	name, list := word(code)
	return ok && name != "" && (name != "CAPABILITY" || !bytes.Contains(list, []byte("(")))
}

// word returns the first word of b in capitals, "" if there is none, and the rest after it and a space.
func word(b []byte) (name string, rest []byte) {
	end := bytes.IndexAny(b, " \r\n")
	if end < 0 {
		end = len(b)
	}
	for _, c := range b[:end] {
		if c <= ' ' || c > '~' || bytes.IndexByte([]byte(`(){}[]%*"\`), c) >= 0 {
			return "", b
		}
	}
	return string(bytes.ToUpper(b[:end])), bytes.TrimPrefix(b[end:], []byte(" "))
}

func atEnd(b []byte) bool { return len(bytes.Trim(b, " \r\n")) == 0 }
