package mail

import (
	"path"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/mail/tnef"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// isTNEF recognises a winmail.dat by its content, as programs in transit rename it.
func isTNEF(p message.Part) bool {
	if !tnef.Is(p.Body) {
		return false
	}
	switch p.ContentType {
	case "application/ms-tnef", "application/vnd.ms-tnef":
		return true
	}
	return strings.EqualFold(path.Ext(p.Filename), ".dat") || strings.EqualFold(path.Ext(p.Filename), ".tnef")
}

// unpack replaces each TNEF part by its files, and takes the body from it if the mail has no other. A part that was not
// fully understood, or is not a message, is kept, too.
func (p *parser) unpack() {
	m := p.msg
	var parts []message.Part
	for _, part := range m.Attachments {
		if !isTNEF(part) {
			parts = append(parts, part)
			continue
		}
		p.asSent()
		t, err := tnef.Decode(part.Body, tnef.Limits{Files: p.limits.Parts, Depth: min(p.limits.Depth, 10)})
		if err != nil {
			parts = append(parts, part)
			continue
		}
		if strings.TrimSpace(m.Text) == "" && strings.TrimSpace(m.HTML) == "" {
			m.Text, m.HTML = cleanText(t.Text), cleanText(t.HTML)
		}
		if len(t.Problems) > 0 {
			m.warn("a TNEF part could not be read wholly")
		}
		if len(t.Problems) > 0 || !plainClass(t.Class) {
			parts = append(parts, part)
		}
		parts = p.files(parts, t, p.limits.Depth)
	}
	m.Attachments = parts
}

// plainClass reports whether messages of the class consist of a body and files. Meetings, contacts and reports have
// properties of their own.
func plainClass(class string) bool {
	class = strings.ToLower(class)
	return class == "" || class == "ipm.note" || class == "ipm.microsoft mail.note" || strings.HasPrefix(class, "ipm.note.microsoft")
}

// files adds the files of a TNEF message, those of attached messages after their bodies.
func (p *parser) files(parts []message.Part, t *tnef.Message, depth int) []message.Part {
	for _, f := range t.Files {
		if len(parts) >= p.limits.Parts {
			p.msg.warn("more files than parts are allowed")
			return parts
		}
		if f.Message != nil && depth > 0 {
			parts = p.attached(parts, f.Message, depth-1)
			continue
		}
		part := message.Part{ContentType: f.ContentType, ContentID: oneLine(f.ContentID), Body: f.Content, Filename: cleanFilename(f.Name)}
		if !validType(part.ContentType) {
			part.ContentType = "application/octet-stream"
			if kind := typeOf[strings.ToLower(path.Ext(part.Filename))]; kind != "" {
				part.ContentType = kind
			}
		}
		if part.Filename == "" {
			part.Filename = p.numbered(part.ContentType, len(parts))
		}
		parts = append(parts, part)
	}
	return parts
}

// attached adds a message that is attached inside a TNEF part: its body as a file named by its subject, then its files.
func (p *parser) attached(parts []message.Part, t *tnef.Message, depth int) []message.Part {
	name, body, kind, charset := oneLine(t.Subject), t.HTML, "text/html", "utf-8"
	if strings.TrimSpace(body) == "" {
		body, kind = t.Text, "text/plain"
	}
	if name == "" {
		name = "message"
	}
	parts = append(parts, message.Part{Filename: cleanFilename(name + extensions[kind]), ContentType: kind, Charset: charset, Body: []byte(cleanText(body))})
	return p.files(parts, t, depth)
}

// typeOf has the types of the files that a browser displays in a message.
var typeOf = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf",
	".txt": "text/plain", ".htm": "text/html", ".html": "text/html", ".ics": "text/calendar", ".csv": "text/csv", ".zip": "application/zip",
}
