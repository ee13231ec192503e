package desk

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	decimal "golang.org/x/text/number"
)

// The translations of the desk. English is the text in templates and code, so a text without a translation appears in
// English; a test finds missing ones.
//
//go:embed words/*.json
var wordFiles embed.FS

// languages are the desk's languages; the first one is the default.
var languages = []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "ar"}

// phrase is a translation: a text, or if it depends on a number, the text for each plural category of CLDR that the language
// has (zero, one, two, few, many, other).
type phrase struct {
	text  string
	forms map[string]string
}

// UnmarshalJSON reads a string, or an object of categories.
func (p *phrase) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &p.forms)
	}
	return json.Unmarshal(b, &p.text)
}

// of returns the form of a plural category.
func (p phrase) of(category string) string {
	if p.forms == nil {
		return p.text
	}
	if form, ok := p.forms[category]; ok {
		return form
	}
	return p.forms["other"]
}

// wordsOf maps the English texts to each language's translation.
var wordsOf = sync.OnceValue(func() map[string]map[string]phrase {
	all := map[string]map[string]phrase{}
	for _, lang := range languages[1:] {
		text, err := wordFiles.ReadFile("words/" + lang + ".json")
		if err != nil {
			panic("desk: " + err.Error())
		}
		var own map[string]phrase
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
	rtl  bool // written from right to left
	own  map[string]phrase
}

const languageCookie = "desk_language"

// chooseWords uses the language that the browser remembers of its member, or else its own. A member's preference comes before
// both, see visit.prefer.
func chooseWords(r *http.Request) words {
	if c, err := r.Cookie(languageCookie); err == nil && slices.Contains(languages, c.Value) {
		return speak(c.Value)
	}
	return chooseWordsAnew(r)
}

// chooseWordsAnew uses the browser's language.
func chooseWordsAnew(r *http.Request) words {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return speak(languages[0])
	}
	return matching(tags...)
}

// matching speaks the language that fits best.
func matching(tags ...language.Tag) words {
	known := make([]language.Tag, len(languages))
	for i, lang := range languages {
		known[i] = language.Make(lang)
	}
	_, i, _ := language.NewMatcher(known).Match(tags...)
	return speak(languages[i])
}

func speak(lang string) words {
	return words{lang: lang, rtl: direction(lang) == "rtl", own: wordsOf()[lang]}
}

// T returns a text, with args in place of its "%s".
func (w words) T(text string, args ...any) string {
	if found, ok := w.own[text]; ok {
		text = found.of("other")
	}
	return w.fill(text, args)
}

// N returns a text for a number of things. In English the singular form comes before "|" and the plural after it; a text
// without "|" has one form, and may have more in other languages. The number is the first argument.
func (w words) N(n int, text string, args ...any) string {
	args = append([]any{count(n)}, args...)
	if found, ok := w.own[text]; ok {
		return w.fill(found.of(category(w.lang, n)), args)
	}
	if one, other, ok := strings.Cut(text, "|"); ok {
		text = other
		if n == 1 {
			text = one
		}
	}
	return w.fill(text, args)
}

// category returns the plural category of a number in a language, by CLDR.
func category(lang string, n int) string {
	names := [...]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	return names[plural.Cardinal.MatchPlural(language.Make(lang), n, 0, 0, 0, 0)]
}

// argPlace is where an argument stands in a text: "%s" is the next one, "%[2]s" the second.
var argPlace = regexp.MustCompile(`%(?:\[(\d)\])?s`)

// fill inserts args into a text. In languages written from right to left, a text is isolated (Unicode UAX 9), so that an
// address or a name keeps its own direction.
func (w words) fill(text string, args []any) string {
	if len(args) == 0 {
		return text
	}
	next := 0
	return argPlace.ReplaceAllStringFunc(text, func(at string) string {
		i := next
		if at == "%s" {
			next++
		} else {
			i = int(at[2] - '1')
		}
		if i < 0 || i >= len(args) {
			return at
		}
		arg := fmt.Sprint(args[i])
		if _, isText := args[i].(string); isText && w.rtl && arg != "" {
			return "\u2068" + arg + "\u2069"
		}
		return arg
	})
}

// list joins texts of a list: "a, b, c", with the comma of the language.
func (w words) list(items []string) string {
	comma := ", "
	switch w.lang {
	case "ja":
		comma = "、"
	case "ar":
		comma = "، "
	}
	return strings.Join(items, comma)
}

// seconds formats a duration in seconds with one decimal, by CLDR. Digits are Latin ones, as in most Arabic regions of CLDR.
func (w words) seconds(millis int64) string {
	in := message.NewPrinter(language.Make(w.lang + "-u-nu-latn"))
	return in.Sprint(decimal.Decimal(float64(millis/100)/10, decimal.Scale(1)))
}

// count shortens a number for people.
func count(n int) string {
	if n > 999 {
		return strconv.Itoa(n/1000) + "k+"
	}
	return strconv.Itoa(n)
}

// whole returns a number in full, as the language writes it.
func (w words) whole(n int64) string {
	return message.NewPrinter(language.Make(w.lang)).Sprint(decimal.Decimal(n))
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
