package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Count says how often something was found, and where first.
type Count struct {
	What  string
	Count int
	First string
}

// String is a line for people.
func (c Count) String() string {
	if c.First == "" {
		return fmt.Sprintf("%s (%d)", c.What, c.Count)
	}
	return fmt.Sprintf("%s (%d, first: %s)", c.What, c.Count, c.First)
}

// maxNames is how many things are told apart; the rest is counted together.
const maxNames = 1000

// Tally counts things by what they are. The zero value is empty. It is not safe for several goroutines.
type Tally struct{ counts map[string]*Count }

// Add counts one more.
func (t *Tally) Add(what, place string) {
	what = cutText(what, 300)
	if t.counts == nil {
		t.counts = map[string]*Count{}
	}
	c := t.counts[what]
	if c == nil && len(t.counts) >= maxNames {
		what = "others"
		c = t.counts[what]
	}
	if c == nil {
		c = &Count{What: what, First: place}
		t.counts[what] = c
	}
	c.Count++
}

// Counts are sorted by what was counted.
func (t *Tally) Counts() []Count {
	var all []Count
	for _, c := range slices.SortedFunc(maps.Values(t.counts), func(a, b *Count) int { return cmp.Compare(a.What, b.What) }) {
		all = append(all, *c)
	}
	return all
}

// Report is what a [Source] found beside what it yielded.
type Report struct {
	Kept     Tally // fields without a place, which are yielded as Extra
	Unknown  Tally // fields that the document does not have, which are yielded as Extra, too
	LeftOut  Tally // documented fields that mean nothing elsewhere, such as links of an API
	Problems Tally // what could not be read or taken, and why
	Statuses Tally // what became of statuses
}
