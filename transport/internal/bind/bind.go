// Package bind fills typed input structs from the tree of a request's body, its path and its query. A type is compiled once,
// so that a field whose type cannot be bound is found when the route table is built, and not by a client.
package bind

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// Optional is a value that may be absent, null or given, like storage.Opt.
type Optional interface {
	SetNull()
	Target() any // marks the value as given and returns a *T for decoding
}

// NodeBinder is a type that reads its value from the tree itself. The problem is empty if the value is valid.
type NodeBinder interface {
	BindNode(n *form.Node) (problem string)
}

// Defaulter is an input that presets fields before it is filled.
type Defaulter interface{ SetDefaults() }

// Checker is an input with rules that belong to the transport, such as the range of `limit`. Names of fields are relative to
// the input.
type Checker interface {
	CheckInput(problem func(field, text string))
}

// Strict is a struct within a body that accepts known names only.
type Strict interface{ RefuseUnknown() }

// Source is the origin of an input. Nil nodes are empty.
type Source struct {
	Path      map[string]string
	Query     *form.Node
	Body      *form.Node
	BodyQuery bool // fields of the body are also read from the query; the body wins
	Items     int  // maximum elements of a list; 0: 1,000
}

// Plan is a compiled input type.
type Plan struct {
	typ    reflect.Type
	fields []*field
	hooks  hooks
}

// Compile makes the plan of struct type t.
//
// Tags: `json:"name"` for the body, `alias:"other"` for a second name there, `path:"name"` and `query:"name"`. Embedded
// structs are part of the outer one.
func Compile(t reflect.Type) (*Plan, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("bind: %v is no struct", t)
	}
	c := compiler{types: map[reflect.Type]*codec{}}
	s, err := c.structure(t)
	if err != nil {
		return nil, fmt.Errorf("bind: %v: %w", t, err)
	}
	return &Plan{typ: t, fields: s.fields, hooks: s.hooks}, nil
}

// QueryNames returns the names of the query parameters.
func (p *Plan) QueryNames() []string {
	var names []string
	for _, f := range p.fields {
		if f.query != "" {
			names = append(names, f.query)
		}
	}
	return names
}

// PathNames returns the names of the path parameters.
func (p *Plan) PathNames() []string {
	var names []string
	for _, f := range p.fields {
		if f.path != "" {
			names = append(names, f.path)
		}
	}
	return names
}

// HasBody reports whether any field comes from the body.
func (p *Plan) HasBody() bool {
	for _, f := range p.fields {
		if f.json != "" {
			return true
		}
	}
	return false
}

// Decode fills dst, a pointer to the plan's type. All field problems are reported in one Invalid fault; a path parameter of
// the wrong type is NotFound.
func (p *Plan) Decode(dst any, src Source) error {
	v := reflect.ValueOf(dst).Elem()
	if v.Type() != p.typ {
		return fault.Newf(fault.Internal, "bind: plan of %v used for %v", p.typ, v.Type())
	}
	d := &decoding{items: src.Items}
	if d.items == 0 {
		d.items = 1000
	}
	p.hooks.preset(v)
	for _, f := range p.fields {
		if f.path != "" {
			if err := f.decodePath(v, src.Path); err != nil {
				return err
			}
			continue
		}
		if f.query != "" {
			f.decode(d, v, f.query, src.Query.Get(f.query))
		}
		if f.json == "" {
			continue
		}
		name, n := f.lookup(src.Body)
		if n == nil && src.BodyQuery {
			name, n = f.lookup(src.Query)
		}
		f.decode(d, v, name, n)
	}
	p.hooks.check(d, v)
	return d.problems.Err()
}

// decoding is the state of one Decode.
type decoding struct {
	items    int
	path     []string
	problems fault.Collector
}

func (d *decoding) problem(text string) { d.problems.Add(d.field(), text) }

// field is the current path in bracket notation.
func (d *decoding) field() string {
	var b strings.Builder
	for i, name := range d.path {
		if i == 0 {
			b.WriteString(name)
		} else {
			b.WriteString("[" + name + "]")
		}
	}
	return b.String()
}

func (d *decoding) enter(name string) { d.path = append(d.path, name) }
func (d *decoding) leave()            { d.path = d.path[:len(d.path)-1] }

// field is a field of a struct.
type field struct {
	index                    []int
	json, alias, path, query string
	codec                    *codec
}

