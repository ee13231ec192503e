package desk

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"
)

// The translations of the desk. English is the text in templates and code, so a text without a translation appears in
// English; a test finds missing ones.
//
//go:embed words/*.json
var wordFiles embed.FS

// languages are the desk's languages; the first one is the default.
var languages = []string{"en", "de"}

// wordsOf maps the English texts to each language's translation.
var wordsOf = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, lang := range languages[1:] {
		text, err := wordFiles.ReadFile("words/" + lang + ".json")
		if err != nil {
			panic("desk: " + err.Error())
		}
		var own map[string]string
		if err := json.Unmarshal(text, &own); err != nil {
			panic("desk: words/" + lang + ".json: " + err.Error())
		}
		all[lang] = own
	}
	return all
})

// words translates into a language.
type words struct {
	lang string
	own  map[string]string
}

const languageCookie = "desk_language"

// chooseWords uses the member's language, or else the browser's.
func chooseWords(r *http.Request) words {
	if c, err := r.Cookie(languageCookie); err == nil && slices.Contains(languages, c.Value) {
		return speak(c.Value)
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return speak(languages[0])
	}
	known := make([]language.Tag, len(languages))
	for i, lang := range languages {
		known[i] = language.Make(lang)
	}
	_, i, _ := language.NewMatcher(known).Match(tags...)
	return speak(languages[i])
}

func speak(lang string) words { return words{lang: lang, own: wordsOf()[lang]} }

// T returns a text, with args in place of its "%s".
func (w words) T(text string, args ...any) string {
	if found, ok := w.own[text]; ok {
		text = found
	}
	return fill(text, args)
}

// N returns a text for a number of things; the singular form comes before "|" and the plural after it. The number is the
// first argument.
func (w words) N(n int, text string, args ...any) string {
	if found, ok := w.own[text]; ok {
		text = found
	}
	one, other, _ := strings.Cut(text, "|")
	if n == 1 {
		other = one
	}
	return fill(other, append([]any{count(n)}, args...))
}

func fill(text string, args []any) string {
	for _, arg := range args {
		before, after, found := strings.Cut(text, "%s")
		if !found {
			break
		}
		text = before + strings.ReplaceAll(fmt.Sprint(arg), "%s", "%\u200bs") + after
	}
	return text
}

// count shortens a number for people.
func count(n int) string {
	if n > 999 {
		return strconv.Itoa(n/1000) + "k+"
	}
	return strconv.Itoa(n)
}

var calendars = map[string]struct {
	days      [7]string
	months    [12]string
	day, year string // formats
}{
	"en": {
		[7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		[12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}, "%d %s", "%d %s %d",
	},
	"de": {
		[7]string{"So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"},
		[12]string{"Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."}, "%d. %s", "%d. %s %d",
	},
}

// when formats a time as short as it is unambiguous: 09:52, Mon 09:52, 18 Nov, 18 Nov 2024.
func (v *visit) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t, now := t.In(v.zone), v.now.In(v.zone)
	c := calendars[v.words.lang]
	month := c.months[t.Month()-1]
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, v.zone)
	day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, v.zone)
	switch days := midnight.Sub(day).Hours() / 24; {
	case day.Equal(midnight):
		return t.Format("15:04")
	case days < 6.5 && days > -6.5:
		return c.days[t.Weekday()] + t.Format(" 15:04")
	case t.Year() == now.Year():
		return fmt.Sprintf(c.day, t.Day(), month)
	}
	return fmt.Sprintf(c.year, t.Day(), month, t.Year())
}

// month formats the month of a time.
func (v *visit) month(t time.Time) string {
	t = t.In(v.zone)
	name := calendars[v.words.lang].months[t.Month()-1]
	if t.Year() == v.now.In(v.zone).Year() {
		return name
	}
	return fmt.Sprintf("%s %d", name, t.Year())
}

// full formats a time completely, for tooltips.
func (v *visit) full(t time.Time) string {
	t = t.In(v.zone)
	c := calendars[v.words.lang]
	return c.days[t.Weekday()] + " " + fmt.Sprintf(c.year, t.Day(), c.months[t.Month()-1], t.Year()) + t.Format(" 15:04:05 MST")
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

const zoneCookie = "desk_zone"

// zoneOf returns the time zone that the script has found in the browser.
func zoneOf(r *http.Request) *time.Location {
	c, err := r.Cookie(zoneCookie)
	if err != nil || len(c.Value) > 64 {
		return time.UTC
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil || name == "Local" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
