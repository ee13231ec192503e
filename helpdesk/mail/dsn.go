package mail

import (
	"regexp"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// Report is what a mail says about the delivery of another mail: a delivery status
// notification (RFC 3464), one of the older dialects of it, or a complaint (RFC 5965).
type Report struct {
	// InWords: no part of it is for machines. It was read out of the text of a mail
	// system, which may mean something else.
	InWords bool
	// Complaint: recipients got the mail and call it abuse. It reports no deliveries.
	Complaint  bool
	MessageIDs []string // of the mail it is about, without angle brackets, the likeliest first
	// Senders are the addresses that the mail it is about came from or wanted its answers
	// at: of its envelope, Return-Path, Reply-To, Sender and From.
	Senders    []string
	Recipients []ReportedRecipient // none of a complaint, and of words that name none
}

// ReportedRecipient is what became of one recipient.
type ReportedRecipient struct {
	Address    string
	Original   string // the address before it was rewritten on the way; "" when not told
	Action     ReportAction
	Status     string // RFC 3463, such as "5.1.1"; "" when not told
	Diagnostic string // of the server that refused, one line of at most 500 bytes
}

// ReportAction is what happened to a mail, as RFC 3464 section 2.3.3 names it.
type ReportAction string

// The actions that matter: relayed and expanded count as delivered.
const (
	ReportFailed    ReportAction = "failed"
	ReportDelayed   ReportAction = "delayed"
	ReportDelivered ReportAction = "delivered"
)

const maxReported = 100 // recipients, ids and senders of one report

// Report reads the mail as a report about another one. Whether the report is true only
// its reader can tell: it must name a mail that was sent.
//
// A mail is a report because of who made it, never because of its words: it has the
// null return path, a mail system as its author, or is a multipart/report (RFC 6522) as
// a whole. What people write is none, whatever it is about and whatever is attached.
//
// Of a mail system's mail without a part for machines the text is searched, which finds
// all addresses that are named in it, and maybe more than those that failed.
func (m *Message) Report() (Report, bool) {
	whole := m.contentType == "multipart/report"
	system := m.byMailSystem()
	if !whole && !system && (!m.NullReturnPath || m.answers()) {
		return Report{}, false
	}
	var r Report
	if !r.readParts(m.Attachments, whole) {
		return Report{}, false
	}
	about := m
	if len(r.Recipients) == 0 && !r.Complaint && (system || m.NullReturnPath) {
		if inner := m.attachedReport(&r); inner != nil {
			about = inner
		}
	}
	if len(r.Recipients) == 0 && !r.Complaint {
		if !system || !r.readText(m) {
			return Report{}, false
		}
	}
	r.readReturned(about)
	return r, true
}

// readParts reads the parts for machines. It reports false for a mail that is about
// something else, such as a receipt (RFC 8098).
func (r *Report) readParts(parts []message.Part, whole bool) bool {
	for _, part := range parts {
		switch part.ContentType {
		case "message/delivery-status", "message/global-delivery-status":
			r.readStatus(string(part.Body))
		case "message/feedback-report":
			if !whole {
				return false
			}
			r.Complaint = true
			fields := statusFields(string(part.Body))
			for _, group := range fields {
				r.addSenders(group["original-mail-from"])
			}
		case "message/disposition-notification", "message/global-disposition-notification":
			return false
		}
	}
	if r.Complaint {
		r.Recipients = nil
	}
	return true
}

// attachedReport reads a report that a mail system hands on as a whole mail.
func (m *Message) attachedReport(r *Report) *Message {
	for _, part := range m.Attachments {
		if part.ContentType != "message/rfc822" && part.ContentType != "message/global" {
			continue
		}
		inner, err := Parse(part.Body, Limits{})
		if err != nil || inner.contentType != "multipart/report" && !inner.byMailSystem() {
			return nil
		}
		if r.readParts(inner.Attachments, false) && len(r.Recipients) > 0 {
			return inner
		}
		return nil
	}
	return nil
}

// mailSystems are the local parts that mail systems write from. A postmaster may be a
// person, too: see byMailSystem.
var mailSystems = []string{
	"mailer-daemon", "mailerdaemon", "mail-daemon", "maildaemon", "mail.delivery.system", "mail-delivery-system", "double-bounce",
	"microsoftexchange329e71ec88ae4615bbc36ab6ce41109e",
}

// byMailSystem reports whether a mail system is the author: by its name, or as nobody
// who may not be answered either. A postmaster who writes from an address of a person's,
// or answers, is a person.
func (m *Message) byMailSystem() bool {
	if len(m.From) == 0 {
		return m.NullReturnPath
	}
	local, _, _ := strings.Cut(strings.ToLower(m.From[0].Email), "@")
	if slices.Contains(mailSystems, local) {
		return true
	}
	if local != "postmaster" {
		return false
	}
	path, _, _ := strings.Cut(strings.ToLower(m.ReturnPath), "@")
	return !m.answers() && (path == "" || path == "postmaster" || slices.Contains(mailSystems, path))
}

// answers reports whether the subject is that of an answer or a forward, as people write
// them.
func (m *Message) answers() bool {
	_, prefixed := cutPrefix(oneLine(m.Subject), true)
	return prefixed
}

var bounceSubject = regexp.MustCompile(`(?i)undeliver|delivery (status notification|failure|failed|has failed|problem|report)|returned mail|failure notice|failed delivery|(could not|cannot) send message|mail (delivery )?(failed|failure)|could not be delivered|non.?delivery|delivery error`)

// statusFields are the groups of fields of a part for machines, names in lower case.
func statusFields(body string) []map[string]string {
	body = strings.ReplaceAll(strings.ToValidUTF8(body, "\uFFFD"), "\r\n", "\n")
	var groups []map[string]string
	for group := range strings.SplitSeq(body, "\n\n") {
		fields := map[string]string{}
		last := ""
		for line := range strings.SplitSeq(group, "\n") {
			if line != "" && (line[0] == ' ' || line[0] == '\t') {
				if last != "" {
					fields[last] += " " + strings.TrimSpace(line)
				}
				continue
			}
			name, value, found := strings.Cut(line, ":")
			if last = strings.ToLower(strings.TrimSpace(name)); found && fields[last] == "" {
				fields[last] = strings.TrimSpace(value)
			}
		}
		groups = append(groups, fields)
	}
	return groups
}

// readStatus reads a message/delivery-status.
func (r *Report) readStatus(body string) {
	for _, fields := range statusFields(body) {
		one := ReportedRecipient{Address: typed(fields["final-recipient"]), Original: typed(fields["original-recipient"]), Diagnostic: diagnostic(fields["diagnostic-code"])}
		if m := statusCode.FindString(fields["status"]); m != "" {
			one.Status = m
		}
		if one.Address == "" {
			one.Address, one.Original = one.Original, ""
		}
		if one.Address == "" || len(r.Recipients) >= maxReported {
			continue
		}
		action, _, _ := strings.Cut(strings.ToLower(fields["action"]), " ")
		switch strings.Trim(action, ";,.()") {
		case "delayed":
			one.Action = ReportDelayed
		case "delivered", "relayed", "expanded":
			one.Action = ReportDelivered
		default:
			one.Action = ReportFailed
		}
		r.Recipients = append(r.Recipients, one)
	}
}

// typed takes an address out of "rfc822; a@b".
func typed(value string) string {
	if _, address, found := strings.Cut(value, ";"); found {
		value = address
	}
	list, _ := ParseAddresses(value, "")
	if len(list) == 0 || !strings.Contains(list[0].Email, "@") {
		return ""
	}
	return list[0].Email
}

func diagnostic(s string) string {
	s = oneLine(s)
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "")
	}
	return s
}

