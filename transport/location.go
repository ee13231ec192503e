package transport

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

func (r *Route) location() string {
	if r.Location != "" {
		return r.Location
	}
	return r.Path + "/{id}"
}

// checkLocation checks, before any request, that the Location of a 201 can be filled.
func checkLocation(r *Route) error {
	if r.Status != http.StatusCreated {
		return nil
	}
	var missing string
	expandTemplate(r.location(), func(name string) (string, bool) {
		if !slices.Contains(r.params, name) && jsonIndex(r.Out, name) == nil {
			missing = name
		}
		return "", true
	})
	if missing != "" {
		return fmt.Errorf("neither output nor path has %q for Location", missing)
	}
	return nil
}

// expandTemplate replaces the `{name}` parts of a path.
func expandTemplate(template string, value func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		if v, ok := value(strings.TrimSuffix(name, "...")); ok {
			b.WriteString(v)
		}
		template = after
	}
}

// jsonField returns the text of the struct's field of that JSON name.
func jsonField(v reflect.Value, name string) (string, bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	index := jsonIndex(v.Type(), name)
	if index == nil {
		return "", false
	}
	field, err := v.FieldByIndexErr(index)
	if err != nil {
		return "", false
	}
	return fmt.Sprint(field.Interface()), true
}

func jsonIndex(t reflect.Type, name string) []int {
	if t == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && f.IsExported() {
			return f.Index
		}
	}
	return nil
}
