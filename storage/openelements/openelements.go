// Package openelements tracks the open elements of HTML that is written tag by tag, so that every element is closed inside its
// parent and start tags end what they end in browsers, such as a paragraph. It builds no tree: the algorithm of browsers repeats
// unclosed formatting elements in each of the paragraphs that follow them.
package openelements

import "strings"

var (
	void = set("br col hr img input source track wbr")
	// blocks end an open paragraph.
	blocks = set(`address article aside blockquote center details dir div dl figcaption figure footer h1 h2 h3 h4 h5 h6 header
		hr main nav ol p pre section table ul`)
	headings      = set("h1 h2 h3 h4 h5 h6")
	paragraph     = set("p")
	paragraphStop = set("blockquote button details div figure li table td th")
	cells         = set("table tbody td tfoot th thead tr")
)

// implied lists, for a start tag, the open elements that it ends, and the elements at which the search for them stops.
var implied = map[string]struct{ ends, stop map[string]bool }{
	"li":    {set("li"), set("ul ol dir table td th blockquote")},
	"dt":    {set("dt dd"), set("dl table td th")},
	"dd":    {set("dt dd"), set("dl table td th")},
	"td":    {set("td th"), set("tr table")},
	"th":    {set("td th"), set("tr table")},
	"tr":    {set("tr"), set("tbody thead tfoot table")},
	"tbody": {set("tbody thead tfoot colgroup"), set("table")},
	"thead": {set("tbody thead tfoot colgroup"), set("table")},
	"tfoot": {set("tbody thead tfoot colgroup"), set("table")},
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// IsVoid reports whether an element has no content and no end tag.
func IsVoid(tag string) bool { return void[tag] }

// IsHeading reports whether an element is h1 to h6.
func IsHeading(tag string) bool { return headings[tag] }

// EndLen is the length of an element's end tag in bytes; of a void element 0.
func EndLen(tag string) int {
	if void[tag] {
		return 0
	}
	return len("</>") + len(tag)
}

// Stack has the open elements. End is required.
type Stack struct {
	// End writes an end tag.
	End func(tag string)

	open   []string
	count  map[string]int
	endLen int
}

// Depth is the number of open elements.
func (s *Stack) Depth() int { return len(s.open) }

// EndLen is the length of the end tags of all open elements in bytes.
func (s *Stack) EndLen() int { return s.endLen }

// Before closes the elements that the start tag of an element ends. The caller writes the start tag next, and calls Push.
func (s *Stack) Before(tag string) {
	if blocks[tag] {
		s.closeImplied(paragraph, paragraphStop)
	}
	if headings[tag] {
		s.closeImplied(headings, paragraphStop)
	}
	if im, ok := implied[tag]; ok {
		s.closeImplied(im.ends, im.stop)
	}
}

// Push opens an element. A void one stays closed.
func (s *Stack) Push(tag string) {
	if void[tag] {
		return
	}
	if s.count == nil {
		s.count = map[string]int{}
	}
	s.open = append(s.open, tag)
	s.count[tag]++
	s.endLen += EndLen(tag)
}

// Close closes the innermost open element of a name with everything inside it, if there is one. An end tag inside a cell of a
// table does not close what contains the table.
func (s *Stack) Close(tag string) {
	if s.count[tag] == 0 {
		return
	}
	for i := len(s.open) - 1; i >= 0; i-- {
		switch open := s.open[i]; {
		case open == tag:
			s.closeTo(i)
			return
		case (open == "td" || open == "th" || open == "table") && !cells[tag]:
			return
		}
	}
}

// CloseAll closes all open elements.
func (s *Stack) CloseAll() { s.closeTo(0) }

// closeImplied closes the innermost open element in ends with everything inside it, unless an element in stop comes first.
func (s *Stack) closeImplied(ends, stop map[string]bool) {
	for i := len(s.open) - 1; i >= 0; i-- {
		if ends[s.open[i]] {
			s.closeTo(i)
			return
		}
		if stop[s.open[i]] {
			return
		}
	}
}

// closeTo closes the open elements from the n-th on.
func (s *Stack) closeTo(n int) {
	for len(s.open) > n {
		tag := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.count[tag]--
		s.endLen -= EndLen(tag)
		s.End(tag)
	}
}
