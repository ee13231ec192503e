package quote

import (
	"strings"
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
	// quoting is Horde's form, without a date.
	quoting   = lazyregexp.New(`(?i)^(quoting|zitat von|quoted from|citation de|citando a?|citat (av|fra)|cytowanie|citerar|citaat van) .{1,100}[^\s<>]+@[^\s<>]+>?\s*[:：]$`)
	address   = lazyregexp.New(`[<(\[]+(mailto:)?[^\s<>()\[\]]+@[^\s<>()\[\]]+[>)\]]+`)
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
// means that only a mailer writes so, and that what follows is old though no sign quotes it. The lines above belong to the
// sentence only where a mailer breaks it, and only if its form begins with them: all others are new.
func (s *scan) attribution(end int) (start int, strong bool) {
	line := strings.TrimRight(s.lines[end].Text, " -*")
	last, _ := utf8.DecodeLastRuneInString(line)
	if !strings.ContainsRune(":：etETÉ道성", last) && line == s.lines[end].Text || !wroteEnd().MatchString(s.lines[end].Text) {
		return -1, false
	}
	joined, above, found, best := "", "", -1, ""
	for i := end; i >= 0 && i > end-maxWrapped; i-- {
		l := &s.lines[i]
		if s.blank(i) || l.Quoted != No || s.kinds[i] == Old || i < end && (separates(l.Text) || !s.continues(i, found == end)) {
			break
		}
		joined = unwrap(l.Text + " " + joined)
		if i < end {
			above = unwrap(l.Text + " " + above)
		}
		if len(joined) > maxSentence || !s.try() {
			break
		}
		form := beginsForm(joined)
		if (i == end || form && !tells(above)) && s.introduces(joined) {
			found, best = i, joined
		}
		if form && found == i {
			break
		}
	}
	if found < 0 {
		return -1, false
	}
	return found, s.mailerWrote(best)
}

// unwrap joins what mailers fold, also inside of an address.
func unwrap(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.ReplaceAll(s, "< ", "<")
	return strings.ReplaceAll(s, " >", ">")
}

// introduces: s has a date and a verb of writing or an address, as such sentences do.
func (s *scan) introduces(text string) bool {
	if named(text) || quoting().MatchString(text) {
		return true
	}
	rest := bareEmail().ReplaceAllString(text, "")
	hasEmail := len(rest) != len(text)
	if !strings.ContainsAny(rest, "0123456789") || speaks(text) {
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

// named: Ann <ann@example.org> wrote: without a date, or with the day of the week alone.
func named(text string) bool {
	if !endsColon(text) {
		return false
	}
	at := address().FindStringIndex(text)
	if at == nil || at[0] > 120 || len(text)-at[1] > 60 {
		return false
	}
	name, rest := text[:at[0]], strings.TrimRight(text[at[1]:], " :：")
	return !strings.Contains(name, ":") && !tells(name) && (wroteVerb().MatchString(rest) || wroteVerb().MatchString(name) && rest == "")
}

// mailerWrote: nobody writes such a sentence by hand.
func (s *scan) mailerWrote(text string) bool {
	if ownWords().MatchString(text) || !clock().MatchString(text) && !named(text) {
		return false
	}
	if bracketed().MatchString(text) || notes().MatchString(text) {
		return wroteVerb().MatchString(text) || s.msg.Reply
	}
	return s.msg.Reply && opener().MatchString(text) && (wroteVerb().MatchString(text) || strings.Contains(text, "@"))
}
