package mail

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SplitQuote separates what somebody wrote from the mail quoted below it, for
// showing: reply+quoted is always text. Recognised are lines of ">", the line that
// introduces a quote ("On ... wrote:"), separators ("-----Original Message-----")
// and header blocks ("From: ... Sent: ..."), in the languages of common mailers.
//
// Answers written between the lines of a quote are left whole: only a quote that
// nothing but a signature follows is split off. Signatures above the quote stay in
// the reply. When all of the text is a quote, it is all reply.
func SplitQuote(text string) (reply, quoted string) {
	s := newQuoteScan(text)
	at := s.find()
	if at < 0 {
		return text, ""
	}
	for at > 0 { // a ruler above belongs to the quote
		above := at - 1
		for above > 0 && s.lines[above].blank {
			above--
		}
		if !ruler.MatchString(s.lines[above].text) {
			break
		}
		at = above
	}
	cut := s.lines[at].start
	if strings.TrimSpace(text[:cut]) == "" {
		return text, ""
	}
	return text[:cut], text[cut:]
}

var (
	ruler     = regexp.MustCompile(`^[\s*]*(_{5,}|-{5,}|={4,}|—{5,})[\s*]*$`)
	signature = regexp.MustCompile(`^(--|—|–|__+|-{2,}|={2,}) ?$`)
	// original is the line that mailers put above a mail they append.
	original = regexp.MustCompile(`(?i)^[\s*]*[-_=—–]{2,}[\s*]*(original message|original appointment|forwarded (message|by .{1,80})|` +
		`ursprüngliche nachricht|originalnachricht|weitergeleitete nachricht|original-nachricht|` +
		`message d['’]origine|message original|message transféré|mensaje original|mensaje reenviado|` +
		`messaggio originale|messaggio inoltrato|mensagem original|mensagem encaminhada|` +
		`oorspronkelijk bericht|doorgestuurd bericht|oprindelig (besked|meddelelse)|videresendt (besked|melding)|` +
		`opprinnelig melding|ursprungligt meddelande|vidarebefordrat meddelande|originalmeddelande|` +
		`alkuperäinen viesti|välitetty viesti|wiadomość oryginalna|oryginalna wiadomość|wiadomość przekazana|` +
		`исходное сообщение|пересылаемое сообщение|пересланное сообщение|původní zpráva|eredeti üzenet|orijinal (mesaj|ileti)|` +
		`原始邮件|原始郵件|转发邮件|轉寄郵件|元のメッセージ|転送メッセージ|원본 메시지|전달된 메시지)\s*:?[\s*]*[-_=—–]*[\s*]*$`)
	forwarded = regexp.MustCompile(`(?i)^\s*(begin forwarded message|anfang der weitergeleiteten nachricht|début du message (réexpédié|transféré)|` +
		`inizio messaggio inoltrato|inicio del mensaje reenviado|begin doorgestuurd bericht|início da mensagem (reencaminhada|encaminhada))\s*:\s*$`)
	aboveLine = regexp.MustCompile(`(?i)^.{0,20}(please )?(type|write|enter|reply|respond|antwort).{0,40}(above|oberhalb).{0,20}(this line|dieser linie|dieser zeile)`)

	fromLine = regexp.MustCompile(`(?i)^[\s*_]*(from|von|de|da|van|fra|från|od|lähettäjä|от|отправитель|kimden|gönderen|feladó|από|` +
		`发件人|發件人|寄件者|差出人|送信者|보낸 ?사람)[\s*_]*[:：]`)
	otherLine = regexp.MustCompile(`(?i)^[\s*_]*(sent|date|to|cc|bcc|subject|reply-to|gesendet|datum|an|betreff|` +
		`envoyé( le)?|message du|à|a|copie à|objet|sujet|enviado( el)?|enviada( em)?|fecha|para|asunto|` +
		`inviato|data|oggetto|verzonden|aan|onderwerp|assunto|wysłano|data|do|temat|dw|skickat|till|ämne|kopia|` +
		`sendt|til|emne|dato|kopi|lähetetty|päivä(määrä)?|vastaanottaja|aihe|kopio|отправлено|дата|кому|тема|копия|` +
		`odesláno|komu|předmět|elküldve|dátum|címzett|tárgy|gönderildi|tarih|kime|konu|ημερομηνία|προς|θέμα|` +
		`发送时间|日期|收件人|主题|抄送|寄件日期|主旨|副本|送信日時|日時|宛先|件名|보낸 ?날짜|날짜|받는 ?사람|제목|참조)[\s*_]*[:：]`)

	wroteVerb = regexp.MustCompile(`(?i)(^|[\s,>)\]"'“”;/年日時时분])(wrote|writes|schrieb|geschrieben|hat .{1,80}geschrieben|(a )?écrit|escribió|(ha )?scritto|escreveu|schreef|` +
		`skrev|skreiv|napisał(\(a\)|a)?|pisze|kirjoitti|írta|napsal(\(a\)|a)?|napísal(\(a\)|a)?|написал(\(а\)|а)?|пишет|писал(\(а\)|а)?|yazdı|` +
		`a scris|έγραψε|написав|viết|menulis)([\s:：<"(-]|$)|写道|寫道|のメッセージ|書きました|さんは|작성|님이`)
	wroteEnd = regexp.MustCompile(`(?i)([:：]|wrote|écrit|写道|寫道)\s*-*\s*$`)
	opener   = regexp.MustCompile(`(?i)^[\s*-]*((on|le|el|il|em|am|op|den|dne|dňa|dnia|w dniu|in data|il giorno|a|la|pada|vào|на|στις|tarihinde)\s|在|於|于|` +
		`\d|\pL{2,10}[.,]{0,2}\s?\d|\pL{2,10}, (le|den) )`)
	named     = regexp.MustCompile(`(?i)^[\s*]*[^\s,:][^:]{0,80}<[^<>\s]+@[^<>\s]+>\s*(wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev).{0,60}:\s*$`)
	midway    = regexp.MustCompile(`(?i)^(at|um|om|kl|kl\.|klo|às|alle|ore|o) \d`) // the date stands on the line above
	bareEmail = regexp.MustCompile(`[^\s<>(\[]+@[^\s<>)\]]+`)
	// brokenAddress is what remains of an introduction folded before the ">" of its address.
	brokenAddress = regexp.MustCompile(`^\s*>+[^>]{0,40}:\s*$`)
	year          = regexp.MustCompile(`(19|20)\d\d`)
)

