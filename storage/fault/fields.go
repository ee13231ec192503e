package fault

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Fields maps a field's name in bracket notation (`emails[0][email]`) to what is wrong with it.
type Fields map[string][]string

// String lists the problems in the order of their field names.
func (f Fields) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, name+": "+strings.Join(f[name], ", "))
	}
	return strings.Join(parts, "; ")
}

// Collector collects all field problems of one input, so that a single fault reports them all. The zero value is ready to
// use.
type Collector struct{ fields Fields }

// Add records a problem of one field.
func (c *Collector) Add(field, problem string) {
	if c.fields == nil {
		c.fields = Fields{}
	}
	if !slices.Contains(c.fields[field], problem) {
		c.fields[field] = append(c.fields[field], problem)
	}
}

// Check records problem for field unless ok, and returns ok.
func (c *Collector) Check(ok bool, field, problem string) bool {
	if !ok {
		c.Add(field, problem)
	}
	return ok
}

// Take records the problems of an Invalid fault, so that one fault reports the problems of several checks. It returns any
// other error.
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

// Err returns nil when nothing was recorded, otherwise an Invalid fault with all problems.
func (c *Collector) Err() error {
	if len(c.fields) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Message: "Some fields are invalid.", Fields: c.fields}
}

// Field returns the Invalid fault of a single field.
func Field(field, problem string) *Error {
	return &Error{Kind: Invalid, Message: "Some fields are invalid.", Fields: Fields{field: {problem}}}
}
