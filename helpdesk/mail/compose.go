package mail

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"

	"github.com/emersion/go-message/textproto"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"golang.org/x/net/idna"
)

// Outgoing is a message to be written. The same Outgoing always gives the same bytes, so a retry sends the same message
// again, unless it is encrypted.
//
// Control characters in names, subjects and file names become spaces; an address, id or field name that contains one is an
// error ([*InvalidError]). There is no Bcc: hidden recipients belong to the envelope only.
type Outgoing struct {
	MessageID string           // required, with or without angle brackets
	Date      time.Time        // required, written in its own zone
	From      mailaddr.Address // required
	Sender    mailaddr.Address
	ReplyTo   []mailaddr.Address
	To, Cc    []mailaddr.Address // if both are empty, an empty group of undisclosed recipients is written
	Subject   string

	InReplyTo  string
	References []string // bounded by BoundReferences; InReplyTo is appended if missing

	Text string // plain text; the whole body if HTML is empty
	HTML string

	Attachments []File

	// ASCII keeps the whole header in ASCII: an address whose local part has other characters is shown as a name that cannot be
	// answered (RFC 6857 section 3.1.8). Such an address in From or Reply-To is an error.
	ASCII bool

	// AutoSubmitted marks the mail as sent by a program (RFC 3834): auto-replied if it answers another mail, otherwise
	// auto-generated. The mail also asks for no automatic answers.
	AutoSubmitted bool
	AutoReplied   bool    // with AutoSubmitted: it answers a mail, even if that has no Message-ID
	Extra         []Field // further fields, in order, such as List-Unsubscribe

	// Encrypt, if not nil, makes the mail PGP/MIME (RFC 3156): it returns a writer that encrypts its input and, once closed,
	// has written one armored OpenPGP message with CR LF newlines to w. The outer subject is "...". The bytes differ each time.
	Encrypt func(w io.Writer) (io.WriteCloser, error)
}

// Field is an additional header field. Names that Outgoing writes itself, Bcc and Content-* are refused.
type Field struct{ Name, Value string }

// File is an attachment. Its content is read while the message is written.
type File struct {
	Filename    string // cleaned; "attachment" if nothing is left
	ContentType string // application/octet-stream if empty or not usable
	ContentID   string // without angle brackets; referenced as cid: in the HTML
	Inline      bool   // shown in the body; written into multipart/related if the HTML refers to it
	Size        int64  // expected bytes; if more than 0, another length is an error
	Open        func() (io.ReadCloser, error)
}

// InvalidError names the field of an Outgoing that cannot be written.
type InvalidError struct{ Field, Reason string }

func (e *InvalidError) Error() string { return "mail: " + e.Field + " " + e.Reason }

// Validate reports the first reason why the message cannot be written, as an [*InvalidError]. WriteTo calls it.
func (o *Outgoing) Validate() error {
	if o.From.Email == "" {
		return &InvalidError{"From", "has no address"}
	}
	if o.Date.IsZero() {
		return &InvalidError{"Date", "is missing"}
	}
	if !writableID(o.MessageID) {
		return &InvalidError{"Message-ID", "is missing or not usable"}
	}
	if o.InReplyTo != "" && !writableID(o.InReplyTo) {
		return &InvalidError{"In-Reply-To", "is not usable"}
	}
	lists := []struct {
		name string
		list []mailaddr.Address
	}{{"From", []mailaddr.Address{o.From}}, {"Reply-To", o.ReplyTo}, {"To", o.To}, {"Cc", o.Cc}}
	if o.Sender.Email != "" {
		lists = append(lists, struct {
			name string
			list []mailaddr.Address
		}{"Sender", []mailaddr.Address{o.Sender}})
	}
	for _, l := range lists {
		for _, a := range l.list {
			if !strings.Contains(a.Email, "@") || !strings.EqualFold(cleanEmail(a.Email), a.Email) {
				return &InvalidError{l.name, "holds an invalid address"}
			}
			if o.ASCII && l.name != "To" && l.name != "Cc" && international(a) {
				return &InvalidError{l.name, "holds an address that is not in ASCII"}
			}
		}
	}
	for _, f := range o.Extra {
		if !allowedExtra(f.Name) {
			return &InvalidError{"Extra", "holds a field name that is not allowed"}
		}
	}
	for _, f := range o.Attachments {
		if f.Open == nil {
			return &InvalidError{"Attachments", "hold a file without content"}
		}
		if f.ContentID != "" && !writableID(f.ContentID) {
			return &InvalidError{"Attachments", "hold an unusable Content-ID"}
		}
	}
	return nil
}

