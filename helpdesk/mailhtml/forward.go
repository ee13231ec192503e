package mailhtml

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/internal/quote"
)

// ForwardedHeader is the header above a forwarded mail.
type ForwardedHeader = quote.Header

// Forwarded is a message that forwards a mail, split into its parts.
type Forwarded struct {
	Header ForwardedHeader
	Note   string // the forwarder's own text, as Clean returns it; "" if nothing is visible
	Body   string // of the forwarded mail
}

// SplitForward splits a message that forwards a mail below a header, in any language of common mailers; subject is the
// message's. Of nested forwards it returns the outermost. A message that answers a mail, or quotes one before the header, is
// not a forward. s is a result of [Clean] or [FromText].
func SplitForward(s, subject string) (Forwarded, bool) {
	d := readLines(s)
	if d == nil {
		return Forwarded{}, false
	}
	lines := d.texts()
	found, ok := quote.FindForward(lines, subject)
	if !ok {
		return Forwarded{}, false
	}
	end := d.forwardEnd(found.Start)
	out := Forwarded{Header: found.Header, Note: d.without(lines, found.Start, end)}
	if found.Text < end {
		out.Body = d.only(lines, found.Text, end)
	}
	if d.blank(0, found.Start) && d.blank(end, len(lines)) {
		out.Note = ""
	}
	return out, true
}

// forwardEnd returns the line after a forwarded mail that begins at a line: mailers that put an element around the mail put
// later text outside it.
func (d *document) forwardEnd(start int) int {
	for e := d.lines[start].parent; e > 0; e = d.els[e].parent {
		if p := &d.els[e]; p.box || p.quoted == quote.Yes {
			for i := start; i < len(d.lines); i++ {
				if d.lines[i].start >= p.innerEnd {
					return i
				}
			}
			break
		}
	}
	return len(d.lines)
}

// blank reports whether some lines are invisible.
func (d *document) blank(from, to int) bool {
	for _, l := range d.lines[from:to] {
		if len(l.text) > 0 && strings.TrimSpace(string(l.text)) != "" {
			return false
		}
	}
	return true
}

// only returns the source of some lines, or their text if they are not whole elements.
func (d *document) only(lines []quote.Line, from, to int) string {
	for from < to && d.lines[from].end == d.lines[from].start {
		from++ // invisible
	}
	if from == to {
		return ""
	}
	if start, stop, ok := d.wrap(from, to); ok && (to == len(d.lines) || stop <= d.lines[to].start) {
		return Clean(d.src[start:stop])
	}
	return plain(lines[from:to])
}

// without returns the source of all other lines.
func (d *document) without(lines []quote.Line, from, to int) string {
	if start, stop, ok := d.wrap(from, to); ok && (to == len(d.lines) || stop <= d.lines[to].start) {
		return Clean(d.src[:start] + d.src[stop:])
	}
	return plain(append(lines[:from:from], lines[to:]...))
}

func plain(lines []quote.Line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = strings.ReplaceAll(l.Text, image, "")
	}
	return FromText(strings.Trim(strings.Join(texts, "\n"), "\n"))
}
