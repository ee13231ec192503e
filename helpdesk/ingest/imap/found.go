package imap

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	goimap "github.com/emersion/go-imap/v2"
)

// foundRanges limits the ranges kept of a search result; the caller continues after them.
const foundRanges = 1 << 16

// found collects the lowest numbers of a search result, from first on, in bounded memory, however many the server sends and
// in whatever order.
type found struct {
	first  uint32
	ranges []goimap.UIDRange
	last   uint32 // higher numbers were dropped; 0: none were
}

func (f *found) add(start, stop uint32) {
	if start > stop {
		start, stop = stop, start
	}
	start = max(start, f.first, 1)
	if f.last > 0 {
		stop = min(stop, f.last)
	}
	if start > stop {
		return
	}
	if n := len(f.ranges); n > 0 && uint64(f.ranges[n-1].Stop)+1 == uint64(start) {
		f.ranges[n-1].Stop = goimap.UID(stop)
		return
	}
	f.ranges = append(f.ranges, goimap.UIDRange{Start: goimap.UID(start), Stop: goimap.UID(stop)})
	if len(f.ranges) >= 2*foundRanges {
		f.normalizeRanges()
	}
}

// normalizeRanges sorts the ranges, joins those that touch, and keeps the lowest.
func (f *found) normalizeRanges() {
	slices.SortFunc(f.ranges, func(a, b goimap.UIDRange) int { return cmp.Compare(a.Start, b.Start) })
	joined := f.ranges[:0]
	for _, r := range f.ranges {
		if n := len(joined); n > 0 && uint64(joined[n-1].Stop)+1 >= uint64(r.Start) {
			joined[n-1].Stop = max(joined[n-1].Stop, r.Stop)
		} else {
			joined = append(joined, r)
		}
	}
	if f.ranges = joined; len(joined) > foundRanges {
		f.ranges = joined[:foundRanges]
		f.last = uint32(joined[foundRanges-1].Stop)
	}
}

// set returns the numbers found, in ascending order.
func (f *found) set() goimap.UIDSet {
	f.normalizeRanges()
	return f.ranges
}

// number is a number that is parsed digit by digit.
type number struct {
	value  uint64
	digits int
}

// digit appends a digit; false: the number is too large.
func (n *number) digit(c byte) bool {
	n.value = n.value*10 + uint64(c-'0')
	n.digits++
	return n.value <= math.MaxUint32
}

// searchResult parses "* SEARCH 2 3 6 (MODSEQ 917162500)", after its name (RFC 3501, section 7.2.5).
type searchResult struct {
	number number
	over   bool // the rest contains no numbers
}

func (s *searchResult) read(to *found, part []byte) error {
	for _, c := range part {
		switch {
		case s.over:
		case c >= '0' && c <= '9':
			if !s.number.digit(c) {
				return ErrProtocol
			}
		case c == ' ', c == '\r', c == '\n', c == '(':
			if s.number.digits > 0 {
				to.add(uint32(s.number.value), uint32(s.number.value))
				s.number = number{}
			}
			s.over = c == '('
		default:
			return ErrProtocol
		}
	}
	return nil
}

// esearchResult parses `* ESEARCH (TAG "A282") UID ALL 2,10:11`, after its name (RFC 9051, section 7.3.4). Only ALL is
// requested.
type esearchResult struct {
	word    []byte
	inSet   bool // inside a set of numbers
	number  number
	start   uint32
	hasFrom bool
}

func (s *esearchResult) read(to *found, part []byte) error {
	for _, c := range part {
		if s.inSet {
			if err := s.set(to, c); err != nil {
				return err
			}
			continue
		}
		switch {
		case c == ' ':
			s.inSet = bytes.EqualFold(s.word, []byte("ALL"))
			s.word = s.word[:0]
		case len(s.word) < 16: // long enough to be no ALL
			s.word = append(s.word, c)
		}
	}
	return nil
}

func (s *esearchResult) set(to *found, c byte) error {
	switch {
	case c >= '0' && c <= '9':
		if !s.number.digit(c) {
			return ErrProtocol
		}
	case c == ':' && s.number.digits > 0 && !s.hasFrom:
		s.start, s.hasFrom, s.number = uint32(s.number.value), true, number{}
	case c == ',', c == ' ', c == '\r', c == '\n':
		if s.number.digits > 0 {
			stop := uint32(s.number.value)
			if !s.hasFrom {
				s.start = stop
			}
			to.add(s.start, stop)
		} else if s.hasFrom {
			return ErrProtocol
		}
		s.number, s.hasFrom = number{}, false
		s.inSet = c == ','
	default:
		return ErrProtocol
	}
	return nil
}
