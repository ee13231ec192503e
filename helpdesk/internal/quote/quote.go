// Package quote separates what an author wrote from the messages quoted below it. It works on lines, which callers make from
// plain text or HTML.
package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
)

// Line is one line of a message as displayed.
type Line struct {
	Text   string // without quote signs and elements
	Quoted Quoted
	// Box numbers the element, used by mailers around a quote and its introduction, that contains the line; 0: none. Lines
	// after a quote inside of one have none.
	Box int
	// Intro: the line is in an element that mail programs put around an introduction.
	Intro bool
	// Opens: the line starts an element that mail programs put around the header of an appended mail.
	Opens bool
	Rule  bool // it is a horizontal rule and has no text
	// Starts: the line starts a new block, so no sentence continues from the line above.
	Starts bool
}

// Quoted is the way in which a line is quoted.
type Quoted int

// How a line may be quoted.
const (
	No       Quoted = iota
	Indented        // by an element that may also indent new text
	Yes
)

// Message describes the message apart from its lines.
type Message struct {
	// Reply: the message is a reply. Otherwise a block of "From:", "Sent:" may be a form that someone filled in.
	Reply bool
}

// Kind is the kind of a line.
type Kind byte

// The kinds of lines.
const (
	New   Kind = iota
	Intro      // introduces the quote below it
	Old        // it is quoted
)

// Result is the result of [Find].
type Result struct {
	// From and To delimit the quoted tail and its introduction: lines From to To-1. A signature may follow. Both are 0 if
	// there is no quote, or nothing but a quote.
	From, To int
	Kinds    []Kind // of each line
}

// Find finds the quoted tail of a message. New text is never in it: lines between and below quotes are new unless their
// quote extends to the end of the message, as after a line such as "-----Original Message-----".
func Find(lines []Line, m Message) Result {
	s := scan{lines: lines, msg: m, kinds: make([]Kind, len(lines)), tries: maxTries}
	s.prepare()
	from, to := s.tail()
	r := Result{Kinds: s.kinds}
	if from < 0 {
		return r
	}
	from = s.rulerAbove(from)
	for i := range lines[:from] {
		if !s.blank(i) {
			r.From, r.To = from, to
			break
		}
	}
	for i := from; i < to; i++ {
		if s.kinds[i] == New {
			s.kinds[i] = Old
		}
	}
	return r
}

const (
	maxTries = 300  // lines examined closely, to bound the cost of hostile text
	maxLine  = 1000 // examined bytes of a line
)

type scan struct {
	lines []Line
	msg   Message
	kinds []Kind
	next  []int  // index of the next line that is not blank, after each line
	field []role // of each line
	tries int
}

func (s *scan) blank(i int) bool { return s.lines[i].Text == "" }

func (s *scan) prepare() {
	n := len(s.lines)
	s.next, s.field = make([]int, n), make([]role, n)
	for i, l := range s.lines {
		s.lines[i].Text = normal(l.Text)
	}
	for i, next := n-1, n; i >= 0; i-- {
		s.next[i] = next
		if !s.blank(i) {
			next = i
		}
		if s.lines[i].Quoted == No {
			s.field[i] = fieldOf(s.lines[i].Text)
		}
	}
	for i, l := range s.lines {
		switch {
		case l.Quoted == Yes && i > 0 && s.lines[i-1].Quoted == No && brokenAddress().MatchString(l.Text) && openAddress().MatchString(s.lines[i-1].Text):
			s.lines[i].Quoted = No // the end of an introduction that was folded before the ">" of its address
		case l.Quoted == Yes, l.Quoted == Indented && s.msg.Reply:
			s.kinds[i] = Old
		}
	}
	s.boxes()
	s.introductions()
	if !s.msg.Reply {
		s.indents()
	}
}

