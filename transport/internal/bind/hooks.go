package bind

import (
	"reflect"
	"strings"
)

var (
	defaulterType = reflect.TypeFor[Defaulter]()
	checkerType   = reflect.TypeFor[Checker]()
	strictType    = reflect.TypeFor[Strict]()
)

// hooks are the structs, the outer one and those it embeds, with defaults or checks. Methods promoted from an embedded
// struct are called twice, which does no harm; with two embedded structs they would otherwise hide each other.
type hooks struct{ defaults, checks [][]int }

func hooksOf(t reflect.Type) hooks {
	var h hooks
	if reflect.PointerTo(t).Implements(defaulterType) {
		h.defaults = [][]int{{}}
	}
	if reflect.PointerTo(t).Implements(checkerType) {
		h.checks = [][]int{{}}
	}
	return h
}

func (h hooks) preset(v reflect.Value) {
	for _, index := range h.defaults {
		if d, ok := at(v, index).Addr().Interface().(Defaulter); ok {
			d.SetDefaults()
		}
	}
}

func (h hooks) check(d *decoding, v reflect.Value) {
	for _, index := range h.checks {
		c, ok := at(v, index).Addr().Interface().(Checker)
		if !ok {
			continue
		}
		c.CheckInput(func(field, text string) {
			depth := len(d.path)
			for name := range strings.SplitSeq(strings.ReplaceAll(field, "]", ""), "[") {
				d.enter(name)
			}
			d.problem(text)
			d.path = d.path[:depth]
		})
	}
}

func at(v reflect.Value, index []int) reflect.Value {
	if len(index) == 0 {
		return v
	}
	return v.FieldByIndex(index)
}

// structure is a compiled struct below the top level.
type structure struct {
	fields []*field
	hooks  hooks
	strict bool // unknown names are problems
}

// embed adds the fields and hooks of the struct embedded as field i.
func (s *structure) embed(i int, inner *structure) {
	under := func(index []int) []int { return append([]int{i}, index...) }
	for _, f := range inner.fields {
		outer := *f
		outer.index = under(f.index)
		s.fields = append(s.fields, &outer)
	}
	for _, index := range inner.hooks.defaults {
		s.hooks.defaults = append(s.hooks.defaults, under(index))
	}
	for _, index := range inner.hooks.checks {
		s.hooks.checks = append(s.hooks.checks, under(index))
	}
}
