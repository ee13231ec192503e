package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"time"
)

// separator matches the line before each message (RFC 4155 appendix A) as programs write it: with a time of day and a year
// near the end. Text lines that begin with From have neither.
var separator = regexp.MustCompile(`^From .*\b\d{1,2}:\d{2}(:\d{2})?\b.*\b(19|20)\d{2}\b`)

// clock matches the date in a separator.
var clock = regexp.MustCompile(`[A-Z][a-z]{2} +[A-Z][a-z]{2} +\d{1,2} \d{1,2}:\d{2}:\d{2} .*\d{4}\s*$`)

// field matches the start of a header.
var field = regexp.MustCompile(`^>?[!-9;-~]+[ \t]*:|^>From `)

// reader reads an mbox file.
type reader struct {
	name   string
	lines  *bufio.Reader
	offset int64 // of the next byte to read
	number int64 // of the next line to read, from 0
	kept   time.Time
	err    error
}

// readFirstSeparator reads the first separator. It returns false if the file has none.
func (r *reader) readFirstSeparator() (bool, error) {
	start, err := r.lines.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	if !separator.Match(line) {
		return false, nil
	}
	line, _, err = r.line()
	r.kept = keptAt(line)
	return true, err
}

// keptAt returns the time in a separator, which has no time zone; zero: missing or unreadable.
func keptAt(line []byte) time.Time {
	text := clock.Find(bytes.TrimRight(line, "\r\n"))
	for _, layout := range []string{"Mon Jan _2 15:04:05 2006", "Mon Jan _2 15:04:05 -0700 2006", "Mon Jan _2 15:04:05 MST 2006"} {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// line reads a line, of a long one only the beginning. size is that of the whole line.
func (r *reader) line() (line []byte, size int64, err error) {
	line, err = r.lines.ReadSlice('\n')
	size = int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = r.lines.ReadSlice('\n')
			size += int64(len(more))
		}
	}
	r.offset += size
	r.number++
	if errors.Is(err, io.EOF) && size > 0 {
		err = nil
	}
	return line, size, err
}

// next reads a message up to the next separator. It also returns the header, or io.EOF.
func (r *reader) next() (e Entry, head []byte, err error) {
	if r.err != nil {
		return Entry{}, nil, r.err
	}
	e = Entry{Path: r.name, Line: r.number + 1, offset: r.offset, Kept: r.kept, quoted: true}
	inHead, empty := true, int64(0) // empty: bytes of the preceding empty line
	for {
		begin := r.offset
		line, size, err := r.line()
		if err != nil {
			if r.err = err; !errors.Is(err, io.EOF) {
				return Entry{}, nil, err
			}
			e.Size = max(0, begin-empty-e.offset)
			return e, head, nil
		}
		if r.separates(line, empty > 0 || begin == e.offset) {
			r.kept = keptAt(line)
			e.Size = max(0, begin-empty-e.offset)
			return e, head, nil
		}
		text := bytes.TrimRight(line, "\r\n")
		empty = 0
		if len(text) == 0 {
			empty, inHead = size, false
		}
		if inHead && int64(len(head)+len(line)) <= MaxHeader {
			head = append(head, line...)
		}
	}
}

// separates reports whether a line starts another message. Two of three signs are required, since some programs omit one: a
// preceding empty line, a date as in RFC 4155, and a header after it.
func (r *reader) separates(line []byte, afterEmpty bool) bool {
	if !bytes.HasPrefix(line, []byte("From ")) || !separator.Match(line) {
		return false
	}
	dated := !keptAt(line).IsZero()
	if afterEmpty && dated {
		return true
	}
	next, _ := r.lines.Peek(200)
	return dated && len(next) == 0 || (afterEmpty || dated) && field.Match(next)
}

var quotedFrom = regexp.MustCompile(`(?m)^>+From `)

// unquote removes the ">" that quoted a line when the message was stored.
func unquote(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(">From ")) {
		return raw
	}
	return quotedFrom.ReplaceAllFunc(raw, func(line []byte) []byte { return line[1:] })
}
