package mailhtml

import (
	"regexp"
	"sort"
	"strings"

	"golang.org/x/net/html"
)

// What Fold writes around a quoted tail. The summary says the same in every language.
const (
	foldStart = `<details class="quote"><summary>…</summary>`
	foldEnd   = `</details>`
)

// Fold puts the mail that a message quotes at its end into a closed <details
// class="quote">. It knows the marks of common mailers (blockquotes, gmail_quote,
// moz-cite-prefix, yahoo_quoted, Outlook's header block), and removes nothing: without
// the two tags it added the result is s. Answers between quotes stay open. It returns s
// as it is when there is no such tail, when nothing else would remain, or when s is not
// balanced as [Clean] leaves it.
func Fold(s string) string {
	from, to, ok := quotedTail(s)
	if !ok {
		return s
	}
	return s[:from] + foldStart + s[from:to] + foldEnd + s[to:]
}

// Preview returns the first n runes (140 if n is 0 or less) of what the message says,
// on one line, leaving quotes out as long as anything else is there.
func Preview(s string, n int) string {
	if n <= 0 {
		n = 140
	}
	reply := s
	if from, to, ok := quotedTail(s); ok {
		reply = s[:from] + s[to:]
	}
	line := oneLine(reply, n, true)
	if line == "" {
		line = oneLine(s, n, false)
	}
	return line
}

func oneLine(s string, n int, noQuotes bool) string {
	w := &textWriter{limit: n*4 + 4096, flat: true, noQuotes: noQuotes}
	w.run(s)
	line := strings.Join(strings.Fields(w.result()), " ")
	runes := 0
	for i := range line {
		if runes == n {
			return strings.TrimRight(line[:i], " ")
		}
		runes++
	}
	return line
}

var (
	headFrom  = regexp.MustCompile(`(?i)^\s*(from|von|de|da|van|fra|från|od|lähettäjä|от|kimden|发件人|發件人|寄件者|差出人|보낸 사람)\s*[:：]`)
	headOther = regexp.MustCompile(`(?i)^\s*(sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé( le)?|à|objet|enviado( el)?|fecha|para|asunto|` +
		`inviato|data|a|oggetto|verzonden|aan|onderwerp|assunto|enviada em|wysłano|do|temat|skickat|till|ämne|sendt|til|emne|dato|lähetetty|aihe|` +
		`отправлено|дата|кому|тема|gönderilen|tarih|kime|konu|发送时间|日期|收件人|主题|寄件日期|主旨|送信日時|日時|宛先|件名|보낸 날짜|받는 사람|제목)\s*[:：]`)
	headLine = regexp.MustCompile(`(?i)^\s*[-_=]{2,}\s*(original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|` +
		`message d.origine|message transféré|mensaje original|messaggio originale|messaggio inoltrato|mensagem original|oorspronkelijk bericht|` +
		`oprindelig besked|opprinnelig melding|ursprungligt meddelande|alkuperäinen viesti|wiadomość oryginalna|исходное сообщение|пересылаемое сообщение|` +
		`原始邮件|原始郵件|元のメッセージ|원본 메시지)\s*[-_=]*\s*$`)
)

// containers hold a quote; prefixes stand before one; openers begin one that goes on
// to the end of what they are in.
var (
	containers = []string{"gmail_quote", "yahoo_quoted", "protonmail_quote", "tutanota_quote", "zmail_extra"}
	prefixes   = []string{"moz-cite-prefix", "gmail_attr", "reply-intro"}
	openers    = []string{"divrplyfwdmsg", "appendonsend", "outlookmessageheader", "moz-forward-container", "isforwardcontent",
		"isreplycontent", "ms-outlook-mobile-reference-message", "mail-editor-reference-message-container"}
)

type foldElement struct {
	tag                          string
	parent                       int
	start, inner, innerEnd, stop int
	quote, box, prefix           bool
	answered                     bool // of a box: a blockquote inside of it has ended
}

