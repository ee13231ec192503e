package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/smtp"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxcpp/go-mockdns"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage/testenv"
)

// wildMail is a mail of testdata/mails as it left its sender, with the expected result.
type wildMail struct {
	name string
	raw  []byte // @@opening@@, @@answer@@ and @@reply@@ are replaced by values of its conversation

	// Opens is a customer whose mail we have answered: the mail is about that answer. "" if it is about none.
	Opens  string `json:"opens,omitempty"`
	Closed bool   `json:"closed,omitempty"` // the conversation was closed meanwhile
	// Authenticated is the domain that authenticates the mail.
	Authenticated string     `json:"authenticated,omitempty"`
	Want          wildResult `json:"want"`
}

type wildResult struct {
	State       string            `json:"state"`
	Reason      string            `json:"reason,omitempty"`
	Joins       bool              `json:"joins"`                // the conversation of our answer
	RefersTo    bool              `json:"refers_to,omitempty"`  // a new conversation that refers to that one
	Status      string            `json:"status,omitempty"`     // of the conversation
	Deliveries  map[string]string `json:"deliveries,omitempty"` // of our answer, where not all were sent
	Customer    string            `json:"customer,omitempty"`
	Subject     string            `json:"subject,omitempty"`
	From        []string          `json:"from,omitempty"`
	Sender      string            `json:"sender,omitempty"`
	ReplyTo     []string          `json:"reply_to,omitempty"`
	To          []string          `json:"to,omitempty"`
	Cc          []string          `json:"cc,omitempty"`
	SentAt      string            `json:"sent_at,omitempty"`
	Auto        bool              `json:"auto_submitted,omitempty"`
	Says        []string          `json:"says,omitempty"` // lines that are open
	Folded      []string          `json:"folded,omitempty"`
	Attachments []string          `json:"attachments,omitempty"`
}

