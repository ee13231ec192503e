package rules

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/plain"
)

// Change is what became of a field at an event. Of lists, From has what was removed and To what was added.
type Change struct {
	From, To []string
	Untold   bool // from what to what is not known
}

// Facts are what is known of a conversation at an event. They are for use by one goroutine.
type Facts struct {
	values  map[string][]string
	changes map[string]Change
	folded  map[string][]string // values as they are compared
	lost    map[string]bool     // fields whose values cannot be told any more
}

// NewFacts returns facts: the values of fields, and what the event changed, both by the names of fields. A field that has no
// value has an empty list; one that is absent is not known.
func NewFacts(values map[string][]string, changes map[string]Change) *Facts {
	f := &Facts{values: maps.Clone(values), changes: changes, folded: map[string][]string{}}
	if f.values == nil {
		f.values = map[string][]string{}
	}
	return f
}

// Set sets the values of a field; what the event changed stays as it is.
func (f *Facts) Set(field string, values ...string) {
	delete(f.folded, field)
	delete(f.lost, field)
	f.values[field] = append([]string{}, values...)
}

// Lose says that a field had a value at the time of the event, but that it cannot be told any more, see [Compiled.Undecided].
func (f *Facts) Lose(field string) {
	delete(f.folded, field)
	delete(f.values, field)
	if f.lost == nil {
		f.lost = map[string]bool{}
	}
	f.lost[field] = true
}

// Values returns the values of a field; known is false if they are not known.
func (f *Facts) Values(field string) (values []string, known bool) {
	values, known = f.values[field]
	return values, known
}

// All returns the values of all fields that are known. They are not to be changed.
func (f *Facts) All() map[string][]string { return f.values }

// fold returns the values of a field as texts are compared.
func (f *Facts) fold(field string) []string {
	folded, done := f.folded[field]
	if !done {
		for _, v := range f.values[field] {
			folded = append(folded, plain.Key(v))
		}
		f.folded[field] = folded
	}
	return folded
}

// Held is a condition of a rule, and whether it held.
type Held struct {
	Condition
	Any  bool `json:"any,omitempty"` // of Rule.Any
	Held bool `json:"held"`
}

// condition is a condition that is ready to be compared.
type condition struct {
	Condition
	kind    Kind
	options []string
	keys    []string // the values as they are compared
	number  float64
	pattern *regexp.Regexp
	broken  bool // its field is gone, or a value makes no sense: it never holds
}

func compile(v Vocabulary, c Condition) condition {
	f, known := v.Field(c.Field)
	out := condition{Condition: c, kind: f.Kind, options: f.Options, broken: !known || !slices.Contains(f.Ops(), c.Op)}
	least, most := c.Op.counts()
	if out.broken = out.broken || len(c.Values) < least || len(c.Values) > most; out.broken {
		return out
	}
	if c.Op == Matches {
		var err error
		out.pattern, err = regexp.Compile(c.Values[0])
		out.broken = err != nil
		return out
	}
	for _, text := range c.Values {
		key, problem := normal(f, text)
		if options := f.Kind == KindChoice || f.Kind == KindChoices; problem != "" && !options { // an option may be gone
			out.broken = true
		}
		if f.Kind == KindText || f.Kind == KindTexts {
			key = plain.Key(key)
		}
		out.keys = append(out.keys, key)
	}
	if c.Op == Greater || c.Op == Less || c.Op == Before || c.Op == After {
		out.number, known = out.measure(out.keys[0])
		out.broken = out.broken || !known
	}
	return out
}

// measure returns the number that a value is compared by.
func (c *condition) measure(text string) (n float64, ok bool) {
	switch c.kind {
	case KindLevel:
		i := slices.Index(c.options, text)
		return float64(i), i >= 0
	case KindDay:
		day, err := time.Parse(time.DateOnly, text)
		return float64(day.Unix()), err == nil
	case KindMoment:
		at, err := time.Parse(time.RFC3339, text)
		return float64(at.Unix()), err == nil
	case KindNumber:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	case KindText, KindTexts, KindFlag, KindChoice, KindChoices, KindID, KindIDs, KindHours:
	}
	return 0, false
}

// holds reports whether the condition holds.
func (c *condition) holds(f *Facts) bool {
	if c.broken {
		return false
	}
	switch c.Op {
	case Changed, ChangedTo, ChangedFrom:
		return c.changed(f)
	case Is, IsNot, AnyOf, NoneOf, Contains, NotContains, StartsWith, Matches, Greater, Less, Before, After, Empty, NotEmpty:
	}
	values, known := f.values[c.Field]
	if !known {
		return false
	}
	texts := c.kind == KindText || c.kind == KindTexts
	if texts && c.Op != Matches {
		values = f.fold(c.Field)
	}
	equal := func(v string) bool { return slices.Contains(c.keys, v) }
	part := func(v string) bool {
		return slices.ContainsFunc(c.keys, func(key string) bool { return strings.Contains(v, key) })
	}
	if !texts {
		part = equal
	}
	switch c.Op {
	case Is, AnyOf:
		return slices.ContainsFunc(values, equal)
	case IsNot, NoneOf:
		return !slices.ContainsFunc(values, equal)
	case Contains:
		return slices.ContainsFunc(values, part)
	case NotContains:
		return !slices.ContainsFunc(values, part)
	case StartsWith:
		return slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(c.keys, func(key string) bool { return strings.HasPrefix(v, key) })
		})
	case Matches:
		return slices.ContainsFunc(values, c.pattern.MatchString)
	case Greater, After:
		return slices.ContainsFunc(values, func(v string) bool { n, ok := c.measure(v); return ok && n > c.number })
	case Less, Before:
		return slices.ContainsFunc(values, func(v string) bool { n, ok := c.measure(v); return ok && n < c.number })
	case Empty:
		return len(values) == 0
	case NotEmpty:
		return len(values) > 0
	case Changed, ChangedTo, ChangedFrom: // above
	}
	return false
}

