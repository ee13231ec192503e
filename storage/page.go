package storage

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/helpwright/helpwright/storage/fault"
)

// Limits of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Position is a place in a sorted list: the sort key of a row, and its id to break ties. Keys are always integers: times in
// microseconds since 1970 UTC, numbers as they are.
type Position struct{ Key, ID int64 }

// Seek is what a store is asked for: at most Limit rows strictly beyond From (nil: from the start), by ascending or
// descending (key, id).
type Seek struct {
	Desc  bool
	From  *Position
	Limit int
}

// PageRequest is what a caller asks for. The zero value is the first page of [DefaultLimit] rows.
type PageRequest struct {
	Limit  int    // 1 to MaxLimit; 0: DefaultLimit
	Cursor string // opaque, from a Page; "": the first page
}

// Page is one page of a list with the cursors of the adjacent pages, "" where there is none.
type Page[T any] struct {
	Items []T
	Next  string
	Prev  string
}

// List reads one page: it decodes the cursor, asks fetch for one row more than the page holds, and builds the adjacent
// pages' cursors with position. The cost does not depend on the depth of the page.
//
// When the rows are too large for one answer, see [Meter], the page holds fewer than requested and has a Next cursor.
//
// A limit out of range or an invalid cursor is an Invalid fault.
func List[T any](req PageRequest, desc bool, position func(T) Position, fetch func(Seek) ([]T, error)) (Page[T], error) {
	limit := req.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	var problems fault.Collector
	problems.Check(limit >= 1 && limit <= MaxLimit, "limit", "must be from 1 to 100")
	from, back, ok := decodeCursor(req.Cursor, desc)
	problems.Check(ok, "cursor", "is not a cursor of this list")
	if err := problems.Err(); err != nil {
		return Page[T]{}, err
	}
	items, err := fetch(Seek{Desc: desc != back, From: from, Limit: limit + 1})
	more := len(items) > limit
	for n := (limit + 1) / 2; errors.Is(err, ErrPageTooLarge) && n > 0; n /= 2 {
		items, err = fetch(Seek{Desc: desc != back, From: from, Limit: n})
		more = true
	}
	if err != nil {
		return Page[T]{}, err
	}
	items = items[:min(limit, len(items))]
	if back {
		slices.Reverse(items)
	}
	page := Page[T]{Items: items}
	if len(items) == 0 {
		return page, nil
	}
	if more || back {
		page.Next = encodeCursor(position(items[len(items)-1]), desc, false)
	}
	if (back && more) || (!back && from != nil) {
		page.Prev = encodeCursor(position(items[0]), desc, true)
	}
	return page, nil
}

// A cursor is 17 bytes: flags, key, id. The flags include the order, so that a cursor of an ascending list is refused for a
// descending one, and vice versa.
const (
	flagDesc = 1 << iota
	flagBack
)

// CursorAt returns the cursor of the page after a position in an ascending or descending list. It is for lists whose keys
// the caller knows, such as numbers.
func CursorAt(p Position, desc bool) string { return encodeCursor(p, desc, false) }

func encodeCursor(p Position, desc, back bool) string {
	var b [17]byte
	if desc {
		b[0] |= flagDesc
	}
	if back {
		b[0] |= flagBack
	}
	binary.BigEndian.PutUint64(b[1:], uint64(p.Key))
	binary.BigEndian.PutUint64(b[9:], uint64(p.ID))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func decodeCursor(s string, desc bool) (from *Position, back, ok bool) {
	if s == "" {
		return nil, false, true
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 17 || b[0]&^(flagDesc|flagBack) != 0 || (b[0]&flagDesc != 0) != desc {
		return nil, false, false
	}
	p := Position{Key: int64(binary.BigEndian.Uint64(b[1:])), ID: int64(binary.BigEndian.Uint64(b[9:]))}
	return &p, b[0]&flagBack != 0, true
}

// Each goes through all objects of a list, page by page, in the list's order: page returns one page, such as a handle's List
// with its filter. An error of page ends it, and comes with the zero object. What is added or removed meanwhile may or may not
// be seen; nothing else comes twice or is left out.
func Each[T any](page func(PageRequest) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for req := (PageRequest{Limit: MaxLimit}); ; {
			got, err := page(req)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range got.Items {
				if !yield(item, nil) {
					return
				}
			}
			if got.Next == "" {
				return
			}
			req.Cursor = got.Next
		}
	}
}
