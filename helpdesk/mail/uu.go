package mail

import (
	"path"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// uuBegin matches the first line of a uuencoded file in a text, as sent by programs from before MIME.
var uuBegin = lazyregexp.New(`^begin(?:-base64)? [0-7]{3,4} ([^\r\n]{1,255})$`)

// unpackUU moves the uuencoded files in a text to attachments.
func (p *parser) unpackUU(s string, e *entity, at place) string {
	if e.ctype != "text/plain" || !strings.Contains(s, "begin") || !strings.Contains(s, "\nend") {
		return s
	}
	var kept strings.Builder
	found := false
	for rest := s; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if strings.HasPrefix(line, "begin") {
			if name, file, behind, ok := uuFile(line, after); ok && p.parts < p.limits.Parts {
				p.parts++
				found = true
				if p.closely {
					p.attach(&entity{ctype: uuType(name), filename: name, disposition: "attachment"}, file, at)
				}
				rest = behind
				continue
			}
		}
		kept.WriteString(rest[:len(rest)-len(after)])
		rest = after
	}
	if !found {
		return s
	}
	p.doubt = true
	if !p.closely {
		return s
	}
	return kept.String()
}

func uuType(name string) string {
	if kind := typeOf[strings.ToLower(path.Ext(name))]; kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// uuFile reads the file that begins at a line, and returns the rest.
func uuFile(begin, rest string) (name string, file []byte, after string, ok bool) {
	m := uuBegin().FindStringSubmatch(strings.TrimRight(begin, " \t"))
	if m == nil {
		return "", nil, "", false
	}
	if strings.HasPrefix(begin, "begin-base64") {
		body, behind, found := strings.Cut(rest, "\n====")
		if !found || strings.Trim(body, base64Letters) != "" {
			return "", nil, "", false
		}
		_, behind, _ = strings.Cut(behind, "\n")
		file, ok = decodeBase64([]byte(body))
		return m[1], file, behind, ok
	}
	for at := rest; ; {
		line, next, more := strings.Cut(at, "\n")
		switch trimmed := strings.TrimRight(line, " \t"); {
		case trimmed == "end":
			file, ok = decodeUU([]byte(begin + "\n" + rest[:len(rest)-len(next)]))
			return m[1], file, next, ok && len(file) > 0
		case trimmed == "" || trimmed == "`":
		case !uuLine(line):
			return "", nil, "", false
		}
		if !more {
			return "", nil, "", false
		}
		at = next
	}
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n"

// uuLine reports whether a line has the length given by its first letter. Trailing blanks may be lost.
func uuLine(line string) bool {
	n := int(line[0]-' ') & 63
	want := 1 + (n+2)/3*4
	if line[0] < ' ' || line[0] > '`' || len(line) > want+2 || len(line) < want-8 {
		return false
	}
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '`' {
			return false
		}
	}
	return true
}
