package pop3

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

const (
	maxLine    = 8 << 10 // of a reply and of a line of a list; RFC 2449 has 512
	maxEntries = 1 << 20 // of a list
)

// line reads one line, without its end.
func line(r *bufio.Reader) (string, error) {
	text, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(text) > maxLine:
		return "", wire.ErrTooMuch
	case errors.Is(err, io.EOF):
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// reply reads a response's first line, and returns the text of a positive one. A rejection is a *wire.ReplyError.
func reply(r *bufio.Reader) (string, error) {
	text, err := line(r)
	if err != nil {
		return "", err
	}
	status, rest, _ := strings.Cut(text, " ")
	switch strings.ToUpper(status) {
	case "+OK":
		return rest, nil
	case "-ERR":
		return "", refusal(rest)
	}
	return "", wire.ErrProtocol
}

// refusal parses the text of a rejection (RFC 2449, section 8; RFC 3206).
func refusal(text string) *wire.ReplyError {
	e := &wire.ReplyError{Status: "-ERR"}
	if strings.HasPrefix(text, "[") {
		if code, rest, ok := strings.Cut(text[1:], "]"); ok && !strings.ContainsAny(code, " [") {
			e.Code, text = strings.ToUpper(code), strings.TrimLeft(rest, " ")
		}
	}
	e.Text = wire.Short(text)
	switch e.Code {
	case "IN-USE", "LOGIN-DELAY", "SYS/TEMP":
		e.Temporary = true
	}
	return e
}

// challenge reads a server's response within a login (RFC 5034, section 4): a challenge, or the end.
func challenge(r *bufio.Reader) (text []byte, done bool, err error) {
	answer, err := line(r)
	if err != nil {
		return nil, false, err
	}
	status, rest, _ := strings.Cut(answer, " ")
	switch strings.ToUpper(status) {
	case "+OK":
		return nil, true, nil
	case "-ERR":
		return nil, true, refusal(rest)
	case "+":
		if text, err = base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err != nil {
			return nil, false, wire.ErrProtocol
		}
		return text, false, nil
	}
	return nil, false, wire.ErrProtocol
}

// list reads the lines of a response up to the terminating dot, and passes each to one.
func list(r *bufio.Reader, one func(text string) error) error {
	for range maxEntries {
		text, err := line(r)
		if err != nil {
			return err
		}
		if text == "." {
			return nil
		}
		if err := one(strings.TrimPrefix(text, ".")); err != nil {
			return err
		}
	}
	return wire.ErrTooMuch
}

// numbered splits a line of UIDL or LIST into the message's number and its value. Some servers append more.
func numbered(text string) (number int, about string, err error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0, "", wire.ErrProtocol
	}
	number, err = strconv.Atoi(fields[0])
	if err != nil || number < 1 {
		return 0, "", wire.ErrProtocol
	}
	return number, fields[1], nil
}

// body reads a message up to CRLF "." CRLF and removes dot-stuffing (RFC 1939, section 3). Everything else is unchanged,
// including bare CR and LF, since signatures depend on it. It stops reading a message larger than most.
func body(r *bufio.Reader, size, most int64) ([]byte, error) {
	var raw bytes.Buffer
	raw.Grow(int(min(size, most, 1<<20)) + bytes.MinRead) // no more than a little ahead of the bytes
	lineStart := true                                     // the previous bytes are CRLF
	for {
		piece, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if lineStart && string(piece) == ".\r\n" {
			return raw.Bytes(), nil
		}
		// A line that is longer than the buffer may be cut between CR and LF.
		crlf := bytes.HasSuffix(piece, []byte("\r\n")) || string(piece) == "\n" && !lineStart && bytes.HasSuffix(raw.Bytes(), []byte("\r"))
		if lineStart && piece[0] == '.' {
			piece = piece[1:]
		}
		lineStart = crlf
		if int64(raw.Len()+len(piece)) > most {
			return nil, wire.ErrTooMuch
		}
		raw.Write(piece)
	}
}
