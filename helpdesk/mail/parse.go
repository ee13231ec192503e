package mail

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"
	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// Parse parses a mail. It fails only with a [*LimitError] or [ErrEmpty]; any other problem becomes a warning, and everything
// readable is kept.
//
// Bodies: of multipart/alternative the plain and the HTML form are taken; several text parts are joined in order. A text
// part is an attachment if it is disposed as one or (inside a multipart) has a file name, except HTML before any other text.
// Unknown kinds of text are shown as plain text. An attached mail becomes one attachment and is not parsed. The parts of signed and encrypted mail are kept unchanged.
//
// raw is not modified; parts of the result may share its memory.
func Parse(raw []byte, l Limits) (*Message, error) {
	p := &parser{limits: l.withDefaults(), msg: &Message{}}
	if err := p.parse(raw); err != nil || !p.doubt {
		return p.msg.orNil(err), err
	}
	// If a better reading is possible, the mail is read a second time; its identity stays the same.
	likely := p.likely()
	again, err := p.again(raw, likely)
	if better := again.likely(); err == nil && better != likely { // the first reading took other bytes for text
		again, err = p.again(raw, better)
	}
	if err != nil {
		return p.msg, nil //nolint:nilerr // it was read before
	}
	again.msg.first = &identities{p.msg.Identity(), p.msg.FormerIdentity()}
	return again.msg, nil
}

// again reads the mail closely, undeclared text in the likely charset.
func (p *parser) again(raw []byte, likely string) (*parser, error) {
	again := &parser{limits: p.limits, msg: &Message{}, closely: true, doubts: doubts{guess: likely}}
	return again, again.parse(raw)
}

func (m *Message) orNil(err error) *Message {
	if err != nil {
		return nil
	}
	return m
}

