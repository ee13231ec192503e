package fault

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Fields maps a field's name in bracket notation (`emails[0][email]`) to what is
// wrong with it.
type Fields map[string][]string

// String lists the problems in the order of their field names.
func (f Fields) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, name+": "+strings.Join(f[name], ", "))
	}
	return strings.Join(parts, "; ")
}

// Collector gathers all field problems of one input, so that they are reported in
// one answer. The zero value is ready to use.
type Collector struct{ fields Fields }

// Add notes a problem of one field.
func (c *Collector) Add(field, problem string) {
	if c.fields == nil {
		c.fields = Fields{}
	}
	if !slices.Contains(c.fields[field], problem) {
		c.fields[field] = append(c.fields[field], problem)
	}
}

// Check notes problem for field unless ok, and returns ok.
func (c *Collector) Check(ok bool, field, problem string) bool {
	if !ok {
		c.Add(field, problem)
	}
	return ok
}

// Take notes the problems of an Invalid fault, so that what several checks find comes
// in one answer. Any other error it returns.
func (c *Collector) Take(err error) error {
	f, ok := errors.AsType[*Error](err)
	if err == nil || !ok || f.Kind != Invalid || len(f.Fields) == 0 {
		return err
	}
	for name, problems := range f.Fields {
		for _, problem := range problems {
			c.Add(name, problem)
		}
	}
	return nil
}

// Err is nil when nothing was noted, else an Invalid fault with all problems.
func (c *Collector) Err() error {
	if len(c.fields) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Message: "Some fields are not right.", Fields: c.fields}
}

// Field is the Invalid fault of a single field.
func Field(field, problem string) *Error {
	return &Error{Kind: Invalid, Message: "Some fields are not right.", Fields: Fields{field: {problem}}}
}
