package quote

import (
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// months are the beginnings of the names of months in the languages of common mailers, the longer ones first where one
// begins another.
var months = func() [12][]string {
	var out [12][]string
	for n, names := range []string{
		"jan|janv|ene|gen|sty|янв|tam|oca|ιαν|січ|led|tammi",
		"feb|fév|fev|lut|фев|şub|φεβ|лют|úno|helmi",
		"mar|mär|maa|maar|mrt|mrz|мар|μαρ|бер|bře",
		"apr|avr|abr|kwi|апр|nis|απρ|кві|dub|huhti",
		"mai|may|mag|mei|maj|мая|май|μαΐ|μαι|тра|kvě|touko",
		"jun|juin|giu|cze|июн|haz|ιουν|чер|kesä",
		"jul|juil|lug|lip|июл|tem|ιουλ|heinä",
		"aug|août|aou|ago|sie|авг|ağu|αυγ|сер|srp|elo",
		"sep|set|wrz|сен|eyl|σεπ|вер|zář|syys",
		"oct|okt|ott|out|paź|окт|eki|οκτ|жов|říj|loka",
		"nov|lis|ноя|kas|νοε|marras",
		"dec|dez|dic|déc|dés|gru|дек|ara|δεκ|гру|pro|joulu",
	} {
		out[n] = strings.Split(names, "|")
	}
	return out
}()

// monthOf is the month that a word names, 0 if it names none: the longest beginning of a name that it has decides.
func monthOf(word string) time.Month {
	best, month := 0, time.Month(0)
	for n, names := range months {
		for _, name := range names {
			if len(name) > best && strings.HasPrefix(word, name) {
				best, month = len(name), time.Month(n+1)
			}
		}
	}
	return month
}

var (
	clockTime = lazyregexp.New(`(?i)(\d{1,2})\s?(?:[:.]|\s?h\s?)(\d{2})(?:[:.](\d{2}))?(?:\s?([ap])\.?\s?m\b\.?)?`)
	afternoon = lazyregexp.New(`下午|오후|午後|晚上|μ\.?μ`)
	utcOffset = lazyregexp.New(`(?i)(?:^|[\s(])(?:(?:gmt|utc)\s?([+-])(\d{1,2}):?(\d{2})?|([+-])(\d{2}):?(\d{2}))\b`)
	utcName   = lazyregexp.New(`(?i)\b(gmt|utc|cet|cest|mez|mesz|bst|est|edt|cst|cdt|mst|mdt|pst|pdt|jst|msk)\b`)
	yearFirst = lazyregexp.New(`(\d{4})\s?[-/.年]\s?(\d{1,2})\s?[-/.月]\s?(\d{1,2})`)
	yearLast  = lazyregexp.New(`(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4})`)
	dateWord  = lazyregexp.New(`[\pL]+|\d+`)
)

// offsets are those of the names that are the same everywhere, in hours east of UTC.
var offsets = map[string]int{"gmt": 0, "utc": 0, "cet": 1, "cest": 2, "mez": 1, "mesz": 2, "bst": 1, "est": -5, "edt": -4, "cst": -6, "cdt": -5,
	"mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "jst": 9, "msk": 3}

// readDate reads a date with its time as mailers write it for people; zoned tells whether it says of which zone the time is.
// Where day and month cannot be told apart, or anything is missing, it is zero.
func readDate(text string) (at time.Time, zoned bool) {
	if len(text) > 200 {
		return time.Time{}, false
	}
	text = strings.ToLower(text)
	year, month, day, rest := dayOf(text)
	hour, minute, second, ok := timeOf(rest)
	if year < 1970 || month < 1 || month > 12 || day < 1 || !ok {
		return time.Time{}, false
	}
	at = time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	if at.Day() != day {
		return time.Time{}, false
	}
	east, zoned := zoneOf(rest)
	return at.Add(-east), zoned
}

// dayOf finds the day of a date; rest is what is left of the text.
func dayOf(text string) (year int, month time.Month, day int, rest string) {
	if at := yearFirst().FindStringSubmatchIndex(text); at != nil {
		return number(text[at[2]:at[3]]), time.Month(number(text[at[4]:at[5]])), number(text[at[6]:at[7]]), text[:at[0]] + " " + text[at[1]:]
	}
	if at := yearLast().FindStringSubmatchIndex(text); at != nil {
		first, second := number(text[at[2]:at[3]]), number(text[at[6]:at[7]])
		year, rest = number(text[at[8]:at[9]]), text[:at[0]]+" "+text[at[1]:]
		switch {
		case text[at[4]:at[5]] == "." || first > 12 || first == second: // the day comes first
			return year, time.Month(second), first, rest
		case second > 12:
			return year, time.Month(first), second, rest
		}
		return 0, 0, 0, rest
	}
	clock := clockTime().FindStringIndex(text)
	since := 0 // words since the day
	for _, at := range dateWord().FindAllStringIndex(text, 30) {
		word := text[at[0]:at[1]]
		if since > 0 {
			since++
		}
		switch n := number(word); {
		case clock != nil && at[0] >= clock[0] && at[0] < clock[1]:
		case n > 999 && n <= 9999 && year == 0:
			year = n
		case n >= 1 && n <= 31 && len(word) <= 2 && day == 0:
			day, since = n, 1
		case n < 0 && (month == 0 || since > 0 && since < 4): // days of the week come first, and some begin as months do
			if named := monthOf(word); named != 0 {
				month = named
			}
		}
	}
	return year, month, day, text
}

// timeOf finds a time of the day.
func timeOf(text string) (hour, minute, second int, ok bool) {
	found := clockTime().FindStringSubmatch(text)
	if found == nil {
		return 0, 0, 0, false
	}
	hour, minute, second = number(found[1]), number(found[2]), max(number(found[3]), 0)
	if late := found[4] == "p" || found[4] == "" && afternoon().MatchString(text); late && hour < 12 {
		hour += 12
	}
	if found[4] == "a" && hour == 12 {
		hour = 0
	}
	return hour, minute, second, hour < 24 && minute < 60 && second < 60
}

// zoneOf is how far east of UTC the time of a text is.
func zoneOf(text string) (east time.Duration, known bool) {
	if f := utcOffset().FindStringSubmatch(text); f != nil {
		sign, hours, minutes := f[1]+f[4], number(f[2]+f[5]), max(number(f[3]+f[6]), 0)
		east = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if sign == "-" {
			east = -east
		}
		return east, hours <= 14
	}
	if f := utcName().FindString(text); f != "" {
		return time.Duration(offsets[f]) * time.Hour, true
	}
	return 0, false
}

// number is what a string of digits says, -1 if it is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
