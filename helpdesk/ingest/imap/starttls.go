package imap

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// startTLS sends STARTTLS on a new connection (RFC 9051, section 6.2.1). The client library could do so, but would then read
// the following bytes without the guard.
//
// Bytes after the server's OK belong to the handshake; see [wire.ReadLine].
func startTLS(conn net.Conn) error {
	greeting, err := wire.ReadLine(conn)
	if err != nil {
		return err
	}
	if !hasWord(greeting, "* OK") { // PREAUTH as well: the connection could no longer be secured
		return replyOf(greeting)
	}
	if _, err := io.WriteString(conn, "S1 STARTTLS\r\n"); err != nil {
		return err
	}
	for {
		line, err := wire.ReadLine(conn)
		switch {
		case err != nil:
			return err
		case hasWord(line, "S1 OK"):
			return nil
		case !strings.HasPrefix(line, "* ") || hasWord(line, "* BYE"):
			return replyOf(line)
		}
	}
}

func hasWord(line, word string) bool {
	return len(line) >= len(word) && strings.EqualFold(line[:len(word)], word) &&
		(len(line) == len(word) || line[len(word)] == ' ')
}

// replyOf converts an unexpected line to an error.
func replyOf(line string) error {
	_, rest, _ := strings.Cut(line, " ")
	status, text, _ := strings.Cut(rest, " ")
	switch status = strings.ToUpper(status); status {
	case "NO", "BAD", "BYE":
		return replyError(status, "", text)
	case "PREAUTH":
		return errors.Join(ErrProtocol, errors.New("the server has logged us in before the connection was secured"))
	}
	return ErrProtocol
}

// greetedConn starts with a greeting, for a client that expects the one sent before TLS.
type greetedConn struct {
	net.Conn
	sent int
}

const secondGreeting = "* OK secured\r\n"

// Read implements net.Conn.
func (c *greetedConn) Read(b []byte) (int, error) {
	if c.sent < len(secondGreeting) {
		n := copy(b, secondGreeting[c.sent:])
		c.sent += n
		return n, nil
	}
	return c.Conn.Read(b)
}
