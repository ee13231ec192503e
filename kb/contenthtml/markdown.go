package contenthtml

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

// MaxMarkdown is the most Markdown that is taken, in bytes. The parser's time grows
// with the square of some texts; what is longer can be given as HTML.
const MaxMarkdown = 64 << 10

// Why FromMarkdown refuses a text. Their messages may be shown.
var (
	ErrMarkdownSize  = errors.New("is longer than 64 KiB of Markdown")
	ErrMarkdownDepth = errors.New("has quotes or lists that are nested too deeply")
	ErrMarkdownLinks = errors.New("has too many links in one paragraph")
)

// markdown is CommonMark with GitHub's tables, strikethrough, task lists and
// automatic links, and anchors of the author's own: "## Install {#install}".
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithHeadingAttribute()),
		goldmark.WithRendererOptions(html.WithUnsafe()), // Clean sees to it
	)
})

// FromMarkdown turns Markdown (CommonMark, with GitHub's tables, strikethrough, task
// lists and automatic links) into HTML that [Clean] has cleaned. HTML in it is cleaned
// like any other. The error is one of ErrMarkdown*.
func FromMarkdown(source string) (string, error) {
	source = strings.ToValidUTF8(strings.ReplaceAll(source, "\x00", ""), "\uFFFD")
	if err := checkMarkdown(source); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := markdown().Convert([]byte(source), &b); err != nil {
		return "", err
	}
	return Clean(b.String()), nil
}

const (
	maxMarkers = 30       // signs of quotes and lists that a line begins with
	maxLinking = 32 << 20 // starts of links times bytes of the paragraph they are in
)

// checkMarkdown refuses the texts that the parser takes squared time for.
func checkMarkdown(source string) error {
	if len(source) > MaxMarkdown {
		return ErrMarkdownSize
	}
	bytes, links := 0, 0
	for line := range strings.Lines(source) {
		if markers(line) > maxMarkers {
			return ErrMarkdownDepth
		}
		if beginsBlock(line) {
			bytes, links = 0, 0
		}
		bytes += len(line)
		if links += strings.Count(line, "]("); links*bytes > maxLinking {
			return ErrMarkdownLinks
		}
	}
	return nil
}

// markers counts the signs of quotes and list items that a line begins with.
func markers(line string) int {
	n := 0
	for i := 0; i < len(line) && n <= maxMarkers; i++ {
		switch c := line[i]; {
		case c == '>', c == '-', c == '+', c == '*':
			n++
		case c == '.' || c == ')':
			n++
		case c == ' ', c == '\t', c >= '0' && c <= '9':
		default:
			return n
		}
	}
	if strings.Trim(line, " \t\r\n-") == "" || strings.Trim(line, " \t\r\n*") == "" {
		return 0 // a rule
	}
	return n
}

// beginsBlock tells of a line whether no paragraph goes on beyond it.
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
