package theme

import (
	"fmt"
	"io"
)

// output collects a page up to a maximum size.
type output struct {
	meter *meter
	marks marks
	next  deed // what to do with the next write
	left  int
	buf   []byte
}

// marks are texts in folded templates that tell the writer what to do. A mark is recognized by its address, which no other
// text can have.
type marks map[*byte]mark

type mark struct {
	does     deed
	template string // in which it is
}

// markByte is the text of a mark, a byte that hardly occurs elsewhere.
const markByte = 0

func (m marks) at(text []byte) (mark, bool) {
	if len(text) != 1 || text[0] != markByte {
		return mark{}, false
	}
	found, ok := m[&text[0]]
	return found, ok
}

func (m marks) has(text []byte) bool {
	_, ok := m.at(text)
	return ok
}

// deed is what the writer does.
type deed int

const (
	escape deed = iota + 1 // the next write is a string to be escaped
	link                   // the next write is an address
	tick
	enter
	leave
)

// steps and escapes are what the writer does in place of functions.
var (
	steps   = map[string]deed{tickFunc: tick, enterFunc: enter, leaveFunc: leave}
	escapes = map[string]deed{escapeText: escape, escapeAttr: escape, escapeTitle: escape, addressFunc: link}
)

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	switch o.next {
	case escape:
		o.next = 0
		return len(p), o.escape(p)
	case link:
		o.next = 0
		return len(p), o.add([]byte(address(string(p))))
	}
	if m, ok := o.marks.at(p); ok {
		return len(p), o.obey(m)
	}
	return len(p), o.add(p)
}

func (o *output) obey(m mark) (err error) {
	switch m.does {
	case tick:
		_, err = o.meter.tick()
	case enter:
		_, err = o.meter.enter()
	case leave:
		o.meter.leave()
	default:
		o.next = m.does
	}
	if err != nil {
		return fmt.Errorf("template: %s:1: %w", m.template, err) // as text/template says where
	}
	return nil
}

// add appends to the page.
func (o *output) add(text []byte) error {
	if o.left -= len(text); o.left < 0 {
		return ErrOutput
	}
	o.buf = append(o.buf, text...)
	return nil
}

// escape appends a string as html/template escapes it in texts and in quoted attributes.
func (o *output) escape(p []byte) error {
	from := 0
	for i, c := range p {
		safe, ok := safely(c)
		if !ok {
			continue
		}
		if err := o.add(p[from:i]); err != nil {
			return err
		}
		if err := o.add([]byte(safe)); err != nil {
			return err
		}
		from = i + 1
	}
	return o.add(p[from:])
}

// safely returns what stands for a character that is not safe.
func safely(c byte) (string, bool) {
	switch c {
	case 0:
		return "\uFFFD", true
	case '"':
		return "&#34;", true
	case '&':
		return "&amp;", true
	case '\'':
		return "&#39;", true
	case '+':
		return "&#43;", true
	case '<':
		return "&lt;", true
	case '>':
		return "&gt;", true
	}
	return "", false
}

var _ io.Writer = (*output)(nil)
