package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Lengths of phone numbers, in digits.
const (
	minPhone    = 5
	widestPhone = 64 // bytes as it is written
	likelyPhone = 8  // in the middle of a text
	tenDigits   = 10 // from here on the country may be a part of it
	maxPhone    = 15
)

// nationalMark begins the term of a whole number that was stored without its country. A search for a number with its country
// finds it by that; by the number alone it would find those of other countries.
const nationalMark = "n"

// phone is a phone number in a folded text, written in any way.
type phone struct {
	at, end int    // in the text
	first   byte   // + or ( or a digit
	dots    int    // how many
	digits  string // without the zero in parentheses
	zero    bool   // there was one
}

// Phone returns the terms that a phone number is found by, sorted: the whole of it and what it ends with, whether with the
// country and the trunk prefix or without.
func Phone(number string) []string {
	t := terms{}
	phones(fold(number), func(p phone) {
		for _, term := range p.stored() {
			t[term]++
		}
		for _, digits := range append(p.national(), p.digits) {
			for i := range len(digits) - minPhone + 1 {
				t[digits[i:]]++
			}
		}
	})
	return t.sorted()
}

// phones calls yield with the numbers of a folded text that may be phone numbers.
func phones(text string, yield func(phone)) {
	for i := 0; i < len(text); {
		c := text[i]
		if !isDigit(rune(c)) && c != '+' && c != '(' {
			i++
			continue
		}
		if i > 0 && isDigit(rune(c)) && isTermRune(lastRune(text[:i])) { // within a word
			i = skipDigits(text, i)
			continue
		}
		end := phoneEnd(text, i)
		p := newPhone(text[i:end])
		if len(p.digits) > maxPhone {
			end = firstEnd(text, i, end)
			p = newPhone(text[i:end])
		}
		if len(p.digits) >= minPhone && len(p.digits) <= maxPhone {
			p.at, p.end = i, end
			yield(p)
		}
		i = max(end, i+1)
	}
}

// firstEnd returns the end of the first of several numbers: the next one begins with a zero, or after a blank and a slash.
func firstEnd(text string, begin, end int) int {
	digits := 0
	for i := begin; i < end; i++ {
		if isDigit(rune(text[i])) {
			digits++
		} else if digits >= minPhone && (text[i+1] == '0' || strings.HasPrefix(text[i:end], " /") || strings.HasPrefix(text[i:end], " - ")) {
			return i
		}
	}
	return end
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func skipDigits(text string, i int) int {
	for i < len(text) && isDigit(rune(text[i])) {
		i++
	}
	return i
}

// phoneEnd returns the end of the digits and separators from an offset on.
func phoneEnd(text string, begin int) int {
	const separators = " ()[]/.-‐‒–−"
	end, gap := begin, 0
	for i, r := range text[begin:min(begin+widestPhone, len(text))] {
		switch {
		case isDigit(r):
			end, gap = begin+i+1, 0
		case r == '+' && i == 0:
		case strings.ContainsRune(separators, r) && gap < 3:
			gap++
		case isTermRune(r) && gap == 0:
			return begin + max(i-len(digitsBefore(text[begin:begin+i])), 0) // these digits are part of a word
		default:
			return end
		}
	}
	return end
}

// digitsBefore returns the digits that a text ends with.
func digitsBefore(text string) string {
	return text[len(strings.TrimRight(text, "0123456789")):]
}

func newPhone(written string) phone {
	p := phone{}
	if written == "" {
		return p
	}
	p.first, p.dots = written[0], strings.Count(written, ".")
	for _, zero := range []string{"(0)", "[0]"} {
		if before, after, found := strings.Cut(written, zero); found && before != "" {
			written, p.zero = before+after, true
		}
	}
	p.digits = strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, written)
	return p
}

// likely reports a number that is hardly anything else in the middle of a text.
func (p phone) likely() bool {
	return len(p.digits) >= likelyPhone && (p.first == '+' || p.zero || p.dots == 0 && (p.first == '(' || p.first == '0'))
}

// international returns the number with its country, with and without a zero that national numbers begin with; nil if it has
// none.
func (p phone) international() []string {
	digits, found := p.digits, p.first == '+' || p.zero
	for _, prefix := range []string{"00", "011"} {
		if rest, has := strings.CutPrefix(digits, prefix); has && p.first != '+' && len(rest) > likelyPhone {
			digits, found = rest, true
		}
	}
	if !found {
		return nil
	}
	all := []string{digits}
	if code := countryCode(digits); len(digits) > code && digits[code] == '0' {
		all = append(all, digits[:code]+digits[code+1:])
	}
	return all
}

// national returns what the number is within its country, without a trunk prefix, first as it was written.
func (p phone) national() (all []string) {
	add := func(digits string) {
		if len(digits) >= minPhone && !slices.Contains(all, digits) {
			all = append(all, digits)
		}
	}
	if abroad := p.international(); abroad != nil {
		for _, digits := range abroad {
			add(digits[min(countryCode(digits), len(digits)):])
		}
		return all
	}
	add(p.digits)
	for _, trunk := range []string{"0", "06"} { // 06 in Hungary
		if rest, found := strings.CutPrefix(p.digits, trunk); found {
			add(rest)
		}
	}
	if len(p.digits) == 11 && (p.digits[0] == '8' || p.digits[0] == '1') { // as in Russia and North America
		add(p.digits[1:])
	}
	return all
}

// stored returns the terms that the whole number is found by.
func (p phone) stored() []string {
	abroad, home := p.international(), p.national()
	all := slices.Concat(abroad, home, []string{p.digits})
	if abroad == nil {
		for _, digits := range home {
			all = append(all, nationalMark+digits)
		}
	}
	return all
}

// wanted returns the terms that a search for the number looks for.
func (p phone) wanted() []string {
	abroad, home := p.international(), p.national()
	if abroad == nil {
		all := home
		if code := countryCode(p.digits); len(p.digits) >= tenDigits && p.digits[0] != '0' { // the country may lack its sign
			all = append(all, nationalMark+p.digits[code:])
		}
		return all
	}
	all := abroad
	for _, digits := range home {
		all = append(all, nationalMark+digits)
	}
	return all
}

// countryCode returns the length of the country code that a number begins with.
func countryCode(digits string) int {
	const two = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 "
	switch {
	case strings.HasPrefix(digits, "1"), strings.HasPrefix(digits, "7"):
		return 1
	case len(digits) >= 2 && strings.Contains(two, " "+digits[:2]+" "):
		return 2
	}
	return 3
}
