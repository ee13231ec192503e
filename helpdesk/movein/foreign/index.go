package foreign

import "fmt"

// Index remembers where records lie, by an id, and reads one when it is asked for: 40 bytes of memory or so for each,
// whatever they hold.
type Index[T any] struct {
	scanner Scanner
	parse   func(Object) T
	files   []string
	numbers map[string]int32 // of files
	spots   map[string]spot
	cache   map[string]T
}

type spot struct {
	offset int64
	file   int32
	line   int32
}

// maxCached is how many records are remembered whole.
const maxCached = 2000

// NewIndex returns an empty one. parse makes of a record what Get returns.
func NewIndex[T any](s Scanner, parse func(Object) T) *Index[T] {
	return &Index[T]{scanner: s, parse: parse, numbers: map[string]int32{}, spots: map[string]spot{}, cache: map[string]T{}}
}

// Add notes a record. The last one with an id counts.
func (x *Index[T]) Add(id string, r Record) {
	n, known := x.numbers[r.Path]
	if !known {
		n = int32(len(x.files)) // far fewer
		x.files, x.numbers[r.Path] = append(x.files, r.Path), n
	}
	x.spots[id] = spot{offset: r.Offset, file: n, line: int32(min(r.Line, 1<<31-1))}
}

// Len is how many there are.
func (x *Index[T]) Len() int { return len(x.spots) }

// Has reports whether there is a record with an id.
func (x *Index[T]) Has(id string) bool { _, ok := x.spots[id]; return ok }

// Is reports whether a record is the one with its id that counts.
func (x *Index[T]) Is(id string, r Record) bool {
	at, ok := x.spots[id]
	return ok && x.files[at.file] == r.Path && at.offset == r.Offset
}

// Get reads the record with an id. A file that was changed meanwhile is an error.
func (x *Index[T]) Get(id string) (one T, found bool, err error) {
	if one, found = x.cache[id]; found {
		return one, true, nil
	}
	at, found := x.spots[id]
	if !found {
		return one, false, nil
	}
	path := x.files[at.file]
	raw, err := x.scanner.At(path, at.offset)
	if err != nil {
		return one, false, fmt.Errorf("%s: %w", path, err)
	}
	o, err := ParseObject(raw, fmt.Sprintf("%s line %d", path, at.line))
	if err != nil {
		return one, false, fmt.Errorf("%s: %w", path, err)
	}
	if len(x.cache) >= maxCached {
		clear(x.cache)
	}
	one = x.parse(o)
	x.cache[id] = one
	return one, true, nil
}