func (p *parser) parse(raw []byte) error {
	if int64(len(raw)) > p.limits.Size {
		return &LimitError{What: LimitSize, Limit: p.limits.Size}
	}
	if len(bytes.Trim(raw, " \t\r\n\x00")) == 0 {
		return ErrEmpty
	}
	whole := raw // as its verifiers have read it
	if p.closely {
		raw = Tidy(raw)
	} else if stripped := stripEnvelope(raw); bareReturns(stripped) && bytes.IndexByte(stripped, '\n') >= 0 || len(fromUTF16(raw)) != len(raw) {
		p.doubt = true
	}
	raw = stripEnvelope(raw)
	if bytes.Contains(raw, []byte("\r\r\n")) {
		p.doubt = true
		if p.closely && doubledReturns(raw) {
			raw = singleReturns(raw)
		}
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') >= 0 {
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	h, body, err := p.splitHeader(raw)
	if err != nil {
		return err
	}
	if h.Len() == 0 {
		p.msg.warn("no header")
	}
	e := p.newEntity(h, body, "text/plain")
	root := *e
	p.msg.Header = Header{fields: h, charset: e.params["charset"]}
	if declared := normalCharset(e.params["charset"]); p.guess != "" && (undeclared(declared) || latinOne(declared)) {
		p.msg.Header.charset = p.guess
	}
	p.doubtHeader()
	if err := p.walk(e, place{}); err != nil {
		return err
	}
	root.body = e.body
	p.msg.contentType = root.ctype
	p.fields(e.ctype)
	if own := stripEnvelope(whole); !bareReturns(own) && !doubledReturns(own) { // verifiers disagree on the line ends in such mails
		p.findAuthor(whole)
	}
	p.finish()
	p.msg.Protection = p.protection(&root)
	return nil
}

type parser struct {
	limits   Limits
	msg      *Message
	parts    int
	junk     int
	blocks   []block
	dropped  bool   // HTML that shows nothing was left out
	flowed   bool   // some text was format=flowed
	reaction string // the emoji of a reaction from Gmail
	named    []int  // attachments that are named texts, which may be the only content

	doubts
	closely bool // for the second reading: doubtful text is read in the most likely charset
}

// block is a piece of the body in one or both forms. sent is the text as it was sent, before format=flowed was undone.
type block struct{ text, html, sent string }

// entity is a MIME entity before its transfer decoding.
type entity struct {
	h           textproto.Header
	body        []byte
	ctype       string
	params      map[string]string
	disposition string
	filename    string // as declared, decoded
	outer       string // the void transfer encoding of the multipart, if the part declares none
	undone      bool   // body is without its transfer encoding
}

// place is the position of an entity in the tree of parts.
type place struct {
	depth       int
	nested      bool // inside a multipart
	alternative bool // a direct choice of multipart/alternative
	unknown     bool // no choice of that multipart is a common kind of text
	related     bool // part of multipart/related, not its root
	root        bool // root of multipart/related
	block       *block
}

func (p *parser) newEntity(h textproto.Header, body []byte, deflt string) *entity {
	e := &entity{h: h, body: body}
	e.ctype, e.params = p.params(h.Get("Content-Type"), p.guess)
	if !validType(e.ctype) {
		if e.ctype != "" && e.ctype != "text" {
			p.msg.warn("unreadable content type")
		}
		e.ctype = deflt
	}
	var disp map[string]string
	e.disposition, disp = p.params(h.Get("Content-Disposition"), cmp.Or(e.params["charset"], p.guess))
	e.filename = disp["filename"]
	if e.filename == "" {
		e.filename = e.params["name"]
	}
	return e
}

// params parses the value of a field with parameters.
func (p *parser) params(raw, charset string) (value string, params map[string]string) {
	raw = bounded(raw)
	value, params = parseParams(raw, charset)
	if p.closely {
		return value, params
	}
	former, values := formerParams(raw, charset)
	p.doubt = p.doubt || former != value || !maps.Equal(values, params)
	return former, values
}

// bounded cuts a structured value that is longer than any honest one.
func bounded(s string) string { return s[:min(len(s), 16<<10)] }

var mediaType = lazyregexp.New(`^[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}$`)

func validType(s string) bool { return mediaType().MatchString(s) }

func (p *parser) walk(e *entity, at place) error {
	if p.parts++; p.parts > p.limits.Parts {
		return &LimitError{What: LimitParts, Limit: int64(p.limits.Parts)}
	}
	if strings.HasPrefix(e.ctype, "multipart/") {
		return p.multipart(e, at)
	}
	p.leaf(e, at)
	return nil
}

func (p *parser) multipart(e *entity, at place) error {
	if at.depth >= p.limits.Depth {
		return &LimitError{What: LimitDepth, Limit: int64(p.limits.Depth)}
	}
	body, void := p.containerBody(e)
	e.body = body
	var raws [][]byte
	closed := false
	if b := e.params["boundary"]; b != "" {
		raws, closed = p.split(body, b)
		if _, former := formerParams(bounded(e.h.Get("Content-Type")), p.guess); len(raws) == 0 && former["boundary"] != "" {
			raws, closed = p.split(body, former["boundary"]) // what looks like a comment is a part of it
		}
	}
	if len(raws) == 0 {
		p.msg.warn("multipart without parts read as text")
		e.ctype = "text/plain"
		p.leaf(e, at)
		return nil
	}
	if !closed {
		p.msg.warn("multipart without its final boundary")
	}
	if len(raws) > p.limits.Parts {
		return &LimitError{What: LimitParts, Limit: int64(p.limits.Parts)}
	}
	deflt := "text/plain"
	if e.ctype == "multipart/digest" {
		deflt = "message/rfc822"
	}
	inner := place{depth: at.depth + 1, nested: true, block: at.block}
	if e.ctype == "multipart/alternative" && inner.block == nil {
		inner.block = &block{}
		defer func() { p.blocks = append(p.blocks, *inner.block) }()
	}
	parts := make([]*entity, len(raws))
	root := 0
	for i, raw := range raws {
		h, body, err := p.splitHeader(raw)
		if err != nil {
			return err
		}
		parts[i] = p.newEntity(h, body, deflt)
		if !h.Has("Content-Transfer-Encoding") {
			parts[i].outer = void
		}
		if start := strings.Trim(e.params["start"], "<> "); start != "" && strings.Trim(h.Get("Content-Id"), "<> ") == start {
			root = i // RFC 2387 section 3.2
		}
	}
	inner.unknown = !slices.ContainsFunc(parts, func(part *entity) bool {
		return part.ctype == "text/plain" || part.ctype == "text/html" || strings.HasPrefix(part.ctype, "multipart/")
	})
	for i, part := range parts {
		inner.alternative = e.ctype == "multipart/alternative"
		inner.related = e.ctype == "multipart/related" && i != root
		inner.root = e.ctype == "multipart/related" && i == root
		if err := p.walk(part, inner); err != nil {
			return err
		}
	}
	return nil
}

// leaf files an entity as body text or as an attachment.
func (p *parser) leaf(e *entity, at place) {
	body, ok := p.decoded(e)
	if !ok {
		p.msg.warn("a part could not be decoded wholly")
	}
	p.remember(e, body)
	if p.opened(e, body, at) {
		return
	}
	shown := p.readAsBody(e, at)
	if !shown {
		if (e.ctype == "text/plain" || p.closely && readableFile(e.ctype)) && e.disposition != "attachment" && !at.related {
			p.named = append(p.named, len(p.msg.Attachments))
		}
		if !ok && len(body) == 0 && len(e.body) > 0 {
			body = e.body
		}
		p.attach(e, body, at)
		return
	}
	charset := e.params["charset"]
	if charset == "" && isHTML(e.ctype) {
		charset = metaCharset(body)
	}
	if p.closely && wideCharset(body, normalCharset(charset)) == nil {
		body = singleReturns(body)
	}
	s, known := p.read(body, charset)
	if !known {
		p.msg.warn("text that is not in its declared charset")
	}
	s = p.unpackUU(cleanText(s), e, at)
	text := s
	if e.ctype == "text/plain" && strings.EqualFold(e.params["format"], "flowed") {
		text = unflow(s, strings.EqualFold(e.params["delsp"], "yes"))
		p.flowed = true
	}
	if isEnriched(e.ctype) {
		text = unenrich(s)
	}
	p.addText(s, text, isHTML(e.ctype), at.block)
}

// addText adds a piece of the body, as sent and as read.
func (p *parser) addText(s, text string, isHTML bool, b *block) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if b == nil {
		if isHTML {
			p.blocks = append(p.blocks, block{html: s})
		} else {
			p.blocks = append(p.blocks, block{text: text, sent: s})
		}
		return
	}
	// Inside an alternative both forms grow in parallel.
	if isHTML {
		b.html = join(b.html, s, "\n")
	} else {
		b.text, b.sent = join(b.text, text, "\n"), join(b.sent, s, "\n")
	}
}

