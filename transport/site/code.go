package site

import (
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"golang.org/x/net/html"
)

// Bounds of highlighting. Lexers are regular expressions that go back, so long code and
// what takes long is shown plain.
const (
	maxHighlighted = 64 << 10 // bytes of a block
	maxCodeLine    = 2 << 10
	maxLexing      = 200 * time.Millisecond // of all blocks of an article
)

// marker marks the words of programs by the classes of the theme's stylesheet (those of
// Pygments).
type marker struct{ spent time.Duration }

// mark returns code as HTML; "" when the language is not known, or it would take too long.
func (m *marker) mark(code, language string) string {
	lexer := lexerOf(language)
	if lexer == nil || m.spent > maxLexing || len(code) > maxHighlighted || longLine(code) {
		return ""
	}
	begin := time.Now()
	defer func() { m.spent += time.Since(begin) }()
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for token := tokens(); token != chroma.EOF; token = tokens() {
		if m.spent+time.Since(begin) > maxLexing {
			return ""
		}
		class := chroma.StandardTypes[token.Type]
		if !slices.Contains(shownKinds, class[:min(1, len(class))]) && !slices.Contains(shownNames, class) {
			b.WriteString(html.EscapeString(token.Value))
			continue
		}
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(token.Value) + "</span>")
	}
	return b.String()
}

// What the stylesheet has colours for: keywords, strings, numbers and comments, and of the
// names those that are defined.
var (
	shownKinds = []string{"k", "s", "m", "c"}
	shownNames = []string{"ow", "nt", "nf", "nc", "na", "nb", "nd", "no", "fm", "il"}
)

func longLine(code string) bool {
	for line := range strings.Lines(code) {
		if len(line) > maxCodeLine {
			return true
		}
	}
	return false
}

// lexerOf finds the lexer of a language by its name or one of its file endings. Plain
// text has none.
func lexerOf(language string) chroma.Lexer {
	switch language {
	case "", "text", "txt", "plain", "plaintext", "none":
		return nil
	}
	if len(language) > 40 {
		return nil
	}
	return lexers.Get(language)
}