var (
	statusCode   = regexp.MustCompile(`\b[245]\.\d{1,3}\.\d{1,3}\b`)
	failureCode  = regexp.MustCompile(`\b[45]\.\d{1,3}\.\d{1,3}\b`)
	replyCode    = regexp.MustCompile(`\b([45])\d\d[ -]`)
	anyAddress   = regexp.MustCompile(`[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}[A-Za-z0-9]`)
	copyFollows  = regexp.MustCompile(`(?im)^\W*(below this line is a copy|this is a copy of (the|your) message|original message (follows|text|header)?|original message|message header follows|unsent message|undelivered message follows|returned message follows|here is a copy of (the|your) message|the header (and top 20 lines )?of the (message|original)|received: from |return-path: )`)
	delayedWords = regexp.MustCompile(`(?i)delivery (has been |is |incomplete|temporarily )?(delayed|suspended)|will (be retried|keep trying|continue to (be )?tr)|could not send message for past|not been (collected|delivered) yet|still (being )?(tried|trying|attempting)|warning: |no action is required|do not need to resend`)
	htmlTag      = regexp.MustCompile(`<[^>@]{0,500}>`)
)

// readText finds recipients in the words of a mail system. It reports whether these say
// that a mail did not arrive.
func (r *Report) readText(m *Message) bool {
	text := m.Text
	if strings.TrimSpace(text) == "" {
		text = htmlTag.ReplaceAllString(m.HTML, " ")
	}
	text = text[:min(len(text), 64<<10)]
	if at := copyFollows.FindStringIndex(text); at != nil && at[0] > 0 {
		text = text[:at[0]]
	}
	action := ReportFailed
	if delayedWords.MatchString(text) || delayedWords.MatchString(m.Subject) {
		action = ReportDelayed
	}
	var own []string
	for _, a := range slices.Concat(m.To, m.From) {
		own = append(own, strings.ToLower(a.Email))
	}
	add := func(address, around string) {
		key := strings.ToLower(address)
		if slices.Contains(own, key) || len(r.Recipients) >= maxReported {
			return
		}
		own = append(own, key)
		one := ReportedRecipient{Address: address, Action: action, Status: failureCode.FindString(around), Diagnostic: diagnostic(around)}
		r.Recipients = append(r.Recipients, one)
	}
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		for _, address := range anyAddress.FindAllString(line, 5) {
			add(address, strings.Join(lines[n:min(n+5, len(lines))], " "))
		}
	}
	if failed := m.Header.Get("X-Failed-Recipients"); failed != "" {
		list, _ := ParseAddresses(failed, "")
		for _, a := range list {
			add(a.Email, "")
		}
	}
	if !m.Header.Has("X-Failed-Recipients") && !bounceSubject.MatchString(m.Subject) && !replyCode.MatchString(text) && failureCode.FindString(text) == "" {
		r.Recipients = nil // a mail system writes of other things too
		return false
	}
	r.InWords = true
	return len(r.Recipients) > 0 || action == ReportFailed
}