func wildMails(t *testing.T) []*wildMail {
	t.Helper()
	paths, err := filepath.Glob("testdata/mails/*.eml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*wildMail
	for _, path := range paths {
		m := &wildMail{name: strings.TrimSuffix(filepath.Base(path), ".eml")}
		if m.raw, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		said, err := os.ReadFile("testdata/mails/" + m.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(said, m); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		all = append(all, m)
	}
	return all
}

// wildConversation is one in which we have answered.
type wildConversation struct {
	id                     int64
	opening, answer, reply string
}

// intakeOf is a mailbox of a server and a way to it.
type intakeOf struct {
	*process
	mailbox mailboxView
	relay   *sink
	deliver func(mails []envelope)
}

// envelope is a mail on its way.
type envelope struct {
	from, authenticated string
	raw                 []byte
}

const wildSupport = "support@desk.example"

// bySMTP delivers mails to the server's own intake, where SPF authenticates senders.
func bySMTP(t *testing.T, mails []*wildMail) intakeOf {
	t.Helper()
	zones := map[string]mockdns.Zone{}
	for _, m := range mails {
		if m.Authenticated != "" {
			zones[m.Authenticated+"."] = mockdns.Zone{TXT: []string{"v=spf1 ip4:127.0.0.1 -all"}}
		}
	}
	names, err := mockdns.NewServerWithLogger(zones, log.New(io.Discard, "", 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	relay := newSink(t, 0)
	s := newServer(t, "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none", "HELPWRIGHT_DNS_SERVER="+names.LocalAddr().String(),
		"HELPWRIGHT_INTAKE_RELAYS=192.0.2.1/32", "HELPWRIGHT_INTAKE_DOMAIN=in.desk.example")
	box := s.mailbox(url.Values{"name": {"Support"}, "email": {wildSupport}})
	return intakeOf{s, box, relay, func(mails []envelope) {
		t.Helper()
		for _, m := range mails {
			if err := smtp.SendMail(s.intake, nil, m.from, []string{box.InternalEmailAddress}, m.raw); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

// byIMAP puts mails into a mailbox at Dovecot as the server before it does, on whose verdict ours relies.
func byIMAP(t *testing.T, _ []*wildMail) intakeOf {
	t.Helper()
	dovecot, relay, user := testenv.Dovecot(t), newSink(t, 0), testenv.Name("wild")
	s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databases["PostgreSQL"](t), "HELPWRIGHT_SMTP_URL=smtp://"+relay.address+"?tls=none",
		"HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_FETCH_INTERVAL=1s", "HELPWRIGHT_TRUSTED_AUTHSERV_IDS=mx.desk.example")
	box := s.mailbox(imapForm(dovecot, user, wildSupport))
	id := 0
	return intakeOf{s, box, relay, func(mails []envelope) {
		t.Helper()
		var all []folderMail
		for _, m := range mails {
			id++
			trace := fmt.Sprintf("Return-Path: <%s>\r\nDelivered-To: %s\r\nReceived: from sender.example (sender.example [192.0.2.7])\r\n"+
				"\tby mx.desk.example with ESMTPS id %08d\r\n\tfor <%s>; Mon, 2 Nov 2026 14:59:00 +0000\r\n", m.from, wildSupport, id, wildSupport)
			if m.authenticated != "" {
				trace += "Authentication-Results: mx.desk.example; spf=pass smtp.mailfrom=" + m.authenticated + "; dmarc=pass header.from=" + m.authenticated + "\r\n"
			}
			all = append(all, folderMail{"INBOX", trace + string(m.raw)})
		}
		appendAll(t, dovecot, user, all)
	}}
}

// rows are those of the ledger, the oldest first.
func (in intakeOf) rows() []failureView {
	in.t.Helper()
	rows := ledgerOf(in.process, in.mailbox.ID)
	slices.SortFunc(rows, func(a, b failureView) int { return int(a.ID - b.ID) })
	return rows
}

// settled waits until so many mails are dealt with.
func (in intakeOf) settled(n int) []failureView {
	in.t.Helper()
	testenv.Eventually(in.t, fmt.Sprintf("%d mails are dealt with", n), func() bool {
		return len(in.rows()) >= n && len(ledgerOf(in.process, in.mailbox.ID, "received")) == 0
	})
	return in.rows()
}

// open has customers write, answers each, and returns the values that their replies can refer to.
func (in intakeOf) open(mails []*wildMail) map[string]wildConversation {
	in.t.Helper()
	opened := map[string]wildConversation{}
	var names []string
	var openings []envelope
	for _, m := range mails {
		if m.Opens == "" {
			continue
		}
		c := wildConversation{opening: m.name + "@customers.example"}
		opened[m.name], names = c, append(names, m.name)
		openings = append(openings, envelope{from: m.Opens, raw: []byte(crlf("From: " + m.Opens + "\nTo: " + wildSupport +
			"\nSubject: Printer\nDate: Mon, 2 Nov 2026 10:00:00 +0100\nMessage-ID: <" + c.opening + ">\n\nIt does not print.\n"))})
	}
	in.deliver(openings)
	rows := in.settled(len(openings))
	for n, name := range names {
		c := opened[name]
		c.id = rows[n].ConversationID
		in.ok("POST", fmt.Sprintf("/accounts/1/conversations/%d/interactions", c.id), url.Values{"type": {"user"}, "body": {"<p>Please restart the printer.</p>"}}, nil)
		opened[name] = c
	}
	for _, m := range mails {
		c := opened[m.name]
		if c.id == 0 {
			continue
		}
		testenv.Eventually(in.t, "the answer to "+m.Opens+" is sent", func() bool {
			i := in.interactions(c.id)[1]
			c.answer = i.MessageID
			return i.Deliveries[0].State == "sent"
		})
		if c.reply = in.relay.replyTo(c.answer); c.reply == "" {
			c.reply = wildSupport
		}
		if m.Closed {
			in.ok("PUT", fmt.Sprintf("/accounts/1/conversations/%d", c.id), url.Values{"subject": {"Printer"}, "status": {"closed"}}, nil)
		}
		opened[m.name] = c
	}
	return opened
}

// about returns a mail about the conversation, without the line in which the server in front records the envelope sender.
func (m *wildMail) about(c wildConversation) envelope {
	out := envelope{from: "someone@sender.example", authenticated: m.Authenticated}
	text := strings.NewReplacer("@@opening@@", c.opening, "@@answer@@", c.answer, "@@reply@@", c.reply).Replace(string(m.raw))
	mark := ""
	if rest, found := strings.CutPrefix(text, "\ufeff"); found {
		mark, text = "\ufeff", rest
	}
	if rest, found := strings.CutPrefix(text, "Return-Path: <"); found {
		out.from, text, _ = strings.Cut(rest, ">\n")
	}
	if strings.Contains(text, "\n") {
		text = crlf(text)
	}
	out.raw = []byte(mark + text)
	return out
}

// wildInteraction is an interaction as this test reads it.
type wildInteraction struct {
	Body          string
	Subject       string
	From, To, Cc  []wildAddress
	Sender        wildAddress
	SentAt        *string                `json:"sent_at"`
	AutoSubmitted bool                   `json:"auto_submitted"`
	Reply         []wildAddress          `json:"reply_to"`
	Email         struct{ Email string } `json:"customer_email"`
	Customer      struct{ Name string }
	Attachments   []struct {
		Filename    string
		ContentType string `json:"content_type"`
		IsInline    bool   `json:"is_inline"`
		Size        int64
	}
}

type wildAddress struct{ Name, Email string }

func (a wildAddress) String() string {
	switch {
	case a.Email == "":
		return ""
	case a.Name == "":
		return a.Email
	}
	return a.Name + " <" + a.Email + ">"
}

// written are addresses as people read them; that for replies is the mailbox's.
func written(all []wildAddress, c wildConversation) []string {
	var out []string
	for _, a := range all {
		if a.Email == c.reply {
			a.Email = wildSupport
		}
		out = append(out, a.String())
	}
	return out
}

// result is the result of a mail, from the API.
func (in intakeOf) result(row failureView, c wildConversation) wildResult {
	in.t.Helper()
	out := wildResult{State: row.State, Reason: row.Reason}
	if c.id != 0 {
		answer := in.interactions(c.id)[1]
		out.Reason = strings.ReplaceAll(out.Reason, fmt.Sprintf("interaction %d", answer.ID), "our answer")
		if d := answer.Deliveries[0]; d.State != "sent" {
			out.Deliveries = map[string]string{d.Address: d.State}
		}
	}
	if row.ConversationID == 0 {
		return out
	}
	var v object[struct {
		Status   string
		RefersTo int64 `json:"refers_to"`
	}]
	path := fmt.Sprintf("/accounts/1/conversations/%d", row.ConversationID)
	in.ok("GET", path, nil, &v)
	out.Status, out.Joins, out.RefersTo = v.Data.Status, row.ConversationID == c.id, v.Data.RefersTo != 0 && v.Data.RefersTo == c.id
	if row.InteractionID == 0 || strings.HasPrefix(row.Reason, "it reports on") {
		return out
	}
	var i wildInteraction
	in.ok("GET", fmt.Sprintf("%s/interactions/%d?quotes=fold&expand=customer,attachments", path, row.InteractionID), nil, &i)
	out.Customer = wildAddress{i.Customer.Name, i.Email.Email}.String()
	out.Subject, out.Auto = i.Subject, i.AutoSubmitted
	out.From, out.Sender, out.ReplyTo, out.To, out.Cc = written(i.From, c), i.Sender.String(), written(i.Reply, c), written(i.To, c), written(i.Cc, c)
	if i.SentAt != nil {
		out.SentAt = *i.SentAt
	}
	body := strings.ReplaceAll(i.Body, c.answer, "@@answer@@")
	if c.answer == "" {
		body = i.Body
	}
	said, folded, _ := strings.Cut(body, `<details class="quote"><summary>…</summary>`)
	folded, below, _ := strings.Cut(folded, "</details>")
	out.Says, out.Folded = lines(said+below), lines(folded)
	for _, a := range i.Attachments {
		where := ""
		if a.IsInline {
			where = ", inline"
		}
		out.Attachments = append(out.Attachments, fmt.Sprintf("%s (%s, %d bytes%s)", a.Filename, a.ContentType, a.Size, where))
	}
	slices.Sort(out.Attachments)
	return out
}

// lines are those of a part of a body that are not blank.
func lines(page string) []string {
	var out []string
	for line := range strings.SplitSeq(mailhtml.Text(page), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Mails as people, forms, groups, devices and mail systems send them give the same author, content and conversation, whether
// they arrive by SMTP or are fetched from Dovecot.
func TestMailsOfTheWild(t *testing.T) {
	t.Parallel()
	for way, open := range map[string]func(*testing.T, []*wildMail) intakeOf{"SMTP to SQLite": bySMTP, "IMAP to PostgreSQL": byIMAP} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			mails := wildMails(t)
			in := open(t, mails)
			opened := in.open(mails)
			var all []envelope
			for _, m := range mails {
				all = append(all, m.about(opened[m.name]))
			}
			in.deliver(all)
			rows := in.settled(len(opened) + len(all))[len(opened):]
			for n, m := range mails {
				t.Run(m.name, func(t *testing.T) {
					got := in.result(rows[n], opened[m.name])
					if *update && way == "SMTP to SQLite" {
						m.Want = got
						var b bytes.Buffer
						e := json.NewEncoder(&b)
						e.SetEscapeHTML(false)
						e.SetIndent("", "\t")
						if err := errors.Join(e.Encode(m), os.WriteFile("testdata/mails/"+m.name+".json", b.Bytes(), 0o600)); err != nil {
							t.Fatal(err)
						}
					}
					if diff := cmp.Diff(m.Want, got); diff != "" {
						t.Error(diff)
					}
				})
			}
		})
	}
}
