package mail

import (
	"errors"
	"fmt"
	"strings"

	"github.com/emersion/go-message/textproto"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// Defaults of [Limits].
const (
	DefaultSize        = 50 << 20 // bytes of a whole mail
	DefaultHeaderBytes = 1 << 20  // bytes of one header, the message's or a part's
	DefaultParts       = 1000     // MIME entities, containers included
	DefaultDepth       = 50       // multiparts inside each other
)

// Limits bounds the input of [Parse]. A zero field means its default.
type Limits struct {
	Size        int64 // bytes of the whole mail
	HeaderBytes int64 // bytes of the header of the message or of one part
	Parts       int   // MIME entities, containers included
	Depth       int   // nesting of multipart entities
}

func (l Limits) withDefaults() Limits {
	if l.Size <= 0 {
		l.Size = DefaultSize
	}
	if l.HeaderBytes <= 0 {
		l.HeaderBytes = DefaultHeaderBytes
	}
	if l.Parts <= 0 {
		l.Parts = DefaultParts
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	return l
}

// Values of What in a [LimitError].
const (
	LimitSize   = "size"
	LimitHeader = "header"
	LimitParts  = "parts"
	LimitDepth  = "depth"
)

// ErrEmpty is returned by [Parse] for an input without any content.
var ErrEmpty = errors.New("the mail is empty")

// LimitError reports which of the [Limits] a mail exceeded. Its text is meant for the operator who examines a mail in
// quarantine.
type LimitError struct {
	What  string // LimitSize, LimitHeader, LimitParts or LimitDepth
	Limit int64  // bytes, parts or levels
}

func (e *LimitError) Error() string {
	switch e.What {
	case LimitSize:
		return "mail larger than " + byteCount(e.Limit)
	case LimitHeader:
		return "header larger than " + byteCount(e.Limit)
	case LimitDepth:
		return fmt.Sprintf("nested deeper than %d", e.Limit)
	}
	return fmt.Sprintf("more than %d %s", e.Limit, e.What)
}

func byteCount(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Message is a parsed mail. All strings are valid UTF-8 without NUL; all header values are a single line. It has at most 20
// ids of In-Reply-To and 100 of References: the first and the latest.
type Message struct {
	Header Header // all fields, as read
	message.Message
	Protection Protection `json:",omitzero"` // the form of signature or encryption

	// Warnings names what could not be read as intended, without content and addresses. At most 50.
	Warnings []string

	contentType string // of the whole

	author *mailaddr.Address // nil: see Author
	sent   *sent             // nil if Text, HTML and Attachments are as they were sent
	leaves []leaf            // see Identity
	first  *identities
}

// Header gives access to the fields of a message.
type Header struct {
	fields  textproto.Header
	charset string // guess for raw 8-bit values
}

// Get returns the first field of that name, decoded, as one line; "" if none.
func (h *Header) Get(name string) string { return decodeHeader(h.Raw(name), h.charset) }

// Values returns all fields of that name, decoded, in order.
func (h *Header) Values(name string) []string {
	raw := h.RawValues(name)
	for i := range raw {
		raw[i] = decodeHeader(raw[i], h.charset)
	}
	return raw
}

// Raw returns the first field of that name unfolded but otherwise unchanged; it may contain any bytes.
func (h *Header) Raw(name string) string { return h.fields.Get(name) }

// RawValues is [Header.Raw] for all fields of that name.
func (h *Header) RawValues(name string) []string {
	var out []string
	for f := h.fields.FieldsByKey(name); f.Next(); {
		out = append(out, f.Value())
	}
	return out
}

// Has reports whether there is a field of that name, even an empty one.
func (h *Header) Has(name string) bool { return h.fields.Has(name) }

const maxWarnings = 50

func (m *Message) warn(s string) {
	if len(m.Warnings) >= maxWarnings {
		return
	}
	for _, w := range m.Warnings {
		if w == s {
			return
		}
	}
	m.Warnings = append(m.Warnings, strings.ToValidUTF8(s, "\uFFFD"))
}
