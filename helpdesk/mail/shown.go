package mail

import "strings"

// shown reports whether a text part is a piece of the body, not a file.
func (p *parser) shown(e *entity, at place) bool {
	if !strings.HasPrefix(e.ctype, "text/") || e.disposition == "attachment" ||
		at.related && (e.h.Has("Content-Id") || e.h.Has("Content-Location")) {
		return false
	}
	named := e.filename != "" && at.nested && !at.alternative && !at.root
	switch {
	case e.ctype == "text/plain":
		return !named
	case e.ctype == "text/html":
		return !named || p.noText(at) // in the position of the body, it is the body
	case named || fileTexts[e.ctype]:
		return false
	case at.alternative:
		return at.unknown && p.noText(at)
	}
	return e.ctype != emailReaction // RFC 2046 section 4.1.4
}

// readAsBody is shown in the second reading. The first one uses shownBefore, and notes a difference as a doubt.
func (p *parser) readAsBody(e *entity, at place) bool {
	before, now := shownBefore(e, at), p.shown(e, at)
	if p.closely {
		return now
	}
	readable := !before && e.disposition != "attachment" && e.ctype != "text/plain" && readableFile(e.ctype)
	p.doubt = p.doubt || before != now || readable || e.ctype == emailReaction
	return before
}

// noText reports whether there was no text before.
func (p *parser) noText(at place) bool {
	return len(p.blocks) == 0 && (at.block == nil || at.block.text == "" && at.block.html == "")
}

// shownBefore is shown as it was when only the two common kinds of text were shown. FormerIdentity depends on it.
func shownBefore(e *entity, at place) bool {
	return (e.ctype == "text/plain" || e.ctype == "text/html") && e.disposition != "attachment" &&
		!(at.related && (e.h.Has("Content-Id") || e.h.Has("Content-Location"))) &&
		(e.filename == "" || !at.nested || at.alternative || at.root)
}

// fileTexts are kinds of text that are files for other programs.
var fileTexts = map[string]bool{
	"text/calendar": true, "text/csv": true, "text/vcard": true, "text/x-vcard": true, "text/directory": true, "text/x-patch": true,
	"text/x-diff": true, "text/rtf": true, "text/xml": true, "text/css": true, "text/javascript": true, "text/rfc822-headers": true,
	"text/tab-separated-values": true, "text/x-vcalendar": true,
}

// readableFile reports whether a text that is a file can be read by people, if a mail has nothing else.
func readableFile(ctype string) bool {
	switch ctype {
	case "text/plain", "text/csv", "text/x-patch", "text/x-diff", "text/xml", "text/tab-separated-values":
		return true
	}
	return strings.HasPrefix(ctype, "text/") && ctype != "text/html" && ctype != ampHTML && ctype != emailReaction && !fileTexts[ctype]
}

// Other forms of a text, for few mailers: AMP, and an emoji as JSON that the plain form has as text.
const (
	ampHTML       = "text/x-amp-html"
	emailReaction = "text/vnd.google.email-reaction+json"
)

// isHTML reports whether a kind of text is read as HTML.
func isHTML(ctype string) bool { return ctype == "text/html" || ctype == ampHTML }

// isEnriched reports whether a text has the commands of text/enriched, or of its predecessor.
func isEnriched(ctype string) bool { return ctype == "text/enriched" || ctype == "text/richtext" }

// unenrich returns the words of a text/enriched (RFC 1896): without its commands and their parameters, with one newline
// less of each sequence.
func unenrich(s string) string {
	var out strings.Builder
	param := false
	for s != "" {
		i := strings.IndexAny(s, "<\n")
		if i < 0 {
			i = len(s)
		}
		if !param {
			out.WriteString(s[:i])
		}
		if s = s[i:]; s == "" {
			break
		}
		if s[0] == '\n' {
			n := len(s) - len(strings.TrimLeft(s, "\n"))
			if !param && n == 1 && len(s) > 1 {
				out.WriteByte(' ')
			} else if !param {
				out.WriteString(strings.Repeat("\n", max(n-1, 1)))
			}
			s = s[n:]
			continue
		}
		if strings.HasPrefix(s, "<<") {
			out.WriteByte('<')
			s = s[2:]
			continue
		}
		end := strings.IndexByte(s[:min(len(s), 64)], '>')
		if end < 0 {
			out.WriteByte('<')
			s = s[1:]
			continue
		}
		switch strings.ToLower(s[1:end]) {
		case "param":
			param = true
		case "/param":
			param = false
		case "nl", "np":
			out.WriteByte('\n')
		}
		s = s[end+1:]
	}
	return out.String()
}
