package hours

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Clock is a time of day in minutes, 0 to [Midnight].
type Clock int

// Midnight is the end of a day, 24:00.
const Midnight Clock = 24 * 60

var clockPattern = regexp.MustCompile(`^(\d{1,2})(?:[:.h](\d{2}))?\s*(?:h|([ap])\.?m\.?)?$`)

// ParseClock reads a time of day as people write it: 9, 09:00, 9.30, 17h, 5pm, 24:00.
func ParseClock(text string) (Clock, error) {
	found := clockPattern.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if found == nil {
		return 0, errors.New("hours: not a time of day")
	}
	hour, _ := strconv.Atoi(found[1])
	minute, _ := strconv.Atoi(found[2]) // "" is 0
	if half := found[3]; half != "" {
		if hour < 1 || hour > 12 {
			return 0, errors.New("hours: not a time of day")
		}
		if hour %= 12; half == "p" {
			hour += 12
		}
	}
	c := Clock(hour*60 + minute)
	if minute > 59 || c > Midnight {
		return 0, errors.New("hours: not a time of day")
	}
	return c, nil
}

// String returns the time as hh:mm.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c/60, c%60) }

// MarshalText implements [encoding.TextMarshaler].
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Clock) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClock(string(text))
	return err
}

// String returns the span as hh:mm-hh:mm, with a dash.
func (s Span) String() string { return s.From.String() + "–" + s.To.String() }

var dashes = strings.NewReplacer("–", "-", "—", "-", "−", "-", "〜", "-", "~", "-", "－", "-", " to ", "-", "：", ":", "、", ",", ";", ",", "،", ",", "\n", ",")

// ParseSpans reads the hours of a day as people write them: "9-12, 13:00 – 17:30", "22:00-06:00", "9am-5pm". Empty means closed.
// The result is in order.
func ParseSpans(text string) ([]Span, error) {
	var all []Span
	for part := range strings.SplitSeq(dashes.Replace(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		from, to, found := strings.Cut(part, "-")
		if !found || len(all) == MaxSpans {
			return nil, errors.New("hours: not the hours of a day")
		}
		var s Span
		var err, late error
		s.From, err = ParseClock(from)
		s.To, late = ParseClock(to)
		if err = errors.Join(err, late); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// FormatSpans returns spans as ParseSpans reads them.
func FormatSpans(spans []Span) string {
	texts := make([]string, len(spans))
	for n, s := range spans {
		texts[n] = s.String()
	}
	return strings.Join(texts, ", ")
}

// Date is a day of the calendar. The zero Date is none.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date of t in its location.
func DateOf(t time.Time) Date {
	year, month, date := t.Date()
	return Date{year, month, date}
}

// ParseDate reads yyyy-mm-dd.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, strings.TrimSpace(text))
	if err != nil {
		return Date{}, errors.New("hours: not a date")
	}
	return DateOf(t), nil
}

// Valid reports whether there is such a day, in the years 1 to 9999.
func (d Date) Valid() bool {
	return d.Year >= 1 && d.Year <= 9999 && DateOf(d.Time()) == d
}

// Time returns midnight of the date in UTC.
func (d Date) Time() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// String returns yyyy-mm-dd.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// MarshalText implements [encoding.TextMarshaler].
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}

func (d Date) day() day { return dayOf(d.Year, d.Month, d.Day) }

var holidayPattern = regexp.MustCompile(`^\s*(\d{4}-\d{2}-\d{2})(?:[\s\-–—]+(\d{4}-\d{2}-\d{2}))?[\s:,]*(.*?)\s*$`)

// ParseHolidays reads one holiday a line: "2026-12-24 - 2026-12-26 Christmas", or one date. It returns the first line that it
// cannot read with the error.
func ParseHolidays(text string) (all []Holiday, line string, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		found := holidayPattern.FindStringSubmatch(line)
		if found == nil || !utf8.ValidString(line) {
			return nil, line, errors.New("hours: not a holiday")
		}
		h := Holiday{Name: found[3]}
		if h.From, err = ParseDate(found[1]); err != nil {
			return nil, line, err
		}
		if h.To = h.From; found[2] != "" {
			if h.To, err = ParseDate(found[2]); err != nil {
				return nil, line, err
			}
		}
		if len(all) == MaxHolidays {
			return nil, line, errors.New("hours: too many holidays")
		}
		all = append(all, h)
	}
	return all, "", nil
}

// FormatHolidays returns holidays as ParseHolidays reads them.
func FormatHolidays(all []Holiday) string {
	var out strings.Builder
	for _, h := range all {
		out.WriteString(h.From.String())
		if h.To != h.From || h.Name != "" && h.Name[0] >= '0' && h.Name[0] <= '9' {
			out.WriteString(" – " + h.To.String())
		}
		if h.Name != "" {
			out.WriteString(" " + h.Name)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// day is a date as the number of days since 1970.
type day int64

const secondsPerDay = 24 * 60 * 60

func dayOf(year int, month time.Month, date int) day {
	return day(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

func (d day) utc() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d day) weekday() time.Weekday { return d.utc().Weekday() }

// DayKey returns the name of a day in a week: mon, tue and so on.
func DayKey(d time.Weekday) string { return strings.ToLower(d.String()[:3]) }

// Days lists the days of a week, Monday first.
func Days() []time.Weekday {
	return []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}
}
