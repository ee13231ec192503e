package site

import (
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"golang.org/x/net/html"
)

// Limits of highlighting. Lexers are backtracking regular expressions, so code that is long or takes too long is shown
// plain.
const (
	maxHighlighted = 64 << 10 // bytes of a block
	maxCodeLine    = 2 << 10
	maxLexing      = 200 * time.Millisecond // for all blocks of an article
)

// marker highlights code with the classes of the theme's stylesheet (those of Pygments).
type marker struct{ spent time.Duration }

// mark returns code as HTML; "" if the language is unknown, or highlighting would take too long.
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

// The tokens for which the stylesheet has colours: keywords, strings, numbers, comments, and names in definitions.
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

// lexerOf finds the lexer of a language by its name or one of its file extensions. Plain text has none.
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
