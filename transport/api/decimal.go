package api

import (
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/transport/form"
)

// Decimal is an exact decimal with at most nine places: a JSON number.
type Decimal struct {
	value kb.SortOrder
	none  bool // an empty text of a form
}

// MarshalJSON implements json.Marshaler.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.value.String()), nil }

// EncodedAs describes the JSON of a Decimal to the document's generator.
func (Decimal) EncodedAs() any { return float64(0) }

// BindNode reads a number, or a text that contains one.
func (d *Decimal) BindNode(n *form.Node) (problem string) {
	if n.Kind() != form.Number && n.Kind() != form.Text {
		return "must be a number"
	}
	if d.none = n.Text() == ""; d.none {
		return ""
	}
	value, err := kb.ParseSortOrder(n.Text())
	if err != nil {
		return "must be a decimal of at most nine places, up to 1000000000"
	}
	d.value = value
	return ""
}
