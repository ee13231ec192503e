package transport

import (
	"errors"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// blame turns a not-found error into a problem of a field, if the body or a filter names the object. Objects named by the
// path were found already.
func (r *Request) blame(err error) error {
	missing, ok := errors.AsType[*fault.Error](err)
	if !ok || missing.Kind != fault.NotFound {
		return err
	}
	if len(missing.Fields) > 0 { // which ones, if there are several
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

// stem returns the common beginning of a noun and its plural.
func stem(noun string) string { return strings.TrimSuffix(noun, "y") }
