package mail

import (
	"cmp"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"
	"github.com/helpwright/helpwright/helpdesk/internal/lazyregexp"
	"github.com/helpwright/helpwright/helpdesk/message"
)

// Report is a mail's report on the delivery of another mail: a delivery status notification (RFC 3464), one of its older
// dialects, or a complaint (RFC 5965).
type Report struct {
	// InWords means that the report has no machine-readable part. It was extracted from the text of a mail system, which may
	// mean something else.
	InWords bool
	// Complaint means that recipients received the mail and reported it as abuse. It reports no deliveries.
	Complaint  bool
	MessageIDs []string // of the reported mail, without angle brackets, the likeliest first
	// Senders are the addresses from which the reported mail came or to which answers were to be sent: from its envelope,
	// Return-Path, Reply-To, Sender and From.
	Senders []string
	// Recipients are none for a complaint, or for a text that names none. Those of other address types than that of mail
	// (RFC 3464 section 2.1.2), such as X.400, have no Address.
	Recipients []ReportedRecipient
}

// ReportedRecipient is the outcome for one recipient.
type ReportedRecipient struct {
	Address    string
	Original   string // the address before it was rewritten in transit; "" if missing
	Action     ReportAction
	Status     string // RFC 3463, such as "5.1.1"; "" if missing
	Diagnostic string // the reason that the refusing server or the report gives, one line of at most 500 bytes
}

// ReportAction is the outcome of a delivery, as named by RFC 3464 section 2.3.3.
type ReportAction string

// The actions that matter. Relayed means handed on to a server that sends no reports, or to the members of a list (expanded).
const (
	ReportFailed    ReportAction = "failed"
	ReportDelayed   ReportAction = "delayed"
	ReportDelivered ReportAction = "delivered"
	ReportRelayed   ReportAction = "relayed"
)

const maxReported = 100 // recipients, ids and senders of one report

// Report interprets the mail as a report about another one. The caller must verify that the report is true: it must name a
// mail that was sent.
//
// Whether a mail is a report depends on its sender, never on its words: it has the null return path, a mail system as its
// author, or is as a whole a multipart/report (RFC 6522). Mails from people are not reports, whatever their subject and
// attachments.
//
// If a mail system's mail has no machine-readable part, its text is searched. The result has all addresses in the text,
// which may be more than those that failed.
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

// readParts reads the machine-readable parts. It returns false for a mail about something else, such as a receipt (RFC
// 8098).
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

// attachedReport reads a report that a mail system forwards as a whole mail.
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

// mailSystems are the local parts from which mail systems write. A postmaster may also be a person: see byMailSystem.
var mailSystems = []string{
	"mailer-daemon", "mailerdaemon", "mail-daemon", "maildaemon", "mail.delivery.system", "mail-delivery-system", "double-bounce",
	"microsoftexchange329e71ec88ae4615bbc36ab6ce41109e",
}

// byMailSystem reports whether a mail system is the author: by its name, or as a no-reply address. A postmaster who writes
// from a personal address, or writes an answer, is a person.
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

// answers reports whether the subject is that of an answer or a forward by a person.
func (m *Message) answers() bool {
	_, prefixed := cutPrefix(oneLine(m.Subject), true)
	return prefixed
}

var bounceSubject = lazyregexp.New(`(?i)undeliver|delivery (status notification|failure|failed|has failed|problem|report)|returned mail|failure notice|failed delivery|(could not|cannot) send message|mail (delivery )?(failed|failure)|could not be delivered|non.?delivery|delivery error`)

// statusFields are the groups of fields in a machine-readable part, names in lower case.
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
		reason := strings.TrimSpace(fields["diagnostic-code"] + " " + fields["x-supplementary-info"])
		one := ReportedRecipient{Address: typed(fields["final-recipient"]), Original: typed(fields["original-recipient"]), Diagnostic: diagnostic(reason)}
		one.Status = cmp.Or(statusCode().FindString(fields["status"]), failureCode().FindString(reason))
		if one.Address == "" {
			one.Address, one.Original = one.Original, ""
		}
		unnamed := one.Address == "" && fields["action"] == "" && fields["final-recipient"] == ""
		if unnamed || len(r.Recipients) >= maxReported {
			continue
		}
		action, _, _ := strings.Cut(strings.ToLower(fields["action"]), " ")
		switch strings.Trim(action, ";,.()") {
		case "delayed":
			one.Action = ReportDelayed
		case "delivered":
			one.Action = ReportDelivered
		case "relayed", "expanded":
			one.Action = ReportRelayed
		default:
			one.Action = ReportFailed
		}
		r.Recipients = append(r.Recipients, one)
	}
}

