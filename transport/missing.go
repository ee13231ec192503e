package transport

import (
	"errors"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// blame makes a problem of a field out of an object that is not there, when it is a
// body or a filter that names it, and not the path: what the path names is there.
func (r *Request) blame(err error) error {
	missing, ok := errors.AsType[*fault.Error](err)
	if !ok || missing.Kind != fault.NotFound {
		return err
	}
	if len(missing.Fields) > 0 { // of several, which ones
		return &fault.Error{Kind: fault.Invalid, Message: missing.Message, Fields: missing.Fields, Err: err}
	}
	if missing.ID == 0 || missing.Resource == r.route.Within {
		return err
	}
	id, noun := strconv.FormatInt(missing.ID, 10), stem(missing.Resource)
	inPath := false
	for i, name := range r.route.params {
		if r.values[i] == id {
			if strings.HasPrefix(name, missing.Resource) {
				return err
			}
			inPath = true
		}
	}
	var named, others []string
	for _, tree := range []*form.Node{r.query, r.body} {
		tree.Leaves(func(field, text string) {
			switch {
			case text != id:
			case noun != "" && strings.Contains(field, noun):
				named = append(named, field)
			case field == "into", strings.HasSuffix(field, "_id"):
				others = append(others, field)
			}
		})
	}
	if len(named) == 0 && !inPath {
		named = others
	}
	if len(named) == 0 {
		return err
	}
	fields := fault.Fields{}
	for _, field := range named {
		fields[field] = []string{"there is no such " + missing.Resource}
	}
	return &fault.Error{Kind: fault.Invalid, Message: "Some fields are invalid.", Fields: fields, Err: err}
}

// stem is what a noun and its plural begin with.
func stem(noun string) string { return strings.TrimSuffix(noun, "y") }
