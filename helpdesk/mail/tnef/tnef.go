// Package tnef reads Microsoft's Transport Neutral Encapsulation Format (MS-OXTNEF), the winmail.dat of Outlook and
// Exchange: its files, its body and the messages in it.
//
// The package is independent of mail and network. It accepts any bytes, never panics, and keeps to the bounds of [Limits].
package tnef

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// Limits bounds the input of [Decode]. A zero field means its default.
type Limits struct {
	Files int // files in all messages together; default 500
	Depth int // messages inside each other; default 10
	RTF   int // bytes of an RTF body when it is decompressed; default 16 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Files <= 0 {
		l.Files = 500
	}
	if l.Depth <= 0 {
		l.Depth = 10
	}
	if l.RTF <= 0 {
		l.RTF = 16 << 20
	}
	return l
}

// ErrFormat is returned for input that is not TNEF.
var ErrFormat = errors.New("tnef: not in this format")

// Message is the content of a TNEF stream. Texts are valid UTF-8.
type Message struct {
	Class   string // such as "IPM.Note" or "IPM.Microsoft Mail.Note"
	Subject string
	Text    string // of the plain body, or of an RTF body without HTML in it
	HTML    string // of the HTML body, or of the one enclosed in an RTF body
	Files   []File
	// Problems names what could not be read; the rest was read. If there are any, the caller should keep the stream.
	Problems []string
}

// File is an attached file or message.
type File struct {
	Name        string // as received, may be empty and may contain folders
	ContentType string // may be empty
	ContentID   string // without angle brackets
	Content     []byte // may share memory with the input
	Message     *Message
}

// Is reports whether b begins like TNEF.
func Is(b []byte) bool { return len(b) >= 6 && binary.LittleEndian.Uint32(b) == signature }

const signature = 0x223E9F78

// Attributes (MS-OXTNEF section 2.1.3.2); the upper half of the id is the type.
const (
	attSubject       = 0x8004
	attMessageClass  = 0x8008
	attBody          = 0x800C
	attAttachData    = 0x800F
	attAttachTitle   = 0x8010
	attRenderingData = 0x9002
	attMAPIProps     = 0x9003
	attAttachment    = 0x9005
	attCodepage      = 0x9007
)

// Decode reads a TNEF stream. Only other input is an error ([ErrFormat]); for a truncated or broken stream, it returns
// everything before the damage, and reports a problem.
func Decode(b []byte, l Limits) (*Message, error) {
	if !Is(b) {
		return nil, ErrFormat
	}
	left := l.withDefaults()
	d := &decoder{limits: &left, msg: &Message{}}
	d.stream(b[6:])
	return d.msg, nil
}

type decoder struct {
	limits  *Limits // the remaining limits
	msg     *Message
	charset encoding.Encoding
	body    props // MAPI properties of the message
	plain   []byte
}

