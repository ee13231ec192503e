package transport

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

//go:embed docs.js
var docsJS string

// addDocs adds the page that shows an OpenAPI document in a browser. The page loads no other resources; its only script is
// for the filter.
func (t *Table) addDocs(document []byte, guides string) {
	page := sync.OnceValues(func() ([]byte, error) { return docsPage(document, guides) })
	style, script := sha256.Sum256([]byte(docsCSS)), sha256.Sum256([]byte(docsJS))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(script[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	t.add(&Route{
		Operation: Operation{
			ID: "docs", Method: http.MethodGet, Path: "/docs", Tag: "Service", Status: http.StatusOK,
			Public: true, Summary: "This document as a page for a browser",
		},
		Shape: File,
		serve: func(w http.ResponseWriter, r *Request) error {
			html, err := page()
			if err != nil {
				return fault.Wrap(fault.Internal, "transport.docs", err)
			}
			sum := sha256.Sum256(html)
			h := w.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", policy)
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
			h.Set("Cache-Control", "public, no-cache")
			http.ServeContent(w, r.http, "", time.Time{}, bytes.NewReader(html))
			return nil
		},
	})
}

// An apiDocument is the part of an OpenAPI document that the page shows.
type apiDocument struct {
	Info struct {
		Title, Version, Description string
	}
	Servers []struct{ URL string }
	Tags    []struct{ Name string }
	Paths   map[string]map[string]*docOperation

	Components struct {
		Schemas    map[string]*docSchema
		Parameters map[string]docParameter
	}
}

type docOperation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []docParameter
	Security                          []map[string]any
	RequestBody                       *struct {
		Description string
		Content     map[string]docContent
	}
	Responses map[string]struct {
		Ref         string `json:"$ref"`
		Description string
		Content     map[string]docContent
	}

	Method, Path string `json:"-"`
}

type docContent struct {
	Schema  *docSchema
	Example any
}

type docParameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *docSchema
	Example               any
}

type docSchema struct {
	Ref                  string          `json:"$ref"`
	Type                 json.RawMessage // a string or a list of strings
	Format, Description  string
	Items                *docSchema
	Properties           map[string]*docSchema
	AdditionalProperties json.RawMessage
	Required             []string
	Enum, Examples       []any
	AnyOf, OneOf         []*docSchema
	Default              any
	Minimum, Maximum     json.Number
	MinLength, MaxLength json.Number
	MaxItems             json.Number
}

// docsPage renders the page.
func docsPage(document []byte, guides string) ([]byte, error) {
	if guides == "" {
		guides = `{{define "guide-list"}}{{end}}{{define "guides"}}{{end}}`
	}
	var d apiDocument
	reader := json.NewDecoder(bytes.NewReader(document))
	reader.UseNumber() // numbers in examples stay as they are written
	if err := reader.Decode(&d); err != nil {
		return nil, err
	}
	page, err := template.New("docs").Funcs(template.FuncMap{
		"words": d.words, "limits": limits, "fields": fields, "example": d.example, "parameter": d.parameter,
		"lower": strings.ToLower,
	}).Parse(docsHTML + guides)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Doc": &d, "Groups": d.groups(),
		"CSS": template.CSS(docsCSS), "JS": template.JS(docsJS), // our own files
	})
	return b.Bytes(), err
}

type docGroup struct {
	Name       string
	Operations []*docOperation
}

// groups returns the operations by tag.
func (d *apiDocument) groups() []docGroup {
	byTag := map[string][]*docOperation{}
	for path, item := range d.Paths {
		for method, o := range item {
			o.Method, o.Path = strings.ToUpper(method), path
			tag := "Other"
			if len(o.Tags) > 0 {
				tag = o.Tags[0]
			}
			byTag[tag] = append(byTag[tag], o)
		}
	}
	var groups []docGroup
	for _, tag := range d.Tags {
		if operations := byTag[tag.Name]; len(operations) > 0 {
			groups = append(groups, docGroup{tag.Name, operations})
		}
		delete(byTag, tag.Name)
	}
	for tag, operations := range byTag {
		groups = append(groups, docGroup{tag, operations})
	}
	order := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	for _, g := range groups {
		slices.SortFunc(g.Operations, func(a, b *docOperation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(slices.Index(order, a.Method), slices.Index(order, b.Method)))
		})
	}
	return groups
}

// Public reports whether the operation works without a token.
func (o *docOperation) Public() bool {
	return slices.ContainsFunc(o.Security, func(s map[string]any) bool { return len(s) == 0 })
}

