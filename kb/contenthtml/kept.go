package contenthtml

import (
	"strings"

	"github.com/helpwright/helpwright/storage/openelements"
	"golang.org/x/net/html"
)

// Keep returns cleaned HTML in which every block that is the same as in the previous HTML, apart from white space that
// browsers do not show, is byte for byte as it was there.
func Keep(now, before string) string {
	if now == before {
		return now
	}
	fresh, old := segmentsOf(now), segmentsOf(before)
	places := map[string][]int{} // of the old segments
	for i, s := range old {
		places[s.normal] = append(places[s.normal], i)
	}
	tail := 0 // segments at the end that are the same
	for tail < min(len(fresh), len(old)) && fresh[len(fresh)-1-tail].normal == old[len(old)-1-tail].normal {
		tail++
	}
	var out strings.Builder
	last := -1 // of the old segments
	for i, s := range fresh {
		at := -1
		if rest := len(fresh) - i; rest <= tail {
			at = len(old) - rest
		} else if all := places[s.normal]; len(all) > 0 {
			for len(all) > 0 && all[0] <= last {
				all = all[1:]
			}
			if places[s.normal] = all; len(all) > 0 && all[0] < len(old)-tail {
				at = all[0]
			}
		}
		switch {
		case at > last:
			last = at
			out.WriteString(old[at].gap + old[at].html)
		case last+1 < len(old):
			out.WriteString(old[last+1].gap + s.html)
		default:
			out.WriteString(s.gap + s.html)
		}
	}
	if len(old) > 0 && len(fresh) > 0 {
		return out.String() + trailing(before)
	}
	return out.String() + trailing(now)
}

// trailing returns the white space at the end of HTML.
func trailing(s string) string { return s[len(strings.TrimRight(s, " \t\n")):] }

// segment is a part of a document: a block, a tag of an element that groups blocks, or loose text.
type segment struct {
	gap    string // white space before it
	html   string
	normal string
}

// segmentsOf splits cleaned HTML into its segments.
func segmentsOf(s string) []segment {
	var out []segment
	var now []token // a block, or loose text
	gap, depth := "", 0
	flush := func() {
		if len(now) > 0 {
			if last := &now[len(now)-1]; depth == 0 && last.kind == html.TextToken {
				space := trailing(last.data)
				last.data = strings.TrimSuffix(last.data, space)
				out = append(out, segment{gap, write(now), normal(now)})
				gap, now = space, nil
				return
			}
			out = append(out, segment{gap, write(now), normal(now)})
			gap, now = "", nil
		}
	}
	for _, t := range cleaned(s) {
		block := edges[t.data] && t.data != "br" && t.kind != html.TextToken
		if depth == 0 && (block || t.kind == html.EndTagToken) {
			flush()
			if t.kind == html.EndTagToken || grouping[t.data] && !keepsSpaces(t) || openelements.IsVoid(t.data) {
				now = []token{t}
				flush()
				continue
			}
		}
		if depth == 0 && len(now) == 0 && t.kind == html.TextToken {
			space := t.data[:len(t.data)-len(strings.TrimLeft(t.data, " \t\n"))]
			gap += space
			if t.data = t.data[len(space):]; t.data == "" {
				continue
			}
		}
		now = append(now, t)
		switch {
		case t.kind == html.StartTagToken && !openelements.IsVoid(t.data):
			depth++
		case t.kind == html.EndTagToken:
			if depth--; depth == 0 && block {
				flush()
			}
		}
	}
	flush()
	return out
}
