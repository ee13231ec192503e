package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// ParseJSON reads a JSON object. If a name occurs twice, the last one counts. Numbers stay as written, and text that is not
// valid UTF-8 is kept and marked.
//
// A body that is not a JSON object is Malformed; limits as in [Parse].
func ParseJSON(body []byte, limits Limits) (*Node, error) {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	limits = limits.WithDefaults()
	if deeper(body, max(limits.Depth, maxNesting)) { // encoding/json reports it as a syntax error
		return nil, invalid("", "is nested too deeply")
	}
	if !json.Valid(body) {
		return nil, syntax(body)
	}
	// The text is known to be valid JSON from here on, so the walk below needs no syntax checks. It exists because
	// encoding/json replaces invalid UTF-8 silently and has no limits.
	w := walker{in: body, limits: limits}
	w.space()
	if w.in[w.at] != '{' {
		return nil, fault.New(fault.Malformed, "The body must be a JSON object.")
	}
	return w.value()
}

// maxNesting is the deepest nesting of JSON that is read at all; names in its paths have a lower limit of their own.
const maxNesting = 1000

// deeper reports whether more than limit brackets are open at once. It parses strings only to skip them, so it also works on
// text that is not JSON.
func deeper(body []byte, limit int) bool {
	open, text := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if open++; open > limit {
				return true
			}
		case c == '}' || c == ']':
			open--
		}
	}
	return false
}

func syntax(body []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(body, &raw)
	message := "The body is not valid JSON."
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		message = "The body is not valid JSON: see byte " + strconv.FormatInt(e.Offset, 10) + "."
	}
	return &fault.Error{Kind: fault.Malformed, Message: message, Err: err}
}

type walker struct {
	in     []byte
	at     int
	limits Limits
	fields int
	path   []string
}

func (w *walker) value() (*Node, error) {
	w.space()
	switch c := w.in[w.at]; c {
	case '{':
		return w.object()
	case '[':
		return w.array()
	case '"':
		text, ok := w.str()
		return &Node{kind: Text, text: text, bad: !ok}, nil
	case 't', 'f':
		return &Node{kind: Bool, text: w.literal()}, nil
	case 'n':
		w.literal()
		return &Node{kind: Null}, nil
	default:
		return &Node{kind: Number, text: w.literal()}, nil
	}
}

func (w *walker) object() (*Node, error) {
	group := NewGroup()
	for w.more('}') {
		name, ok := w.str()
		w.space()
		w.at++ // the colon
		if !ok || !validText(name) {
			return nil, invalid(w.field(name), "has a name that is not valid UTF-8")
		}
		if len(name) > w.limits.Name {
			return nil, invalid(w.field(name), "has a name that is too long")
		}
		child, err := w.child(name)
		if err != nil {
			return nil, err
		}
		group.put(name, child)
	}
	return group, nil
}

func (w *walker) array() (*Node, error) {
	list := &Node{kind: List}
	for w.more(']') {
		if len(list.nodes) >= w.limits.Items {
			return nil, invalid(w.field(""), "must have at most "+strconv.Itoa(w.limits.Items)+" elements")
		}
		child, err := w.child(strconv.Itoa(len(list.nodes)))
		if err != nil {
			return nil, err
		}
		list.nodes = append(list.nodes, child)
	}
	return list, nil
}

// child reads the value called name below the current path.
func (w *walker) child(name string) (*Node, error) {
	if w.fields++; w.fields > w.limits.Fields {
		return nil, tooMany()
	}
	if len(w.path) >= w.limits.Depth {
		return nil, invalid(w.field(name), "is nested too deeply")
	}
	w.path = append(w.path, name)
	child, err := w.value()
	w.path = w.path[:len(w.path)-1]
	return child, err
}

// more steps over the opening bracket or a comma, and reports whether a member follows; if none does it steps over the
// closing bracket too.
func (w *walker) more(end byte) bool {
	w.space()
	if w.in[w.at] != end {
		w.at++
		w.space()
	}
	if w.in[w.at] == end {
		w.at++
		return false
	}
	return true
}

func (w *walker) space() {
	for w.at < len(w.in) && (w.in[w.at] == ' ' || w.in[w.at] == '\t' || w.in[w.at] == '\n' || w.in[w.at] == '\r') {
		w.at++
	}
}

func (w *walker) literal() string {
	start := w.at
	for w.at < len(w.in) && !strings.ContainsRune(" \t\r\n,]}", rune(w.in[w.at])) {
		w.at++
	}
	return string(w.in[start:w.at])
}

// str reads a string; ok is false if it is not valid text.
func (w *walker) str() (s string, ok bool) {
	start := w.at
	escaped := false
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	raw := w.in[start:w.at]
	if !escaped || !utf8.Valid(raw) {
		s = string(raw[1 : len(raw)-1])
		return s, utf8.ValidString(s)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	return s, !loneSurrogate(string(raw), s)
}

// loneSurrogate reports whether decoding added replacement characters for half of a UTF-16 pair, such as `\ud800`.
func loneSurrogate(raw, decoded string) bool {
	const replacement = "\uFFFD"
	n := strings.Count(decoded, replacement)
	return n > 0 && n > strings.Count(raw, replacement)+strings.Count(strings.ToLower(raw), `\ufffd`)
}

// field returns the current path and a name in bracket notation.
func (w *walker) field(name string) string {
	var b strings.Builder
	for i, key := range append(w.path[:len(w.path):len(w.path)], name) {
		switch {
		case i == 0:
			b.WriteString(key)
		case i < len(w.path) || name != "":
			b.WriteString("[" + key + "]")
		}
	}
	return b.String()
}
