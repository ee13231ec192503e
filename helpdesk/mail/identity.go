package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
)

// Identity is a hash of what makes this mail itself: Message-ID, author, date, base
// subject, text and attachments with their names. What servers and lists add on the way
// (Received, Delivered-To, List-*, subject prefixes, other transfer encodings, newlines
// at the end) does not matter, so the copy from a list is the same mail; a reused
// Message-ID with other content is another mail. A list that writes a footer into the
// text makes another mail.
//
// A mail without a Message-ID or a date, as devices send them, says the same each time:
// there the whole header counts, Received included, so that only one delivery that was
// read twice is the same mail.
//
// It is made of the parts as they were sent, so reading charsets or attachments better
// tomorrow does not make it another mail.
func (m *Message) Identity() [32]byte {
	if m.first != nil {
		return m.first.now
	}
	d := newDigest("helpwright mail 2")
	if m.MessageID == "" || m.Date.IsZero() {
		d.put("delivery")
		for f := m.Header.fields.Fields(); f.Next(); {
			if name := strings.ToLower(f.Key()); !slices.Contains(mutableFields, name) {
				d.put(name)
				d.put(strings.TrimSpace(f.Value()))
			}
		}
	} else {
		d.put(m.MessageID)
		for _, a := range m.From {
			d.put(strings.ToLower(a.Email))
		}
		d.put(m.Date.UTC().Format(time.RFC3339))
		d.put(m.sentSubject())
	}
	for _, l := range m.leaves {
		d.put(l.name)
		d.put(string(l.sum[:]))
	}
	return d.sum()
}

// identities are those of a mail as it was read first, when it is read once more.
type identities struct{ now, former [32]byte }

// mutableFields are those that a server changes while a mail lies in its mailbox.
var mutableFields = []string{
	"status", "x-status", "x-uid", "x-uidl", "x-keywords", "x-imap", "x-imapbase", "x-mozilla-status", "x-mozilla-status2",
	"x-mozilla-keys", "content-length", "lines",
}

// sentSubject is the base subject without the prefix in brackets that a list puts in
// front. In a mail of no list the brackets are its author's.
func (m *Message) sentSubject() string {
	s := BaseSubject(m.Subject)
	for (m.ListID != "" || m.Header.Has("List-Post")) && strings.HasPrefix(s, "[") {
		_, rest, found := strings.Cut(s, "]")
		if rest = BaseSubject(rest); !found || rest == "" {
			break
		}
		s = rest
	}
	return s
}

// leaf is a part as it was sent: its declared file name and a hash of its content
// without the transfer encoding.
type leaf struct {
	name string
	sum  [32]byte
}

// remember keeps what the Identity is made of. Empty parts come and go on the way.
func (p *parser) remember(e *entity, body []byte) {
	if textual(e.ctype) {
		body = trimText(body)
	}
	if len(body) > 0 || e.filename != "" {
		p.msg.leaves = append(p.msg.leaves, leaf{name: e.filename, sum: sha256.Sum256(body)})
	}
}

// textual tells the types whose line ends servers change.
func textual(ctype string) bool {
	return strings.HasPrefix(ctype, "text/") || strings.HasPrefix(ctype, "message/")
}

func trimText(body []byte) []byte {
	return bytes.TrimRight(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), " \t\r\n")
}

// FormerIdentity is what Identity was before it held the subject and the names of
// attachments: by it mails are recognised that were filed then. Two mails may share it
// that are not the same.
func (m *Message) FormerIdentity() [32]byte {
	if m.first != nil {
		return m.first.former
	}
	d := newDigest("helpwright mail 1")
	d.put(m.MessageID)
	for _, a := range m.From {
		d.put(strings.ToLower(a.Email))
	}
	if m.Date.IsZero() {
		d.put(m.Header.Get("Date"))
	} else {
		d.put(m.Date.UTC().Format(time.RFC3339))
	}
	text, page, parts := m.Text, m.HTML, m.Attachments
	if m.sent != nil {
		text, page = m.sent.text, m.sent.html
		if m.sent.parts != nil {
			parts = m.sent.parts
		}
	}
	d.put(trimEnd(text))
	d.put(trimEnd(page))
	for _, a := range parts {
		body := a.Body
		if textual(a.ContentType) {
			body = trimText(body)
		}
		sum := sha256.Sum256(body)
		d.put(string(sum[:]))
	}
	return d.sum()
}

func trimEnd(s string) string { return strings.TrimRight(s, " \t\r\n") }

// digest hashes texts so that their borders count.
type digest struct{ hash.Hash }

func newDigest(version string) digest {
	d := digest{sha256.New()}
	d.put(version)
	return d
}

func (d digest) put(s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	d.Write(n[:])
	_, _ = io.WriteString(d, s) // a hash takes everything
}

func (d digest) sum() (out [32]byte) {
	d.Sum(out[:0])
	return out
}
