package imap

import (
	"bytes"
	"net"
)

// guard stands between the connection, decrypted, and the client library. A list of capabilities with a parenthesis in
// it, which no server may send (RFC 9051, section 9: capability), makes the library's reader spin for ever, and nothing
// can stop it then: such an answer ends the connection before the library sees it.
//
// It follows the lines of the server. Only within an answer to FETCH does it know literals: there the text of a mail must
// pass whatever it says, and elsewhere a server could hide a line behind the pretence of one.
type guard struct {
	net.Conn
	refuse func(error)

	head    []byte // the first bytes of the line, in capitals
	matched int    // how much of respCode has just been read
	inCode  bool   // within a [CAPABILITY ...]
	quoted  bool   // in an answer to FETCH, within a quoted string
	escaped bool   // after a backslash in it
	digits  int    // 1 + the digits of a literal's length that is being read; 0: none is
	length  int64  // of that literal
	closed  bool   // its brace is closed
	skip    int64  // bytes of the literal that are still to come
}

const respCode = "[CAPABILITY"

const headBytes = 20 // * 4294967295 FETCH (

// Read implements net.Conn.
func (g *guard) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	for i := 0; i < n; {
		if g.skip > 0 {
			literal := min(g.skip, int64(n-i))
			g.skip -= literal
			i += int(literal)
			continue
		}
		if !g.next(b[i]) {
			g.refuse(ErrProtocol)
			return 0, ErrProtocol
		}
		i++
	}
	return n, err
}

// next follows one byte outside of literals; it returns false for what the library must not see.
func (g *guard) next(c byte) bool {
	if c == '\n' {
		return g.endLine()
	}
	if len(g.head) < headBytes {
		g.head = append(g.head, upper(c))
	}
	if c == '(' && (g.inCode || bytes.HasPrefix(g.head, []byte("* CAPABILITY")) || bytes.HasPrefix(g.head, []byte("* ENABLED"))) {
		return false
	}
	switch {
	case g.inCode:
		g.inCode = c != ']'
	case upper(c) == respCode[g.matched]:
		g.matched++
		if g.matched == len(respCode) {
			g.inCode, g.matched = true, 0
		}
	case c == '[':
		g.matched = 1
	default:
		g.matched = 0
	}
	if g.isFetch() {
		g.follow(c)
	}
	return true
}

// follow looks for strings and literals in an answer to FETCH.
func (g *guard) follow(c byte) {
	switch {
	case g.escaped:
		g.escaped = false
	case g.quoted && c == '\\':
		g.escaped = true
	case c == '"':
		g.quoted = !g.quoted
		g.digits = 0
	case g.quoted:
	case c == '{':
		g.digits, g.length, g.closed = 1, 0, false
	case c == '\r' && g.closed:
	case g.digits > 0 && !g.closed && c >= '0' && c <= '9' && g.digits <= 18:
		g.digits++
		g.length = g.length*10 + int64(c-'0')
	case g.digits > 1 && !g.closed && c == '}':
		g.closed = true
	default:
		g.digits, g.closed = 0, false
	}
}

func (g *guard) endLine() bool {
	if g.isFetch() {
		if g.quoted { // no string goes on in the next line
			return false
		}
		if g.closed {
			g.skip, g.digits, g.closed, g.matched, g.inCode = g.length, 0, false, 0, false
			return true // the same answer goes on after the literal
		}
	}
	g.head, g.matched, g.inCode, g.digits, g.closed = g.head[:0], 0, false, 0, false
	return true
}

// isFetch tells whether the line is "* number FETCH ...".
func (g *guard) isFetch() bool {
	rest, ok := bytes.CutPrefix(g.head, []byte("* "))
	if !ok {
		return false
	}
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	return digits > 0 && bytes.HasPrefix(rest[digits:], []byte(" FETCH"))
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
