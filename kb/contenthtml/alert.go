package contenthtml

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// alerts maps the kinds of quotes that GitHub shows as alerts, such as "> [!NOTE]", to their titles. Pages in other
// languages translate the title.
var alerts = map[string]string{
	"note": "Note", "tip": "Tip", "important": "Important", "warning": "Warning", "caution": "Caution",
}

// alertAttribute is the attribute for the kind of alert.
var alertAttribute = []byte("alert")

// alertExtension turns quotes that begin with a line for their kind into alerts.
type alertExtension struct{}

func (e alertExtension) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithParagraphTransformers(util.Prioritized(e, 100)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(e, 100)))
}

// Transform removes the kind from the first paragraph of a quote.
func (alertExtension) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	quote, ok := p.Parent().(*ast.Blockquote)
	if !ok || p.PreviousSibling() != nil || p.Lines().Len() == 0 {
		return
	}
	first := p.Lines().At(0)
	mark := bytes.TrimSpace(first.Value(reader.Source()))
	if !bytes.HasPrefix(mark, []byte("[!")) || !bytes.HasSuffix(mark, []byte("]")) {
		return
	}
	kind := strings.ToLower(string(mark[2 : len(mark)-1]))
	if alerts[kind] == "" {
		return
	}
	quote.SetAttribute(alertAttribute, kind)
	rest := text.NewSegments()
	rest.AppendAll(p.Lines().Sliced(1, p.Lines().Len()))
	p.SetLines(rest)
	if rest.Len() == 0 {
		quote.RemoveChild(quote, p)
	}
}

// RegisterFuncs implements [renderer.NodeRenderer].
func (e alertExtension) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindBlockquote, e.render)
}

func (alertExtension) render(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag, title := "blockquote", ""
	if kind, ok := n.Attribute(alertAttribute); ok {
		tag = "div"
		title = ` class="markdown-alert markdown-alert-` + kind.(string) + `">` + "\n" + `<p class="markdown-alert-title">` + alerts[kind.(string)] + "</p>\n" //nolint:forcetypeassert // only this package sets the attribute
	} else {
		title = ">\n"
	}
	out := "<" + tag + title
	if !entering {
		out = "</" + tag + ">\n"
	}
	_, err := w.WriteString(out)
	return ast.WalkContinue, err
}
