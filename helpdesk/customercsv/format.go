package customercsv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of a table. Larger ones are a TooLarge fault.
const (
	MaxBytes   = 64 << 20
	MaxRows    = 200_000
	MaxColumns = 200
	maxRow     = 1 << 20 // bytes of a row
)

// Encoding is how a table's text is encoded.
type Encoding string

// The encodings that are recognized: those with a byte order mark, UTF-16 also without; anything else that is no UTF-8 is
// Windows-1252.
const (
	UTF8        Encoding = "UTF-8"
	UTF16LE     Encoding = "UTF-16LE"
	UTF16BE     Encoding = "UTF-16BE"
	Windows1252 Encoding = "Windows-1252"
)

// Table is a table of customers whose format is known.
type Table struct {
	Encoding Encoding
	Comma    rune     // what separates columns
	Header   []string // names of the columns
	Rows     int      // beneath the header, those that cannot be read included

	open func() (io.ReadCloser, error)
	head int // row of the header
}

// Open reads a table once to find out its format. It calls open for each reading. A table without a header is an Invalid fault on
// file.
func Open(ctx context.Context, open func() (io.ReadCloser, error)) (*Table, error) {
	t := &Table{open: open}
	if err := t.reading(t.sniff); err != nil {
		return nil, err
	}
	if t.Comma == 0 {
		return nil, fault.Field("file", "has no rows")
	}
	err := t.each(ctx, func(row int, cells []string, problem string) error {
		switch {
		case t.head == 0 && problem != "":
			return fault.Field("file", "has a first row that cannot be read")
		case t.head == 0 && len(cells) > MaxColumns:
			return fault.Newf(fault.TooLarge, "The table has more than %d columns.", MaxColumns)
		case t.head == 0:
			t.head = row
			for _, cell := range cells {
				t.Header = append(t.Header, cut(strings.TrimSpace(unguarded(cell)), 200))
			}
		default:
			t.Rows++
		}
		return nil
	})
	if err == nil && t.Header == nil {
		err = fault.Field("file", "has no rows")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Table) reading(fn func(io.Reader) error) error {
	in, err := t.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	return fn(in)
}

// sniff finds out the encoding of all text, and the separator of the first row. Comma stays 0 if there is nothing to read.
func (t *Table) sniff(in io.Reader) error {
	r := bufio.NewReaderSize(io.LimitReader(in, MaxBytes+1), 64<<10)
	head, err := r.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	t.Encoding = marked(head)
	head = bytes.Clone(head)
	var whole validity
	n, err := io.Copy(&whole, r)
	if err != nil {
		return err
	}
	if n > MaxBytes {
		return fault.Newf(fault.TooLarge, "The table is larger than %d MB.", MaxBytes>>20)
	}
	switch {
	case t.Encoding != "":
	case whole.valid():
		t.Encoding = UTF8
	default:
		t.Encoding = Windows1252
	}
	text, err := io.ReadAll(io.LimitReader(t.decoded(bytes.NewReader(head)), 128<<10))
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) > 0 {
		t.Comma = separator(text)
	}
	return nil
}

// marked returns the encoding that the beginning of a text shows, by a byte order mark or the zero bytes of UTF-16; "": none.
func marked(head []byte) Encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		return UTF8
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		return UTF16LE
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return UTF16BE
	case len(head) >= 4 && head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0:
		return UTF16LE
	case len(head) >= 4 && head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0:
		return UTF16BE
	}
	return ""
}

// validity checks whether what is written to it is UTF-8.
type validity struct {
	rest []byte // of a character that is not complete yet
	bad  bool
}

