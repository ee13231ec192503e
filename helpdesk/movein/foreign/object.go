package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Object is a record whose fields are taken one by one; what nobody took can be told.
type Object struct {
	fields map[string]json.RawMessage
	Place  string
}

// ParseObject reads a record. Anything but a JSON object is an error.
func ParseObject(raw []byte, place string) (Object, error) {
	o := Object{Place: place}
	err := json.Unmarshal(raw, &o.fields)
	if err == nil && o.fields == nil {
		err = fmt.Errorf("it is no object")
	}
	return o, err
}

// Has reports whether a field is there and was not taken.
func (o Object) Has(name string) bool { _, ok := o.fields[name]; return ok }

// Peek is a string or a number, which stays.
func (o Object) Peek(name string) string {
	text, _ := asText(o.fields[name])
	return text
}

// PeekTime is a time, which stays.
func (o Object) PeekTime(name string) time.Time { return parseTime(o.Peek(name)) }

// Raw takes a field as it stands; nil: it is not there, or null.
func (o Object) Raw(name string) json.RawMessage {
	raw := o.fields[name]
	delete(o.fields, name)
	if empty(raw) && !bytes.Equal(raw, []byte("false")) {
		return nil
	}
	return raw
}

// Text takes a string, or a number as one. Another value stays.
func (o Object) Text(name string) string {
	text, ok := asText(o.fields[name])
	if ok {
		delete(o.fields, name)
	}
	return text
}

// First takes the first of some texts that is there. The others stay.
func (o Object) First(names ...string) string {
	for _, name := range names {
		if o.Peek(name) != "" {
			return o.Text(name)
		}
	}
	return ""
}

// ID takes a number or a string that names something; "" and 0 name nothing.
func (o Object) ID(name string) string {
	if id := o.Text(name); id != "0" {
		return strings.TrimSpace(id)
	}
	return ""
}

// Bool takes a boolean. Another value stays.
func (o Object) Bool(name string) bool {
	var b bool
	if json.Unmarshal(o.fields[name], &b) == nil {
		delete(o.fields, name)
	}
	return b
}

// Time takes a time as RFC 3339 has it, also without a zone, which is UTC then. Another value stays.
func (o Object) Time(name string) time.Time {
	t := o.PeekTime(name)
	if !t.IsZero() {
		delete(o.fields, name)
	}
	return t
}

func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil && t.Year() > 1 && t.Year() < 9999 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Object takes an object; one without fields if there is none.
func (o Object) Object(name string) Object {
	sub, err := ParseObject(o.fields[name], o.Place)
	if err == nil {
		delete(o.fields, name)
	} else {
		sub.fields = map[string]json.RawMessage{}
	}
	return sub
}

// Objects takes a list of objects. What is none in it is returned as problems.
func (o Object) Objects(name string) (list []Object, problems int) {
	var raw []json.RawMessage
	if json.Unmarshal(o.fields[name], &raw) != nil {
		return nil, 0
	}
	delete(o.fields, name)
	for _, one := range raw {
		sub, err := ParseObject(one, o.Place)
		if err != nil {
			problems++
			continue
		}
		list = append(list, sub)
	}
	return list, problems
}

// Texts takes a list of strings and numbers.
func (o Object) Texts(name string) []string {
	var raw []json.RawMessage
	if json.Unmarshal(o.fields[name], &raw) != nil {
		return nil
	}
	var list []string
	for _, one := range raw {
		text, ok := asText(one)
		if !ok {
			return nil
		}
		list = append(list, text)
	}
	delete(o.fields, name)
	return list
}

// Put gives a field back, to be told by Rest.
func (o Object) Put(name, value string) {
	if value != "" {
		o.fields[name], _ = json.Marshal(value) // a string always encodes
	}
}

func asText(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String(), true
	}
	return "", false
}

// Fields says of the fields that a document has which are kept, and which are left out.
type Fields struct{ Kept, LeftOut []string }

// Rest returns the fields that nobody took and that say something: not null, false, "", 0, [] or {}. prefix is put before
// their names in the report.
func (o Object) Rest(r *Report, prefix string, known Fields) []Field {
	var rest []Field
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		raw := o.fields[name]
		switch {
		case empty(raw):
			continue
		case slices.Contains(known.LeftOut, name):
			r.LeftOut.Add(prefix+name, o.Place)
			continue
		case slices.Contains(known.Kept, name):
			r.Kept.Add(prefix+name, o.Place)
		default:
			r.Unknown.Add(prefix+name, o.Place)
		}
		rest = append(rest, Field{Name: cutText(name, 200), Value: Shown(raw)})
	}
	return rest
}

// empty reports whether a value says nothing.
func empty(raw json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(raw), nil)) {
	case "", "null", "false", `""`, "0", "[]", "{}":
		return true
	}
	return false
}

// Shown is a value as people read it: a text as it is, another as JSON in one line.
func Shown(raw json.RawMessage) string {
	if text, ok := asText(raw); ok {
		return text
	}
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// cutText is the beginning of a text, at most n bytes.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Number is an id as a number; 0: it is none.
func Number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
