package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of JSON.
const (
	defaultRecord = 32 << 20
	maxDepth      = 100
	maxKey        = 1000
)

// Record is a JSON object of a file.
type Record struct {
	Collection string // name of the list that it is in, such as "tickets"; "": it stands alone
	Raw        []byte // valid until the next one
	Path       string
	Line       int
	Offset     int64
}

// Place is where the record is, for people.
func (r Record) Place() string { return fmt.Sprintf("%s line %d", r.Path, r.Line) }

var (
	errTooLarge = errors.New("it is too large")
	errTooDeep  = errors.New("it is nested too deeply")
	errSyntax   = errors.New("it is no valid JSON")
	errEnds     = errors.New("the file ends within it")

	broken = []error{errTooLarge, errTooDeep, errSyntax, errEnds}
)

// Scanner reads the records of files: one in each line (NDJSON); a list; pages of an API, which are objects without an id
// and have lists by name, in HAL below _embedded; or one record alone, such as {"ticket": {...}}.
type Scanner struct {
	Config
	// Collections are the names of lists. Singles are the names of records that stand alone, by those.
	Collections []string
	Singles     map[string]string
	Report      *Report
}

// Scan calls fn with each record of a file. What is none is noted in the report; an error is one of fn or of the file.
func (s Scanner) Scan(ctx context.Context, path string, fn func(Record) error) error {
	f, err := s.Files.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	if s.MaxRecord == 0 {
		s.MaxRecord = defaultRecord
	}
	return s.scan(ctx, path, f, fn)
}

func (s Scanner) scan(ctx context.Context, path string, f io.Reader, fn func(Record) error) error {
	v := &visit{Scanner: s, ctx: ctx, path: path, fn: fn, j: newReader(f, s.MaxRecord)}
	defer func() {
		if v.again != nil {
			_ = v.again.Close() // it is only read
		}
	}()
	if start, _ := v.j.in.Peek(3); bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		_ = v.j.discard(3) // they are there
	} else if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		s.Report.Problems.Add("a file is UTF-16: make it UTF-8, as with iconv -f UTF-16 -t UTF-8", path)
		return nil
	}
	for {
		c, err := v.j.space()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = v.value(c)
		}
		if err == nil {
			continue
		}
		if !slices.ContainsFunc(broken, func(known error) bool { return errors.Is(err, known) }) {
			return err
		}
		s.Report.Problems.Add("a record is left out: "+err.Error(), fmt.Sprintf("%s line %d", path, v.j.line))
		if !v.inLines {
			s.Report.Problems.Add("what follows a broken record is left out", path)
			return nil
		}
		v.j.line1 = false
		if err := v.j.nextLine(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// visit goes through one file.
type visit struct {
	Scanner
	ctx     context.Context //nolint:containedctx // it is for one scan
	path    string
	fn      func(Record) error
	j       *reader
	again   fs.File // the file once more, where a page was too large to be read at once
	some    bool    // a value was read
	inLines bool    // each line has a record of its own
}

// value reads a value that stands in no other.
func (v *visit) value(c byte) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	switch c {
	case '[':
		return v.list("")
	case '{':
		return v.object()
	}
	return errSyntax
}

// object reads a record, or a page, which may be of any size.
func (v *visit) object() error {
	line, offset, first := v.j.line, v.j.offset, !v.some
	v.some, v.j.line1 = true, v.inLines
	raw, err := v.j.value()
	if errors.Is(err, errTooLarge) && !v.inLines && v.again == nil {
		if err := v.reopen(line, offset); err != nil {
			return err
		}
		return v.page(line)
	}
	if err != nil {
		return err
	}
	if first {
		v.inLines = v.j.line == line && v.j.endsLine()
	}
	return v.whole(Record{Raw: raw, Path: v.path, Line: line, Offset: offset})
}

// reopen begins to read the file once more, at an offset.
func (v *visit) reopen(line int, offset int64) error {
	f, err := v.Files.Open(v.path)
	if err != nil {
		return err
	}
	v.again = f
	if err := skipTo(f, offset); err != nil {
		return err
	}
	v.j = newReader(f, v.MaxRecord)
	v.j.line, v.j.offset = line, offset
	return nil
}

