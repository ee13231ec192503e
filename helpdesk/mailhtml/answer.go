package mailhtml

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/internal/quote"
)

// Answer is the new text of a reply.
type Answer struct {
	Head []string // text of the first lines accepted by head
	Body string   // the rest, as [Clean] returns it; "" if nothing is visible
}

// SplitAnswer splits a reply: it removes the quoted message and the signature added by the author's program. It calls head
// with each of the first lines until head refuses one or an empty line ends them; accepted lines are not part of the body. s
// is a result of [Clean] or [FromText]. It returns false if s cannot be parsed.
func SplitAnswer(s string, head func(line string) bool) (Answer, bool) {
	d := readLines(s)
	if d == nil {
		return Answer{}, strings.TrimSpace(s) == ""
	}
	kept := d.kept()
	var out Answer
	for len(kept) > 0 {
		text := d.text(kept[0])
		empty := text == "" && !strings.Contains(string(d.lines[kept[0]].text), image)
		if empty && len(out.Head) > 0 || !empty && !head(text) {
			break
		}
		if !empty {
			out.Head = append(out.Head, text)
		}
		kept = kept[1:]
	}
	out.Body = d.body(kept)
	return out, true
}

// kept returns the new lines, without empty ones at both ends.
func (d *document) kept() []int {
	kinds := quote.Find(d.texts(), quote.Message{Reply: true}).Kinds
	signed := d.signatures()
	var kept []int
	for i, kind := range kinds {
		if kind != quote.New || d.lines[i].quoted == quote.Yes || signed[d.lines[i].parent] {
			continue
		}
		if d.text(i) == "--" {
			break // a signature follows (RFC 3676 section 4.3)
		}
		kept = append(kept, i)
	}
	kept = d.trim(kept)
	if n := len(kept); n > 1 && sentFrom().MatchString(d.text(kept[n-1])) {
		kept = d.trim(kept[:n-1])
	}
	return kept
}

// sentFrom matches the line that phones add below each mail.
var sentFrom = lazyregexp.New(`(?i)^(sent (from|via) (my |outlook|mail|yahoo|proton|the )|get outlook for |von meinem .{1,30} gesendet|gesendet (mit|von|über) |envoyé (de|depuis|à partir)|enviado desde|inviato da|verzonden (vanaf|met)).{0,60}$`)

func (d *document) trim(kept []int) []int {
	for len(kept) > 0 && d.nothing(kept[0]) {
		kept = kept[1:]
	}
	for len(kept) > 0 && d.nothing(kept[len(kept)-1]) {
		kept = kept[:len(kept)-1]
	}
	return kept
}

func (d *document) nothing(i int) bool {
	return d.lines[i].rule || d.blank(i, i+1)
}

// text returns the whole text of a line, without invisible characters.
func (d *document) text(i int) string {
	l := &d.lines[i]
	if l.end <= l.start {
		return ""
	}
	return strings.Join(strings.Fields(strings.Map(seen, Text(d.src[l.start:l.end]))), " ")
}

// seen drops characters of zero width.
func seen(r rune) rune {
	switch {
	case r == '\uFEFF', r == '\u00AD', r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x2069:
		return -1
	case r == '\u00A0', r == '\u202F', r == '\u3000':
		return ' '
	}
	return r
}

// signature matches the names that programs give to the element of a signature.
var signature = lazyregexp.New(`(?i)(class|id)="[^"]*(gmail_signature|moz-signature|protonmail_signature_block|ms-outlook-mobile-signature|apple-?mail-?signature)|id="(x_)?signature"`)

// signatures reports which elements are parts of a signature.
func (d *document) signatures() []bool {
	signed := make([]bool, len(d.els))
	for i, e := range d.els[1:] {
		signed[i+1] = signed[e.parent] || e.inner > e.start && signature().MatchString(d.src[e.start:e.inner])
	}
	return signed
}

// body returns the source of some lines, or their text if they are not consecutive or not whole elements.
func (d *document) body(kept []int) string {
	kept = d.trim(kept)
	if len(kept) == 0 {
		return ""
	}
	from, to := kept[0], kept[len(kept)-1]+1
	if to-from == len(kept) {
		if start, stop, ok := d.wrap(from, to); ok && (to == len(d.lines) || stop <= d.lines[to].start) {
			return Clean(d.src[start:stop])
		}
	}
	texts := make([]string, len(kept))
	for n, i := range kept {
		if l := &d.lines[i]; l.end > l.start {
			texts[n] = strings.TrimSpace(Text(d.src[l.start:l.end]))
		}
	}
	return FromText(strings.Join(texts, "\n"))
}
