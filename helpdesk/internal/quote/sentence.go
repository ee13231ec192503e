package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// An introduction begins with a date or with the name and address of who wrote. What follows tells whether lines above
// the one that ends it are its beginning, or new text.

var (
	// leads are the words in front of the date.
	leads = wordSet("on at le el il em am op den dne dňa dnia w dniu in data il giorno a la às alle ore om um o kl klo pada tanggal pukul vào lúc na на στις în la ned v u vo " +
		"в во о об ob ve missatge kontakt fecha de di del dia d' der des the של في ב בתאריך יום ในวันที่ วันที่ เวลา thg 在 於 于 год р г. h uhr gmt utc z bst am pm a.m p.m π.μ μ.μ ص م г ч god tarihinde")
	dayNumber   = lazyregexp.New(`(?i)^[\s(\[<{'"*]*[-+~]?\d[\d.,:/+h年月日号年월일-]*(st|nd|rd|th|e|er|º|ª|am|pm|z|t[\d:]+z?)?[\s.,;:)\]}'"]*$`)
	numericDate = lazyregexp.New(`\d{1,4}([-/.])\s?\d{1,2}[-/.]\s?\d{2,4}`)
	eastAsian   = lazyregexp.New(`^[在於于]?\s?\d{4}\s?[年년]`)
	fixedTime   = lazyregexp.New(`\d:\d\d:\d\d|[+-]\d{4}$`) // no person writes the seconds, nor the zone
	verbOnly    = lazyregexp.New(`(?i)^(\pL{1,3}[\s/]+)?(<?[^\s<>@]+@[^\s<>@]+>[,;]?\s*)?((je|şunu|tarihinde şunu|tarihinde|ezt|đã|ha|hat|님이)\s+)?\pL+(\(\pL+\))?( je)?\s?[:：]?$`)
	startsEmail = lazyregexp.New(`^[<(\[]+\s*(mailto:)?[^\s<>()\[\]]+@`)
	yearNext    = lazyregexp.New(`^[^\s\d]{2,12} (19|20)\d\d(\D|$)`)
	weekdayHead = lazyregexp.New(`^[\pL\pM-]{2,14}[.,]{1,2}\s`)
	nameFirst   = lazyregexp.New(`^[\s*]*("[^"]{1,80}"|[^<>@:]{1,80}?)\s*[<(\[]+(mailto:)?[^\s<>()\[\]@]+@`)
	particles   = wordSet("of the and for de von van der den la le les di da do dos del della des du e y et und og och en i für à a an av fra by via from per pour para with at c/o bei im zu od " +
		"użytkownik użytkownika odesílatel uživatel lietotājs kasutaja je oseba от ο/η η ο от mailto tarihinde schrieb skrev escribió schreef scritto escreveu écrit napisał kirjoitti пользователь kuupäeval")
	firstPerson = wordSet("i'm i’m i've i’ve we ich wir j'ai j’ai nous yo ik wij jag jeg minä я мы my our mein meine мой")
)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// dateHead gives the length of the date that a text begins with, with its time; 0 if it begins with none. A day of the
// week may have any name.
func dateHead(text string) int {
	var led, month, weekday bool
	numbers, end := 0, 0
	for pos := 0; pos < len(text); {
		word := text[pos:]
		if i := strings.IndexByte(word, ' '); i >= 0 {
			word = word[:i]
		}
		bare := strings.ToLower(strings.Trim(word, `.,;:،()[]"'*-`))
		switch {
		case bare == "":
		case leads[bare]:
			led = true
		case dayNumber().MatchString(word):
			numbers++
		case numbers > 0 && utcName().MatchString(bare), utcOffset().MatchString(word):
		case utf8.RuneCountInString(bare) < 13 && monthOf(bare) != 0, numbers == 1 && yearNext().MatchString(text[pos:]):
			month = true
		case numbers == 0 && !weekday && !month && isWeekday(word, led):
			weekday = true
		default:
			pos = len(text)
			continue
		}
		pos += len(word)
		end = pos
		pos += len(text[pos:]) - len(strings.TrimLeft(text[pos:], " "))
	}
	head := text[:end]
	if numbers > 0 && month || numericDate().MatchString(head) || numbers > 1 && year().MatchString(head) {
		return end
	}
	return 0
}

// isWeekday: a word may be the name of a day in some language.
func isWeekday(word string, led bool) bool {
	n := utf8.RuneCountInString(word)
	if n > 15 || !led && n > 3 && !strings.HasSuffix(word, ".") && !strings.HasSuffix(word, ",") && !strings.HasSuffix(word, "،") {
		return false
	}
	return strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("-.,׳،", r)
	}) < 0
}

// beginsForm: the text begins as introductions do, so that nothing above is missing.
func beginsForm(text string) bool {
	if dateHead(text) > 0 || eastAsian().MatchString(text) || quoting().MatchString(text) {
		return true
	}
	lead, rest, _ := strings.Cut(strings.TrimLeft(text, "* "), " ")
	if isLead := leads[strings.ToLower(lead)]; isLead { // On Saturday, Ann <ann@example.org> wrote:
		return weekdayHead().MatchString(rest)
	}
	if !nameFirst().MatchString(text) {
		return false
	}
	at := address().FindStringIndex(text)
	return at != nil && strings.ContainsAny(text[at[1]:], "0123456789")
}

// tells: the text has words that no date, name or verb of an introduction has.
func tells(text string) bool {
	if strings.ContainsAny(text, "!?;") || speaks(text) {
		return true
	}
	unknown := 0
	for word := range strings.FieldsSeq(text[dateHead(text):]) {
		if strings.Contains(word, "@") {
			continue
		}
		if strings.HasSuffix(word, ":") {
			return true
		}
		bare := strings.ToLower(strings.Trim(word, `.,()[]"'*<>-`))
		if first := firstRune(strings.TrimLeft(word, `("'[<`)); unicode.IsLower(first) && !particles[bare] && !leads[bare] {
			unknown++
		}
	}
	return unknown > 1
}

// speaks: somebody speaks of himself, as no mailer does.
func speaks(text string) bool {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, `.,()[]"'*<>-`)
		if word == "I" || firstPerson[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

// continues: a mailer may have broken the sentence behind line i. complete: what stands below is one by itself.
func (s *scan) continues(i int, complete bool) bool {
	line, below := s.lines[i].Text, s.lines[i+1].Text
	if (dateHead(line) == len(line) || partOfDate(line)) && (fixedTime().MatchString(line) || strings.HasSuffix(line, ",")) {
		return true
	}
	lead, _, _ := strings.Cut(line, " ")
	dated := leads[strings.ToLower(lead)] && dateHead(line) == len(line) && clock().MatchString(line)
	word, _, _ := strings.Cut(below, " ")
	full := utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 60 && !strings.ContainsAny(line[len(line)-1:], "!?:")
	if complete && !startsEmail().MatchString(below) { // a name is missing in front of an address
		return full && !s.lines[i+1].Starts
	}
	return full || dated || openAddress().MatchString(line) || startsEmail().MatchString(below) && (leads[strings.ToLower(lead)] || clock().MatchString(line)) || strings.ContainsAny(line[len(line)-1:], "<([") || verbOnly().MatchString(below)
}

// partOfDate: all of the text may stand in a date that begins above.
func partOfDate(text string) bool { return dateHead("2000-01-01 "+text) == len(text)+11 }

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
