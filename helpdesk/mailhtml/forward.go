package mailhtml

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/internal/quote"
)

// ForwardedHeader is what stands above a mail that was forwarded.
type ForwardedHeader = quote.Header

// Forwarded is a message that passes a mail on, taken apart.
type Forwarded struct {
	Header ForwardedHeader
	Note   string // what its author wrote beside the mail, as Clean leaves it; "" when there is nothing to see
	Body   string // of the mail that is passed on
}

// SplitForward takes a message apart that passes a mail on below a header, in any
// language of common mailers; subject is the message's. Of several mails inside each
// other it is the outermost. A message that answers a mail, or quotes one before, passes
// none on. s is what [Clean] or [FromText] made.
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

// forwardEnd is the line that follows a forwarded mail, which begins at a line: mailers
// that put an element around it put what comes below outside of that.
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

// blank reports whether there is nothing to see on some lines.
func (d *document) blank(from, to int) bool {
	for _, l := range d.lines[from:to] {
		if len(l.text) > 0 && strings.TrimSpace(string(l.text)) != "" {
			return false
		}
	}
	return true
}

// only is the source of some lines, or their text where they are no whole elements.
func (d *document) only(lines []quote.Line, from, to int) string {
	for from < to && d.lines[from].end == d.lines[from].start {
		from++ // nothing to see
	}
	if from == to {
		return ""
	}
	if start, stop, ok := d.wrap(from, to); ok && (to == len(d.lines) || stop <= d.lines[to].start) {
		return Clean(d.src[start:stop])
	}
	return plain(lines[from:to])
}

// without is the source of all other lines.
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
