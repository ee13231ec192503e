package desk

import (
	"strconv"
	"strings"
	"time"
)

// calendar is how a language writes dates, from CLDR 48 (unicode.org/cldr). The patterns are CLDR's: d is the day, M its
// month's number, MMM and E the short names of month and weekday, y the year, H the hour (HH with two digits), mm and ss
// minutes and seconds, and text in quotes stands as it is.
type calendar struct {
	months, days          string // short names, the week begins on Sunday
	day, dated, month     string // MMMd, yMMMd, yMMM
	weekday, complete     string // EHm, yMMMEd
	clock, seconds, joins string // Hm, Hms, and a date {1} with a time {0}
}

// calendars are those of the languages. English is en-001, the one outside the USA.
var calendars = map[string]calendar{
	"en": {
		"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec", "Sun Mon Tue Wed Thu Fri Sat",
		"d MMM", "d MMM y", "MMM y", "E HH:mm", "E, d MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"de": {
		"Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.", "So. Mo. Di. Mi. Do. Fr. Sa.",
		"d. MMM", "d. MMM y", "MMM y", "E, HH:mm", "E, d. MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"fr": {
		"janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.", "dim. lun. mar. mer. jeu. ven. sam.",
		"d MMM", "d MMM y", "MMM y", "E HH:mm", "E d MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"es": {
		"ene feb mar abr may jun jul ago sept oct nov dic", "dom lun mar mié jue vie sáb",
		"d MMM", "d MMM y", "MMM y", "E, H:mm", "E, d MMM y", "H:mm", "H:mm:ss", "{1}, {0}",
	},
	"pt": {
		"jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.", "dom. seg. ter. qua. qui. sex. sáb.",
		"d 'de' MMM", "d 'de' MMM 'de' y", "MMM 'de' y", "E, HH:mm", "E, d 'de' MMM 'de' y", "HH:mm", "HH:mm:ss", "{1} {0}",
	},
	"it": {
		"gen feb mar apr mag giu lug ago set ott nov dic", "dom lun mar mer gio ven sab",
		"d MMM", "d MMM y", "MMM y", "E HH:mm", "E d MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"nl": {
		"jan feb mrt apr mei jun jul aug sep okt nov dec", "zo ma di wo do vr za",
		"d MMM", "d MMM y", "MMM y", "E HH:mm", "E d MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"pl": {
		"sty lut mar kwi maj cze lip sie wrz paź lis gru", "niedz. pon. wt. śr. czw. pt. sob.",
		"d MMM", "d MMM y", "MMM y", "E, HH:mm", "E, d MMM y", "HH:mm", "HH:mm:ss", "{1}, {0}",
	},
	"ja": {
		"1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月", "日 月 火 水 木 金 土",
		"M月d日", "y年M月d日", "y年M月", "H:mm (E)", "y年M月d日(E)", "H:mm", "H:mm:ss", "{1} {0}",
	},
	"ar": {
		"يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر", "الأحد الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت",
		"d MMM", "d MMM y", "MMM y", "E HH:mm", "E، d MMM y", "HH:mm", "HH:mm:ss", "{1}، {0}",
	},
}

// format writes a time by a pattern. Digits are Latin ones in every language.
func (c calendar) format(pattern string, t time.Time) string {
	var b strings.Builder
	for pattern != "" {
		if quoted, ok := strings.CutPrefix(pattern, "'"); ok {
			text, rest, _ := strings.Cut(quoted, "'")
			b.WriteString(text)
			pattern = rest
			continue
		}
		letter := pattern[0]
		n := len(pattern) - len(strings.TrimLeft(pattern, string(rune(letter))))
		if letter >= 0x80 { // a part of a character is no letter of a pattern
			n = 1
		}
		b.WriteString(c.field(letter, n, pattern[:n], t))
		pattern = pattern[n:]
	}
	return b.String()
}

