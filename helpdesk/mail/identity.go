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

// Identity returns a hash of the mail's own content: Message-ID, author, date, base subject, text and attachments with their
// names. Changes in transit by servers and lists (Received, Delivered-To, List-*, subject prefixes, other transfer
// encodings, newlines at the end) do not matter, so the copy from a list is the same mail; a reused Message-ID with other
// content is a different mail. If a list adds a footer to the text, it is a different mail.
//
// Mails without a Message-ID or a date, as devices send them, often have the same content. For them the whole header counts,
// including Received, so that only a delivery read twice is the same mail.
//
// It is computed from the parts as they were sent, so future improvements in reading charsets or attachments do not change
// it.
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

// identities are the hashes of a mail as read first, when it is read a second time.
type identities struct{ now, former [32]byte }

// mutableFields are the fields that a server changes while a mail is in its mailbox.
var mutableFields = []string{
	"status", "x-status", "x-uid", "x-uidl", "x-keywords", "x-imap", "x-imapbase", "x-mozilla-status", "x-mozilla-status2",
	"x-mozilla-keys", "content-length", "lines",
}

// sentSubject returns the base subject without the prefix in brackets that a list has added. In a mail without a list, the
// brackets are the author's.
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

// leaf is a part as it was sent: its declared file name and a hash of its content without the transfer encoding.
type leaf struct {
	name string
	sum  [32]byte
}

// remember keeps the input of Identity. Empty parts are left out, as they are added and removed in transit.
func (p *parser) remember(e *entity, body []byte) {
	if textual(e.ctype) {
		body = trimText(body)
	}
	if len(body) > 0 || e.filename != "" {
		p.msg.leaves = append(p.msg.leaves, leaf{name: e.filename, sum: sha256.Sum256(body)})
	}
}

// textual reports whether servers change the line ends of a type.
func textual(ctype string) bool {
	return strings.HasPrefix(ctype, "text/") || strings.HasPrefix(ctype, "message/")
}

func trimText(body []byte) []byte {
	return bytes.TrimRight(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), " \t\r\n")
}

// FormerIdentity returns the Identity as it was before it included the subject and the names of attachments: it recognises
// mails filed at that time. Different mails may share it.
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

// digest hashes texts unambiguously.
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
	_, _ = io.WriteString(d, s) // a hash does not fail
}

func (d digest) sum() (out [32]byte) {
	d.Sum(out[:0])
	return out
}
