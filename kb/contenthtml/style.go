package contenthtml

import (
	"regexp"
	"strings"
)

// properties are those that article editors write; none can move a box out of the article.
var properties = set(`color background-color font-style font-weight text-align text-decoration vertical-align white-space
	width height max-width min-width aspect-ratio float clear list-style-type margin-left margin-right padding-left padding-right
	border border-color border-style border-width border-collapse`)

var (
	styleValue = regexp.MustCompile(`^[a-z0-9 #%.,()/-]{1,100}$`)
	negative   = regexp.MustCompile(`(^|[ ,(])-`)
	colour     = regexp.MustCompile(`(rgb|rgba|hsl|hsla)\([0-9 .,%/deg]*\)`)
)

// Maximum bytes of a style attribute: read, and kept. The second limit is lower, because the output is slightly longer than
// the input.
const (
	maxStyle  = 4 << 10
	keptStyle = 2 << 10
)

// cleanStyle keeps known, plain declarations: no url(), no expression, no escapes, no negative lengths.
func cleanStyle(s string) string {
	var out []string
	size := 0
	for decl := range strings.SplitSeq(s[:min(len(s), maxStyle)], ";") {
		name, value, ok := strings.Cut(decl, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		value = strings.ToLower(strings.Join(strings.Fields(value), " "))
		if !ok || !properties[name] || !styleValue.MatchString(value) || negative.MatchString(value) ||
			strings.ContainsAny(colour.ReplaceAllString(value, ""), "()") {
			continue
		}
		if size += len(name) + len(value) + 4; size > keptStyle {
			break
		}
		out = append(out, name+": "+value)
	}
	return strings.Join(out, "; ")
}