func writableID(id string) bool {
	id = strings.TrimSuffix(strings.TrimPrefix(id, "<"), ">")
	return id != "" && cleanID(id) == id && isSevenBit([]byte(id))
}

func allowedExtra(name string) bool {
	switch strings.ToLower(name) {
	case "message-id", "date", "from", "sender", "reply-to", "to", "cc", "bcc", "subject", "in-reply-to", "references", "mime-version":
		return false
	}
	return fieldName([]byte(name+":")) == name && name != "" && len(name) <= 70 && !strings.HasPrefix(strings.ToLower(name), "content-")
}

// WriteTo writes the message with CRLF newlines. Errors are [*InvalidError], those of w, and those of reading a file. A
// message cut short by an error must not be sent.
func (o *Outgoing) WriteTo(w io.Writer) (int64, error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	c := &counter{w: w}
	err := o.write(c)
	return c.n, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (o *Outgoing) write(w io.Writer) error {
	var shown, files []File
	cids := referencedCIDs(o.HTML)
	for _, f := range o.Attachments {
		if o.HTML != "" && f.ContentID != "" && cids[strings.ToLower(strings.Trim(f.ContentID, "<>"))] {
			f.Inline = true
			shown = append(shown, f)
		} else {
			files = append(files, f)
		}
	}
	root := o.body()
	if len(shown) > 0 {
		root = o.container("related", []string{"type=\"" + root.ctype + "\""}, append([]node{root}, fileNodes(shown)...))
	}
	if len(files) > 0 {
		root = o.container("mixed", nil, append([]node{root}, fileNodes(files)...))
	}
	if o.Encrypt != nil {
		return o.writeEncrypted(w, root)
	}
	h := append(o.header(), root.header...)
	if err := textproto.WriteHeader(w, rawHeader(h)); err != nil {
		return err
	}
	return root.write(w)
}

// node is a MIME entity to be written: its fields, then its content.
type node struct {
	ctype  string
	header []string
	write  func(io.Writer) error
}

func (o *Outgoing) body() node {
	text := o.Text
	switch {
	case o.HTML == "":
		return textNode("text/plain", text)
	case text == "":
		return textNode("text/html", o.HTML)
	}
	return o.container("alternative", nil, []node{textNode("text/plain", text), textNode("text/html", o.HTML)})
}

// container makes a multipart. The boundary is derived from the Message-ID; "=_" cannot occur in base64 or quoted-printable,
// and text that contains it is always encoded.
func (o *Outgoing) container(kind string, more []string, nodes []node) node {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Trim(o.MessageID, "<>")))
	boundary := "=_" + hex.EncodeToString(sum[:16])
	ctype := "multipart/" + kind
	return node{
		ctype:  ctype,
		header: []string{field("Content-Type", paramTokens(ctype, append([]string{"boundary=\"" + boundary + "\""}, more...)))},
		write: func(w io.Writer) error {
			mw := textproto.NewMultipartWriter(w)
			if err := mw.SetBoundary(boundary); err != nil {
				return err
			}
			for _, n := range nodes {
				pw, err := mw.CreatePart(rawHeader(n.header))
				if err != nil {
					return err
				}
				if err := n.write(pw); err != nil {
					return err
				}
			}
			return mw.Close()
		},
	}
}

func textNode(ctype, s string) node {
	s = cleanText(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	n := node{ctype: ctype}
	head := field("Content-Type", []string{ctype + ";", "charset=utf-8"})
	if shortASCII(s) {
		n.header = []string{head, field("Content-Transfer-Encoding", []string{"7bit"})}
		n.write = func(w io.Writer) error {
			_, err := io.WriteString(w, strings.ReplaceAll(s, "\n", "\r\n"))
			return err
		}
		return n
	}
	n.header = []string{head, field("Content-Transfer-Encoding", []string{"quoted-printable"})}
	n.write = func(w io.Writer) error {
		qw := quotedprintable.NewWriter(w)
		if _, err := io.WriteString(qw, s); err != nil {
			return err
		}
		return qw.Close()
	}
	return n
}

// shortASCII reports whether s may be sent unencoded: ASCII in short lines, without anything that looks like a boundary.
func shortASCII(s string) bool {
	col := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			col = 0
			continue
		case c >= 0x7F || c < ' ' && c != '\t':
			return false
		}
		if col++; col > 78 {
			return false
		}
	}
	return !strings.Contains(s, "=_")
}

