package theme

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"
)

// Set is a compiled theme. It is safe for concurrent use.
type Set struct {
	pages map[string]*page
}

// page is the set of templates of one page, with its own content.
type page struct {
	pristine *template.Template // never executed, only cloned
	paths    map[string]string  // of templates, by name
	spare    sync.Pool          // of *instance: one takes 1.1 ms to make, and a page 0.35 ms
}

// instance is a clone for one rendering at a time, because its functions count for that rendering.
type instance struct {
	layout *template.Template
	meter  *meter
}

// Compile compiles a theme from the texts of its templates by path. Missing templates come from the built-in theme, but
// layout and article are required. The error is a *Problem with the line of a template that does not parse, calls a
// forbidden function, or cannot be escaped safely.
func Compile(templates map[string]string) (*Set, error) {
	own, err := byName(templates)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{layoutName, PageArticle} {
		if _, ok := own[name]; !ok {
			return nil, &Problem{Message: "The theme has no templates/" + name + ".html."}
		}
	}
	return compile(own)
}

// source is the text of a template and its path.
type source struct{ path, text string }

func byName(templates map[string]string) (map[string]source, error) {
	own := map[string]source{}
	size := 0
	for _, path := range slices.Sorted(maps.Keys(templates)) {
		if err := CheckFile(path, []byte(templates[path])); err != nil {
			return nil, err
		}
		name := TemplateName(path)
		if other, taken := own[name]; taken || name == contentName {
			return nil, &Problem{Path: path, Message: fmt.Sprintf("the template %s already exists%s", name, nameOf(other.path))}
		}
		if size += len(templates[path]); size > MaxTemplates {
			return nil, &Problem{Message: "The theme's templates are larger than 2 MB in total."}
		}
		own[name] = source{path: path, text: templates[path]}
	}
	return own, nil
}

func nameOf(path string) string {
	if path == "" {
		return ""
	}
	return ": " + path
}

func compile(own map[string]source) (*Set, error) {
	all := map[string]source{}
	for path, text := range builtinTemplates() {
		all[TemplateName(path)] = source{path: path, text: text}
	}
	maps.Copy(all, own)
	if err := checkActions(all); err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for name, s := range all {
		paths[name] = s.path
	}
	base := template.New("").Funcs(new(meter).functions())
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(Pages(), name) {
			continue
		}
		if _, err := base.New(name).Parse(all[name].text); err != nil {
			return nil, problemOf(err, paths)
		}
	}
	set := &Set{pages: map[string]*page{}}
	for _, name := range Pages() {
		p, err := compilePage(base, name, all[name].text, paths)
		if err != nil {
			return nil, problemOf(err, paths)
		}
		set.pages[name] = p
	}
	return set, nil
}

func compilePage(base *template.Template, name, text string, paths map[string]string) (*page, error) {
	t, err := base.Clone()
	if err != nil {
		return nil, err
	}
	if _, err := t.New(name).Parse(text); err != nil {
		return nil, err
	}
	// The page is its file, or the content that the file defines.
	body, defined := t.Lookup(name), t.Lookup(contentName)
	if body != nil && body.Tree != nil && (defined == nil || !parse.IsEmptyTree(body.Tree.Root)) {
		if _, err := t.AddParseTree(contentName, body.Tree.Copy()); err != nil {
			return nil, err
		}
	}
	for _, one := range t.Templates() {
		if one.Tree == nil || one.Tree.Root == nil {
			continue
		}
		if err := guardTree(one.Tree); err != nil {
			return nil, err
		}
	}
	if err := checkWork(t.Templates()); err != nil {
		return nil, err
	}
	p := &page{pristine: t, paths: paths}
	return p, p.check()
}

// check triggers html/template's escaping.
func (p *page) check() error {
	_, err := p.escaped()
	return err
}

// instance returns an instance that is not in use.
func (p *page) instance() (*instance, error) {
	if i, ok := p.spare.Get().(*instance); ok {
		return i, nil
	}
	return p.escaped()
}