var messageIDLine = regexp.MustCompile(`(?im)^[>\s]*message-id:\s*(<[^<>\s]{1,500}>)`)

// readReturned finds out which mail a report is about: from the copy that it holds, or
// from what it refers to.
func (r *Report) readReturned(m *Message) {
	add := func(found ...string) {
		for _, id := range found {
			if id != "" && id != m.MessageID && !slices.Contains(r.MessageIDs, id) && len(r.MessageIDs) < maxReported {
				r.MessageIDs = append(r.MessageIDs, id)
			}
		}
	}
	for _, part := range m.Attachments {
		switch part.ContentType {
		case "message/rfc822", "message/global", "text/rfc822-headers", "message/rfc822-headers", "message/global-headers", "message/partial":
			sub := &parser{limits: Limits{}.withDefaults(), msg: &Message{}}
			var h textproto.Header
			h, _, err := sub.splitHeader(stripEnvelope(part.Body))
			if err == nil {
				add(messageIDs(bounded(h.Get("Message-Id")))...)
			}
			text := string(part.Body[:min(len(part.Body), 64<<10)])
			add(idLines(text)...)
			r.addSenders(senderLines(text)...)
		}
	}
	text := m.Text[:min(len(m.Text), 256<<10)]
	add(idLines(text)...)
	r.addSenders(senderLines(text)...)
	add(m.InReplyTo...)
	for _, id := range slices.Backward(m.References) {
		add(id)
	}
}

// addSenders takes the addresses out of fields.
func (r *Report) addSenders(values ...string) {
	for _, value := range values {
		list, _ := ParseAddresses(bounded(value), "")
		for _, a := range list {
			if a.Email != "" && !slices.Contains(r.Senders, a.Email) && len(r.Senders) < maxReported {
				r.Senders = append(r.Senders, a.Email)
			}
		}
	}
}

var senderLine = regexp.MustCompile(`(?im)^[>\s]*(?:return-path|reply-to|sender|from|x-envelope-from|envelope-from|x-original-mail-from):((?:[^\r\n]|\r?\n[ \t])*)`)

// senderLines are the values of the fields that name a mail's sender.
func senderLines(text string) []string {
	var values []string
	for _, found := range senderLine.FindAllStringSubmatch(strings.ToValidUTF8(text, ""), 20) {
		values = append(values, found[1])
	}
	return values
}

func idLines(text string) []string {
	var ids []string
	for _, found := range messageIDLine.FindAllStringSubmatch(strings.ToValidUTF8(text, ""), 20) {
		ids = append(ids, messageIDs(found[1])...)
	}
	return ids
}
