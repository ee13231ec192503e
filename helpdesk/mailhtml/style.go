package mailhtml

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// properties are the CSS properties that look the same wherever the message is shown; none of them moves a box out of the
// message.
var properties = func() map[string]bool {
	m := map[string]bool{}
	for _, p := range strings.Fields(`color background background-color font font-family font-size font-style font-variant font-weight
		text-align text-decoration text-decoration-line text-decoration-color text-indent text-transform line-height letter-spacing
		word-spacing vertical-align white-space word-break word-wrap overflow-wrap direction unicode-bidi
		width height max-width max-height min-width min-height box-sizing
		margin margin-top margin-right margin-bottom margin-left padding padding-top padding-right padding-bottom padding-left
		border border-top border-right border-bottom border-left border-color border-style border-width border-collapse border-spacing
		border-top-color border-right-color border-bottom-color border-left-color border-top-style border-right-style
		border-bottom-style border-left-style border-top-width border-right-width border-bottom-width border-left-width border-radius
		display float clear list-style list-style-type list-style-position table-layout caption-side empty-cells opacity tab-size`) {
		m[p] = true
	}
	return m
}()

var (
	styleValue = lazyregexp.New(`^[a-z0-9 #%.,_'"()!/+-]{1,300}$`)
	negative   = lazyregexp.New(`(^|[\s,(])-\s*[0-9.]`)
	function   = lazyregexp.New(`([a-z-]*)\(`)
	displays   = lazyregexp.New(`^(none|block|inline|inline-block|list-item|table|inline-table|table-(row|cell|column|caption|row-group|header-group|footer-group|column-group))( ?!important)?$`)
)

// Maximum bytes of a style attribute that are read, and that are kept: fewer, since the output is slightly longer than the
// input.
const (
	maxStyle  = 8 << 10
	keptStyle = 4 << 10
)

// cleanStyle keeps the known and plain declarations of a style attribute: no url(), no expression, no escapes, no comments,
// no negative lengths.
func cleanStyle(s string) string {
	if len(s) > maxStyle {
		s = s[:maxStyle]
		s = s[:max(strings.LastIndexByte(s, ';'), 0)]
	}
	var out []string
	size := 0
	for _, decl := range splitDeclarations(s) {
		name, value, ok := strings.Cut(decl, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		value = strings.Join(strings.Fields(value), " ")
		if !ok || !properties[name] || !plainStyle(name, strings.ToLower(value)) {
			continue
		}
		if size += len(name) + len(value) + 4; size > keptStyle {
			break
		}
		out = append(out, name+": "+value)
	}
	return strings.Join(out, "; ")
}

func plainStyle(name, value string) bool {
	if !styleValue().MatchString(value) || strings.Contains(value, "/*") || negative().MatchString(value) {
		return false
	}
	if strings.Count(value, `"`)%2+strings.Count(value, "'")%2+strings.Count(value, "(")-strings.Count(value, ")") != 0 {
		return false
	}
	for _, m := range function().FindAllStringSubmatch(value, -1) {
		switch m[1] {
		case "rgb", "rgba", "hsl", "hsla":
		default:
			return false
		}
	}
	return name != "display" || displays().MatchString(value)
}

// splitDeclarations splits at the semicolons outside of quotes and brackets.
func splitDeclarations(s string) []string {
	var out []string
	start, depth, quote := 0, 0, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ';' && depth == 0:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