// escaped returns a clone after html/template's escaping, which precedes any execution: a budget of no steps stops right
// after it.
func (p *page) escaped() (*instance, error) {
	t, err := p.pristine.Clone()
	if err != nil {
		return nil, err
	}
	m := &meter{}
	t.Funcs(m.functions())
	layout := t.Lookup(layoutName)
	if layout == nil {
		return nil, &Problem{Path: p.paths[layoutName], Message: "is empty"}
	}
	m.reset(context.Background(), Limits{Steps: -1, Depth: 1}, Env{}, words{})
	if err := layout.Execute(io.Discard, Page{}); err != nil && !errors.Is(err, ErrSteps) {
		return nil, err
	}
	return &instance{layout: layout, meter: m}, nil
}

// Env holds what a rendering needs besides the page.
type Env struct {
	Asset  func(path string) string // address of a file under assets/; "" if there is none
	Limits Limits
}

// Render renders a page: one of [Pages]. The error is a *Problem with the place where the theme failed. If a limit was
// exceeded it also wraps one of the Err values or the context's error.
func (s *Set) Render(ctx context.Context, name string, p Page, env Env) ([]byte, error) {
	page, ok := s.pages[name]
	if !ok {
		return nil, &Problem{Message: "There is no page " + name + "."}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i, err := page.instance()
	if err != nil {
		return nil, problemOf(err, page.paths)
	}
	body, err := i.render(ctx, p, env)
	page.spare.Put(i)
	if err != nil {
		return nil, renderError(err, page.paths)
	}
	return body, nil
}

func (i *instance) render(ctx context.Context, p Page, env Env) ([]byte, error) {
	limits := env.Limits.withDefaults()
	i.meter.reset(ctx, limits, env, wordsOf(p.Locale))
	out := &output{left: limits.Output}
	err := i.layout.Execute(out, p)
	i.meter.reset(context.Background(), limits, Env{}, words{}) // keeps no reference to this page
	return out.page.Bytes(), err
}

// renderError keeps the reason for errors.Is along with the place.
func renderError(err error, paths map[string]string) error {
	for _, reason := range []error{ErrSteps, ErrDepth, ErrOutput, ErrTime, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, reason) {
			p := problemOf(err, paths)
			p.Line, p.Message = 0, reason.Error() // the line is that of an inserted count
			return fmt.Errorf("%w: %w", p, reason)
		}
	}
	return problemOf(err, paths)
}

// place matches the position in errors of html/template and text/template.
var place = regexp.MustCompile(`^(?:html/)?template: ?([^:]*):(\d+)(?::\d+)?: (?s:(.*))$`)

// problemOf converts an error of the template packages into one that names the file.
func problemOf(err error, paths map[string]string) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		found := *p
		if path, known := paths[found.Path]; known {
			found.Path = path
		}
		return &found
	}
	if e, ok := errors.AsType[*template.Error](err); ok && e.Description != "" && e.Node == nil {
		return &Problem{Path: pathOf(e.Name, paths), Line: e.Line, Message: e.Description}
	}
	m := place.FindStringSubmatch(err.Error())
	if m == nil {
		return &Problem{Message: strings.ToValidUTF8(err.Error(), "\uFFFD")}
	}
	line, _ := strconv.Atoi(m[2])
	message := m[3]
	if _, after, ok := strings.Cut(message, ">: "); ok && strings.HasPrefix(message, "executing ") {
		message = after
	}
	return &Problem{Path: pathOf(m[1], paths), Line: line, Message: strings.ToValidUTF8(message, "\uFFFD")}
}

// pathOf removes the suffix that html/template adds to the names of templates that it escapes in several ways.
func pathOf(name string, paths map[string]string) string {
	name, _, _ = strings.Cut(name, "$")
	if path, ok := paths[name]; ok {
		return path
	}
	return name
}

// splitLocation parses "name:line:column".
func splitLocation(location string) (name string, line int) {
	parts := strings.Split(location, ":")
	if len(parts) < 2 {
		return location, 0
	}
	line, _ = strconv.Atoi(parts[1])
	return parts[0], line
}
