package tnef

import "encoding/binary"

// Types of MAPI properties (MS-OXCDATA section 2.11.1).
const (
	typeMultiple = 0x1000
	typeObject   = 0x000D
	typeString   = 0x001E
	typeUnicode  = 0x001F
	typeBinary   = 0x0102
)

// value is the first value of a property.
type value struct {
	kind uint16
	data []byte
}

// props are the properties of a message or a file by id; named ones are left out.
type props map[uint16]value

// readProps reads a list of properties (MS-OXTNEF section 2.1.3.4.1). ok is false if it is broken; the properties before are
// returned.
func readProps(b []byte) (out props, ok bool) {
	r := &propReader{b: b}
	out = props{}
	count := r.uint32()
	for range count {
		kind, id := r.uint16(), r.uint16()
		if id >= 0x8000 {
			r.readBytes(16)
			if r.uint32() == 0 {
				r.readBytes(4)
			} else {
				r.padded(r.uint32())
			}
		}
		data := r.values(kind)
		if r.failed {
			return out, false
		}
		if _, has := out[id]; !has && id < 0x8000 {
			out[id] = value{kind: kind &^ typeMultiple, data: data}
		}
	}
	return out, true
}

type propReader struct {
	b      []byte
	failed bool
}

func (r *propReader) readBytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.failed = true
		r.b = nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// padded takes n bytes and the padding to a multiple of four.
func (r *propReader) padded(n uint32) []byte {
	out := r.readBytes(n)
	r.readBytes(min((4-n%4)%4, uint32(len(r.b)))) // the last padding may be missing
	return out
}

func (r *propReader) uint16() uint16 {
	if b := r.readBytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *propReader) uint32() uint32 {
	if b := r.readBytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// values reads the values of a property and returns the first.
func (r *propReader) values(kind uint16) (first []byte) {
	base := kind &^ typeMultiple
	variable := base == typeObject || base == typeString || base == typeUnicode || base == typeBinary
	count := uint32(1)
	if variable || kind&typeMultiple != 0 {
		count = r.uint32()
	}
	for i := uint32(0); i < count && !r.failed; i++ {
		var data []byte
		if variable {
			data = r.padded(r.uint32())
		} else {
			data = r.padded(width(base))
			r.failed = r.failed || data == nil
		}
		if i == 0 {
			first = data
		}
	}
	return first
}

// width returns the number of bytes of a value of a fixed type; 0 for an unknown type.
func width(kind uint16) uint32 {
	switch kind {
	case 0x0001: // null
		return 0
	case 0x0002, 0x000B: // 16-bit integer, boolean
		return 2
	case 0x0003, 0x0004, 0x000A: // 32-bit integer, float, error
		return 4
	case 0x0005, 0x0006, 0x0007, 0x0014, 0x0040: // double, currency, times, 64-bit integer
		return 8
	case 0x0048: // GUID
		return 16
	}
	return ^uint32(0)
}
