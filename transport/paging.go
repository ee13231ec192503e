package transport

import (
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// Paging is embedded in the input of a list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" description:"Objects per page. Pages may be shorter if the answer would be too large: follow the Link header."`
	Cursor string `query:"cursor" description:"Start of the page, from the Link header of another page."`
}

// SetDefaults makes the limit 50.
func (p *Paging) SetDefaults() { p.Limit = storage.DefaultLimit }

// CheckInput refuses a limit outside 1 to 100.
func (p *Paging) CheckInput(problem func(field, text string)) {
	if p.Limit < 1 || p.Limit > storage.MaxLimit {
		problem("limit", "must be from 1 to "+strconv.Itoa(storage.MaxLimit))
	}
}

// Request returns the requested page.
func (p Paging) Request() storage.PageRequest {
	return storage.PageRequest{Limit: p.Limit, Cursor: p.Cursor}
}

// Expand holds the names of `expand=a,b` or `expand[]=a`. An input has it as `query:"expand"`; its operation lists the names
// that it supports.
type Expand []string

// Has reports whether name is to be expanded.
func (e Expand) Has(name string) bool { return slices.Contains(e, name) }

// BindNode reads the names; the operation checks that they are supported.
func (e *Expand) BindNode(n *form.Node) (problem string) {
	*e = expandNames(n)
	return ""
}

func expandNames(n *form.Node) []string {
	items, _, problem := n.Items(1000)
	if problem != "" { // a single text that is not empty
		items = []form.Item{{Node: n}}
	}
	var names []string
	for _, item := range items {
		for name := range strings.SplitSeq(item.Node.Text(), ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unknownExpand returns the fault for a name that the operation does not expand.
func unknownExpand(n *form.Node, known []string) *fault.Error {
	if n == nil {
		return nil
	}
	for _, name := range expandNames(n) {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return fault.Field("expand", "must be empty: nothing can be expanded here")
		}
		return fault.Field("expand", "must be among "+strings.Join(known, ", "))
	}
	return nil
}
