package lift

import (
	"database/sql/driver"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Memo remembers the statements that it has seen, so that a statement with other values costs little more than comparing
// texts. The zero Memo is ready to use, by one goroutine at a time.
type Memo struct {
	forms map[string][]*form // by the first bytes of their statements, the most recently used first
	count int
}

const (
	maxForms = 256 // remembered
	maxAlike = 16  // of these with the same first bytes
	maxGaps  = 32  // values of a statement that is remembered
	begins   = 32  // first bytes of a statement, by which its form is looked up
)

// form is a statement without its values.
type form struct {
	text string
	gaps []gap
	rest string // of the statement, after the last value
}

// gap is the place of a value.
type gap struct {
	before   string // what precedes it in the statement, after the last value
	kind     kind
	negative bool
}

// Values does what [Values] does.
func (m *Memo) Values(query string, d Dialect) (text string, values []driver.NamedValue, ok bool) {
	begin := query[:min(len(query), begins)]
	alike := m.forms[begin]
	for i, f := range alike {
		if values, ok := f.values(query, d); ok {
			copy(alike[1:i+1], alike[:i])
			alike[0] = f
			return f.text, values, true
		}
	}
	text, values, marks, ok := parsed(query, d)
	if ok && marks != nil {
		m.keep(strings.Clone(begin), formOf(text, marks))
	}
	return text, values, ok
}

func (m *Memo) keep(begin string, f *form) {
	if m.forms == nil || m.count >= maxForms {
		m.forms, m.count = map[string][]*form{}, 0
	}
	alike := slices.Insert(m.forms[begin], 0, f)
	if m.count++; len(alike) > maxAlike {
		alike, m.count = alike[:maxAlike], m.count-1
	}
	m.forms[begin] = alike
}

// mark is where a text has a parameter.
type mark struct {
	begin, end int
	kind       kind
	negative   bool
}

func formOf(text string, marks []mark) *form {
	f := &form{text: text, gaps: make([]gap, len(marks))}
	at := 0
	for i, m := range marks {
		f.gaps[i] = gap{text[at:m.begin], m.kind, m.negative}
		at = m.end
	}
	f.rest = text[at:]
	return f
}

// values returns the values of a statement if it has the form: if it differs in values alone, and these would be lifted as
// well.
func (f *form) values(query string, d Dialect) ([]driver.NamedValue, bool) {
	if len(f.gaps) > 0 && !strings.HasPrefix(query, f.gaps[0].before) {
		return nil, false // most others, before anything is allocated
	}
	values := make([]driver.NamedValue, len(f.gaps))
	for i, g := range f.gaps {
		if !strings.HasPrefix(query, g.before) {
			return nil, false
		}
		query = query[len(g.before):]
		value, end := g.value(query, d)
		if end <= 0 {
			return nil, false
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
		query = query[end:]
	}
	return values, query == f.rest
}

// value reads the value at the beginning of a text. The end is 0 or less if the gap cannot have it.
func (g gap) value(query string, d Dialect) (value driver.Value, end int) {
	if query == "" {
		return nil, 0
	}
	switch g.kind {
	case textual:
		if query[0] != '\'' {
			return nil, 0
		}
		s, end := quoted(query, 0)
		if isWord(s) {
			return nil, 0
		}
		return s, end
	case binary:
		if len(query) < 2 || query[0] != 'x' && query[0] != 'X' || query[1] != '\'' {
			return nil, 0
		}
		s, end := quoted(query, 1)
		blob, err := hex.DecodeString(s)
		if err != nil {
			return nil, 0
		}
		return blob, end
	}
	first := 0
	if g.negative {
		if query[0] != '-' {
			return nil, 0
		}
		first = 1
	}
	for end = first; end < len(query) && (inName(query[end]) || query[end] == '.'); end++ {
	}
	if end == first || query[first] < '0' || query[first] > '9' {
		return nil, 0
	}
	n, err := strconv.ParseInt(query[:end], 10, 64)
	if err != nil || n == 0 || n == 1 || kindOf(n, d) != g.kind {
		return nil, 0
	}
	return n, end
}
