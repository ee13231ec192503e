package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// reader finds where the values of a JSON text begin and end. It does not check them.
type reader struct {
	in     *bufio.Reader
	buf    []byte // of the value that was read last
	max    int    // bytes of a value
	offset int64
	line   int
	line1  bool // a value ends in the line in which it begins

	// Within a value:
	depth           int
	inText, escaped bool
	bare            bool // it is a number or a word
	ended           bool // it is whole, and too large
}

func newReader(in io.Reader, limit int) *reader {
	return &reader{in: bufio.NewReaderSize(in, 64<<10), max: limit, line: 1}
}

func (j *reader) next() (byte, error) {
	c, err := j.in.ReadByte()
	if err != nil {
		return 0, err
	}
	j.offset++
	if c == '\n' {
		j.line++
	}
	return c, nil
}

func (j *reader) back(c byte) {
	_ = j.in.UnreadByte() // it was just read
	j.offset--
	if c == '\n' {
		j.line--
	}
}

func (j *reader) discard(n int) error {
	for range n {
		if _, err := j.next(); err != nil {
			return err
		}
	}
	return nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// space goes on to what is no white space, and returns it without taking it.
func (j *reader) space() (byte, error) {
	for {
		c, err := j.next()
		if err != nil {
			return 0, err
		}
		if !blank(c) {
			j.back(c)
			return c, nil
		}
	}
}

// endsLine reports whether nothing else stands in the line.
func (j *reader) endsLine() bool {
	for {
		c, err := j.next()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if c == '\n' || !blank(c) {
			j.back(c)
			return c == '\n'
		}
	}
}

// nextLine goes on to the start of the next line.
func (j *reader) nextLine() error {
	for {
		c, err := j.next()
		if err != nil || c == '\n' {
			return err
		}
	}
}

// expect takes a character.
func (j *reader) expect(want byte) error {
	c, err := j.space()
	if err != nil {
		return ends(err)
	}
	if c != want {
		return errSyntax
	}
	return j.discard(1)
}

// name takes the name of a field with its colon, and returns what its value begins with.
func (j *reader) name() (name string, c byte, err error) {
	if c, err = j.space(); err != nil {
		return "", 0, ends(err)
	}
	if c != '"' {
		return "", 0, errSyntax
	}
	raw, err := j.value()
	if err != nil {
		return "", 0, err
	}
	if len(raw) > maxKey {
		return "", 0, errTooLarge
	}
	if json.Unmarshal(raw, &name) != nil {
		return "", 0, errSyntax
	}
	if err := j.expect(':'); err != nil {
		return "", 0, err
	}
	c, err = j.space()
	return name, c, ends(err)
}

// value takes a value. After errTooLarge, skipRest takes what is left of it.
func (j *reader) value() ([]byte, error) {
	j.start()
	j.buf = j.buf[:0]
	for {
		c, done, err := j.step()
		if err != nil {
			return nil, err
		}
		if c != 0 {
			if len(j.buf) >= j.max {
				j.ended = done
				return nil, errTooLarge
			}
			j.buf = append(j.buf, c)
		}
		if done {
			return j.buf, nil
		}
	}
}

// skip passes over a value.
func (j *reader) skip() error {
	j.start()
	return j.skipRest()
}

func (j *reader) skipRest() error {
	for !j.ended {
		_, done, err := j.step()
		if err != nil || done {
			return err
		}
	}
	return nil
}

func (j *reader) start() {
	j.depth, j.inText, j.escaped, j.bare, j.ended = 0, false, false, false, false
}

// step takes a character of a value; 0: the value has ended before it. done says that the value is whole.
func (j *reader) step() (c byte, done bool, err error) {
	c, err = j.next()
	if errors.Is(err, io.EOF) && j.bare && j.depth == 0 {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, ends(err)
	}
	if c == '\n' && j.line1 {
		j.back(c)
		return 0, false, errEnds
	}
	if j.inText {
		switch {
		case j.escaped:
			j.escaped = false
		case c == '\\':
			j.escaped = true
		case c == '"':
			j.inText = false
			return c, j.depth == 0, nil
		}
		return c, false, nil
	}
	switch c {
	case '"':
		j.inText = true
	case '{', '[':
		if j.depth++; j.depth > maxDepth {
			return c, false, errTooDeep
		}
	case '}', ']':
		if j.depth == 0 {
			return j.endBare(c)
		}
		j.depth--
		return c, j.depth == 0, nil
	case ',', ' ', '\t', '\r', '\n':
		if j.depth == 0 {
			return j.endBare(c)
		}
	default:
		j.bare = j.bare || j.depth == 0
	}
	return c, false, nil
}

// endBare ends a number or a word before a character that is none of it.
func (j *reader) endBare(c byte) (byte, bool, error) {
	j.back(c)
	if !j.bare {
		return 0, false, errSyntax
	}
	return 0, true, nil
}