// typed extracts an address from "rfc822; a@b".
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
	statusCode   = lazyregexp.New(`\b[245]\.\d{1,3}\.\d{1,3}\b`)
	failureCode  = lazyregexp.New(`\b[45]\.\d{1,3}\.\d{1,3}\b`)
	replyCode    = lazyregexp.New(`\b([45])\d\d[ -]`)
	anyAddress   = lazyregexp.New(`[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}[A-Za-z0-9]`)
	copyFollows  = lazyregexp.New(`(?im)^\W*(below this line is a copy|this is a copy of (the|your) message|original message (follows|text|header)?|original message|message header follows|unsent message|undelivered message follows|returned message follows|here is a copy of (the|your) message|the header (and top 20 lines )?of the (message|original)|received: from |return-path: )`)
	delayedWords = lazyregexp.New(`(?i)delivery (has been |is |incomplete|temporarily )?(delayed|suspended)|will (be retried|keep trying|continue to (be )?tr)|could not send message for past|not been (collected|delivered) yet|still (being )?(tried|trying|attempting)|warning: |no action is required|do not need to resend`)
	htmlTag      = lazyregexp.New(`<[^>@]{0,500}>`)
)

// readText finds recipients in the text of a mail system. It reports whether the text means that a mail was not delivered.
func (r *Report) readText(m *Message) bool {
	text := m.Text
	if strings.TrimSpace(text) == "" {
		text = htmlTag().ReplaceAllString(m.HTML, " ")
	}
	text = text[:min(len(text), 64<<10)]
	if at := copyFollows().FindStringIndex(text); at != nil && at[0] > 0 {
		text = text[:at[0]]
	}
	action := ReportFailed
	if delayedWords().MatchString(text) || delayedWords().MatchString(m.Subject) {
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
		one := ReportedRecipient{Address: address, Action: action, Status: failureCode().FindString(around), Diagnostic: diagnostic(around)}
		r.Recipients = append(r.Recipients, one)
	}
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		for _, address := range anyAddress().FindAllString(line, 5) {
			add(address, strings.Join(lines[n:min(n+5, len(lines))], " "))
		}
	}
	if failed := m.Header.Get("X-Failed-Recipients"); failed != "" {
		list, _ := ParseAddresses(failed, "")
		for _, a := range list {
			add(a.Email, "")
		}
	}
	if !m.Header.Has("X-Failed-Recipients") && !bounceSubject().MatchString(m.Subject) && !replyCode().MatchString(text) && failureCode().FindString(text) == "" {
		r.Recipients = nil // mail systems also write about other matters
		return false
	}
	r.InWords = true
	return len(r.Recipients) > 0 || action == ReportFailed
}

var messageIDLine = lazyregexp.New(`(?im)^[>\s]*message-id:\s*(<[^<>\s]{1,500}>)`)

// readReturned identifies the reported mail: from the copy in the report, or from its references.
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

// addSenders extracts the addresses from fields.
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

var senderLine = lazyregexp.New(`(?im)^[>\s]*(?:return-path|reply-to|sender|from|x-envelope-from|envelope-from|x-original-mail-from):((?:[^\r\n]|\r?\n[ \t])*)`)

// senderLines returns the values of the fields that name a mail's sender.
func senderLines(text string) []string {
	var values []string
	for _, found := range senderLine().FindAllStringSubmatch(strings.ToValidUTF8(text, ""), 20) {
		values = append(values, found[1])
	}
	return values
}

func idLines(text string) []string {
	var ids []string
	for _, found := range messageIDLine().FindAllStringSubmatch(strings.ToValidUTF8(text, ""), 20) {
		ids = append(ids, messageIDs(found[1])...)
	}
	return ids
}
