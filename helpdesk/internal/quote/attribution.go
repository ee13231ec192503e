package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

var (
	wroteVerb = lazyregexp.New(`(?i)(^|[\s,>)\]"'“”;/年日時时분])(wrote|writes|schrieb|geschrieben|hat .{1,80}geschrieben|(a )?écrit|escribió|(ha )?scritto|escreveu|schreef|` +
		`skrev|skreiv|napisał(\(a\)|a)?|pisze|kirjoitti|(ezt )?írta|napsal(\(a\)|a)?|napísal(\(a\)|a)?|написал(\(а\)|а)?|пишет|пише|писал(\(а\)|а)?|yazdı|` +
		`a scris|έγραψε|написав|написа|viết|menulis|napisala?|napisao|rašė|rakstīja|kirjutas)([\s:：<"(-]|$)|写道|寫道|のメッセージ|書きました|さんは|작성|님이|כתב|כתבה|كتب|เขียน`)
	wroteEnd = lazyregexp.New(`(?i)([:：]|wrote|writes|écrit|写道|寫道|작성|-{2,})\s*[-*]*\s*$`)
	opener   = lazyregexp.New(`(?i)^[\s*-]*((on|at|le|el|il|em|am|op|den|dne|dňa|dnia|w dniu|in data|il giorno|a|la|pada|vào|na|на|στις|în|ned|v|missatge|kontakt|tarihinde)\s|在|於|于|.{1,60}[于於] ?\d{4}|` +
		`\d|\pL{2,10}[.,]{0,2}\s?\d|\pL{2,10}, (le|den) )`)
	named = lazyregexp.New(`(?i)^[\s*]*[^\s,:][^:]{0,80}<[^<>\s]+@[^<>\s]+>\s*(wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|napisał|пишет|написал).{0,60}:\s*$`)
	// quoting is Horde's form, without a date.
	quoting   = lazyregexp.New(`(?i)^(quoting|zitat von|quoted from|citation de|citando a?|citat (av|fra)|cytowanie|citerar|citaat van) .{1,100}[^\s<>]+@[^\s<>]+>?\s*[:：]$`)
	midway    = lazyregexp.New(`(?i)^(at|um|om|kl|kl\.|klo|às|alle|ore|o) \d`) // the date stands on the line above
	bareEmail = lazyregexp.New(`[^\s<>(\["']+@[^\s<>)\]"']+`)
	// dateFirst is a form without verb and address: 2023-01-02 15:04 Ann:
	dateFirst = lazyregexp.New(`^(\pL{2,12}[.,]* ?)?\d[^:]{3,30}\d[:.h]\d\d\S*[ ,]+[^:.!?]{1,40}[:：]$`)
	// bracketed is an address as mailers write it behind a name, and what ends the sentence.
	bracketed = lazyregexp.New(`[<(\[]+(mailto:)?[^\s<>()\[\]]+@[^\s<>()\[\]]+[>)\]]+[^<>()@]{0,40}$`)
	// brokenAddress is what remains of an introduction folded before the ">" of its address.
	brokenAddress = lazyregexp.New(`^[^>]{0,40}[:：]$`)
	openAddress   = lazyregexp.New(`<[^<>\s]+@[^<>\s]+$`)
	year          = lazyregexp.New(`(^|\D)(19|20)\d\d(\D|$)`)
	sureClock     = lazyregexp.New(`(^|\D)\d?\d:\d\d(\D|$)`) // and no price, nor the number of a machine
	clock         = lazyregexp.New(`\d[:.h]\d\d|\d ?[ap]\.?m\b`)
	// ownWords are those of people who tell of a mail that they wrote, or of whom they wrote to.
	ownWords = lazyregexp.New(`(?i)(^|[\s,])(i|we|ich|wir|j['’]ai|je|nous|yo|io|ho|eu|ik|jag|jeg|minä|я|мы)\s+(had |have |hatte |habe |avons |he )?(written|wrote|sent|schrieb\w*|geschrieben|` +
		`écrit|écrivais|escribí|escrito|scritto|escrevi|schreef|skrev|kirjoitin|писала?|написала?)|` +
		`(wrote|written|writes|schrieb|geschrieben|écrit|escribió|scritto|escreveu|schreef|skrev|написала?)\s+(to|an|à|a|al|aan|til|till|к)\s|(schrieb|écrivis) (ich|wir)\s`)
)