// Input returns the schema of the body, nil if there is none.
func (o *docOperation) Input() *docSchema {
	if o.RequestBody == nil {
		return nil
	}
	for _, content := range o.RequestBody.Content {
		return content.Schema
	}
	return nil
}

// Encodings returns the media types that the body may have.
func (o *docOperation) Encodings() []string {
	var all []string
	for media := range o.RequestBody.Content {
		all = append(all, media)
	}
	slices.Sort(all)
	return all
}

// Failures returns the statuses answered with a problem.
func (o *docOperation) Failures() string {
	var all []string
	for status, r := range o.Responses {
		if r.Ref != "" {
			all = append(all, status)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// parameter resolves a reference.
func (d *apiDocument) parameter(p docParameter) docParameter {
	if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
		return d.Components.Parameters[name]
	}
	return p
}

// types returns the names in `type`.
func (s *docSchema) types() []string {
	var many []string
	var one string
	if json.Unmarshal(s.Type, &many) != nil && json.Unmarshal(s.Type, &one) == nil {
		many = []string{one}
	}
	return many
}

// word is a part of the name of a type, optionally with a link.
type word struct{ Text, Ref string }

// words returns the name of a type in parts: "array of", Customer, "or null".
func (d *apiDocument) words(s *docSchema) []word {
	if s == nil {
		return []word{{Text: "anything"}}
	}
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return []word{{Text: name, Ref: name}}
	}
	var all []word
	for _, one := range append(slices.Clone(s.AnyOf), s.OneOf...) {
		if len(all) > 0 {
			all = append(all, word{Text: " or "})
		}
		all = append(all, d.words(one)...)
	}
	types := s.types()
	slices.SortStableFunc(types, func(a, b string) int { // null comes last
		return cmp.Compare(strings.Count(a, "null"), strings.Count(b, "null"))
	})
	for i, t := range types {
		if i > 0 {
			all = append(all, word{Text: " or "})
		}
		switch {
		case t == "array":
			all = append(append(all, word{Text: "array of "}), d.words(s.Items)...)
		case s.Format != "" && t != "null":
			all = append(all, word{Text: t + " (" + s.Format + ")"})
		default:
			all = append(all, word{Text: t})
		}
	}
	if len(all) == 0 {
		all = []word{{Text: "anything"}}
	}
	return all
}

// limits describes the values that a schema allows.
func limits(s *docSchema) string {
	if s == nil {
		return ""
	}
	var all []string
	say := func(format string, value any) { all = append(all, fmt.Sprintf(format, value)) }
	of := s
	if s.Items != nil {
		of = s.Items
	}
	var values []string
	for _, v := range of.Enum {
		values = append(values, fmt.Sprint(v))
	}
	if len(values) > 0 {
		say("one of: %s", strings.Join(values, ", "))
	}
	for _, l := range []struct {
		format string
		value  json.Number
	}{
		{"from %s", s.Minimum}, {"to %s", s.Maximum}, {"at least %s characters", s.MinLength},
		{"at most %s characters", s.MaxLength}, {"at most %s elements", s.MaxItems},
	} {
		if l.value != "" {
			say(l.format, l.value)
		}
	}
	if s.Default != nil {
		say("default %v", s.Default)
	}
	return strings.Join(all, "; ")
}

type docField struct {
	Name     string
	Schema   *docSchema
	Required bool
}

// fields returns the properties of an object, required ones first.
func fields(s *docSchema) []docField {
	if s == nil {
		return nil
	}
	var all []docField
	for name, property := range s.Properties {
		all = append(all, docField{name, property, slices.Contains(s.Required, name)})
	}
	slices.SortFunc(all, func(a, b docField) int {
		if a.Required != b.Required {
			return cmp.Compare(b2i(b.Required), b2i(a.Required))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return all
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// example returns JSON built from the examples in a schema, "" if it has none.
func (d *apiDocument) example(s *docSchema) string {
	value, ok := d.sample(s, 0)
	if !ok {
		return ""
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// maxSample is the maximum depth of an example, as schemas may be recursive.
const maxSample = 6

func (d *apiDocument) sample(s *docSchema, depth int) (value any, ok bool) {
	switch {
	case s == nil || depth > maxSample:
		return nil, false
	case s.Ref != "":
		return d.sample(d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], depth+1)
	case len(s.Examples) > 0:
		return s.Examples[0], true
	case s.Items != nil:
		item, ok := d.sample(s.Items, depth+1)
		return []any{item}, ok
	}
	object := map[string]any{}
	for name, property := range s.Properties {
		if v, ok := d.sample(property, depth+1); ok {
			object[name] = v
		}
	}
	return object, len(object) > 0
}