func fileNodes(files []File) []node {
	var out []node
	for _, f := range files {
		out = append(out, fileNode(f))
	}
	return out
}

func fileNode(f File) node {
	name := cleanFilename(f.Filename)
	if name == "" {
		name = "attachment"
	}
	ctype, params := fileType(f.ContentType)
	disposition := "attachment"
	if f.Inline {
		disposition = "inline"
	}
	n := node{ctype: ctype, header: []string{
		field("Content-Type", paramTokens(ctype, append(params, "name="+wordParam(name)))),
		field("Content-Disposition", paramTokens(disposition, extendedParam("filename", name))),
		field("Content-Transfer-Encoding", []string{"base64"}),
	}}
	if id := strings.Trim(f.ContentID, "<>"); id != "" {
		n.header = append(n.header, field("Content-ID", []string{"<" + id + ">"}))
	}
	n.write = func(w io.Writer) error { return copyFile(w, f) }
	return n
}

// fileType cleans a content type. message/* and multipart/* must not be in base64 (RFC 2046 section 5.2.1), so such files
// are sent as plain bytes.
func fileType(s string) (ctype string, params []string) {
	ctype, values, err := mime.ParseMediaType(s)
	if err != nil || !validType(ctype) || strings.HasPrefix(ctype, "message/") || strings.HasPrefix(ctype, "multipart/") {
		return "application/octet-stream", nil
	}
	for _, k := range []string{"charset", "method", "protocol"} {
		if v := values[k]; v != "" && len(v) < 40 && shortASCII(v) && !strings.ContainsAny(v, "\"\\\n\t") {
			params = append(params, k+"=\""+v+"\"")
		}
	}
	return ctype, params
}

var errShort = errors.New("mail: a file has not the size that was announced")

func copyFile(w io.Writer, f File) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("mail: open attachment: %w", err)
	}
	defer r.Close()
	enc := base64.NewEncoder(base64.StdEncoding, &lineWriter{w: w})
	n, err := io.Copy(enc, r)
	if err != nil {
		return fmt.Errorf("mail: copy attachment: %w", err)
	}
	if f.Size > 0 && n != f.Size {
		return errShort
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\r\n")
	return err
}