const (
	maxSentence = 600 // bytes of an introduction
	maxWrapped  = 5   // lines of one
)

// attribution: the line ends a sentence that introduces a quote. It returns the first line of the sentence, or -1; strong
// means that only a mailer writes so, and that what follows is old though no sign quotes it.
func (s *scan) attribution(end int) (start int, strong bool) {
	line := strings.TrimRight(s.lines[end].Text, " -*")
	last, _ := utf8.DecodeLastRuneInString(line)
	if !strings.ContainsRune(":：etETÉ道성", last) && line == s.lines[end].Text || !wroteEnd().MatchString(s.lines[end].Text) {
		return -1, false
	}
	joined, found, best := "", -1, ""
	for i := end; i >= 0 && i > end-maxWrapped; i-- {
		l := &s.lines[i]
		if s.blank(i) || l.Quoted != No || s.kinds[i] == Old || i < end && separates(l.Text) {
			break
		}
		joined = unwrap(l.Text + " " + joined)
		if len(joined) > maxSentence || !s.try() {
			break
		}
		if strings.ContainsAny(joined, "@0123456789") && s.introduces(joined) {
			found, best = i, joined
			if !midway().MatchString(joined) && !named().MatchString(joined) {
				break
			}
			if named().MatchString(joined) && strings.ContainsAny(bareEmail().ReplaceAllString(joined, ""), "0123456789") {
				break
			}
		}
	}
	if found < 0 {
		return -1, false
	}
	found, best = s.wrappedDate(found, best)
	return found, s.mailerWrote(best)
}

// unwrap joins what mailers fold, also inside of an address.
func unwrap(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.ReplaceAll(s, "< ", "<")
	return strings.ReplaceAll(s, " >", ">")
}

// wrappedDate includes the line above an introduction where the date was broken.
func (s *scan) wrappedDate(start int, joined string) (int, string) {
	if start == 0 || s.blank(start-1) || s.lines[start-1].Quoted != No || s.kinds[start-1] == Old {
		return start, joined
	}
	above := s.lines[start-1].Text
	word, _, _ := strings.Cut(s.lines[start].Text, " ")
	last, _ := utf8.DecodeLastRuneInString(above)
	full := utf8.RuneCountInString(above)+1+utf8.RuneCountInString(word) > 60
	if !full || strings.ContainsRune(".!?:：", last) || !opener().MatchString(above) || opener().MatchString(joined) && !unicode.IsDigit(firstRune(joined)) {
		return start, joined
	}
	return start - 1, unwrap(above + " " + joined)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// introduces: s has a date and a verb of writing or an address, as such sentences do.
func (s *scan) introduces(text string) bool {
	if named().MatchString(text) || quoting().MatchString(text) {
		return true
	}
	rest := bareEmail().ReplaceAllString(text, "")
	hasEmail := len(rest) != len(text)
	if !strings.ContainsAny(rest, "0123456789") {
		return false
	}
	ends := endsColon(text) || strings.HasSuffix(text, "-")
	if opener().MatchString(text) && wroteVerb().MatchString(rest) {
		return hasEmail || ends || strings.HasSuffix(text, "道") || strings.HasSuffix(text, "성")
	}
	// Ann schrieb am 02.11.2026 10:15:
	if !hasEmail && endsColon(text) && len(text) < 120 && year().MatchString(rest) && clock().MatchString(rest) && wroteVerb().MatchString(rest) && !ownWords().MatchString(text) {
		return true
	}
	// In all languages: a date and a time, an address, and a colon at the end. One of the two is enough where the address
	// stands as mailers write it.
	dated, timed := year().MatchString(rest), clock().MatchString(rest)
	return hasEmail && ends && (dated && timed || bracketed().MatchString(text) && (dated || sureClock().MatchString(rest)))
}

// mailerWrote: nobody writes such a sentence by hand.
func (s *scan) mailerWrote(text string) bool {
	if ownWords().MatchString(text) || !clock().MatchString(text) && !named().MatchString(text) {
		return false
	}
	if bracketed().MatchString(text) || notes().MatchString(text) {
		return wroteVerb().MatchString(text) || s.msg.Reply
	}
	return s.msg.Reply && opener().MatchString(text) && (wroteVerb().MatchString(text) || strings.Contains(text, "@"))
}
