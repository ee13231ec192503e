package mail

import (
	"bytes"
	"path"
	"strings"
)

func isCMS(ctype string) bool {
	return ctype == "application/pkcs7-mime" || ctype == "application/x-pkcs7-mime"
}

// opened replaces an opaquely signed part (RFC 8551 section 3.5.2) by its content, which anyone can read. The part itself is
// kept as an attachment, with its signature.
func (p *parser) opened(e *entity, body []byte, at place) bool {
	if !isCMS(e.ctype) && !strings.EqualFold(path.Ext(e.filename), ".p7m") || at.depth >= p.limits.Depth {
		return false
	}
	content, ok := signedContent(body)
	if !ok {
		return false
	}
	p.doubt = true
	if !p.closely {
		return false
	}
	h, inner, err := p.splitHeader(content)
	if err != nil || h.Len() == 0 {
		return false
	}
	at.depth++
	if err := p.walk(p.newEntity(h, inner, "text/plain"), at); err != nil {
		return false
	}
	p.attach(e, body, at)
	return true
}

// signedContent finds the content of CMS signed-data (RFC 5652 section 5), in DER or BER.
func signedContent(b []byte) (content []byte, ok bool) {
	if !bytes.Contains(b[:min(len(b), 32)], signedData) {
		return nil, false
	}
	info := &ber{rest: b}
	outer, ok := info.enter(0x30) // ContentInfo
	if !ok || !outer.skip(0x06) {
		return nil, false
	}
	explicit, ok := outer.enter(0xA0)
	if !ok {
		return nil, false
	}
	signed, ok := explicit.enter(0x30)                   // SignedData
	if !ok || !signed.skip(0x02) || !signed.skip(0x31) { // version, digestAlgorithms
		return nil, false
	}
	encapsulated, ok := signed.enter(0x30) // EncapsulatedContentInfo
	if !ok || !encapsulated.skip(0x06) {
		return nil, false
	}
	holder, ok := encapsulated.enter(0xA0)
	if !ok {
		return nil, false // a detached signature
	}
	content, ok = holder.octets(0)
	return content, ok && len(content) > 0
}

// ber reads elements of BER, the encoding that mailers use for streams. If an element has an indefinite length, rest
// continues after its end.
type ber struct{ rest []byte }

const (
	maxBERDepth  = 16
	maxBERPieces = 1 << 16
)

// head reads the tag and the length of the next element; size is -1 for an indefinite length.
func (r *ber) head() (tag byte, size int, ok bool) {
	if len(r.rest) < 2 || r.rest[0]&0x1F == 0x1F {
		return 0, 0, false
	}
	tag, size = r.rest[0], int(r.rest[1])
	r.rest = r.rest[2:]
	switch {
	case size < 0x80:
	case size == 0x80:
		return tag, -1, tag&0x20 != 0
	default:
		n := size & 0x7F
		if n > 4 || n > len(r.rest) {
			return 0, 0, false
		}
		size = 0
		for _, c := range r.rest[:n] {
			size = size<<8 | int(c)
		}
		r.rest = r.rest[n:]
	}
	return tag, size, size <= len(r.rest)
}

// enter opens the next element, which must have the tag. The elements after it are not needed.
func (r *ber) enter(want byte) (*ber, bool) {
	tag, size, ok := r.head()
	if !ok || tag != want {
		return nil, false
	}
	if size < 0 {
		return &ber{rest: r.rest}, true
	}
	return &ber{rest: r.rest[:size]}, true
}

// skip skips the next element, which must have the tag.
func (r *ber) skip(want byte) bool {
	if len(r.rest) == 0 || r.rest[0] != want {
		return false
	}
	pieces := 0
	return r.skipAny(0, &pieces)
}

func (r *ber) skipAny(depth int, pieces *int) bool {
	if *pieces++; depth > maxBERDepth || *pieces > maxBERPieces {
		return false
	}
	_, size, ok := r.head()
	if !ok {
		return false
	}
	if size >= 0 {
		r.rest = r.rest[size:]
		return true
	}
	for !r.ended() {
		if !r.skipAny(depth+1, pieces) {
			return false
		}
	}
	return true
}

// ended consumes the end-of-contents octets of an element of indefinite length.
func (r *ber) ended() bool {
	if bytes.HasPrefix(r.rest, []byte{0, 0}) {
		r.rest = r.rest[2:]
		return true
	}
	return false
}

// octets reads an OCTET STRING, in one piece or in many.
func (r *ber) octets(depth int) ([]byte, bool) {
	tag, size, ok := r.head()
	switch {
	case !ok || depth > maxBERDepth:
		return nil, false
	case tag == 0x04:
		b := r.rest[:size]
		r.rest = r.rest[size:]
		return b, true
	case tag != 0x24:
		return nil, false
	}
	inner := &ber{rest: r.rest}
	if size >= 0 {
		inner.rest = r.rest[:size]
		r.rest = r.rest[size:]
	}
	var out []byte
	for {
		if size >= 0 && len(inner.rest) == 0 {
			return out, true
		}
		if size < 0 && inner.ended() {
			r.rest = inner.rest
			return out, true
		}
		piece, ok := inner.octets(depth + 1)
		if !ok {
			return out, len(out) > 0 // a part is better than nothing
		}
		out = append(out, piece...)
	}
}
