package outbound

import (
	"fmt"
	"io"
	"time"
)

// inMemory is the size up to which a message is kept after measuring it; a larger one is composed again for every reader.
const inMemory = 1 << 20

// Mail is a composed message for a [Transport].
type Mail struct {
	MessageID string    // without angle brackets
	Date      time.Time // of the message, the same in every attempt
	Size      int64     // bytes
	EightBit  bool      // contains bytes above 127
	// Plain is the same message in ASCII, for relays without SMTPUTF8, which do not accept other characters in header fields;
	// nil: no other form.
	Plain *Mail
	// Variant distinguishes messages with the same Message-ID: it names the Bcc recipient of this copy. Empty: not such a copy.
	Variant string

	source io.WriterTo
	whole  []byte // nil for a large message
	seals  []byte // prepended header fields
}

// NewMail composes the message once to measure it, so that errors of composing appear before anything is sent. It returns
// the error of source, which must write the same each time.
func NewMail(messageID string, date time.Time, source io.WriterTo) (*Mail, error) {
	gauge := &gauge{}
	if _, err := source.WriteTo(gauge); err != nil {
		return nil, err
	}
	m := &Mail{MessageID: messageID, Date: date, Size: gauge.size, EightBit: gauge.eightBit, source: source}
	if gauge.size <= inMemory {
		m.whole = gauge.kept
	}
	return m, nil
}

// WriteTo writes the message with CRLF line endings. It returns an error if the length differs from Size, or an attachment
// cannot be read; the output is then incomplete.
func (m *Mail) WriteTo(w io.Writer) (int64, error) {
	before, err := w.Write(m.seals)
	if err != nil {
		return int64(before), err
	}
	var n int64
	if m.whole != nil {
		whole, failed := w.Write(m.whole)
		n, err = int64(whole), failed
	} else {
		n, err = m.source.WriteTo(w)
	}
	n += int64(before)
	if err == nil && n != m.Size {
		err = fmt.Errorf("outbound: the mail has %d bytes, and had %d before", n, m.Size)
	}
	return n, err
}

// gauge measures its input.
type gauge struct {
	size     int64
	eightBit bool
	kept     []byte
}

func (g *gauge) Write(b []byte) (int, error) {
	g.size += int64(len(b))
	for i := 0; i < len(b) && !g.eightBit; i++ {
		g.eightBit = b[i] > 127
	}
	if g.size <= inMemory {
		g.kept = append(g.kept, b...)
	} else {
		g.kept = nil
	}
	return len(b), nil
}
