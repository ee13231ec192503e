package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// Identity is a hash of what makes this mail itself: Message-ID, author, date, text
// and attachments. What servers and lists add on the way (Received, Delivered-To,
// List-*, Subject prefixes, other transfer encodings, newlines at the end) does not
// matter, so the copy from a list is the same mail; a reused Message-ID with other
// content is another mail. A list that writes a footer into the text makes another mail.
func (m *Message) Identity() [32]byte {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		_, _ = io.WriteString(h, s) // a hash takes everything
	}
	put("helpwright mail 1")
	put(m.MessageID)
	for _, a := range m.From {
		put(strings.ToLower(a.Email))
	}
	if m.Date.IsZero() {
		put(m.Header.Get("Date"))
	} else {
		put(m.Date.UTC().Format(time.RFC3339))
	}
	text, page, parts := m.Text, m.HTML, m.Attachments
	if m.sent != nil { // reading better tomorrow must not make it another mail
		text, page = m.sent.text, m.sent.html
		if m.sent.parts != nil {
			parts = m.sent.parts
		}
	}
	put(trimEnd(text))
	put(trimEnd(page))
	for _, a := range parts {
		body := a.Body
		if strings.HasPrefix(a.ContentType, "text/") || strings.HasPrefix(a.ContentType, "message/") {
			body = bytes.TrimRight(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), " \t\r\n")
		}
		sum := sha256.Sum256(body)
		put(string(sum[:]))
	}
	var out [32]byte
	h.Sum(out[:0])
	return out
}

func trimEnd(s string) string { return strings.TrimRight(s, " \t\r\n") }
