package contenthtml

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// bareRest matches the rest of an address in text, after its host. As in GitHub's Markdown, but letters, digits and signs of
// all scripts belong to it, and marks such as the middle dot between them; other punctuation of these scripts ends it.
const bareRest = `(?:[/?#](?:[-a-zA-Z0-9@:%_+.~#$!?&/=();,'">^{}\[\]` + "`" + `\p{L}\p{M}\p{N}]|[^\x00-\x7F\p{P}\p{Z}\p{C}]|[\x{2010}-\x{2015}]|` +
	`[\x{B7}\x{2019}\x{2027}\x{30FB}\x{200C}\x{200D}]+[\p{L}\p{N}])*)?`

var (
	bareURL = regexp.MustCompile(`^(?i:https?|ftp)://(?:[-a-zA-Z0-9._~%+:]{1,100}@)?(?:\[[0-9a-fA-F:.]+\]|[-_\p{L}\p{M}\p{N}]+(?:\.[-_\p{L}\p{M}\p{N}]+)*)(?::\d{1,5})?` + bareRest)
	bareWWW = regexp.MustCompile(`^www(?:\.[-_\p{L}\p{M}\p{N}]+){2,20}(?::\d{1,5})?` + bareRest)
)

// autolinkExtension makes links of bare addresses. It leaves the encoding of addresses to Clean.
type autolinkExtension struct{}

func (e autolinkExtension) Extend(m goldmark.Markdown) {
	extension.NewLinkify(extension.WithLinkifyURLRegexp(bareURL), extension.WithLinkifyWWWRegexp(bareWWW),
		extension.WithLinkifyAllowedProtocols([]string{"http:", "https:", "HTTP:", "HTTPS:", "Http:", "Https:", "ftp:"})).Extend(m)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(e, 100)))
}

// RegisterFuncs implements [renderer.NodeRenderer].
func (e autolinkExtension) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindAutoLink, e.render)
}

func (autolinkExtension) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link := n.(*ast.AutoLink) //nolint:forcetypeassert // it is registered for this kind only
	if !entering {
		return ast.WalkContinue, nil
	}
	address, label := string(link.URL(source)), string(link.Label(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	_, err := w.WriteString(`<a href="` + html.EscapeString(address) + `">` + html.EscapeString(label) + "</a>")
	return ast.WalkContinue, err
}