func (d *decoder) problem(format string, args ...any) {
	if len(d.msg.Problems) < 20 {
		d.msg.Problems = append(d.msg.Problems, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) stream(b []byte) {
	var file *File
	for len(b) > 0 {
		if len(b) < 11 {
			d.problem("the stream is cut off")
			break
		}
		level, id := b[0], binary.LittleEndian.Uint32(b[1:])
		size := uint64(binary.LittleEndian.Uint32(b[5:]))
		if level != 1 && level != 2 || size+11 > uint64(len(b)) {
			d.problem("an attribute is broken or cut off")
			break
		}
		data := b[9 : 9+size]
		if sum := binary.LittleEndian.Uint16(b[9+size:]); sum != checksum(data) {
			d.problem("a checksum is wrong")
		}
		b = b[11+size:]
		if level == 1 {
			d.attribute(id&0xFFFF, data)
			continue
		}
		if id&0xFFFF == attRenderingData || file == nil {
			if d.limits.Files--; d.limits.Files < 0 {
				d.problem("too many files")
				break
			}
			d.msg.Files = append(d.msg.Files, File{})
			file = &d.msg.Files[len(d.msg.Files)-1]
		}
		d.attachment(file, id&0xFFFF, data)
	}
	d.bodies()
}

func checksum(b []byte) (sum uint16) {
	for _, c := range b {
		sum += uint16(c)
	}
	return sum
}

func (d *decoder) attribute(id uint32, data []byte) {
	switch id {
	case attSubject:
		d.msg.Subject = d.text(data)
	case attMessageClass:
		d.msg.Class = d.text(data)
	case attBody:
		d.plain = data
	case attCodepage:
		if len(data) >= 4 {
			d.charset = codepage(binary.LittleEndian.Uint32(data))
		}
	case attMAPIProps:
		var ok bool
		if d.body, ok = readProps(data); !ok {
			d.problem("the properties of the message are broken")
		}
	}
}

// Properties (MS-OXPROPS).
const (
	propSubject     = 0x0037
	propClass       = 0x001A
	propBody        = 0x1000
	propRTF         = 0x1009
	propHTML        = 0x1013
	propDisplayName = 0x3001
	propData        = 0x3701
	propFilename    = 0x3704
	propLongName    = 0x3707
	propMIMEType    = 0x370E
	propContentID   = 0x3712
	propCodepage    = 0x3FDE
)

func (d *decoder) attachment(file *File, id uint32, data []byte) {
	switch id {
	case attAttachTitle:
		if file.Name == "" {
			file.Name = d.text(data)
		}
	case attAttachData:
		file.Content = data
	case attAttachment:
		p, ok := readProps(data)
		if !ok {
			d.problem("the properties of a file are broken")
		}
		for _, key := range []uint16{propLongName, propFilename, propDisplayName} {
			if name := d.string(p[key]); name != "" && (key != propDisplayName || file.Name == "") {
				file.Name = name
				break
			}
		}
		file.ContentType = strings.ToLower(d.string(p[propMIMEType]))
		file.ContentID = strings.Trim(d.string(p[propContentID]), "<> ")
		d.object(file, p[propData])
	}
}

// messageID is the interface id with which the data of an attached message begins.
var messageID = []byte("\x07\x03\x02\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46")

// object reads an attachment in a property: a file, an OLE object or a message.
func (d *decoder) object(file *File, v value) {
	if len(v.data) == 0 {
		return
	}
	if v.kind != typeObject || len(v.data) < 16 {
		file.Content = v.data
		return
	}
	file.Content = v.data[16:]
	if !bytes.Equal(v.data[:16], messageID) || !Is(file.Content) {
		return
	}
	if d.limits.Depth--; d.limits.Depth < 0 {
		d.problem("messages are nested too deep")
		return
	}
	inner := &decoder{limits: d.limits, msg: &Message{}}
	inner.stream(file.Content[6:])
	d.limits.Depth++
	file.Message = inner.msg
	for _, p := range inner.msg.Problems {
		d.problem("in an attached message: %s", p)
	}
}

// bodies chooses among the forms of the body after everything was read.
func (d *decoder) bodies() {
	if v := d.body[propCodepage]; len(v.data) >= 4 {
		d.charset = codepage(binary.LittleEndian.Uint32(v.data))
	}
	for to, key := range map[*string]uint16{&d.msg.Subject: propSubject, &d.msg.Class: propClass} {
		if s := d.string(d.body[key]); s != "" {
			*to = s
		}
	}
	d.msg.HTML = d.string(d.body[propHTML])
	if d.msg.Text = d.string(d.body[propBody]); d.msg.Text == "" {
		d.msg.Text = d.text(d.plain)
	}
	if v := d.body[propRTF]; d.msg.HTML == "" && len(v.data) > 0 {
		rtf, ok := decompress(v.data, d.limits.RTF)
		if !ok {
			d.problem("the RTF body could not be decompressed wholly")
		}
		text, page := readRTF(rtf)
		if d.msg.HTML = page; d.msg.Text == "" {
			d.msg.Text = text
		}
	}
}

func (d *decoder) string(v value) string {
	switch v.kind {
	case typeUnicode:
		u := make([]uint16, len(v.data)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(v.data[2*i:])
		}
		return clean(string(utf16.Decode(u)))
	case typeString, typeBinary:
		return d.text(v.data)
	}
	return ""
}

func (d *decoder) text(b []byte) string {
	if d.charset != nil {
		if out, err := d.charset.NewDecoder().Bytes(bytes.TrimRight(b, "\x00")); err == nil {
			return clean(string(out))
		}
	}
	return clean(decodeANSI(bytes.TrimRight(b, "\x00")))
}

func decodeANSI(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out, _ := charmap.Windows1252.NewDecoder().Bytes(b) // it has a character for every byte
	return string(out)
}

func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	return strings.ReplaceAll(s, "\r\n", "\n")
}

// codepage returns the charset of a Windows code page, nil if it is unknown.
func codepage(n uint32) encoding.Encoding {
	name := map[uint32]string{
		932: "shift_jis", 936: "gb18030", 949: "euc-kr", 950: "big5", 20866: "koi8-r", 21866: "koi8-u", 28591: "windows-1252",
		50220: "iso-2022-jp", 51932: "euc-jp", 54936: "gb18030", 65001: "utf-8",
	}[n]
	if name == "" && n >= 28592 && n <= 28605 {
		name = fmt.Sprintf("iso-8859-%d", n-28590)
	}
	if name == "" {
		name = fmt.Sprintf("windows-%d", n)
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return e
}
