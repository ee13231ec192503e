package contenthtml

import (
	"bytes"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/text/width"
)

// emphasisExtension parses emphasis and strikethrough as CommonMark and GitHub do, except that characters of Chinese,
// Japanese and Korean count as blanks and their punctuation as letters where another punctuation mark would prevent
// emphasis: these languages put no blanks between words. It counts the parser's work, which is quadratic.
type emphasisExtension struct{}

func (e emphasisExtension) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(e, 450))) // before CommonMark's own, at 500
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500)))
}

func (emphasisExtension) Trigger() []byte { return []byte{'*', '_', '~'} }

func (emphasisExtension) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, processor{})
	n := d.OriginalLength
	if d.Char == '~' && (n > 2 || before == '~') { // if it were not consumed, the parser would begin again at its next sign
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	after := ' '
	if n < len(line) {
		after = util.ToRune(line, n)
	}
	d.CanOpen, d.CanClose = flanks(d.Char, before, after)
	d.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	if !delimitersOf(pc).add(d, parent, block.Source()) {
		return ast.NewTextSegment(d.Segment)
	}
	pc.PushDelimiter(d)
	return d
}

// flanks reports whether a run of a delimiter can open and close emphasis (CommonMark 0.31 section 6.2).
func flanks(sign byte, before, after rune) (opens, closes bool) {
	punctuation := func(r rune) bool { return util.IsPunctRune(r) && !eastAsian(r) }
	apart := func(r rune) bool { return util.IsSpaceRune(r) || util.IsPunctRune(r) || eastAsian(r) }
	left := !util.IsSpaceRune(after) && (!punctuation(after) || apart(before))
	right := !util.IsSpaceRune(before) && (!punctuation(before) || apart(after))
	if sign == '_' {
		return left && (!right || util.IsPunctRune(before)), right && (!left || util.IsPunctRune(after))
	}
	return left, right
}

// eastAsian reports whether a character belongs to a Chinese, Japanese or Korean text.
func eastAsian(r rune) bool {
	if r < 0x1100 || unicode.Is(unicode.So, r) && r >= 0x2300 && (r < 0x3000 || r >= 0x1F000) { // emoji are wide, too
		return false
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianHalfwidth:
		return true
	}
	return unicode.Is(unicode.Hangul, r)
}

// processor makes nodes of matching delimiters.
type processor struct{}

func (processor) IsDelimiter(c byte) bool { return c == '*' || c == '_' || c == '~' }

func (processor) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (processor) OnMatch(n int) ast.Node { return ast.NewEmphasis(n) }

// strikeProcessor is the processor of ~.
type strikeProcessor struct{ processor }

func (strikeProcessor) OnMatch(int) ast.Node { return extast.NewStrikethrough() }

// How many delimiters the parser may look at to find those that match: for each byte of a text, and in addition.
const (
	marksPerByte = 8
	fewMarks     = 256 << 10
)

// delimiters follows how the parser matches delimiters, to know its work before it does it. It never expects less than there
// will be: a delimiter that the parser may drop or match differently, because of brackets, stays.
type delimiters struct {
	block    ast.Node // the others are of this block
	open     []delimiter
	opened   [128]bool // signs that could open emphasis
	counts   [128]int  // of signs in open
	brackets int       // in the block so far
	at       int       // where brackets were counted up to
	steps    int       // of the whole text
}

type delimiter struct {
	sign             byte
	opens, closes    bool
	length, original int
	brackets         int // before it
}

var delimitersKey = parser.NewContextKey()

func delimitersOf(pc parser.Context) *delimiters {
	if found, ok := pc.Get(delimitersKey).(*delimiters); ok {
		return found
	}
	made := &delimiters{}
	pc.Set(delimitersKey, made)
	return made
}

// add counts the work for another delimiter. It reports false if the delimiter is text in any case.
func (o *delimiters) add(d *parser.Delimiter, block ast.Node, source []byte) bool {
	if d.Processor = (processor{}); d.Char == '~' {
		d.Processor = strikeProcessor{}
	}
	if block != o.block || d.Segment.Start < o.at {
		*o = delimiters{block: block, at: d.Segment.Start, steps: o.steps}
	}
	between := source[o.at:d.Segment.Start]
	o.brackets += bytes.Count(between, []byte("[")) + bytes.Count(between, []byte("]"))
	o.at = d.Segment.Start
	matched := o.opened[d.Char] && (o.brackets > 0 || o.counts[d.Char] > 0) // possibly
	if !d.CanOpen && (!d.CanClose || !matched) || o.steps > marksPerByte*len(source)+fewMarks {
		return false
	}
	one := delimiter{d.Char, d.CanOpen, d.CanClose, d.OriginalLength, d.OriginalLength, o.brackets}
	if one.closes {
		o.match(&one)
	}
	if one.opens && one.length > 0 {
		o.opened[one.sign] = true
		o.counts[one.sign]++
		o.open = append(o.open, one)
	}
	return true
}

// match removes what a closer matches.
func (o *delimiters) match(closer *delimiter) {
	for closer.length > 0 {
		i := len(o.open) - 1
		for ; i >= 0; i-- {
			o.steps++
			if opener := &o.open[i]; opener.sign == closer.sign && opener.consumed(*closer) > 0 {
				break
			}
		}
		if i < 0 {
			return
		}
		if o.open[i].brackets != closer.brackets {
			o.steps += i
			return
		}
		n := o.open[i].consumed(*closer)
		closer.length -= n
		keep := i + 1
		if o.open[i].length -= n; o.open[i].length <= 0 {
			keep = i
		}
		for _, dropped := range o.open[keep:] {
			o.counts[dropped.sign]--
		}
		o.open = o.open[:keep]
	}
}

// consumed returns how many characters two delimiters would use up; 0 means that they do not match.
func (d delimiter) consumed(closer delimiter) int {
	if (d.closes || closer.opens) && (d.original+closer.original)%3 == 0 && closer.original%3 != 0 {
		return 0
	}
	if d.length >= 2 && closer.length >= 2 {
		return 2
	}
	return 1
}
