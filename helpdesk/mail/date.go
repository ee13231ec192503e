package mail

import (
	"strconv"
	"strings"
	"time"
)

var zones = map[string]int{ // hours, RFC 5322 section 4.3 and a few seen in mail
	"ut": 0, "utc": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6,
	"pst": -8, "pdt": -7, "bst": 1, "wet": 0, "west": 1, "met": 1, "mest": 2, "cet": 1, "cest": 2, "mez": 1, "mesz": 2,
	"eet": 2, "eest": 3, "msk": 3, "jst": 9, "kst": 9, "hkt": 8, "sgt": 8, "nzst": 12, "nzdt": 13, "aest": 10, "aedt": 11,
}

const months = "jan feb mar apr may jun jul aug sep oct nov dec"

// parseDate parses a Date field: RFC 5322 with its obsolete forms, asctime, ISO 8601 and mixtures of them. It returns the
// zero time if it fails.
func parseDate(raw string) time.Time { return partsOf(raw).time() }

// DateOffset returns the offset of the Date's zone in seconds east of UTC; 0 if it cannot be parsed.
func (m *Message) DateOffset() int {
	if m.Date.IsZero() {
		return 0
	}
	return partsOf(m.Header.Raw("Date")).offset
}

func partsOf(raw string) *dateParts {
	s := strings.ToLower(strings.TrimSpace(stripComments(raw)))
	if len(s) > 200 {
		s = s[:200]
	}
	var d dateParts
	d.day, d.month, d.year, d.hour = -1, -1, -1, -1
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '\r' || r == '\n' || r == '"' }) {
		d.word(word)
	}
	return &d
}

type dateParts struct {
	day, month, year  int
	hour, min, sec    int
	offset            int // seconds east of UTC
	pm, am, zoneFound bool
}

func (d *dateParts) word(w string) {
	if i := strings.IndexByte(w, 't'); i == 10 && w[4] == '-' { // 2006-01-02t15:04:05z
		d.word(w[:i])
		d.word(w[i+1:])
		return
	}
	switch {
	case strings.Count(w, ":") >= 1 && w[0] >= '0' && w[0] <= '9':
		d.clock(w)
	case (w[0] == '+' || w[0] == '-') && len(w) > 1:
		d.zone(w)
	case w == "am":
		d.am = true
	case w == "pm":
		d.pm = true
	case strings.HasPrefix(w, "gmt") || strings.HasPrefix(w, "utc"):
		if len(w) > 3 {
			d.zone(w[3:])
		}
	case strings.Count(w, "-") == 2 || strings.Count(w, "/") == 2:
		d.dashed(strings.FieldsFunc(w, func(r rune) bool { return r == '-' || r == '/' }))
	default:
		d.plain(strings.TrimRight(w, "."))
	}
}

func (d *dateParts) plain(w string) {
	if n, err := strconv.Atoi(w); err == nil {
		switch {
		case d.day < 0 && n >= 1 && n <= 31 && (len(w) <= 2 || len(w) == 3 && w[0] == '0'):
			d.day = n
		case d.year < 0 && (len(w) == 2 || len(w) == 3 || len(w) == 4):
			d.setYear(n, len(w))
		}
		return
	}
	if len(w) >= 3 && d.month < 0 {
		if i := strings.Index(months, w[:3]); i >= 0 && i%4 == 0 {
			d.month = i/4 + 1
			return
		}
	}
	if h, ok := zones[w]; ok && !d.zoneFound {
		d.offset, d.zoneFound = h*3600, true
	}
}

func (d *dateParts) setYear(n, digits int) {
	switch { // RFC 5322 section 4.3
	case digits <= 2 && n < 50:
		n += 2000
	case digits <= 3:
		n += 1900
	}
	d.year = n
}

// dashed parses 2006-01-02, 2-Jan-2006, 01/02/2006 (month first).
func (d *dateParts) dashed(f []string) {
	if len(f) != 3 {
		return
	}
	if len(f[0]) == 4 {
		f[0], f[2] = f[2], f[0]
	} else if n, err := strconv.Atoi(f[1]); err == nil && n <= 31 {
		if first, err := strconv.Atoi(f[0]); err == nil && first <= 12 {
			f[0], f[1] = f[1], f[0]
		}
	}
	if n, err := strconv.Atoi(f[1]); err == nil {
		d.month = n
	} else {
		d.plain(f[1])
	}
	d.day, _ = strconv.Atoi(f[0])
	if n, err := strconv.Atoi(f[2]); err == nil {
		d.setYear(n, len(f[2]))
	}
}

func (d *dateParts) clock(w string) {
	if i := strings.IndexAny(w, "+-"); i > 0 {
		d.zone(w[i:])
		w = w[:i]
	}
	switch {
	case strings.HasSuffix(w, "pm"):
		d.pm = true
	case strings.HasSuffix(w, "am"):
		d.am = true
	}
	w, _, _ = strings.Cut(strings.TrimRight(w, "apmz"), ".")
	f := strings.Split(w, ":")
	if len(f) < 2 {
		return
	}
	d.hour, _ = strconv.Atoi(f[0])
	d.min, _ = strconv.Atoi(f[1])
	if len(f) > 2 {
		d.sec, _ = strconv.Atoi(f[2])
	}
}

func (d *dateParts) zone(w string) {
	digits := strings.ReplaceAll(w[1:], ":", "")
	n, err := strconv.Atoi(digits)
	if err != nil || d.zoneFound || n > 2400 {
		return
	}
	if len(digits) <= 2 {
		n *= 100
	}
	d.offset, d.zoneFound = (n/100*60+n%100)*60, true
	if w[0] == '-' {
		d.offset = -d.offset
	}
}

func (d *dateParts) time() time.Time {
	if d.pm && d.hour < 12 {
		d.hour += 12
	}
	if d.am && d.hour == 12 {
		d.hour = 0
	}
	hour := max(d.hour, 0)
	if d.year < 1970 || d.year > 9999 || d.month < 1 || d.month > 12 || d.day < 1 || hour > 24 || d.min > 59 || d.sec > 60 {
		return time.Time{}
	}
	if last := time.Date(d.year, time.Month(d.month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); d.day > last {
		return time.Time{}
	}
	return time.Date(d.year, time.Month(d.month), d.day, hour, d.min, d.sec, 0, time.UTC).Add(-time.Duration(d.offset) * time.Second)
}
