package theme

import (
	"html/template"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Most of the time of a rendering goes into calls of functions by reflection. After html/template's escaping, fold removes
// most of them: calls that give the same for every page of a language become text; the three that make an address safe become
// one; and what counts the work or escapes a string is left to the writer of the page, which a mark in the text tells.

// The functions that html/template's escaping appends to actions in texts and in quoted attributes, and to addresses in
// quoted attributes. Under other names, or in other places, actions stay as they are.
const (
	escapeText  = "_html_template_htmlescaper"
	escapeAttr  = "_html_template_attrescaper"
	escapeTitle = "_html_template_rcdataescaper" // also in textareas
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

// fold shortens the escaped templates of a page for a language, and returns the marks that they have then.
func fold(templates []*template.Template, in words) marks {
	all := marks{}
	for _, t := range templates {
		if t.Tree != nil {
			f := folder{words: in, marks: all, template: t.Name()}
			f.list(t.Tree.Root, false)
		}
	}
	return all
}

// folder folds one template.
type folder struct {
	words    words
	marks    marks
	template string
}

// list folds a part of a template. The dot may be known to be a string.
func (f *folder) list(l *parse.ListNode, text bool) {
	if l == nil {
		return
	}
	nodes := make([]parse.Node, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			nodes = append(nodes, f.action(n, text)...)
			continue
		case *parse.IfNode:
			f.branch(&n.BranchNode, text, text)
		case *parse.WithNode:
			f.branch(&n.BranchNode, len(n.Pipe.Cmds) == 1 && isText(n.Pipe, text), text)
		case *parse.RangeNode:
			f.branch(&n.BranchNode, false, text)
		}
		nodes = append(nodes, n)
	}
	l.Nodes = f.joined(nodes)
}

func (f *folder) branch(b *parse.BranchNode, inside, text bool) {
	f.list(b.List, inside)
	f.list(b.ElseList, text)
}

// action returns what does the same as an action in less time, or the action.
func (f *folder) action(n *parse.ActionNode, text bool) []parse.Node {
	calls := n.Pipe.Cmds
	if len(n.Pipe.Decl) > 0 {
		if does, ok := steps[function(calls[0])]; ok && len(calls) == 1 {
			return []parse.Node{f.mark(n, does)}
		}
		return []parse.Node{n}
	}
	if len(calls) < 2 {
		return []parse.Node{n}
	}
	last := len(calls) - 3
	if last > 0 && function(calls[last]) == filterURL && function(calls[last+1]) == escapeURL && function(calls[last+2]) == escapeAttr {
		call := calls[last]
		call.Args = []parse.Node{parse.NewIdentifier(addressFunc).SetPos(call.Pos)}
		n.Pipe.Cmds = calls[:last+1]
	}
	calls = n.Pipe.Cmds
	if len(calls) > 2 {
		return []parse.Node{n}
	}
	context := function(calls[1])
	if value, ok := constant(calls[0], f.words); ok && (context == escapeText || context == escapeAttr) {
		if text, ok := escaped(context, value); ok {
			return []parse.Node{&parse.TextNode{NodeType: parse.NodeText, Pos: n.Pos, Text: []byte(text)}}
		}
	}
	if does, ok := escapes[context]; ok && isText(n.Pipe, text) {
		n.Pipe.Cmds = calls[:1]
		return []parse.Node{f.mark(n, does), n}
	}
	return []parse.Node{n}
}

// mark returns a mark in place of or before an action.
func (f *folder) mark(n *parse.ActionNode, does deed) parse.Node {
	text := []byte{markByte}
	f.marks[&text[0]] = mark{does: does, template: f.template}
	return &parse.TextNode{NodeType: parse.NodeText, Pos: n.Pos, Text: text}
}

// isText reports whether a pipeline begins with a value that is certainly a string, rather than markup that html/template
// would not escape: the dot, or a field whose name is that of strings only.
func isText(p *parse.PipeNode, dot bool) bool {
	args := p.Cmds[0].Args
	if len(args) != 1 {
		return false
	}
	switch arg := args[0].(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return textFields[arg.Ident[len(arg.Ident)-1]]
	case *parse.VariableNode:
		return len(arg.Ident) > 1 && textFields[arg.Ident[len(arg.Ident)-1]]
	}
	return false
}

// textFields are the names of fields that are strings in each type of a page that has them.
var textFields = func() map[string]bool {
	all, seen := map[string]bool{}, map[reflect.Type]bool{}
	var look func(t reflect.Type)
	look = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for field := range t.Fields() {
			before, known := all[field.Name]
			all[field.Name] = field.Type == reflect.TypeFor[string]() && (before || !known)
			look(field.Type)
		}
	}
	look(reflect.TypeFor[Page]())
	return all
}()

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
func (f *folder) joined(nodes []parse.Node) []parse.Node {
	all := nodes[:0]
	for _, n := range nodes {
		text, ok := n.(*parse.TextNode)
		if before := len(all) - 1; ok && before >= 0 && !f.marks.has(text.Text) {
			if first, ok := all[before].(*parse.TextNode); ok && !f.marks.has(first.Text) {
				first.Text = slices.Concat(first.Text, text.Text)
				continue
			}
		}
		all = append(all, n)
	}
	return all
}
