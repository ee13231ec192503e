package theme

import (
	"context"
	"errors"
	"html/template"
	"slices"
	"strings"
	"text/template/parse"
	"time"
	"unicode/utf8"
)

// Limits limits the rendering of one page. A zero field means its default.
type Limits struct {
	Steps  int           // iterations of loops and calls of templates; default 100,000
	Depth  int           // nested template calls; default 50
	Output int           // bytes; default 8 MiB
	Time   time.Duration // default 2 s
}

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 100_000
	}
	if l.Depth == 0 {
		l.Depth = 50
	}
	if l.Output == 0 {
		l.Output = 8 << 20
	}
	if l.Time == 0 {
		l.Time = 2 * time.Second
	}
	return l
}

// The reasons why rendering stopped.
var (
	ErrSteps  = errors.New("the theme takes too many steps")
	ErrDepth  = errors.New("the theme's templates call each other too deeply")
	ErrOutput = errors.New("the theme makes too large a page")
	ErrTime   = errors.New("the theme takes too long")
)

// allowed are the functions that a theme may call. None of them turns a short value into a long one.
var allowed = []string{
	"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index",
	"asset", "t", "count", "date", "day", "shortday", "language", "icon", "truncate",
}

// The functions that instrument inserts into templates. Themes cannot write these names.
const tickFunc, enterFunc, leaveFunc = "__tick", "__enter", "__leave"

// maxNesting limits the recursion over templates.
const maxNesting = 100

// meter counts the work of a rendering. It is for one rendering at a time.
type meter struct {
	ctx    context.Context //nolint:containedctx // it is for one rendering
	limits Limits
	end    time.Time
	steps  int
	depth  int
	env    Env
	words  words
}

func (m *meter) reset(ctx context.Context, limits Limits, env Env, in words) {
	*m = meter{ctx: ctx, limits: limits, end: time.Now().Add(limits.Time), env: env, words: in}
}

func (m *meter) tick() (string, error) {
	m.steps++
	if m.steps > m.limits.Steps {
		return "", ErrSteps
	}
	if m.steps%64 == 0 {
		if time.Now().After(m.end) {
			return "", ErrTime
		}
		return "", m.ctx.Err()
	}
	return "", nil
}

func (m *meter) enter() (string, error) {
	if m.depth++; m.depth > m.limits.Depth {
		return "", ErrDepth
	}
	return m.tick()
}

func (m *meter) leave() string {
	m.depth--
	return ""
}

func (m *meter) functions() template.FuncMap {
	return template.FuncMap{
		tickFunc: m.tick, enterFunc: m.enter, leaveFunc: m.leave,
		"asset": m.asset, "t": m.text, "count": m.count, "date": date, "day": m.day, "shortday": m.shortDay,
		"language": languageName, "icon": icon, "truncate": truncate,
	}
}

func (m *meter) asset(path string) string {
	if m.env.Asset == nil {
		return ""
	}
	return m.env.Asset("assets/" + strings.TrimPrefix(path, "assets/"))
}

func (m *meter) text(text string, args ...any) string { return m.words.text(text, args...) }

func (m *meter) count(what string, n any, args ...any) string { return m.words.count(what, n, args...) }

func (m *meter) day(value string) string { return m.words.day(value, false) }

func (m *meter) shortDay(value string) string { return m.words.day(value, true) }

// date formats a time (RFC 3339) with a layout of Go's package time.
func date(value, layout string) (string, error) {
	if len(layout) > 100 {
		return "", errors.New("the layout of a date is too long")
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return "", nil //nolint:nilerr // no date is shown as none
	}
	return t.Format(layout), nil
}

// truncate shortens a text to n characters including an ellipsis.
func truncate(n int, text string) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	for i := range text {
		if n--; n <= 0 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return ""
}

// guardTree refuses forbidden calls, and inserts a step count into every loop iteration and every template. The inserted
// declarations print nothing, so html/template's escaping is unaffected.
func guardTree(tree *parse.Tree) error {
	g := &guard{tree: tree}
	g.list(tree.Root, 0)
	if g.problem != nil {
		return g.problem
	}
	tree.Root.Nodes = slices.Concat([]parse.Node{g.call(enterFunc)}, tree.Root.Nodes, []parse.Node{g.call(leaveFunc)})
	return nil
}

type guard struct {
	tree    *parse.Tree
	calls   map[string]parse.Node
	problem *Problem
}

// call returns a node {{$_ := function}} with the name of its template.
func (g *guard) call(function string) parse.Node {
	if g.calls[function] == nil {
		name := g.tree.ParseName
		trees, err := parse.Parse(name, "{{$_ := "+function+"}}", "", "", map[string]any{function: func() string { return "" }})
		if err != nil {
			panic("theme: " + err.Error()) // a constant template
		}
		if g.calls == nil {
			g.calls = map[string]parse.Node{}
		}
		g.calls[function] = trees[name].Root.Nodes[0]
	}
	return g.calls[function].Copy()
}

func (g *guard) refuse(n parse.Node, message string) {
	if g.problem != nil {
		return
	}
	location, _ := g.tree.ErrorContext(n)
	name, line := splitLocation(location)
	g.problem = &Problem{Path: name, Line: line, Message: message}
}

func (g *guard) list(l *parse.ListNode, depth int) {
	if l == nil || g.problem != nil {
		return
	}
	if depth > maxNesting {
		g.refuse(l, "is nested too deeply")
		return
	}
	for _, n := range l.Nodes {
		g.node(n, depth)
	}
}

func (g *guard) node(n parse.Node, depth int) {
	if g.problem != nil {
		return
	}
	if depth > maxNesting {
		g.refuse(n, "is nested too deeply")
		return
	}
	switch n := n.(type) {
	case *parse.ActionNode:
		g.pipe(n.Pipe, depth)
	case *parse.IfNode:
		g.branch(&n.BranchNode, depth)
	case *parse.WithNode:
		g.branch(&n.BranchNode, depth)
	case *parse.RangeNode:
		g.branch(&n.BranchNode, depth)
		n.List.Nodes = slices.Concat([]parse.Node{g.call(tickFunc)}, n.List.Nodes)
	case *parse.TemplateNode:
		g.pipe(n.Pipe, depth)
	case *parse.PipeNode:
		g.pipe(n, depth)
	case *parse.CommandNode:
		for _, arg := range n.Args {
			g.node(arg, depth+1)
		}
	case *parse.ChainNode:
		g.node(n.Node, depth+1)
	case *parse.IdentifierNode:
		if !slices.Contains(allowed, n.Ident) {
			g.refuse(n, "the function "+n.Ident+" is not available to themes")
		}
	}
}

func (g *guard) branch(b *parse.BranchNode, depth int) {
	g.pipe(b.Pipe, depth)
	g.list(b.List, depth+1)
	g.list(b.ElseList, depth+1)
}

func (g *guard) pipe(p *parse.PipeNode, depth int) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		g.node(c, depth+1)
	}
}
