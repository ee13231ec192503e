package theme

import (
	"html/template"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// html/template's escaping, which runs before the first page is rendered, can cost far more than the size of the templates.
// After an error it processes a loop body twice, and so it does a called template: thirty nested loops, or a chain of thirty
// templates, take minutes. It may process a recursive template again in each of the many contexts that markup can produce,
// for instance in a script that never ends. So the work is limited beforehand.
const (
	maxActions = 20_000   // of a theme, in {{ }}
	maxDefined = 500      // templates per page
	maxLoops   = 8        // nested {{range}}
	maxWork    = 64 << 20 // bytes of text processed at most, with actionWork for each action
	actionWork = 256
	recursion  = 64 // passes over a recursive template without markup
)

// checkActions limits what is parsed.
func checkActions(templates map[string]source) error {
	actions := 0
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		if actions += strings.Count(templates[name].text, "{{"); actions > maxActions {
			return &Problem{Path: templates[name].path, Message: "the theme has more than 20,000 actions in {{ }}"}
		}
	}
	return nil
}

// checkWork limits the work of escaping the templates of a page. guardTree has limited their nesting.
func checkWork(templates []*template.Template) error {
	e := &estimate{all: map[string]*estimated{}}
	for _, t := range templates {
		if t.Tree != nil && t.Tree.Root != nil {
			e.all[t.Name()] = &estimated{tree: t.Tree}
		}
	}
	if len(e.all) > maxDefined {
		return &Problem{Message: "The theme defines more than 500 templates."}
	}
	for _, name := range slices.Sorted(maps.Keys(e.all)) {
		e.template(e.all[name])
	}
	if e.problem != nil {
		return e.problem
	}
	return nil
}

// estimate computes an upper limit of the work.
type estimate struct {
	all     map[string]*estimated
	stack   []*estimated // being estimated, each called by the one before
	problem *Problem
}

// estimated is a template with its estimate.
type estimated struct {
	tree        *parse.Tree
	begun, done bool
	recursive   bool
	work        int
}

// template estimates the work for one call of a template.
func (e *estimate) template(t *estimated) int {
	if t.done || e.problem != nil {
		return t.work
	}
	t.begun = true
	e.stack = append(e.stack, t)
	t.work = 2 * e.list(t, t.tree.Root, 0)
	e.stack = e.stack[:len(e.stack)-1]
	if t.done = true; t.recursive {
		if t.work *= recursion; hasMarkup(t.tree.Root) {
			e.refuse(t, t.tree.Root, "a template that calls itself, directly or through others, must have no markup")
		}
	}
	return t.work
}

// list estimates the work for a part of a template inside a number of loops.
func (e *estimate) list(t *estimated, l *parse.ListNode, loops int) int {
	if l == nil || e.problem != nil {
		return 0
	}
	work := 0
	for _, n := range l.Nodes {
		work += actionWork
		switch n := n.(type) {
		case *parse.TextNode:
			work += len(n.Text)
		case *parse.TemplateNode:
			called := e.all[n.Name]
			if called != nil && called.begun && !called.done {
				for _, one := range e.stack[slices.Index(e.stack, called):] {
					one.recursive = true
				}
			} else if called != nil {
				work += e.template(called)
			}
		case *parse.IfNode:
			work += e.list(t, n.List, loops) + e.list(t, n.ElseList, loops)
		case *parse.WithNode:
			work += e.list(t, n.List, loops) + e.list(t, n.ElseList, loops)
		case *parse.RangeNode:
			if loops == maxLoops {
				e.refuse(t, n, "loops ({{range}}) are nested too deeply: at most 8")
			}
			work += 2*e.list(t, n.List, loops+1) + e.list(t, n.ElseList, loops)
		}
		if e.problem != nil {
			return 0
		}
		if work > maxWork {
			e.refuse(t, n, "loops and templates that call each other are nested too deeply for the size of the theme")
		}
	}
	return work
}

// hasMarkup reports whether a text could change the HTML context of what follows.
func hasMarkup(l *parse.ListNode) bool {
	if l == nil {
		return false
	}
	return slices.ContainsFunc(l.Nodes, func(n parse.Node) bool {
		switch n := n.(type) {
		case *parse.TextNode:
			return strings.ContainsAny(string(n.Text), "<>\"'`={}/\\?#&*")
		case *parse.IfNode:
			return hasMarkup(n.List) || hasMarkup(n.ElseList)
		case *parse.WithNode:
			return hasMarkup(n.List) || hasMarkup(n.ElseList)
		case *parse.RangeNode:
			return hasMarkup(n.List) || hasMarkup(n.ElseList)
		}
		return false
	})
}

func (e *estimate) refuse(t *estimated, n parse.Node, message string) {
	if e.problem != nil {
		return
	}
	location, _ := t.tree.ErrorContext(n)
	name, line := splitLocation(location)
	e.problem = &Problem{Path: name, Line: line, Message: message}
}
