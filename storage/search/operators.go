package search

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Operator says what a condition of a query is about.
type Operator string

// The operators. Words without one are looked for everywhere.
const (
	Anywhere Operator = ""
	From     Operator = "from"    // who wrote
	To       Operator = "to"      // who received, also as a copy
	Subject  Operator = "subject" // words of the subject
	Tag      Operator = "tag"
	Mailbox  Operator = "mailbox"
	Assigned Operator = "assigned" // a member, "me" or "nobody"
	Before   Operator = "before"   // begun before a day
	After    Operator = "after"    // with something new since a day
	Has      Operator = "has"      // "attachment"
	Is       Operator = "is"       // one of [States]
)

// HasAttachment is the only value of [Has].
const HasAttachment = "attachment"

// States returns the values of [Is].
func States() []string {
	return []string{"open", "pending", "closed", "snoozed", "spam", "unassigned", "mine", "waiting", "undelivered"}
}

// Condition is an operator with its value, a phrase, or an excluded word.
type Condition struct {
	Operator Operator
	Value    string // without quotes, never empty
	Phrase   bool   // quoted: its words follow one another
	Not      bool   // excluded by a hyphen before it
}

// Parse splits a query into its plain words and at most [MaxTerms] conditions. What is no condition, such as an unknown operator
// or one without a value, is plain words; a quote that nothing closes ends with the query.
func Parse(query string) (words string, conditions []Condition) {
	var plain []string
	rest := strings.TrimSpace(cut(query, MaxQuery))
	for rest != "" && len(conditions) < MaxTerms {
		c, length := condition(rest)
		if c.Operator == Anywhere && !c.Phrase && !c.Not {
			plain = append(plain, c.Value)
		} else {
			conditions = append(conditions, c)
		}
		rest = strings.TrimLeftFunc(rest[length:], unicode.IsSpace)
	}
	return strings.Join(plain, " "), conditions
}

// String returns the condition as it is written in a query.
func (c Condition) String() string {
	value := c.Value
	if c.Phrase || strings.ContainsFunc(value, unicode.IsSpace) {
		value = `"` + value + `"`
	}
	if c.Operator != Anywhere {
		value = string(c.Operator) + ":" + value
	}
	if c.Not {
		return "-" + value
	}
	return value
}

// With returns a query with one value of an operator, in place of those that it had; without a value, it has none. Exclusions
// stay.
func With(query string, of Operator, value string) string {
	words, conditions := Parse(query)
	parts := strings.Fields(words)
	for _, c := range conditions {
		if c.Operator != of || c.Not {
			parts = append(parts, c.String())
		}
	}
	if value != "" {
		parts = append(parts, Condition{Operator: of, Value: strings.TrimSpace(strings.Map(unquoted, value))}.String())
	}
	return strings.Join(parts, " ")
}

// unquoted replaces quotes, which a value cannot have.
func unquoted(r rune) rune {
	if strings.ContainsRune(quotes, r) {
		return ' '
	}
	return r
}

// Value returns the first value of an operator in a query, exclusions aside; "" if it has none.
func Value(query string, of Operator) string {
	_, conditions := Parse(query)
	for _, c := range conditions {
		if c.Operator == of && !c.Not {
			return c.Value
		}
	}
	return ""
}

// condition reads the condition, or the plain word, that a text begins with.
func condition(text string) (c Condition, length int) {
	body, not := strings.CutPrefix(text, "-")
	if first, _ := utf8.DecodeRuneInString(body); not && (body == "" || unicode.IsSpace(first) || first == '-') {
		return Condition{Value: word(text)}, len(word(text))
	}
	c.Not = not
	if value, used := quoted(body); used > 0 {
		c.Value, c.Phrase = value, true
		return c.orPlain(text, len(text)-len(body)+used)
	}
	length = len(text) - len(body) + len(word(body))
	name, value, found := strings.Cut(word(body), ":")
	c.Operator = operatorOf(name)
	if !found || c.Operator == Anywhere {
		c.Operator, c.Value = Anywhere, word(body)
		return c, length
	}
	begin := len(text) - len(body) + len(name) + 1
	if inQuotes, used := quoted(text[begin:]); used > 0 {
		c.Value, c.Phrase = inQuotes, true
		return c.orPlain(text, begin+used)
	}
	if c.Value = value; !c.possible() {
		c.Operator, c.Value = Anywhere, word(body)
	}
	return c, length
}

// orPlain returns a condition in quotes, or the text that it was read from as plain words if it is none.
func (c Condition) orPlain(text string, length int) (Condition, int) {
	if c.possible() {
		return c, length
	}
	return Condition{Value: strings.TrimSpace(text[:length])}, length
}

