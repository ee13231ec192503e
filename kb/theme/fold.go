package theme

import (
	"html/template"
	"slices"
	"strings"
	"text/template/parse"
)

// Most of the time of a rendering goes into calls of functions by reflection. After html/template's escaping, some calls give
// the same for every page of a language, and become text; and the three that make an address safe become one.

// The functions that html/template's escaping appends to actions in texts and in quoted attributes, and to addresses in
// quoted attributes. Under other names, or in other places, actions stay as they are.
const (
	escapeText  = "_html_template_htmlescaper"
	escapeAttr  = "_html_template_attrescaper"
	filterURL   = "_html_template_urlfilter"
	escapeURL   = "_html_template_urlnormalizer"
	addressFunc = "__address" // themes cannot write this name
)

// contexts are templates that escape a value as these functions do.
var contexts = map[string]*template.Template{
	escapeText:  template.Must(template.New("").Parse("{{.}}")),
	escapeAttr:  template.Must(template.New("").Parse(`<a title="{{.}}">`)),
	addressFunc: template.Must(template.New("").Parse(`<a href="{{.}}">`)),
}

// escaped returns a value as html/template prints it in a context.
func escaped(context string, value any) (string, bool) {
	var b strings.Builder
	if err := contexts[context].Execute(&b, value); err != nil {
		return "", false
	}
	text := b.String()
	if context != escapeText {
		_, text, _ = strings.Cut(text, `"`)
		text = strings.TrimSuffix(text, `">`)
	}
	return text, true
}

// address makes an address safe for a quoted attribute, as html/template does.
func address(value any) string {
	text, ok := value.(string)
	if ok && ordinary(text) {
		return text
	}
	text, _ = escaped(addressFunc, value)
	return text
}

// ordinary reports whether an address is safe as it is.
func ordinary(address string) bool {
	if rest, ok := strings.CutPrefix(address, "https://"); ok {
		address = rest
	} else if rest, ok := strings.CutPrefix(address, "http://"); ok {
		address = rest
	} else if strings.Contains(address, ":") { // perhaps of another scheme
		return false
	}
	for i := range len(address) {
		c := address[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("/-._~?=:#", c) < 0 {
			return false
		}
	}
	return true
}

// fold shortens the escaped templates of a page for a language.
func fold(templates []*template.Template, in words) {
	for _, t := range templates {
		if t.Tree != nil {
			foldList(t.Tree.Root, in)
		}
	}
}

func foldList(l *parse.ListNode, in words) {
	if l == nil {
		return
	}
	for i, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			l.Nodes[i] = folded(n, in)
		case *parse.IfNode:
			foldBranch(&n.BranchNode, in)
		case *parse.WithNode:
			foldBranch(&n.BranchNode, in)
		case *parse.RangeNode:
			foldBranch(&n.BranchNode, in)
		}
	}
	l.Nodes = joined(l.Nodes)
}

func foldBranch(b *parse.BranchNode, in words) {
	foldList(b.List, in)
	foldList(b.ElseList, in)
}

// folded returns what does the same as an action in less time, or the action.
func folded(n *parse.ActionNode, in words) parse.Node {
	if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) < 2 {
		return n
	}
	calls := n.Pipe.Cmds
	if len(calls) == 2 {
		context := function(calls[1])
		if value, ok := constant(calls[0], in); ok && (context == escapeText || context == escapeAttr) {
			if text, ok := escaped(context, value); ok {
				return &parse.TextNode{NodeType: parse.NodeText, Pos: n.Pos, Text: []byte(text)}
			}
		}
	}
	last := len(calls) - 3
	if last > 0 && function(calls[last]) == filterURL && function(calls[last+1]) == escapeURL && function(calls[last+2]) == escapeAttr {
		call := calls[last]
		call.Args = []parse.Node{parse.NewIdentifier(addressFunc).SetPos(call.Pos)}
		n.Pipe.Cmds = calls[:last+1]
	}
	return n
}

// function returns the name of a function that is called without arguments of its own.
func function(c *parse.CommandNode) string {
	if len(c.Args) == 1 {
		if name, ok := c.Args[0].(*parse.IdentifierNode); ok {
			return name.Ident
		}
	}
	return ""
}

// constant returns the value of a call that gives the same for every page of a language.
func constant(c *parse.CommandNode, in words) (any, bool) {
	name, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok || len(c.Args) < 2 {
		return nil, false
	}
	var args []string
	for _, arg := range c.Args[1:] {
		text, ok := arg.(*parse.StringNode)
		if !ok {
			return nil, false
		}
		args = append(args, text.Text)
	}
	switch {
	case name.Ident == "t":
		rest := make([]any, 0, len(args))
		for _, arg := range args[1:] {
			rest = append(rest, arg)
		}
		return in.text(args[0], rest...), true
	case name.Ident == "icon" && len(args) == 1:
		return icon(args[0]), true
	}
	return nil, false
}

// joined makes one text of each run of texts.
func joined(nodes []parse.Node) []parse.Node {
	all := nodes[:0]
	for _, n := range nodes {
		text, ok := n.(*parse.TextNode)
		if before := len(all) - 1; ok && before >= 0 {
			if first, ok := all[before].(*parse.TextNode); ok {
				first.Text = slices.Concat(first.Text, text.Text)
				continue
			}
		}
		all = append(all, n)
	}
	return all
}
