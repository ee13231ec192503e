package helpdesk

import (
	"strings"
	"unicode"
)

// commonWords are words that nearly every text of a language has, and few texts of the others.
var commonWords = map[string]string{
	"en": "the and is are was have has with you your not please thank thanks hello regards this that would could when",
	"de": "der die das und ist nicht ich sie wir ihr ihre mit bitte danke hallo guten grüße haben habe kann mir mein meine eine einen auf für",
	"fr": "le les des est une pas je vous nous votre mon ma bonjour merci avec pour sur dans mais cordialement avez suis",
	"es": "el los las una es no yo usted ustedes su mi hola gracias con para por pero está tengo saludos quiero buenos días",
	"pt": "os uma não você vocês meu minha olá obrigado obrigada com para por mas está tenho bom dia cumprimentos quero ao",
	"it": "il gli una è non io voi lei mio mia ciao grazie con per ma sono ho saluti buongiorno della che vorrei",
	"nl": "het een is niet ik jullie u uw mijn hallo bedankt met voor maar heb kan groeten graag dank zijn",
	"pl": "nie jest się że proszę dziękuję dzień dobry mam czy mój moja dla ale pozdrawiam jak na z w do",
	"sv": "och är inte jag ni min mitt hej tack med för men har kan hälsningar ett som",
	"da": "og er ikke jeg jer min mit hej tak med for men har kan hilsen et som venlig",
	"cs": "je není já vy můj moje dobrý den děkuji prosím pro ale mám pozdravem jsem se na",
	"tr": "ve bir bu değil ben siz merhaba teşekkürler lütfen için ama var yok ile",
}

// scripts are languages that a script of their own tells.
var scripts = []struct {
	locale string
	of     []*unicode.RangeTable
}{
	{"ja", []*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}}, {"ko", []*unicode.RangeTable{unicode.Hangul}},
	{"zh", []*unicode.RangeTable{unicode.Han}}, {"ar", []*unicode.RangeTable{unicode.Arabic}}, {"he", []*unicode.RangeTable{unicode.Hebrew}},
	{"el", []*unicode.RangeTable{unicode.Greek}}, {"th", []*unicode.RangeTable{unicode.Thai}}, {"ru", []*unicode.RangeTable{unicode.Cyrillic}},
}

// Texts are examined as far as this, and need as many common words of a language, and as many more than of any other.
const (
	maxTongue    = 4000 // bytes
	tongueWords  = 3
	tongueMargin = 2
)

// tongue guesses the language of a text; "" if it is not plain. It is for choosing among texts that say the same.
func tongue(text string) string {
	text = strings.ToLower(text[:min(len(text), maxTongue)])
	letters, found := 0, map[string]int{}
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		for _, s := range scripts {
			if unicode.In(r, s.of...) {
				found[s.locale]++
				break
			}
		}
	}
	if found["ja"] > 0 { // which is written with Han, too
		found["ja"], found["zh"] = found["ja"]+found["zh"], 0
	}
	for locale, n := range found {
		if n*2 > letters {
			return locale
		}
	}
	words := map[string]int{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		words[w]++
	}
	best, most, second := "", 0, 0
	for locale, common := range commonWords {
		n := 0
		for w := range strings.FieldsSeq(common) {
			n += min(words[w], 3)
		}
		switch {
		case n > most:
			best, most, second = locale, n, most
		case n > second:
			second = n
		}
	}
	if most < tongueWords || most-second < tongueMargin {
		return ""
	}
	return best
}
