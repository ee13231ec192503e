package desk

import (
	"html/template"
	"text/template/parse"
)

// settle evaluates calls that depend on no data, of texts and icons, when templates are parsed: they are most of the calls
// of a page, and each costs as much as a field of a row.
func settle(t *template.Template, texts map[string]func(string) template.HTML) {
	for _, one := range t.Templates() {
		if one.Tree != nil {
			settleList(one.Tree.Root, texts)
		}
	}
}

func settleList(list *parse.ListNode, texts map[string]func(string) template.HTML) {
	if list == nil {
		return
	}
	for i, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if text, fixed := settled(n.Pipe, texts); fixed {
				list.Nodes[i] = &parse.TextNode{NodeType: parse.NodeText, Pos: n.Pos, Text: []byte(text)}
			}
		case *parse.IfNode:
			settleList(n.List, texts)
			settleList(n.ElseList, texts)
		case *parse.RangeNode:
			settleList(n.List, texts)
			settleList(n.ElseList, texts)
		case *parse.WithNode:
			settleList(n.List, texts)
			settleList(n.ElseList, texts)
		}
	}
}

// settled returns the result of a call of one of the functions with one constant text.
func settled(p *parse.PipeNode, texts map[string]func(string) template.HTML) (template.HTML, bool) {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 2 {
		return "", false
	}
	name, called := p.Cmds[0].Args[0].(*parse.IdentifierNode)
	text, fixed := p.Cmds[0].Args[1].(*parse.StringNode)
	if !called || !fixed || texts[name.Ident] == nil {
		return "", false
	}
	html := texts[name.Ident](text.Text)
	return html, html != ""
}