type quoteLine struct {
	text   string
	start  int
	blank  bool
	quoted bool
}

// quoteScan holds the lines of a text and what can be said of them in one pass.
type quoteScan struct {
	lines      []quoteLine
	lastQuoted int // last line of ">"
	lastAnswer int // last line that is neither quoted nor blank nor of the last signature
}

const maxQuoteLine = 1000 // bytes of a line that are looked at

func newQuoteScan(text string) *quoteScan {
	s := &quoteScan{lastQuoted: -1, lastAnswer: -1}
	for pos := 0; pos < len(text); {
		end := strings.IndexByte(text[pos:], '\n')
		next := pos + end + 1
		if end < 0 {
			next = len(text)
		}
		line := strings.TrimRight(text[pos:min(next, pos+maxQuoteLine)], "\r\n")
		line = strings.ReplaceAll(line, "\u00A0", " ")
		trimmed := strings.TrimLeft(line, " \t")
		s.lines = append(s.lines, quoteLine{text: line, start: pos, blank: strings.TrimSpace(line) == "",
			quoted: strings.HasPrefix(trimmed, ">") && !strings.HasPrefix(trimmed, ">>>>>>>")})
		pos = next
	}
	for i := range s.lines {
		l := &s.lines[i]
		if l.quoted && i > 0 && brokenAddress.MatchString(l.text) && !s.lines[i-1].quoted && strings.Contains(s.lines[i-1].text, "<") {
			l.quoted = false
		}
		if l.quoted {
			s.lastQuoted = i
		}
	}
	end := s.signatureAfterQuote()
	for i, l := range s.lines[:end] {
		if !l.quoted && !l.blank && !s.wrapped(i) {
			s.lastAnswer = i
		}
	}
	return s
}

// signatureAfterQuote gives the line where a signature below the last quoted line
// begins, or the number of lines.
func (s *quoteScan) signatureAfterQuote() int {
	if s.lastQuoted < 0 {
		return len(s.lines)
	}
	for i := s.lastQuoted + 1; i < len(s.lines); i++ {
		if s.lines[i].blank {
			continue
		}
		if signature.MatchString(s.lines[i].text) || ruler.MatchString(s.lines[i].text) {
			if len(s.lines)-i <= 16 {
				return i
			}
		}
		break
	}
	return len(s.lines)
}

