package mail

import (
	"regexp"
	"slices"
	"strings"

	"github.com/emersion/go-message/textproto"
)

// Report is what a mail says about the delivery of another mail: a delivery status
// notification (RFC 3464), or one of the older dialects of it.
type Report struct {
	MessageIDs []string // of the mail it is about, without angle brackets, the likeliest first
	Recipients []ReportedRecipient
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

const maxReported = 100 // recipients and ids of one report

// Report reads the mail as a report about deliveries. It is none when no recipient
// is reported. Whether the report is true only its reader can tell: it must name a
// mail that was sent.
//
// Without a part of message/delivery-status the text of a mail by a mail system is
// searched, which finds all addresses that are named in it, and maybe more than those
// that failed.
func (m *Message) Report() (Report, bool) {
	var r Report
	for _, part := range m.Attachments {
		switch part.ContentType {
		case "message/delivery-status", "message/global-delivery-status":
			r.readStatus(string(part.Body))
		case "message/feedback-report", "message/disposition-notification":
			return Report{}, false
		}
	}
	if len(r.Recipients) == 0 && m.fromMailSystem() {
		r.readText(m)
	}
	if len(r.Recipients) == 0 {
		return Report{}, false
	}
	r.MessageIDs = m.reportedIDs()
	return r, true
}

// fromMailSystem reports whether the mail is one of a mail system about mail.
func (m *Message) fromMailSystem() bool {
	return m.NullReturnPath || m.Header.Has("X-Failed-Recipients") || daemonAuthor(m.From) || daemonAuthor([]Address{{Email: m.ReturnPath}}) ||
		bounceSubject.MatchString(m.Subject)
}

var bounceSubject = regexp.MustCompile(`(?i)undeliver|delivery (status notification|failure|failed|has failed|problem|report)|returned mail|failure notice|failed delivery|(could not|cannot) send message|mail (delivery )?(failed|failure)|could not be delivered|non.?delivery|delivery error`)

// readStatus reads the groups of fields of a message/delivery-status.
func (r *Report) readStatus(body string) {
	body = strings.ReplaceAll(strings.ToValidUTF8(body, "\uFFFD"), "\r\n", "\n")
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

// readText finds recipients in the words of a mail system.
func (r *Report) readText(m *Message) {
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
	}
}

var messageIDLine = regexp.MustCompile(`(?im)^[>\s]*message-id:\s*(<[^<>\s]{1,500}>)`)

// reportedIDs are the ids of mails that a report holds a copy of, or refers to.
func (m *Message) reportedIDs() []string {
	var ids []string
	add := func(found ...string) {
		for _, id := range found {
			if id != "" && id != m.MessageID && !slices.Contains(ids, id) && len(ids) < maxReported {
				ids = append(ids, id)
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
			add(idLines(string(part.Body[:min(len(part.Body), 64<<10)]))...)
		}
	}
	add(idLines(m.Text[:min(len(m.Text), 256<<10)])...)
	add(m.InReplyTo...)
	for _, id := range slices.Backward(m.References) {
		add(id)
	}
	return ids
}

func idLines(text string) []string {
	var ids []string
	for _, found := range messageIDLine.FindAllStringSubmatch(strings.ToValidUTF8(text, ""), 20) {
		ids = append(ids, messageIDs(found[1])...)
	}
	return ids
}
