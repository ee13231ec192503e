package bind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/transport/form"
)

func (s *structure) decode(d *decoding, n *form.Node, v reflect.Value) {
	switch {
	case isNull(n) || emptyList(n):
		return
	case n.Kind() != form.Group:
		d.problem("must be an object")
		return
	}
	s.hooks.preset(v)
	if s.strict {
		s.refuseUnknown(d, n)
	}
	for _, f := range s.fields {
		if f.json != "" {
			name, child := f.lookup(n)
			f.decode(d, v, name, child)
		}
	}
	s.hooks.check(d, v)
}

// refuseUnknown reports a problem for each name without a field.
func (s *structure) refuseUnknown(d *decoding, n *form.Node) {
	var known []string
	for _, f := range s.fields {
		if f.json != "" {
			known = append(known, f.json)
		}
	}
	for _, name := range n.Names() {
		is := func(f *field) bool { return name != "" && (name == f.json || name == f.alias) }
		if !slices.ContainsFunc(s.fields, is) {
			d.enter(name)
			d.problem("is not known; known are " + strings.Join(known, ", "))
			d.leave()
		}
	}
}

// optional decodes storage.Opt: null and an empty text of a form are null, unless the empty text is a value: for a string,
// and for a list, which it empties.
func (c *compiler) optional(k *codec, t reflect.Type) error {
	probe, ok := reflect.New(t).Interface().(Optional)
	if !ok {
		return fmt.Errorf("%v cannot be bound", t)
	}
	inner, err := c.codec(reflect.TypeOf(probe.Target()).Elem())
	k.empty, k.null = true, true
	k.decode = func(d *decoding, n *form.Node, v reflect.Value) {
		o, _ := v.Addr().Interface().(Optional)
		if n.Kind() == form.Null || (!inner.empty && isNull(n)) {
			o.SetNull()
			return
		}
		inner.decode(d, n, reflect.ValueOf(o.Target()).Elem())
	}
	return err
}

func (c *compiler) pointer(k *codec, t reflect.Type) error {
	inner, err := c.codec(t.Elem())
	k.empty, k.null = true, true
	k.decode = func(d *decoding, n *form.Node, v reflect.Value) {
		if n.Kind() == form.Null || (!inner.empty && isNull(n)) {
			v.SetZero()
			return
		}
		p := reflect.New(t.Elem())
		inner.decode(d, n, p.Elem())
		v.Set(p)
	}
	return err
}

func (c *compiler) slice(k *codec, t reflect.Type) error {
	elem, err := c.codec(t.Elem())
	k.empty = true
	k.decode = func(d *decoding, n *form.Node, v reflect.Value) {
		if n.Kind() == form.Null {
			return
		}
		items, at, problem := n.Items(d.items)
		if problem != "" {
			d.problems.Add(d.field()+at, problem)
			return
		}
		list := reflect.MakeSlice(t, len(items), len(items))
		for i, item := range items {
			d.enter(item.Index)
			elem.member(d, item.Node, list.Index(i))
			d.leave()
		}
		v.Set(list)
	}
	return err
}

func (c *compiler) mapping(k *codec, t reflect.Type) error {
	if t.Key().Kind() != reflect.String {
		return fmt.Errorf("%v: the keys of a map must be strings", t)
	}
	elem, err := c.codec(t.Elem())
	k.decode = func(d *decoding, n *form.Node, v reflect.Value) {
		switch {
		case n.Kind() == form.Null:
			return
		case isNull(n) || emptyList(n):
			v.Set(reflect.MakeMap(t))
			return
		case n.Kind() != form.Group:
			d.problem("must be an object")
			return
		}
		m := reflect.MakeMapWithSize(t, len(n.Names()))
		for _, name := range n.Names() {
			value := reflect.New(t.Elem()).Elem()
			d.enter(name)
			elem.member(d, n.Get(name), value)
			d.leave()
			m.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), value)
		}
		v.Set(m)
	}
	return err
}

// member decodes an element of a list or map, where an empty value cannot be left out: it would silently become a zero.
func (k *codec) member(d *decoding, n *form.Node, v reflect.Value) {
	if (n.Kind() == form.Null && !k.null) || (isNull(n) && !k.empty) {
		d.problem("must not be empty")
		return
	}
	k.decode(d, n, v)
}

// isNull reports whether n is null, in JSON or as the empty text of a form.
func isNull(n *form.Node) bool {
	return n.Kind() == form.Null || (n.Kind() == form.Text && n.Text() == "")
}

// emptyList reports whether n is `[]`, which some clients send for an empty object.
func emptyList(n *form.Node) bool {
	if n.Kind() != form.List {
		return false
	}
	items, _, _ := n.Items(1)
	return len(items) == 0
}
