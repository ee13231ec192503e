package contenthtml

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

// Limits of FromMarkdown, in bytes. MaxMarkdown leaves room for references, which may be longer than the addresses that
// authors write.
const (
	MaxMarkdown = 4 << 20
	MaxRendered = 8 << 20 // of the HTML
)

// The reasons why FromMarkdown refuses a text. Their messages may be shown.
var (
	ErrMarkdownSize  = errors.New("is longer than 4 MiB of Markdown")
	ErrMarkdownHTML  = errors.New("becomes more than 8 MiB of HTML")
	ErrMarkdownDepth = errors.New("has quotes or lists that are nested too deeply")
	ErrMarkdownLinks = errors.New("has too many links in one paragraph")
	ErrMarkdownMarks = errors.New("has too many signs of emphasis (* _ ~) that nothing ends in one paragraph")
	ErrMarkdownTable = errors.New("has a table with too many columns that most of its rows lack")
	ErrMarkdownNotes = errors.New("has a link definition that is too long for the number of its uses")
)

// markdown converts CommonMark with GitHub's tables, strikethrough, task lists, automatic links, alerts and footnotes, with
// definition lists (PHP Markdown Extra), and with explicit anchors: "## Install {#install}".
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(autolinkExtension{}, extension.Table, extension.TaskList, extension.Footnote, extension.DefinitionList,
			emphasisExtension{}, alertExtension{}),
		goldmark.WithParserOptions(parser.WithHeadingAttribute()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // Clean makes it safe
	)
})

// FromMarkdown converts Markdown (CommonMark, with GitHub's tables, strikethrough, task lists, automatic links, footnotes
// and alerts, and with definition lists) into HTML that [Clean] has cleaned, including HTML in the source. The error is one
// of ErrMarkdown*.
func FromMarkdown(source string) (string, error) {
	tokens, err := fromMarkdown(source)
	return write(tokens), err
}

func fromMarkdown(source string) ([]token, error) {
	source = strings.ToValidUTF8(strings.ReplaceAll(source, "\x00", ""), "\uFFFD")
	if err := checkMarkdown(source); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	pc := parser.NewContext()
	if err := markdown().Convert([]byte(source), &b, parser.WithContext(pc)); err != nil {
		return nil, err
	}
	if b.Len() > 2*MaxRendered {
		return nil, ErrMarkdownHTML
	}
	if delimitersOf(pc).steps > marksPerByte*len(source)+fewMarks {
		return nil, ErrMarkdownMarks
	}
	tokens, all := cleanedWithin(b.String(), MaxRendered)
	if !all {
		return nil, ErrMarkdownHTML
	}
	return tokens, nil
}

// For constructs that take the parser quadratic time, the limits apply to the estimated work, not to the size of the text.
const (
	maxMarkers  = 30       // markers of quotes and lists at the start of a line
	maxLinking  = 32 << 20 // link openers times bytes of their paragraph
	maxMissing  = 100_000  // cells missing in table rows, which are added
	maxRepeated = 64 << 20 // bytes of link definitions, counted for each use
)

// checkMarkdown refuses texts that would take the parser quadratic time.
func checkMarkdown(source string) error {
	if len(source) > MaxMarkdown {
		return ErrMarkdownSize
	}
	var c costs
	for line := range strings.Lines(source) {
		if err := c.add(line); err != nil {
			return err
		}
	}
	if c.longest*strings.Count(source, "]") > maxRepeated {
		return ErrMarkdownNotes
	}
	return nil
}

// costs estimates the work of the parser, line by line.
type costs struct {
	bytes, links int // of the current paragraph
	columns      int // of the current table; 0: not in a table
	missing      int
	definition   int // bytes of the current definition; 0: not in one
	longest      int
}

func (c *costs) add(line string) error {
	if markers(line) > maxMarkers {
		return ErrMarkdownDepth
	}
	if beginsBlock(line) {
		c.bytes, c.links = 0, 0
	}
	c.bytes += len(line)
	if c.links += strings.Count(line, "]("); c.links*c.bytes > maxLinking {
		return ErrMarkdownLinks
	}
	text := strings.Trim(line, " \t\r\n>")
	if c.table(text); c.missing > maxMissing {
		return ErrMarkdownTable
	}
	switch {
	case text == "":
		c.definition = 0
	case c.definition > 0 || strings.HasPrefix(text, "[") && strings.Contains(text, "]:"):
		c.definition += len(line)
		c.longest = max(c.longest, c.definition)
	}
	return nil
}

// table counts the missing cells of rows.
func (c *costs) table(text string) {
	row := strings.TrimLeft(text, "*+-0123456789.) \t")
	switch {
	case text == "":
		c.columns = 0
	case strings.Trim(text, "|-: \t") == "" && strings.Contains(text, "-") && strings.Contains(text, "|"):
		c.columns = max(c.columns, strings.Count(text, "|")+1)
	case strings.Trim(row, "|-: \t") == "" && strings.Contains(row, "-") && strings.Contains(row, "|"):
		c.columns = max(c.columns, strings.Count(row, "|")+1)
	case c.columns > 0:
		c.missing += max(0, c.columns-strings.Count(text, "|")-1)
	}
}

// marker matches the marker of a quote, or of an item of a list.
var marker = regexp.MustCompile(`^[ \t]*(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t\r\n]|$))`)

// markers counts the quote and list markers at the start of a line.
func markers(line string) int {
	if strings.Trim(line, " \t\r\n-") == "" || strings.Trim(line, " \t\r\n*") == "" {
		return 0 // a thematic break
	}
	n := 0
	for n <= maxMarkers {
		found := marker.FindString(line)
		if found == "" {
			break
		}
		line = line[len(found):]
		n++
	}
	return n
}

// beginsBlock reports whether no paragraph continues past a line.
func beginsBlock(line string) bool {
	text := strings.TrimLeft(line, " ")
	if strings.TrimSpace(text) == "" {
		return true
	}
	if len(line)-len(text) > 3 || len(text) < 3 {
		return false
	}
	switch text[0] {
	case '-', '*', '+', '#':
		return text[1] == ' ' && strings.TrimSpace(text[2:]) != ""
	}
	return false
}