func join(a, b, sep string) string {
	if a == "" {
		return b
	}
	if strings.HasSuffix(a, "\n") {
		return a + b
	}
	return a + sep + b
}

var metaTag = lazyregexp.New(`(?i)<meta[^>]{1,200}charset\s*=\s*["']?([a-z0-9_:.-]{1,40})`)

func metaCharset(b []byte) string {
	if m := metaTag().FindSubmatch(b[:min(len(b), 2048)]); m != nil {
		return string(m[1])
	}
	return ""
}

func (p *parser) attach(e *entity, body []byte, at place) {
	if at.alternative && (e.ctype == ampHTML || p.closely && e.ctype == emailReaction) {
		return // a third form of the same text, used by few mailers
	}
	if e.ctype == "text/vnd.google.email-reaction+json" {
		p.reaction = reactionOf(body) // the other forms say it in words
		return
	}
	part := message.Part{ContentType: e.ctype, Location: oneLine(bounded(e.h.Get("Content-Location"))), Body: body}
	if cid := messageIDs(bounded(e.h.Get("Content-Id"))); len(cid) > 0 {
		part.ContentID = strings.ToValidUTF8(cid[0], "\uFFFD")
	} else {
		part.ContentID = oneLine(strings.Trim(bounded(e.h.Get("Content-Id")), "<> "))
	}
	if strings.HasPrefix(e.ctype, "text/") {
		part.Charset = normalCharset(e.params["charset"])
	}
	if strings.HasPrefix(e.ctype, "image/") {
		part.Inline = e.disposition == "inline" || e.disposition == "" && (part.ContentID != "" || at.related)
	}
	if part.Filename = cleanFilename(e.filename); part.Filename == "" {
		part.Filename = p.defaultName(e.ctype, body)
	} else if e.ctype == "message/rfc822" && !strings.HasSuffix(strings.ToLower(part.Filename), ".eml") {
		part.Filename = cleanFilename(part.Filename + ".eml")
	}
	p.msg.Attachments = append(p.msg.Attachments, part)
}

// reactionOf returns the emoji of a reaction, "" if it has none.
func reactionOf(body []byte) string {
	var reaction struct{ Emoji string }
	if len(body) > 10_000 || json.Unmarshal(body, &reaction) != nil || len(reaction.Emoji) > 100 {
		return ""
	}
	return oneLine(reaction.Emoji)
}