// field writes one field of a pattern, or the text itself if it is none.
func (c calendar) field(letter byte, n int, text string, t time.Time) string {
	switch {
	case letter == 'd':
		return strconv.Itoa(t.Day())
	case letter == 'M' && n > 2:
		return c.monthName(t.Month())
	case letter == 'M':
		return strconv.Itoa(int(t.Month()))
	case letter == 'E':
		return strings.Fields(c.days)[t.Weekday()]
	case letter == 'y':
		return strconv.Itoa(t.Year())
	case letter == 'H' && n < 2:
		return strconv.Itoa(t.Hour())
	case letter == 'H':
		return t.Format("15")
	case letter == 'm':
		return t.Format("04")
	case letter == 's':
		return t.Format("05")
	}
	return text
}

func (c calendar) monthName(m time.Month) string { return strings.Fields(c.months)[m-1] }

// join writes a date with a time.
func (c calendar) join(date, clock string) string {
	return strings.NewReplacer("{1}", date, "{0}", clock).Replace(c.joins)
}

// when formats a time as short as it is unambiguous: 09:52, Mon 09:52, 18 Nov, 18 Nov 2024.
func (v *visit) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(v.zone)
	switch c := calendars[v.words.lang]; v.near(t) {
	case sameDay:
		return c.format(c.clock, t)
	case sameWeek:
		return c.format(c.weekday, t)
	default:
		return v.day(t)
	}
}

// moment formats a time with its hour, however far away it is: Mon 09:00, 18 Nov, 09:00.
func (v *visit) moment(t time.Time) string {
	t = t.In(v.zone)
	if v.near(t) != farther {
		return v.when(t)
	}
	c := calendars[v.words.lang]
	return c.join(v.day(t), c.format(c.clock, t))
}

// nearness is how far a day is from today.
type nearness int

const (
	sameDay nearness = iota
	sameWeek
	farther
)

func (v *visit) near(t time.Time) nearness {
	now := v.now.In(v.zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, v.zone)
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, v.zone)
	switch days := midnight.Sub(day).Hours() / 24; {
	case day.Equal(midnight):
		return sameDay
	case days < 6.5 && days > -6.5:
		return sameWeek
	}
	return farther
}

// day formats a date: 18 Nov, and 18 Nov 2024 in another year.
func (v *visit) day(t time.Time) string {
	t = t.In(v.zone)
	c := calendars[v.words.lang]
	if t.Year() == v.now.In(v.zone).Year() {
		return c.format(c.day, t)
	}
	return c.format(c.dated, t)
}

// month formats the month of a time.
func (v *visit) month(t time.Time) string {
	t = t.In(v.zone)
	c := calendars[v.words.lang]
	if t.Year() == v.now.In(v.zone).Year() {
		return c.monthName(t.Month())
	}
	return c.format(c.month, t)
}

// full formats a time completely, for tooltips.
func (v *visit) full(t time.Time) string {
	t = t.In(v.zone)
	c := calendars[v.words.lang]
	return c.join(c.format(c.complete, t), c.format(c.seconds, t)+t.Format(" MST"))
}

// lasted formats a duration: 3 min, 6 h, 1 d 3 h.
func (w words) lasted(d time.Duration) string {
	switch h := int(d.Hours()); {
	case d < time.Minute:
		return w.T("now")
	case h < 1:
		return w.T("%s min", int(d.Minutes()))
	case h < 24:
		return w.T("%s h", h)
	case h < 7*24 && h%24 > 0:
		return w.T("%s d %s h", h/24, h%24)
	default:
		return w.T("%s d", h/24)
	}
}

// ago says how long something is past.
func (w words) ago(d time.Duration) string {
	if d < time.Minute {
		return w.T("just now")
	}
	return w.T("%s ago", w.lasted(d))
}

// waiting says how long a customer has been waiting.
func (w words) waiting(d time.Duration) string {
	if d < time.Minute {
		return w.T("Just arrived")
	}
	return w.T("Waiting %s", w.lasted(d))
}
