package outbound

import (
	"fmt"
	"io"
	"time"
)

// inMemory is the size up to which a mail is kept after it was measured; a larger
// one is composed again for every reader.
const inMemory = 1 << 20

// Mail is a composed mail as a [Transport] takes it.
type Mail struct {
	MessageID string    // without angle brackets
	Date      time.Time // of the mail, the same in every try
	Size      int64     // bytes
	EightBit  bool      // some bytes are over 127
	// Plain is the same mail in ASCII, for relays that do not take addresses with
	// other characters in header fields (SMTPUTF8); nil: there is no other form.
	Plain *Mail
	// Variant tells apart mails with the same Message-ID: it names the hidden recipient
	// whose own copy this is. Empty: none of them.
	Variant string

	source io.WriterTo
	whole  []byte // nil for a large mail
	seals  []byte // header fields that go before it
}

// NewMail composes the mail once to measure it, so that what cannot be composed
// shows before anything is sent. The error is that of source, which has to write
// the same each time.
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

// WriteTo writes the mail with CR LF newlines. When its length is not Size it is an
// error, and so are those of opening and reading attachments; the mail is incomplete then.
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

// gauge measures what is written to it.
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
