package form

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// Kind is the kind of a node's value.
type Kind uint8

// Kinds of nodes. Forms have Text, Group and Upload; JSON has all except Upload.
const (
	Null   Kind = iota // JSON null
	Text               // a form value or a JSON string
	Number             // a JSON number, as written
	Bool               // a JSON true or false
	List               // a JSON array
	Group              // a JSON object, or form fields that share a prefix
	Upload             // a file of a multipart body
)

// Node is one value of a request body. A nil *Node is an absent value: all methods may be called on it.
type Node struct {
	kind  Kind
	bad   bool     // the text is not valid
	text  string   // Text, Number, Bool
	more  []string // earlier values of a repeated form name
	names []string // names of the children of a Group, in order of appearance
	nodes []*Node  // children of a Group or a List
	index map[string]int
	next  int // next index for `[]` in a Group
	file  *File
}

// NewGroup returns an empty body.
func NewGroup() *Node { return &Node{kind: Group} }

// NewText returns a node of one text, as for a path parameter.
func NewText(s string) *Node { return &Node{kind: Text, text: s} }

// Kind returns the kind of the node, Null for a nil node.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	return n.kind
}

// Text returns the text of a Text, Number or Bool node.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Valid reports whether the text is valid UTF-8 without NUL, as databases require.
func (n *Node) Valid() bool { return n == nil || !n.bad && validText(n.text) }

// File returns the file of an Upload node.
func (n *Node) File() *File {
	if n == nil {
		return nil
	}
	return n.file
}

// Names returns the names of a group's children in order of appearance.
func (n *Node) Names() []string {
	if n == nil {
		return nil
	}
	return n.names
}

// Get returns a group's child, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil || n.kind != Group {
		return nil
	}
	if i := n.find(name); i >= 0 {
		return n.nodes[i]
	}
	return nil
}

// Item is an element of a list with its index as the client wrote it.
type Item struct {
	Index string
	Node  *Node
}

// Items returns the node's elements as a list: those of a JSON array, those of a group whose names are all indexes (in their
// order, closing gaps), or the values of a repeated form name. An empty text is an empty list, and so is a list whose only
// element is an empty text (`tags[]=`), which is how a form expresses []. The problem is empty, or describes why the node is
// not a list; its field is relative to the node, such as `[x]`.
func (n *Node) Items(max int) (items []Item, field, problem string) {
	switch n.Kind() {
	case List:
		for i, child := range n.nodes {
			items = append(items, Item{strconv.Itoa(i), child})
		}
	case Group:
		if items, field, problem = n.indexed(max); problem != "" {
			return nil, field, problem
		}
	case Text:
		for i, text := range n.more {
			items = append(items, Item{strconv.Itoa(i), NewText(text)})
		}
		items = append(items, Item{strconv.Itoa(len(n.more)), &Node{kind: Text, text: n.text, bad: n.bad}})
		if len(items) > 1 {
			break
		}
		if n.text != "" {
			return nil, "", "must be a list"
		}
	case Null, Number, Bool, Upload:
		return nil, "", "must be a list"
	}
	if len(items) > max {
		return nil, "", "must have at most " + strconv.Itoa(max) + " elements"
	}
	if len(items) == 1 && n.kind != List && items[0].Node.kind == Text && items[0].Node.text == "" {
		return []Item{}, "", ""
	}
	return items, "", ""
}

// indexed returns the children of a group whose names are indexes below max.
func (n *Node) indexed(max int) (items []Item, field, problem string) {
	order := make([]int, len(n.names)) // positions of the children, by index
	at := make([]int, len(n.names))    // index of each child
	for i, name := range n.names {
		v, ok := parseIndex(name)
		if !ok {
			return nil, "[" + printable(name) + "]", "is no index of a list"
		}
		if v >= max {
			return nil, "[" + printable(name) + "]", "must be an index below " + strconv.Itoa(max)
		}
		order[i], at[i] = i, v
	}
	slices.SortFunc(order, func(a, b int) int { return at[a] - at[b] })
	for _, i := range order {
		items = append(items, Item{n.names[i], n.nodes[i]})
	}
	return items, "", ""
}

// Leaves calls each with every text, number and boolean below a group, and its field in bracket notation.
func (n *Node) Leaves(each func(field, text string)) {
	if n != nil {
		n.leaves("", each)
	}
}

func (n *Node) leaves(field string, each func(field, text string)) {
	switch n.kind {
	case Text, Number, Bool:
		for _, text := range n.more {
			each(printable(field), text)
		}
		each(printable(field), n.text)
	case List, Group:
		for i, child := range n.nodes {
			name := strconv.Itoa(i)
			if n.kind == Group {
				name = n.names[i]
			}
			if field != "" {
				name = field + "[" + name + "]"
			}
			child.leaves(name, each)
		}
	case Null, Upload:
	}
}

// mapAt is the number of children from which a group keeps a map of their names.
const mapAt = 12

func (n *Node) find(name string) int {
	if n.index != nil {
		if i, ok := n.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.Index(n.names, name)
}

// put adds a child to a group, or replaces the child of that name.
func (n *Node) put(name string, child *Node) {
	if i := n.find(name); i >= 0 {
		n.nodes[i] = child
		return
	}
	n.names, n.nodes = append(n.names, name), append(n.nodes, child)
	switch {
	case n.index != nil:
		n.index[name] = len(n.names) - 1
	case len(n.names) > mapAt:
		n.index = make(map[string]int, 2*len(n.names))
		for i, name := range n.names {
			n.index[name] = i
		}
	}
	if v, ok := parseIndex(name); ok && v >= n.next {
		n.next = v + 1
	}
}

// parseIndex parses a canonical index; a number of more than six digits is a name.
func parseIndex(s string) (int, bool) {
	if s == "" || len(s) > 6 || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	v := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

func validText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// printable makes a hostile name safe for an answer: valid and short.
func printable(name string) string {
	name = strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "\uFFFD")
	const max = 100
	if len(name) <= max {
		return name
	}
	cut := max
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}

func invalid(field, problem string) error { return fault.Field(printable(field), problem) }