// wrapped: a short line that a mailer broke off the quoted line before it.
func (s *quoteScan) wrapped(i int) bool {
	if i == 0 || i+1 >= len(s.lines) || !s.lines[i-1].quoted || !(s.lines[i+1].quoted || s.lines[i+1].blank) || len(s.lines[i-1].text) < 60 {
		return false
	}
	for _, r := range s.lines[i].text {
		return unicode.IsLower(r) || unicode.IsDigit(r) || r == '<'
	}
	return false
}

// find returns the line where the quoted tail begins, -1 if there is none.
func (s *quoteScan) find() int {
	for i := range s.lines {
		l := &s.lines[i]
		if l.blank || l.quoted {
			continue
		}
		if separates(l.text) || s.headerBlock(i) {
			return i
		}
		if start := s.attribution(i); start >= 0 && (s.lastQuoted < i || s.lastAnswer <= i) {
			return start
		}
	}
	if s.lastQuoted > s.lastAnswer {
		for i := s.lastAnswer + 1; i < len(s.lines); i++ {
			if s.lines[i].quoted {
				return i
			}
		}
	}
	return -1
}

// separates: the line says that all below it is another mail. Most lines are told
// apart by a look at a few bytes, before any expression is tried.
func separates(line string) bool {
	trimmed := strings.Trim(line, " \t*")
	if trimmed == "" || len(trimmed) > 200 {
		return false
	}
	switch first, _ := utf8.DecodeRuneInString(trimmed); {
	case strings.ContainsRune("-_=—–", first) && original.MatchString(line):
		return true
	case strings.HasSuffix(trimmed, ":") && forwarded.MatchString(line):
		return true
	}
	low := strings.ToLower(trimmed)
	return (strings.Contains(low, "above") || strings.Contains(low, "oberhalb")) && aboveLine.MatchString(line)
}

// names tells whether the line begins as a header field does.
func (s *quoteScan) names(i int, field *regexp.Regexp) bool {
	head := s.lines[i].text
	head = head[:min(len(head), 60)]
	return strings.ContainsAny(head, ":：") && field.MatchString(head)
}

// headerBlock: the line begins a block that names author, date or recipient, and subject.
func (s *quoteScan) headerBlock(i int) bool {
	if !s.names(i, fromLine) && !s.names(i, otherLine) {
		return false
	}
	from, others := 0, 0
	for j := i; j < len(s.lines) && j < i+9 && !s.lines[j].blank; j++ {
		switch {
		case s.names(j, fromLine):
			from++
		case s.names(j, otherLine):
			others++
		}
	}
	return from > 0 && others >= 2
}

// attribution: the line ends a sentence that introduces a quote. It returns the
// first line of the sentence, which may be up to three lines above, or -1.
func (s *quoteScan) attribution(end int) int {
	line := strings.TrimRight(s.lines[end].text, " \t-")
	if last, _ := utf8.DecodeLastRuneInString(line); !strings.ContainsRune(":：etETÉ道", last) || !wroteEnd.MatchString(s.lines[end].text) {
		return -1
	}
	joined, found := "", -1
	for start := end; start >= 0 && start > end-4; start-- {
		l := &s.lines[start]
		if l.blank || l.quoted {
			break
		}
		joined = strings.TrimSpace(strings.TrimSpace(l.text) + " " + joined)
		if len(joined) > 600 {
			break
		}
		if opener.MatchString(joined) && !midway.MatchString(joined) && isAttribution(joined) {
			return start
		}
		if found < 0 && named.MatchString(joined) {
			found = start // good enough, unless the date stands above
		}
	}
	return found
}

// isAttribution: s, which begins as such sentences do, has a date and a verb of writing
// or an address.
func isAttribution(s string) bool {
	rest := bareEmail.ReplaceAllString(s, "")
	hasEmail := len(rest) != len(s)
	dated := strings.ContainsAny(rest, "0123456789")
	if !dated {
		return false
	}
	if wroteVerb.MatchString(rest) {
		return hasEmail || strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") || strings.HasSuffix(s, "-")
	}
	// Gmail and others: date, name <address>:
	return hasEmail && year.MatchString(rest) && strings.HasSuffix(s, ":") && strings.Contains(s, ">")
}