func (f *field) lookup(n *form.Node) (name string, child *form.Node) {
	if child = n.Get(f.json); child == nil && f.alias != "" {
		return f.alias, n.Get(f.alias)
	}
	return f.json, child
}

func (f *field) decode(d *decoding, v reflect.Value, name string, n *form.Node) {
	if n == nil {
		return
	}
	d.enter(name)
	f.codec.decode(d, n, v.FieldByIndex(f.index))
	d.leave()
}

func (f *field) decodePath(v reflect.Value, params map[string]string) error {
	d := &decoding{items: 1}
	text := params[f.path]
	f.decode(d, v, f.path, form.NewText(text))
	if text == "" || d.problems.Err() != nil {
		return fault.New(fault.NotFound, "Nothing was found at this address.")
	}
	return nil
}

// codec decodes a present node into a settable value.
type codec struct {
	decode func(d *decoding, n *form.Node, v reflect.Value)
	empty  bool // an empty text is a value (strings, lists), not null
	null   bool // null is a value (Opt, pointers)
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	fileType     = reflect.TypeFor[*form.File]()
	optionalType = reflect.TypeFor[Optional]()
	nodeType     = reflect.TypeFor[NodeBinder]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

type compiler struct{ types map[reflect.Type]*codec }

func (c *compiler) codec(t reflect.Type) (*codec, error) {
	if known := c.types[t]; known != nil {
		return known, nil
	}
	// Stored before it is complete, so that a type may contain itself.
	k := &codec{}
	c.types[t] = k
	return k, c.fill(k, t)
}

func (c *compiler) fill(k *codec, t reflect.Type) error {
	ptr := reflect.PointerTo(t)
	switch {
	case ptr.Implements(nodeType):
		k.empty, k.null, k.decode = true, true, decodeNode
	case ptr.Implements(optionalType):
		return c.optional(k, t)
	case t == fileType:
		k.decode = decodeFile
	case t == timeType:
		k.decode = decodeTime
	case ptr.Implements(textType):
		k.decode = decodeText
	default:
		return c.kind(k, t)
	}
	return nil
}

func (c *compiler) kind(k *codec, t reflect.Type) error {
	switch t.Kind() {
	case reflect.String:
		k.empty, k.decode = true, decodeString
	case reflect.Bool:
		k.decode = decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		k.decode = decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		k.decode = decodeUint
	case reflect.Float32, reflect.Float64:
		k.decode = decodeFloat
	case reflect.Pointer:
		return c.pointer(k, t)
	case reflect.Slice:
		return c.slice(k, t)
	case reflect.Map:
		return c.mapping(k, t)
	case reflect.Struct:
		s, err := c.structure(t)
		k.decode = s.decode
		return err
	default:
		return fmt.Errorf("%v cannot be bound", t)
	}
	return nil
}

func (c *compiler) structure(t reflect.Type) (*structure, error) {
	s := &structure{hooks: hooksOf(t), strict: reflect.PointerTo(t).Implements(strictType)}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous && sf.Type.Kind() == reflect.Struct && sf.Tag == "" {
			inner, err := c.structure(sf.Type)
			if err != nil {
				return s, err
			}
			if !sf.IsExported() && len(inner.hooks.defaults)+len(inner.hooks.checks) > 0 {
				return s, fmt.Errorf("embedded %v has defaults or checks and must be exported for them to be called", sf.Type)
			}
			s.embed(i, inner)
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f, err := c.field(sf)
		if err != nil {
			return s, fmt.Errorf("field %s: %w", sf.Name, err)
		}
		if f != nil {
			s.fields = append(s.fields, f)
		}
	}
	return s, nil
}

func (c *compiler) field(sf reflect.StructField) (*field, error) {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if name == "-" {
		name = ""
		if sf.Tag.Get("path") == "" && sf.Tag.Get("query") == "" {
			return nil, nil //nolint:nilnil // left out on purpose
		}
	}
	f := &field{index: sf.Index, json: name, alias: sf.Tag.Get("alias"), path: sf.Tag.Get("path"), query: sf.Tag.Get("query")}
	if f.json == "" && f.path == "" && f.query == "" {
		return nil, fmt.Errorf("needs a tag json, path or query")
	}
	var err error
	f.codec, err = c.codec(sf.Type)
	return f, err
}