// lineWriter breaks its input into lines of 76 characters.
type lineWriter struct {
	w   io.Writer
	col int
	buf []byte
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.buf = l.buf[:0]
	for rest := b; len(rest) > 0; {
		if l.col == 76 {
			l.buf = append(l.buf, '\r', '\n')
			l.col = 0
		}
		n := min(76-l.col, len(rest))
		l.buf = append(l.buf, rest[:n]...)
		l.col += n
		rest = rest[n:]
	}
	if _, err := l.w.Write(l.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (o *Outgoing) header() []string {
	id := func(s string) string { return "<" + strings.Trim(s, "<>") + ">" }
	h := []string{
		field("Date", []string{o.Date.Format("Mon, 02 Jan 2006 15:04:05 -0700")}),
		o.addressField("From", []mailaddr.Address{o.From}),
	}
	if o.Sender.Email != "" {
		h = append(h, o.addressField("Sender", []mailaddr.Address{o.Sender}))
	}
	if len(o.ReplyTo) > 0 {
		h = append(h, o.addressField("Reply-To", o.ReplyTo))
	}
	if len(o.To) > 0 {
		h = append(h, o.addressField("To", o.To))
	}
	if len(o.Cc) > 0 {
		h = append(h, o.addressField("Cc", o.Cc))
	}
	if len(o.To)+len(o.Cc) == 0 {
		h = append(h, field("To", []string{"undisclosed-recipients:;"}))
	}
	h = append(h, field("Subject", encodeText(o.Subject)), field("Message-ID", []string{id(o.MessageID)}))
	refs := o.References
	if o.InReplyTo != "" {
		h = append(h, field("In-Reply-To", []string{id(o.InReplyTo)}))
		refs = append(append([]string{}, refs...), o.InReplyTo)
	}
	if refs = BoundReferences(refs); len(refs) > 0 {
		for i := range refs {
			refs[i] = id(refs[i])
		}
		h = append(h, "References: "+strings.Join(refs, "\r\n ")+"\r\n")
	}
	if o.AutoSubmitted {
		kind := "auto-generated"
		if o.InReplyTo != "" || o.AutoReplied {
			kind = "auto-replied"
		}
		h = append(h, field("Auto-Submitted", []string{kind}), field("X-Auto-Response-Suppress", []string{"All"}))
	}
	for _, f := range o.Extra {
		words := strings.Fields(oneLine(f.Value))
		if v := strings.Join(words, ""); !isSevenBit([]byte(v)) || len(v) > 900 {
			words = encodeText(f.Value)
		}
		h = append(h, field(f.Name, words))
	}
	return append(h, field("MIME-Version", []string{"1.0"}))
}

// field writes a header field from words between which it may be folded, at 76 columns if the words are short enough. Only
// an id or an address is longer than 300 bytes.
func field(name string, words []string) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte(':')
	col := b.Len()
	for i, w := range words {
		if i > 0 && col+1+len(w) > 76 {
			b.WriteString("\r\n")
			col = 0
		}
		b.WriteByte(' ')
		b.WriteString(w)
		col += 1 + len(w)
	}
	if len(words) == 0 {
		b.WriteByte(' ')
	}
	b.WriteString("\r\n")
	return b.String()
}

func rawHeader(fields []string) textproto.Header {
	var h textproto.Header
	for i := len(fields) - 1; i >= 0; i-- { // AddRaw inserts a field before the others
		h.AddRaw([]byte(fields[i]))
	}
	return h
}

func (o *Outgoing) addressField(name string, list []mailaddr.Address) string {
	var words []string
	for i, a := range list {
		w := addressWords(a)
		if o.ASCII && international(a) {
			w = append(encodeWords(strings.TrimSpace(oneLine(a.Name)+" "+oneLine(a.Email))), ":;")
		}
		if i < len(list)-1 {
			w[len(w)-1] += ","
		}
		words = append(words, w...)
	}
	return field(name, words)
}

// international reports whether the local part has characters beyond ASCII, which only SMTPUTF8 can carry.
func international(a mailaddr.Address) bool {
	at := strings.LastIndexByte(a.Email, '@')
	return at >= 0 && !isSevenBit([]byte(a.Email[:at]))
}

func addressWords(a mailaddr.Address) []string {
	at := strings.LastIndexByte(a.Email, '@')
	email := oneLine(a.Email)
	if at > 0 && !isSevenBit([]byte(a.Email[at:])) {
		if host, err := idna.Lookup.ToASCII(a.Email[at+1:]); err == nil {
			email = oneLine(a.Email[:at]) + "@" + host
		}
	}
	name := oneLine(a.Name)
	switch {
	case name == "" && strings.IndexAny(email, `"'`) == 0: // which would be parsed as a name
		return []string{"<" + email + ">"}
	case name == "":
		return []string{email}
	case len(name) > 60 || !plainHeader(name):
		return append(encodeWords(name), "<"+email+">")
	case strings.ContainsAny(name, `()<>[]:;@\,."`):
		return []string{`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`, "<" + email + ">"}
	}
	return append(strings.Fields(name), "<"+email+">")
}

func paramTokens(value string, params []string) []string {
	words := []string{value + ";"}
	for i, p := range params {
		if i < len(params)-1 {
			p += ";"
		}
		words = append(words, p)
	}
	return words
}

// wordParam writes a name for readers without RFC 2231: quoted, as encoded words if it is not ASCII.
func wordParam(name string) string {
	if isSevenBit([]byte(name)) && plainHeader(name) {
		return `"` + name + `"` // cleanFilename leaves no quote in it
	}
	return `"` + strings.Join(encodeWords(name), "\r\n ") + `"`
}

// extendedParam writes a parameter by RFC 2231, in sections of 60 bytes that end between characters.
func extendedParam(key, name string) []string {
	if isSevenBit([]byte(name)) && plainHeader(name) && len(name) <= 60 {
		return []string{key + `="` + name + `"`}
	}
	const hexa = "0123456789ABCDEF"
	var out []string
	section := "utf-8''"
	next := func(s string) {
		out = append(out, fmt.Sprintf("%s*%d*=%s", key, len(out), s))
	}
	for _, r := range name {
		enc := ""
		for _, c := range []byte(string(r)) {
			if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' {
				enc += string(rune(c))
			} else {
				enc += string([]byte{'%', hexa[c>>4], hexa[c&15]})
			}
		}
		if len(section)+len(enc) > 56 {
			next(section)
			section = ""
		}
		section += enc
	}
	if len(out) == 0 {
		return []string{key + "*=" + section}
	}
	next(section)
	return out
}