func skipTo(f io.Reader, offset int64) error {
	if seeker, ok := f.(io.Seeker); ok {
		_, err := seeker.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, offset)
	return err
}

// whole decides whether an object is a record or a page.
func (v *visit) whole(r Record) error {
	var names struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(r.Raw, &names); err != nil {
		return errSyntax
	}
	if names.ID != nil {
		return v.fn(r)
	}
	inner := &visit{Scanner: v.Scanner, ctx: v.ctx, path: v.path, fn: v.fn, j: newReader(bytes.NewReader(r.Raw), v.MaxRecord)}
	inner.j.line, inner.j.offset = r.Line, r.Offset
	return inner.page(r.Line)
}

// page reads an object with lists of records.
func (v *visit) page(line int) error {
	found, err := v.fields()
	if err == nil && !found {
		v.Report.Problems.Add("it has no records that are known", fmt.Sprintf("%s line %d", v.path, line))
	}
	return err
}

// fields goes through the fields of an object.
func (v *visit) fields() (found bool, err error) {
	if err := v.j.expect('{'); err != nil {
		return false, err
	}
	for first := true; ; first = false {
		c, err := v.j.space()
		if err != nil {
			return found, ends(err)
		}
		if c == '}' {
			return found, v.j.discard(1)
		}
		if !first {
			if err := v.j.expect(','); err != nil {
				return found, err
			}
		}
		name, c, err := v.j.name()
		if err != nil {
			return found, err
		}
		one, err := v.field(name, c)
		found = found || one
		if err != nil {
			return found, err
		}
	}
}

// field reads the value of a field, which begins with c.
func (v *visit) field(name string, c byte) (found bool, err error) {
	collection, single := v.Singles[name]
	switch {
	case name == "_embedded" && c == '{':
		return v.fields()
	case c == '[' && slices.Contains(v.Collections, name):
		return true, v.list(name)
	case c == '{' && single:
		return true, v.record(collection)
	case name == "id":
		return true, errTooLarge // a record, and none that fits
	}
	return false, v.j.skip()
}

// list reads a list of records.
func (v *visit) list(name string) error {
	if err := v.j.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		c, err := v.j.space()
		if err != nil {
			return ends(err)
		}
		if c == ']' {
			return v.j.discard(1)
		}
		if !first {
			if err := v.j.expect(','); err != nil {
				return err
			}
			if _, err := v.j.space(); err != nil {
				return ends(err)
			}
		}
		if err := v.record(name); err != nil {
			return err
		}
	}
}

// record reads a record of a list. One that is too large is passed over.
func (v *visit) record(collection string) error {
	if _, err := v.j.space(); err != nil {
		return ends(err)
	}
	r := Record{Collection: collection, Path: v.path, Line: v.j.line, Offset: v.j.offset}
	raw, err := v.j.value()
	if errors.Is(err, errTooLarge) {
		v.Report.Problems.Add("a record is left out: "+errTooLarge.Error(), r.Place())
		return v.j.skipRest()
	}
	if err != nil {
		return err
	}
	if r.Raw = raw; !json.Valid(raw) {
		v.Report.Problems.Add("a record is left out: "+errSyntax.Error(), r.Place())
		return nil
	}
	return v.fn(r)
}

func ends(err error) error {
	if errors.Is(err, io.EOF) {
		return errEnds
	}
	return err
}

// At reads the record at an offset of a file.
func (s Scanner) At(path string, offset int64) ([]byte, error) {
	f, err := s.Files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	if err := skipTo(f, offset); err != nil {
		return nil, err
	}
	if s.MaxRecord == 0 {
		s.MaxRecord = defaultRecord
	}
	j := newReader(f, s.MaxRecord)
	if _, err := j.space(); err != nil {
		return nil, err
	}
	return j.value()
}

// IsRecords reports whether a file may have records, by its name.
func IsRecords(d fs.DirEntry) bool {
	switch strings.ToLower(path.Ext(d.Name())) {
	case ".json", ".ndjson", ".jsonl":
		return d.Type().IsRegular()
	}
	return false
}