// extensions are few and fixed, so that names do not depend on the machine.
var extensions = map[string]string{
	"application/pdf": ".pdf", "application/zip": ".zip", "application/json": ".json", "application/xml": ".xml",
	"application/gzip": ".gz", "application/msword": ".doc", "application/rtf": ".rtf", "application/vnd.ms-excel": ".xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	"application/pgp-signature": ".asc", "application/pgp-encrypted": ".asc", "application/pgp-keys": ".asc",
	"application/pkcs7-signature": ".p7s", "application/x-pkcs7-signature": ".p7s",
	"application/pkcs7-mime": ".p7m", "application/x-pkcs7-mime": ".p7m", "application/ms-tnef": ".dat",
	"application/ics": ".ics", "text/calendar": ".ics", "text/csv": ".csv", "text/html": ".html", "text/plain": ".txt",
	"text/vcard": ".vcf", "text/x-vcard": ".vcf", "text/x-patch": ".patch", "text/x-diff": ".diff", "text/rtf": ".rtf",
	"text/xml": ".xml", "text/markdown": ".md", "text/rfc822-headers": ".txt", "text/css": ".css",
	"message/rfc822": ".eml", "message/global": ".eml", "message/delivery-status": ".txt", "message/partial": ".eml", "message/external-body": ".txt",
	"message/disposition-notification": ".txt", "message/feedback-report": ".txt",
	"image/png": ".png", "image/jpeg": ".jpg", "image/jpg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/bmp": ".bmp", "image/tiff": ".tif", "image/svg+xml": ".svg", "image/heic": ".heic",
	"audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/ogg": ".ogg", "audio/mp4": ".m4a", "audio/amr": ".amr",
	"video/mp4": ".mp4", "video/quicktime": ".mov", "video/webm": ".webm", "video/mpeg": ".mpg",
}

func (p *parser) defaultName(ctype string, body []byte) string {
	if ctype == "message/rfc822" || ctype == "message/global" {
		sub := &parser{limits: p.limits, msg: &Message{}}
		if h, _, err := sub.splitHeader(stripEnvelope(body)); err == nil {
			if name := cleanFilename(decodeHeader(bounded(h.Get("Subject")), "")); name != "" {
				return cleanFilename(name + ".eml")
			}
		}
	}
	return p.numbered(ctype, len(p.msg.Attachments))
}

// numbered names a file without a name by its type and its position.
func (p *parser) numbered(ctype string, before int) string {
	if ctype == "text/calendar" || ctype == "application/ics" {
		return "invite.ics"
	}
	ext := extensions[ctype]
	if ext == "" {
		ext = ".bin"
		if strings.HasPrefix(ctype, "text/") {
			ext = ".txt"
		}
	}
	return fmt.Sprintf("attachment-%d%s", before+1, ext)
}