// changed reports whether a condition on what the event changed holds. Of a field whose values events do not tell, the current
// ones are what it changed to.
func (c *condition) changed(f *Facts) bool {
	change, changed := f.changes[c.Field]
	if !changed || c.Op == Changed {
		return changed
	}
	side := change.To
	switch {
	case c.Op == ChangedFrom && change.Untold:
		return false
	case c.Op == ChangedFrom:
		side = change.From
	case change.Untold:
		side = f.values[c.Field]
	}
	return slices.ContainsFunc(side, func(v string) bool {
		if c.kind == KindText || c.kind == KindTexts {
			v = plain.Key(v)
		}
		return slices.Contains(c.keys, v)
	})
}

// Compiled is a rule that is ready to run.
type Compiled struct {
	Rule
	all, any []condition
	place    int // in the set
}

// Matches reports whether the conditions of the rule hold. It does not change the facts.
func (r *Compiled) Matches(f *Facts) bool {
	for i := range r.all {
		if !r.all[i].holds(f) {
			return false
		}
	}
	return len(r.any) == 0 || slices.ContainsFunc(r.any, func(c condition) bool { return c.holds(f) })
}

// Undecided returns the fields that were lost on which it depends whether the conditions hold; none: [Compiled.Matches] says so.
func (r *Compiled) Undecided(f *Facts) []string {
	var lost []string
	for i := range r.all {
		if c := &r.all[i]; c.lost(f) {
			lost = append(lost, c.Field)
		} else if !c.holds(f) {
			return nil
		}
	}
	if slices.ContainsFunc(r.any, func(c condition) bool { return c.holds(f) }) {
		return lost
	}
	var perhaps []string
	for i := range r.any {
		if r.any[i].lost(f) {
			perhaps = append(perhaps, r.any[i].Field)
		}
	}
	if len(r.any) > 0 && len(perhaps) == 0 {
		return nil
	}
	return append(lost, perhaps...)
}

// lost reports whether it cannot be told whether the condition held.
func (c *condition) lost(f *Facts) bool {
	told := c.Op == Changed || c.Op == ChangedTo || c.Op == ChangedFrom // by events
	return f.lost[c.Field] && !c.broken && !told
}

// Conditions returns all conditions of the rule with whether each holds.
func (r *Compiled) Conditions(f *Facts) []Held {
	var all []Held
	for i := range r.all {
		all = append(all, Held{Condition: r.all[i].Condition, Held: r.all[i].holds(f)})
	}
	for i := range r.any {
		all = append(all, Held{Condition: r.any[i].Condition, Any: true, Held: r.any[i].holds(f)})
	}
	return all
}

// Set is the rules of an account, in order, indexed by the types of events and by mailboxes. It does not change, and is safe
// for concurrent use.
type Set struct {
	rules  []*Compiled
	by     map[string]map[int64][]int // places by event and mailbox, 0 for any
	fields map[string]map[string]bool // that conditions are about, by event
}

// Compile makes a set of rules, in their order. A condition on a field that there is not never holds.
func Compile(v Vocabulary, rules []Rule) *Set {
	s := &Set{by: map[string]map[int64][]int{}, fields: map[string]map[string]bool{}}
	for place, rule := range rules {
		r := &Compiled{Rule: rule, place: place}
		for _, c := range rule.All {
			r.all = append(r.all, compile(v, c))
		}
		for _, c := range rule.Any {
			r.any = append(r.any, compile(v, c))
		}
		s.rules = append(s.rules, r)
		for _, event := range slices.Compact(slices.Sorted(slices.Values(rule.On))) {
			if s.by[event] == nil {
				s.by[event], s.fields[event] = map[int64][]int{}, map[string]bool{}
			}
			for _, mailbox := range r.mailboxes() {
				s.by[event][mailbox] = append(s.by[event][mailbox], place)
			}
			for _, c := range append(slices.Clone(rule.All), rule.Any...) {
				s.fields[event][c.Field] = true
			}
		}
	}
	return s
}

// mailboxes returns the only mailboxes in which the conditions can hold, or 0 for any.
func (r *Compiled) mailboxes() []int64 {
	for _, c := range r.all {
		if c.Field != FieldMailbox || c.Op != Is && c.Op != AnyOf || c.broken {
			continue
		}
		var ids []int64
		for _, key := range c.keys {
			if id, err := strconv.ParseInt(key, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(ids)))
	}
	return []int64{0}
}

// Len returns the number of rules.
func (s *Set) Len() int { return len(s.rules) }

// Listens reports whether any rule may want an event in a mailbox.
func (s *Set) Listens(event string, mailboxID int64) bool {
	by := s.by[event]
	return len(by[0]) > 0 || len(by[mailboxID]) > 0
}

// Next returns the first rule after another one, nil for the first of all, that may want any of some events in a mailbox; nil if
// there is none.
func (s *Set) Next(after *Compiled, events []string, mailboxID int64) *Compiled {
	from, next := 0, len(s.rules)
	if after != nil {
		from = after.place + 1
	}
	for _, event := range events {
		for _, mailbox := range []int64{0, mailboxID} {
			places := s.by[event][mailbox]
			if i, _ := slices.BinarySearch(places, from); i < len(places) {
				next = min(next, places[i])
			}
		}
	}
	if next == len(s.rules) {
		return nil
	}
	return s.rules[next]
}

// Uses reports whether any rule that listens to one of some events has a condition on a field whose name begins with prefix.
func (s *Set) Uses(events []string, prefix string) bool {
	for _, event := range events {
		for name := range s.fields[event] {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}