// Write implements [io.Writer].
func (v *validity) Write(piece []byte) (int, error) {
	n := len(piece)
	if v.bad {
		return n, nil
	}
	piece = append(v.rest, piece...)
	end := len(piece)
	for back := 1; back < utf8.UTFMax && back <= len(piece); back++ {
		if utf8.RuneStart(piece[len(piece)-back]) {
			if !utf8.FullRune(piece[len(piece)-back:]) {
				end = len(piece) - back
			}
			break
		}
	}
	v.bad = !utf8.Valid(piece[:end])
	v.rest = bytes.Clone(piece[end:])
	return n, nil
}

func (v *validity) valid() bool { return !v.bad && len(v.rest) == 0 }

// decoded returns the text in UTF-8 without a byte order mark.
func (t *Table) decoded(in io.Reader) io.Reader {
	var of encoding.Encoding
	switch t.Encoding {
	case UTF16LE:
		of = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case UTF16BE:
		of = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case Windows1252:
		of = charmap.Windows1252
	default:
		of = unicode.UTF8BOM
	}
	return of.NewDecoder().Reader(in)
}

// separator returns what separates the columns of the first row: what is most frequent outside of quotes.
func separator(text []byte) rune {
	counts := map[rune]int{}
	quoted := false
	for _, r := range string(text) {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '\n' && len(counts) > 0:
			return most(counts)
		case r == ',' || r == ';' || r == '\t':
			counts[r]++
		}
	}
	return most(counts)
}

func most(counts map[rune]int) rune {
	best := ','
	for _, r := range []rune{';', '\t'} {
		if counts[r] > counts[best] {
			best = r
		}
	}
	return best
}

// frugal bounds how much is read for one row.
type frugal struct {
	in   io.Reader
	left int
}

var errLongRow = errors.New("customercsv: a row is too long")

// Read implements [io.Reader].
func (f *frugal) Read(piece []byte) (int, error) {
	if f.left <= 0 {
		return 0, errLongRow
	}
	n, err := f.in.Read(piece)
	f.left -= n
	return n, err
}

// each reads all rows. Rows count as in a spreadsheet: from 1, empty ones included. A row that cannot be read has a problem.
func (t *Table) each(ctx context.Context, fn func(row int, cells []string, problem string) error) error {
	return t.reading(func(in io.Reader) error {
		bounded := &frugal{in: t.decoded(io.LimitReader(in, MaxBytes))}
		r := csv.NewReader(bounded)
		r.Comma, r.FieldsPerRecord, r.ReuseRecord = t.Comma, -1, true
		row, next := 0, 1 // next is the line after the last row
		for {
			bounded.left = maxRow
			cells, err := r.Read()
			problem, line := "", 0
			bad, broken := errors.AsType[*csv.ParseError](err)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, errLongRow):
				return fault.Newf(fault.TooLarge, "Row %d is longer than %d MB.", row+1, maxRow>>20)
			case broken:
				problem, line = "has a quotation mark in the wrong place", bad.StartLine
			case err != nil:
				return err
			default:
				line, _ = r.FieldPos(0)
			}
			row += 1 + max(line-next, 0)
			if next = line + 1; broken {
				next = bad.Line + 1
			}
			for _, cell := range cells {
				next += strings.Count(cell, "\n")
			}
			if row > MaxRows+1 {
				return fault.Newf(fault.TooLarge, "The table has more than %d rows.", MaxRows)
			}
			if err := fn(row, cells, problem); err != nil {
				return err
			}
		}
	})
}

// Sample returns the first rows that can be read, at most n.
func (t *Table) Sample(ctx context.Context, n int) (rows [][]string, err error) {
	errEnough := errors.New("enough")
	err = t.each(ctx, func(row int, cells []string, problem string) error {
		if row <= t.head || problem != "" {
			return nil
		}
		var shown []string
		for _, cell := range cells[:min(len(cells), MaxColumns)] {
			shown = append(shown, cut(strings.TrimSpace(unguarded(cell)), 100))
		}
		if rows = append(rows, shown); len(rows) == n {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return rows, err
}

func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// String names the format.
func (t *Table) String() string { return fmt.Sprintf("%s, %q", t.Encoding, t.Comma) }