// operatorOf returns the operator of a name in any case; [Anywhere] if there is none.
func operatorOf(name string) Operator {
	switch o := Operator(strings.ToLower(name)); o {
	case From, To, Subject, Tag, Mailbox, Assigned, Before, After, Has, Is:
		return o
	case "cc":
		return To
	}
	return Anywhere
}

// possible reports whether the operator takes the value.
func (c Condition) possible() bool {
	switch c.Operator {
	case Before, After:
		_, ok := Day(c.Value, time.Time{}, time.UTC)
		return ok
	case Has:
		return strings.EqualFold(strings.TrimSuffix(c.Value, "s"), HasAttachment)
	case Is:
		return slices.Contains(States(), strings.ToLower(c.Value))
	}
	return c.Value != ""
}

// quotes are what people and their devices put around phrases.
const quotes = `"“”„«»`

// quoted returns what is in the quotes that a text begins with, and the bytes it takes; 0 if it begins with none.
func quoted(text string) (value string, used int) {
	first, size := utf8.DecodeRuneInString(text)
	if text == "" || !strings.ContainsRune(quotes, first) {
		return "", 0
	}
	inside := text[size:]
	end := strings.IndexAny(inside, quotes)
	if end < 0 {
		return strings.TrimSpace(inside), len(text)
	}
	_, closing := utf8.DecodeRuneInString(inside[end:])
	return strings.TrimSpace(inside[:end]), size + end + closing
}

// word returns what a text begins with up to a space.
func word(text string) string {
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end]
	}
	return text
}

// maxDaysAgo limits the days of a value such as "30d", about 100 years.
const maxDaysAgo = 36500

// Day returns the begin of a day, month or year such as 2026-11-30, 2026-11 or 2026, of "today" and "yesterday", and of the
// day some days ago, such as 7d.
func Day(value string, now time.Time, zone *time.Location) (begin time.Time, ok bool) {
	value = strings.ToLower(strings.ReplaceAll(value, "/", "-"))
	days := -1
	if n, found := strings.CutSuffix(value, "d"); found {
		if ago, err := strconv.Atoi(n); err == nil && ago >= 0 && ago <= maxDaysAgo {
			days = ago
		}
	}
	switch value {
	case "today":
		days = 0
	case "yesterday":
		days = 1
	}
	if days >= 0 {
		year, month, day := now.In(zone).Date()
		return time.Date(year, month, day-days, 0, 0, 0, 0, zone), true
	}
	for _, layout := range []string{"2006-1-2", "2006-1", "2006"} {
		if at, err := time.ParseInLocation(layout, value, zone); err == nil && at.Year() > 0 {
			return at, true
		}
	}
	return time.Time{}, false
}

// Marked returns terms that are found by an operator alone. No word of a text is among them, as words have no "_".
func Marked(in Operator, terms []string) []string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = marked(in, t)
	}
	return all
}

// marked returns the term for a word after an operator: the operator's first letter, as an index that begins words at two
// characters then has no word that begins with the mark alone.
func marked(in Operator, term string) string { return string(in[:1]) + "_" + term }

// Unmarked returns a term without the mark of an operator.
func Unmarked(term string) string {
	if len(term) > 2 && term[1] == '_' {
		return term[2:]
	}
	return term
}

// Terms returns the words that a condition looks for, as [Query] does. Only what follows an operator may be incomplete: an
// excluded word or a phrase is meant as it is.
func (c Condition) Terms() [][]Term {
	words := Query(c.Value)
	for _, word := range words {
		for i := range word {
			word[i].Prefix = word[i].Prefix && !c.Phrase && !c.Not
			if c.Operator != Anywhere {
				word[i].Text = marked(c.Operator, word[i].Text)
			}
		}
	}
	return words
}

// Contains reports whether the words of a phrase follow one another in a text. Case, accents and what is between the words are
// ignored.
func Contains(text, phrase string) bool {
	wanted := sequence(phrase)
	return wanted != "" && strings.Contains(sequence(text), wanted)
}

// Same reports whether two texts have the same words in the same order, see [Contains].
func Same(a, b string) bool { return sequence(a) == sequence(b) }

// sequence returns the words of a text in a form in which texts can be compared: each between spaces, and runs of scripts without
// spaces as they are.
func sequence(text string) string {
	var b strings.Builder
	pieces(fold(text), func(p piece) {
		if p.spaceless {
			b.WriteString(p.text)
			return
		}
		b.WriteString(" " + spellings[0].Replace(p.text) + " ")
	})
	return b.String()
}