// fields fills the message from its header.
func (p *parser) fields(ctype string) {
	m, h := p.msg, &p.msg.Header
	if ids := idList(h.Values("Message-Id"), maxReferences); len(ids) > 0 {
		m.MessageID = ids[0]
	} else {
		m.warn("no Message-ID")
	}
	m.InReplyTo = idList(h.Values("In-Reply-To"), maxInReplyTo)
	m.References = idList(h.Values("References"), maxReferences)
	m.From, m.Sender = p.addresses("From"), p.addresses("Sender")
	m.ReplyTo, m.To = p.addresses("Reply-To"), p.addresses("To")
	m.Cc, m.Bcc = p.addresses("Cc"), p.addresses("Bcc")
	m.DeliveredTo = unique(p.addresses("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "X-Delivered-To"))
	m.Subject = h.Get("Subject")
	if m.Date = parseDate(h.Raw("Date")); m.Date.IsZero() {
		m.warn("no date that can be read")
	}
	if h.Has("Return-Path") {
		path := strings.TrimSpace(stripComments(bounded(h.Raw("Return-Path"))))
		m.NullReturnPath = path == "<>"
		if list, _ := ParseAddresses(path, ""); len(list) > 0 {
			m.ReturnPath = list[0].Email
		}
	}
	if v := h.Get("List-Id"); v != "" {
		m.ListID = v
		if i := strings.LastIndexByte(v, '<'); i >= 0 {
			m.ListID = strings.TrimSpace(strings.TrimRight(v[i+1:], "> "))
		}
	}
	if post, _ := ParseAddresses(listAddress(h.Raw("List-Post")), ""); len(post) == 1 {
		m.ListPost = post[0].Email
	}
	language, _, _ := strings.Cut(stripComments(h.Get("Content-Language")), ",")
	m.Language = strings.TrimSpace(language)
	m.AutoSubmitted = p.autoSubmitted(ctype)
	m.NoAutoReply = m.AutoSubmitted || p.noAutoReply()
}

func unique(list []mailaddr.Address) []mailaddr.Address {
	seen := map[string]bool{}
	var out []mailaddr.Address
	for _, a := range list {
		if !seen[a.Email] {
			seen[a.Email] = true
			out = append(out, a)
		}
	}
	return out
}

// finish joins the blocks to the two forms of the body. Each form that exists is complete: pieces that exist in the other
// form only are converted.
func (p *parser) finish() {
	m := p.msg
	if p.flowed {
		shown := p.blocks
		p.blocks = nil
		for _, b := range shown {
			p.blocks = append(p.blocks, block{text: b.sent, html: b.html})
		}
		text, page := p.join()
		m.sent = &sent{text: text, html: page}
		p.blocks = shown
	}
	p.dropInvisible()
	m.Text, m.HTML = p.join()
	p.unpack()
	if strings.TrimSpace(m.Text) == "" && strings.TrimSpace(m.HTML) == "" {
		if p.describe(); p.dropped && strings.TrimSpace(m.Text) == "" {
			m.Text, m.HTML = m.sent.text, m.sent.html // there is nothing else
		}
	} else if c := calendarIn(m.Attachments); c != nil && c.answers() {
		p.asSent()
		p.appendText(c.summary())
	}
	cids := referencedCIDs(m.HTML)
	for i := range m.Attachments {
		if a := &m.Attachments[i]; a.ContentID != "" && cids[strings.ToLower(a.ContentID)] {
			a.Inline = true
		}
	}
}

// sent is the input of FormerIdentity, if the mail is read in another form.
type sent struct {
	text, html string
	parts      []message.Part
}

// asSent keeps the original form of a mail before it is changed for reading.
func (p *parser) asSent() {
	if m := p.msg; m.sent == nil {
		m.sent = &sent{text: m.Text, html: m.HTML}
	}
	if p.msg.sent.parts == nil {
		p.msg.sent.parts = p.msg.Attachments
	}
}

// longestNamed is the maximum size in bytes of named texts that are used as the content of a mail.
const longestNamed = 16 << 10

// namedText returns the content of the named texts of a mail that consists of them: gateways of telephones send messages in
// this way.
func (p *parser) namedText() string {
	text, size := "", 0
	for _, n := range p.named {
		a := p.msg.Attachments[n]
		if size += len(a.Body); size > longestNamed {
			return ""
		}
		s, _ := p.read(a.Body, a.Charset)
		if s = cleanText(s); strings.TrimSpace(s) != "" {
			text = join(text, s, "\n")
		}
	}
	return text
}

// describe uses a named text or an invitation as the body if a mail has no other.
func (p *parser) describe() {
	if text := p.namedText(); text != "" {
		p.asSent()
		p.msg.Text = text
		return
	}
	if c := calendarIn(p.msg.Attachments); c != nil {
		p.asSent()
		p.msg.Text = c.summary()
		return
	}
	if p.reaction != "" {
		p.asSent()
		p.msg.Text = "Reacted with " + p.reaction + "\n"
	}
}

// appendText adds a text below both forms of the body, unless they have it.
func (p *parser) appendText(text string) {
	m := p.msg
	if strings.Contains(m.Text, strings.TrimSpace(text)) {
		return
	}
	if strings.TrimSpace(m.Text) != "" {
		m.Text = strings.TrimRight(m.Text, "\n") + "\n\n" + text
	}
	if strings.TrimSpace(m.HTML) != "" {
		m.HTML += "\n<br>\n" + `<div style="white-space: pre-wrap">` + html.EscapeString(text) + "</div>"
	}
}

// join makes the two forms of the body from the blocks.
func (p *parser) join() (string, string) {
	hasText, hasHTML := false, false
	for _, b := range p.blocks {
		hasText = hasText || b.text != ""
		hasHTML = hasHTML || b.html != ""
	}
	var text, page strings.Builder
	for _, b := range p.blocks {
		if hasText {
			t := b.text
			if t == "" {
				t = plainOf(b.html)
			}
			appendBlock(&text, t, "\n")
		}
		if hasHTML {
			t := b.html
			if t == "" {
				t = `<div style="white-space: pre-wrap">` + html.EscapeString(b.text) + "</div>"
			}
			appendBlock(&page, t, "\n<br>\n")
		}
	}
	return text.String(), page.String()
}

func appendBlock(b *strings.Builder, s, sep string) {
	if s == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString(sep)
	}
	b.WriteString(s)
}

var cidReference = lazyregexp.New(`(?i)cid:([^"'\s<>)]{1,512})`)

// referencedCIDs returns the Content-IDs that an HTML body shows, in lower case.
func referencedCIDs(page string) map[string]bool {
	if !strings.Contains(page, "cid:") && !strings.Contains(page, "CID:") && !strings.Contains(page, "Cid:") {
		return nil
	}
	out := map[string]bool{}
	for _, m := range cidReference().FindAllStringSubmatch(page, 10_000) {
		id := html.UnescapeString(m[1])
		out[strings.ToLower(string(unpercent(id)))] = true
		out[strings.ToLower(id)] = true
	}
	return out
}
