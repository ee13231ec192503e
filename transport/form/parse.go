package form

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
)

// Parse reads an `application/x-www-form-urlencoded` body or a query string.
//
// Broken percent-encoding is Malformed, too many fields are TooLarge, a broken or too deep name is Invalid on that name.
func Parse(encoded string, limits Limits) (*Node, error) {
	b := newBuilder(limits)
	for encoded != "" {
		var pair string
		pair, encoded, _ = strings.Cut(encoded, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, broken(err)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return nil, broken(err)
		}
		if err := b.add(name, &Node{kind: Text, text: value}); err != nil {
			return nil, err
		}
	}
	return b.root, nil
}

func broken(err error) error {
	return &fault.Error{Kind: fault.Malformed, Message: "The form is not percent-encoded correctly.", Err: err}
}

// builder builds the tree from fields.
type builder struct {
	limits Limits
	root   *Node
	fields int
	path   []string
}

func newBuilder(limits Limits) *builder {
	return &builder{limits: limits.WithDefaults(), root: NewGroup()}
}

// add adds one field of a form to the tree.
func (b *builder) add(name string, leaf *Node) error {
	if b.fields++; b.fields > b.limits.Fields {
		return tooMany()
	}
	if err := b.split(name); err != nil {
		return err
	}
	group := b.root
	for i, key := range b.path {
		if key == "" && i > 0 { // `[]`
			key = strconv.Itoa(group.next)
		}
		old := group.Get(key)
		if i == len(b.path)-1 {
			return b.leaf(name, group, key, old, leaf)
		}
		if old == nil {
			old = NewGroup()
			group.put(key, old)
		} else if old.kind != Group {
			return invalid(name, "is given both as a value and as a group of values")
		}
		group = old
	}
	return nil
}

func (b *builder) leaf(name string, group *Node, key string, old, leaf *Node) error {
	if old == nil {
		group.put(key, leaf)
		return nil
	}
	if old.kind == Group {
		return invalid(name, "is given both as a value and as a group of values")
	}
	if old.kind == Text && leaf.kind == Text {
		if len(old.more) >= b.limits.Items {
			return invalid(name, "is given too often")
		}
		old.more, old.text = append(old.more, old.text), leaf.text
		return nil
	}
	group.put(key, leaf)
	return nil
}

// split splits a name in bracket notation into b.path; `[]` becomes "".
func (b *builder) split(name string) error {
	b.path = b.path[:0]
	if !validText(name) {
		return invalid(name, "has a name that is not valid UTF-8")
	}
	open := strings.IndexByte(name, '[')
	if open < 0 {
		open = len(name)
	}
	if open == 0 || strings.IndexByte(name[:open], ']') >= 0 {
		return invalid(name, "has a malformed name")
	}
	key, rest := name[:open], name[open:]
	for {
		if len(key) > b.limits.Name {
			return invalid(name, "has a name that is too long")
		}
		if b.path = append(b.path, key); len(b.path) > b.limits.Depth {
			return invalid(name, "is nested too deeply")
		}
		if rest == "" {
			return nil
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 || strings.IndexByte(rest[1:end], '[') >= 0 {
			return invalid(name, "has a malformed name")
		}
		key, rest = rest[1:end], rest[end+1:]
	}
}