// normal normalises lines from different mail programs: no direction marks, and only " " as space.
func normal(s string) string {
	if len(s) > maxLine {
		s = s[:maxLine]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\u00A0', r == '\u202F', r == '\t', r == '\u3000':
			return ' '
		case r == '\uFEFF', r == '\u00AD', r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == '\r', r == '\n':
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// boxes marks the content of boxes as old if they start like quotes but contain no quoting element.
func (s *scan) boxes() {
	for i := 0; i < len(s.lines); {
		box := s.lines[i].Box
		if box == 0 {
			i++
			continue
		}
		end, quoted := i, false
		for end < len(s.lines) && s.lines[end].Box == box {
			quoted = quoted || s.lines[end].Quoted != No
			end++
		}
		if !quoted && s.introduced(i, end) {
			for j := i; j < end; j++ {
				s.kinds[j] = Old
			}
		}
		i = end
	}
}

// introduced reports whether one of the first lines of a box introduces the rest.
func (s *scan) introduced(from, to int) bool {
	looked := 0
	for i := from; i < to && looked < 4; i++ {
		if s.blank(i) {
			continue
		}
		looked++
		text := s.lines[i].Text
		if s.try() && (separates(text) || endsColon(text) || s.field[i] != 0 && s.field[i] != fieldUnknown) {
			return true
		}
		if looked == 1 && !strings.ContainsAny(text, "@0123456789") {
			return false
		}
	}
	return false
}

// introductions finds the sentences and headers that introduce a quote right below them.
func (s *scan) introductions() {
	for i, l := range s.lines {
		if l.Quoted != No || s.blank(i) || s.kinds[i] != New {
			continue
		}
		if from, to := s.introduction(i); from >= 0 {
			for j := from; j < to; j++ {
				s.kinds[j] = Intro
			}
		}
	}
}

// introduction returns the lines that introduce a quote, of which line i is the last, or the first of a header;
// from is -1 if it is neither.
func (s *scan) introduction(i int) (from, to int) {
	l, header := &s.lines[i], i
	if separates(l.Text) {
		header = s.next[i]
	}
	if found, after := s.header(header); found && s.quotedAt(after) {
		return s.dashesAbove(i), after
	}
	next := s.next[i]
	if next == len(s.lines) || s.lines[next].Quoted == No {
		return -1, 0
	}
	if separates(l.Text) {
		return i, i + 1
	}
	if start, _ := s.attribution(i); start >= 0 {
		return start, i + 1
	}
	inBox := l.Intro || l.Box != 0 && s.lines[next].Box == l.Box
	switch {
	case inBox && len(l.Text) < 300 && (endsColon(l.Text) || strings.ContainsAny(l.Text, "@0123456789")),
		s.msg.Reply && len(l.Text) < 120 && dateFirst().MatchString(l.Text) && year().MatchString(l.Text):
		return i, i + 1
	}
	return -1, 0
}

// indents decides which indenting elements are quotes: those that are introduced as such.
func (s *scan) indents() {
	quote := false
	for i, l := range s.lines {
		switch {
		case l.Quoted == Indented && quote:
			s.kinds[i] = Old
		case s.kinds[i] == Intro:
			quote = true
		case l.Quoted != Indented && !s.blank(i):
			quote = false
		}
	}
}

// try reports whether another line may be examined closely.
func (s *scan) try() bool {
	s.tries--
	return s.tries >= 0
}

// tail returns the lines of the quoted tail; from is -1 if there is none.
func (s *scan) tail() (from, to int) {
	lastOld := -1
	for i, k := range s.kinds {
		if k == Old && !s.blank(i) {
			lastOld = i
		}
	}
	end := s.signatureBelow(lastOld)
	answer := -1
	for i := range s.lines[:end] {
		if s.kinds[i] == New && !s.blank(i) {
			answer = i
		}
	}
	from, to = -1, end
	if lastOld > answer {
		for i := answer + 1; i <= lastOld; i++ {
			if s.kinds[i] != New {
				from, to = i, lastOld+1
				break
			}
		}
	}
	if i := s.opening(); i >= 0 && (from < 0 || i < from) {
		from, to = i, len(s.lines)
	}
	return from, to
}

// signatureBelow returns the line where a signature below the last quoted line starts, or the number of lines.
func (s *scan) signatureBelow(lastOld int) int {
	n := len(s.lines)
	if lastOld < 0 {
		return n
	}
	i := s.next[lastOld]
	if i == n || n-i > 20 {
		return n
	}
	text := s.lines[i].Text
	if s.lines[i].Rule || signature().MatchString(text) || ruler().MatchString(text) || n-i <= 4 && sentFrom().MatchString(text) {
		return i
	}
	return n
}

// opening returns the line from which everything is another mail, or -1.
func (s *scan) opening() int {
	for i := range s.lines {
		if s.kinds[i] != New || s.blank(i) {
			continue
		}
		if separates(s.lines[i].Text) {
			if _, after := s.header(s.next[i]); !s.quotedAt(after) {
				return i
			}
			continue
		}
		if ok, after := s.header(i); ok && !s.quotedAt(after) {
			return s.dashesAbove(i)
		}
		if start, strong := s.attribution(i); start >= 0 && strong && s.next[i] < len(s.lines) && !s.quotedAt(s.next[i]) {
			return start
		}
	}
	return -1
}

// quotedAt reports whether a quote with signs starts at the line. In such a quote, lines without a sign are new.
func (s *scan) quotedAt(i int) bool { return i < len(s.lines) && s.lines[i].Quoted == Yes }

// rulerAbove includes the rules above a quote.
func (s *scan) rulerAbove(from int) int {
	for i := from - 1; i >= 0; i-- {
		switch {
		case s.lines[i].Rule || !s.blank(i) && s.kinds[i] == New && ruler().MatchString(s.lines[i].Text):
			from = i
		case !s.blank(i):
			return from
		}
	}
	return from
}

// dashesAbove includes a line such as "---- anything ----" above a header.
func (s *scan) dashesAbove(i int) int {
	if i > 0 && s.kinds[i-1] == New && dashed().MatchString(s.lines[i-1].Text) {
		return i - 1
	}
	return i
}

var (
	ruler     = lazyregexp.New(`^[\s*]*(_{5,}|-{5,}|={4,}|—{5,})[\s*]*$`)
	dashed    = lazyregexp.New(`^[-_=—–*]{3,}[^-_=]{1,60}[-_=—–*]{3,}$`)
	signature = lazyregexp.New(`^(--|—|–|__+|-{2,}|={2,}) ?$`)
	sentFrom  = lazyregexp.New(`(?i)^(sent (from|with|via) |get outlook for|von meinem |gesendet (von|mit) |envoyé (de|depuis|avec) |enviado (desde|do) |` +
		`inviato da|verzonden (vanaf|met) |skickat från|sendt fra|wysłane z|отправлено (с|из) |发自我的|iphoneから送信)`)

	// original is the line that mailers put above a mail they append.
	original = lazyregexp.New(`(?i)^[\s*]*[-_=—–]{2,}[\s*]*(original (message|appointment|mail)|forwarded (message|by .{1,80})|reply (to )?message|` +
		`(die )?ursprüngliche nachricht|originalnachricht|weitergeleitete nachricht|original-nachricht|` +
		`message d['’]origine|message (original|initial)|message (transféré|réexpédié)|courriel original|mensaje original|mensaje reenviado|` +
		`messaggio originale|messaggio inoltrato|mensagem original|mensagem (encaminhada|reencaminhada)|` +
		`oorspronkelijk bericht|doorgestuurd bericht|oprindelig (besked|meddelelse)|videresendt (besked|melding)|` +
		`opprinnelig melding|original(t|e) (besked|melding)|ursprungligt meddelande|vidarebefordrat meddelande|originalmeddelande|` +
		`alkuperäinen viesti|välitetty viesti|wiadomość oryginalna|oryginalna wiadomość|wiadomość przekazana|przekazana wiadomość|` +
		`исходное сообщение|пересылаемое сообщение|пересланное сообщение|оригінальне повідомлення|переслане повідомлення|` +
		`původní (zpráva|e-mail)|přeposlaná zpráva|pôvodná správa|eredeti üzenet|továbbított üzenet|orijinal (mesaj|ileti)|iletilen (mesaj|ileti)|` +
		`mesaj original|mesaj redirecționat|αρχικό μήνυμα|προωθημένο μήνυμα|izvorna poruka|הודעה מקורית|הודעה שהועברה|الرسالة الأصلية|` +
		`原始邮件|原始郵件|转发邮件|轉寄郵件|转发的邮件|元のメッセージ|転送メッセージ|원본 메(시|세)지|전달된 메시지|original)\s*:?[\s*]*[-_=—–]*[\s*]*$`)
	// notes is Lotus Notes' form of the line: -----"Ann" <ann@example.org> wrote: -----
	notes     = lazyregexp.New(`(?i)^-{3,} ?("[^"]{1,80}"|[^-:]{1,80})( <[^<>\s]+@[^<>\s]+>)? (wrote|schrieb|a écrit|escribió|ha scritto) ?: ?-{3,}$`)
	forwarded = lazyregexp.New(`(?i)^\s*(begin forwarded message|anfang der weitergeleiteten (nachricht|e-mail)|début du message (réexpédié|transféré)|` +
		`inizio messaggio inoltrato|inicio del mensaje reenviado|begin doorgestuurd bericht|início da mensagem (reencaminhada|encaminhada)|` +
		`vidarebefordrat brev|videresendt besked|начало переадресованного сообщения|下面是被转发的邮件)\s*[:：]\s*$`)
	aboveLine = lazyregexp.New(`(?i)^[^\pL]*(please )?(type|write|enter|reply|respond|antwort(en)?|bitte antworten sie)( your (reply|response|answer|message)| ihre antwort)?` +
		` (above|oberhalb|über) (this|the|dieser|diese) (line|linie|zeile)[^\pL]*$`)
)

// separates reports whether everything below the line is another mail. A look at a few bytes settles most lines before any
// expression is tried.
func separates(line string) bool {
	trimmed := strings.Trim(line, " *")
	if trimmed == "" || len(trimmed) > 200 {
		return false
	}
	switch first, _ := utf8.DecodeRuneInString(trimmed); {
	case strings.ContainsRune("-_=—–", first):
		if strings.Trim(trimmed, "-_=—– ") == "" {
			return false // a mere ruler
		}
		if original().MatchString(line) || notes().MatchString(line) {
			return true
		}
	case endsColon(trimmed) && len(trimmed) < 100:
		if forwarded().MatchString(line) {
			return true
		}
	}
	low := strings.ToLower(trimmed)
	return (strings.Contains(low, "above") || strings.Contains(low, "oberhalb") || strings.Contains(low, "über")) && aboveLine().MatchString(line)
}

func endsColon(s string) bool { return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") }

// Text splits a plain text: reply+quoted is always text. Where there is no quoted tail, or nothing else, all is reply.
func Text(text string, m Message) (reply, quoted string) {
	var lines []Line
	var starts []int
	for pos := 0; pos < len(text); {
		end := strings.IndexByte(text[pos:], '\n')
		next := pos + end + 1
		if end < 0 {
			next = len(text)
		}
		starts = append(starts, pos)
		lines = append(lines, LineOf(text[pos:min(next, pos+maxLine)]))
		pos = next
	}
	r := Find(lines, m)
	if r.To == 0 {
		return text, ""
	}
	return text[:starts[r.From]], text[starts[r.From]:]
}

// LineOf parses a line of plain text.
func LineOf(s string) Line {
	rest := strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, ">>>>>>>") {
		return Line{Text: s}
	}
	rest = strings.TrimLeftFunc(rest, func(r rune) bool { return r == '>' || unicode.IsSpace(r) })
	return Line{Text: rest, Quoted: Yes}
}
