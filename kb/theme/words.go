package theme

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

//go:embed strings.json
var stringsJSON []byte

// texts holds the words of the built-in theme by language. English texts are in the templates themselves, except plural
// forms.
var texts = sync.OnceValue(func() map[string]map[string]string {
	var all map[string]map[string]string
	if err := json.Unmarshal(stringsJSON, &all); err != nil {
		panic("theme: " + err.Error())
	}
	return all
})

// maxText is the length at which a combined text is cut.
const maxText = 4 << 10

// words translates into one language.
type words struct {
	locale string
	base   string // its language, "" without a translation
	own    map[string]string
}

func wordsOf(locale string) words {
	base, _, _ := strings.Cut(strings.ToLower(locale), "-")
	if own := texts()[base]; own != nil {
		return words{locale: locale, base: base, own: own}
	}
	return words{locale: locale, own: texts()["en"]}
}

// Text returns a text of the built-in theme in a locale, with args in place of "%s".
func Text(locale, text string, args ...any) string { return wordsOf(locale).text(text, args...) }

// Count returns a text of the built-in theme with a number: of articles, match, all or results.
func Count(locale, what string, n any, args ...any) string {
	return wordsOf(locale).count(what, n, args...)
}

func (w words) text(text string, args ...any) string {
	if found, ok := w.own[text]; ok {
		text = found
	}
	return fill(text, args)
}

// fill inserts args into a text.
func fill(text string, args []any) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "%s") {
		if i > 0 && i <= len(args) {
			b.WriteString(plain(args[i-1]))
		}
		b.WriteString(part)
		if b.Len() > maxText {
			return strings.ToValidUTF8(b.String()[:maxText], "")
		}
	}
	return b.String()
}

// plain returns an argument as text.
func plain(arg any) string {
	switch arg := arg.(type) {
	case string:
		return arg
	case int, int64:
		return fmt.Sprint(arg)
	}
	return ""
}

// count returns the plural form of "what" for n in the language; n precedes the other arguments.
func (w words) count(what string, n any, args ...any) string {
	number := 0
	switch n := n.(type) {
	case int:
		number = n
	case int64:
		number = int(n)
	}
	base := w.base
	if base == "" {
		base = "en"
	}
	form := [...]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	key := what + "#" + form[plural.Cardinal.MatchPlural(language.Make(base), number, 0, 0, 0, 0)]
	found, ok := w.own[key]
	if !ok {
		found = w.own[what+"#other"]
	}
	if strings.Count(found, "%s") == len(args) { // the form contains the number itself
		return fill(found, args)
	}
	return fill(found, append([]any{number}, args...))
}

// calendar holds the date formats of a language with and without the year, and its names of the months.
type calendar struct{ long, short, months, short12 string }

// calendars holds the calendars of languages.
var calendars = map[string]calendar{
	"en": {"2 M 2006", "2 m", "January February March April May June July August September October November December", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"},
	"de": {"2. M 2006", "2. m", "Januar Februar März April Mai Juni Juli August September Oktober November Dezember", "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez."},
	"fr": {"2 M 2006", "2 m", "janvier février mars avril mai juin juillet août septembre octobre novembre décembre", "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."},
	"es": {"2 de M de 2006", "2 m", "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre", "ene feb mar abr may jun jul ago sept oct nov dic"},
	"it": {"2 M 2006", "2 m", "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre", "gen feb mar apr mag giu lug ago set ott nov dic"},
	"pt": {"2 de M de 2006", "2 de m", "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro", "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez."},
	"nl": {"2 M 2006", "2 m", "januari februari maart april mei juni juli augustus september oktober november december", "jan feb mrt apr mei jun jul aug sep okt nov dec"},
	"pl": {"2 M 2006", "2 m", "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia", "sty lut mar kwi maj cze lip sie wrz paź lis gru"},
	"ar": {"2 M 2006", "2 M", "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر", ""},
	"he": {"2 M 2006", "2 M", "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר", ""},
	"ja": {"2006年1月2日", "1月2日", "", ""},
	"zh": {"2006年1月2日", "1月2日", "", ""},
}

// day formats the day of a time (RFC 3339), as in ISO 8601 for unknown languages. An invalid time gives "".
func (w words) day(value string, short bool) string {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return ""
	}
	c, ok := calendars[w.base]
	if !ok {
		return at.Format(time.DateOnly)
	}
	layout := c.long
	switch {
	case strings.EqualFold(w.locale, "en-US") && short:
		layout = "m 2"
	case strings.EqualFold(w.locale, "en-US"):
		layout = "M 2, 2006"
	case short:
		layout = c.short
	}
	return c.format(layout, at)
}

// format writes a time by a layout.
func (c calendar) format(layout string, at time.Time) string {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		switch rest := layout[i:]; {
		case strings.HasPrefix(rest, "2006"):
			b.WriteString(at.Format("2006"))
			i += len("2006") - 1
		case rest[0] == '2':
			b.WriteString(strconv.Itoa(at.Day()))
		case rest[0] == '1':
			b.WriteString(strconv.Itoa(int(at.Month())))
		case rest[0] == 'M':
			b.WriteString(nth(c.months, int(at.Month())))
		case rest[0] == 'm':
			b.WriteString(nth(c.short12, int(at.Month())))
		default:
			b.WriteByte(rest[0])
		}
	}
	return b.String()
}

// nth returns a word of a list, counted from 1; "" if the list is empty.
func nth(list string, n int) string {
	for word := range strings.FieldsSeq(list) {
		if n--; n == 0 {
			return word
		}
	}
	return ""
}

// languageName returns the name of a language in another language.
func languageName(code, in string) string {
	tag, err := language.Parse(code)
	if err != nil || len(in) > 35 {
		return truncate(35, code)
	}
	if into, err := language.Parse(in); err == nil {
		if namer := display.Tags(into); namer != nil {
			if name := namer.Name(tag); name != "" {
				return name
			}
		}
	}
	return display.English.Tags().Name(tag)
}

// LanguageName returns the name of a language in itself, as in menus.
func LanguageName(code string) string {
	tag, err := language.Parse(code)
	if err != nil {
		return code
	}
	name := display.Self.Name(tag)
	if name == "" {
		name = languageName(code, "en")
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToTitle(first)) + name[size:]
}

// Direction returns rtl for locales written from right to left, otherwise ltr.
func Direction(locale string) string {
	script, _ := language.Make(locale).Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg", "Mand", "Samr":
		return "rtl"
	}
	return "ltr"
}