type foldText struct {
	at, parent int
	text       string
	lineStart  bool
}

// candidate is a place where the quoted tail may begin.
type candidate struct {
	at, parent int
	mark       int  // where the quote itself begins, after the line that introduces it
	strict     bool // no answer may follow mark
}

// foldScan reads the tags of a document once and keeps where its elements and texts are.
type foldScan struct {
	src        string
	els        []foldElement // els[0] is the document
	texts      []foldText    // visible ones, in order
	visible    []int         // offsets of visible texts and images
	lastAnswer int           // offset of the last visible thing that is not quoted
	cands      []candidate
	open       []int
	quotes     int
	boxes      []int
	balanced   bool
}

// quotedTail finds the part of s that Fold wraps.
func quotedTail(s string) (from, to int, ok bool) {
	if len(s) > MaxInput {
		return 0, 0, false
	}
	f := &foldScan{src: s, lastAnswer: -1, balanced: true}
	f.scan()
	if !f.balanced || strings.Contains(s, foldStart) {
		return 0, 0, false
	}
	f.textCandidates()
	for _, c := range f.cands {
		if from, to, ok := f.region(c); ok {
			return from, to, f.countVisible(0, from) > 0
		}
	}
	return 0, 0, false
}

func (f *foldScan) scan() {
	f.els = []foldElement{{parent: -1, innerEnd: len(f.src), stop: len(f.src)}}
	f.open = []int{0}
	z := html.NewTokenizer(strings.NewReader(f.src))
	pos, lineStart := 0, true
	for f.balanced {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		at := pos
		pos += len(z.Raw())
		switch kind {
		case html.TextToken:
			at += leadingSpace(f.src[at:pos])
			text := strings.ReplaceAll(string(z.Text()), "\u00A0", " ")
			if strings.TrimSpace(text) != "" {
				f.see(at)
				f.texts = append(f.texts, foldText{at: at, parent: f.open[len(f.open)-1], text: text, lineStart: lineStart})
				lineStart = false
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if !inline[t.Data] {
				lineStart = true
			}
			if t.Data == "img" {
				f.see(at)
			}
			if !void[t.Data] {
				f.start(t, at, pos)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if !inline[string(name)] {
				lineStart = true
			}
			f.end(string(name), at, pos)
		}
	}
	f.balanced = f.balanced && len(f.open) == 1 && pos == len(f.src)
}

func leadingSpace(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

var inline = map[string]bool{"a": true, "b": true, "i": true, "u": true, "span": true, "font": true, "strong": true, "em": true, "img": true,
	"small": true, "code": true, "sub": true, "sup": true, "abbr": true, "wbr": true}

// see notes something visible; it is an answer unless it stands inside of a quote.
func (f *foldScan) see(at int) {
	f.visible = append(f.visible, at)
	if f.quotes > 0 {
		return
	}
	if n := len(f.boxes); n > 0 && !f.els[f.boxes[n-1]].answered {
		return
	}
	f.lastAnswer = at
}

func (f *foldScan) start(t html.Token, at, inner int) {
	parent := f.open[len(f.open)-1]
	e := foldElement{tag: t.Data, parent: parent, start: at, inner: inner, innerEnd: -1}
	marks := ""
	for _, a := range t.Attr {
		if a.Key == "class" || a.Key == "id" {
			marks += " " + strings.ToLower(a.Val)
		}
	}
	id := len(f.els)
	switch {
	case t.Data == "blockquote":
		e.quote = true
		f.quotes++
		f.cands = append(f.cands, candidate{at: f.introduction(at, parent), parent: parent, mark: at, strict: true})
	case marks == "":
	case marked(marks, containers):
		e.box = true
		f.boxes = append(f.boxes, id)
		f.cands = append(f.cands, candidate{at: at, parent: parent, mark: at, strict: true})
	case marked(marks, prefixes):
		e.prefix = true
		f.quotes++
		f.cands = append(f.cands, candidate{at: at, parent: parent, mark: at, strict: true})
	case marked(marks, openers):
		f.cands = append(f.cands, candidate{at: at, parent: parent})
	}
	f.els = append(f.els, e)
	f.open = append(f.open, id)
}

func marked(marks string, names []string) bool {
	for _, w := range strings.Fields(marks) {
		w = strings.TrimPrefix(w, "x_")
		for _, n := range names {
			if w == n {
				return true
			}
		}
	}
	return false
}

func (f *foldScan) end(tag string, at, stop int) {
	id := f.open[len(f.open)-1]
	e := &f.els[id]
	if id == 0 || e.tag != tag {
		f.balanced = false
		return
	}
	f.open = f.open[:len(f.open)-1]
	e.innerEnd, e.stop = at, stop
	if e.quote || e.prefix {
		f.quotes--
	}
	if e.box {
		f.boxes = f.boxes[:len(f.boxes)-1]
	}
	if e.quote && len(f.boxes) > 0 && f.quotes == 0 {
		f.els[f.boxes[len(f.boxes)-1]].answered = true
	}
}

// introduction gives the place of the line that introduces a blockquote ("On ...
// wrote:") if one stands right before it, else that of the blockquote.
func (f *foldScan) introduction(at, parent int) int {
	n, size, line := len(f.texts), 0, ""
	for i := n - 1; i >= 0 && i > n-8; i-- {
		t := f.texts[i]
		if size += len(t.text); size > 400 {
			return at
		}
		line = t.text + line
		if !t.lineStart {
			continue
		}
		said := strings.TrimSpace(line)
		if !strings.HasSuffix(said, ":") && !strings.HasSuffix(said, "：") || !strings.ContainsAny(line, "@0123456789") {
			return at
		}
		// The text is in the blockquote's parent or in a child of it.
		if t.parent == parent {
			return t.at
		}
		for p := t.parent; p > 0; p = f.els[p].parent {
			if f.els[p].parent == parent {
				if f.countVisible(f.els[p].start, t.at) > 0 {
					return at
				}
				return f.els[p].start
			}
		}
		return at
	}
	return at
}

// textCandidates adds the header blocks and separators that stand as text.
func (f *foldScan) textCandidates() {
	for i, t := range f.texts {
		switch {
		case !t.lineStart:
			continue
		case headLine.MatchString(t.text):
		case headFrom.MatchString(t.text) && f.headersAfter(i) >= 2:
		default:
			continue
		}
		f.cands = append(f.cands, candidate{at: t.at, parent: t.parent})
	}
	sort.SliceStable(f.cands, func(i, j int) bool { return f.cands[i].at < f.cands[j].at })
}

func (f *foldScan) headersAfter(i int) int {
	n := 0
	for j := i + 1; j < len(f.texts) && j < i+24; j++ {
		if headOther.MatchString(f.texts[j].text) {
			n++
		}
	}
	return n
}

// region gives what is to be wrapped for a candidate: from it, or from the outermost
// element that begins with it, to the end of the element that holds it. Nothing
// visible may follow.
func (f *foldScan) region(c candidate) (from, to int, ok bool) {
	if c.strict && f.lastAnswer >= c.mark {
		return 0, 0, false
	}
	from, parent := c.at, c.parent
	for depth := 0; depth < 500; depth++ {
		p := &f.els[parent]
		if f.countVisible(p.innerEnd, len(f.src)) == 0 && !noFlow[p.tag] {
			return from, p.innerEnd, true
		}
		if parent == 0 || f.countVisible(p.inner, from) > 0 {
			return 0, 0, false
		}
		from, parent = p.start, p.parent
	}
	return 0, 0, false
}

var noFlow = map[string]bool{"table": true, "tbody": true, "thead": true, "tfoot": true, "tr": true, "ul": true, "ol": true, "dl": true, "colgroup": true}

func (f *foldScan) countVisible(from, to int) int {
	if to <= from {
		return 0
	}
	return sort.SearchInts(f.visible, to) - sort.SearchInts(f.visible, from)
}
