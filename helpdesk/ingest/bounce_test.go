package ingest_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// answered is an answer to two customers that was sent.
type answered struct {
	id           int64
	conversation int64
	messageID    string
	returnPath   string // of the first of them
	replyTo      string
	to, other    string
}

// answer sends an answer to two.
func (b *bundle) answer(name string) answered {
	b.t.Helper()
	return b.answerTo(answered{to: name + "@customer.example", other: name + "-other@customer.example"})
}

// answerTo sends an answer to one or two.
func (b *bundle) answerTo(a answered) answered {
	b.t.Helper()
	c := check(b.desk.Conversations().Create(b.t.Context(), helpdesk.ConversationInput{
		Channel: "email", MailboxID: b.mailbox, To: a.to, Subject: "Your order",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "It is ready.", Cc: strings.Fields(a.other)}},
	}))(b.t)
	i := check(b.desk.Interactions().List(b.t.Context(), c.ID, storage.PageRequest{}))(b.t).Items[0]
	out := check(b.outgoing.Begin(b.t.Context(), b.desk.AccountID(), i.ID, i.ID))(b.t)
	var outcomes []helpdesk.Outcome
	for _, d := range out.Due {
		outcomes = append(outcomes, helpdesk.Outcome{DeliveryID: d.ID, State: sending.Sent, Code: 250})
		if d.Address == a.to {
			a.returnPath = out.ReturnPaths[d.ID]
		}
	}
	check(b.outgoing.Report(b.t.Context(), b.desk.AccountID(), i.ID, outcomes))(b.t)
	a.id, a.conversation, a.messageID, a.replyTo = i.ID, c.ID, i.MessageID, out.ReplyTo
	return a
}

// states are those of an answer's deliveries, by address.
func (b *bundle) states(a answered) map[string]sending.State {
	b.t.Helper()
	states := map[string]sending.State{}
	for _, d := range check(b.desk.Interactions().Deliveries(b.t.Context(), []int64{a.id}))(b.t) {
		states[d.Address] = d.State
	}
	return states
}

// dialects are reports of failures, by the name of the system that wrote them: those of testdata, and those of the corpus
// where it is there.
func dialects(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/bounces/*.eml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimSuffix(filepath.Base(file), ".eml"); usable(raw) {
			all[name] = raw
		} else {
			t.Errorf("%s is no report of a failure", name)
		}
	}
	corpus, ok := testenv.FindCorpus(t)
	if !ok {
		return all
	}
	if files, err = filepath.Glob(filepath.Join(corpus, "bounces", "*host-*")); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`[lr]host-[a-z0-9]+`)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if dialect := name.FindString(file); all[dialect] == nil && usable(raw) {
			all[dialect] = raw
		}
	}
	if len(all) < 60 {
		t.Errorf("%d dialects", len(all))
	}
	return all
}

// usable: the report is of one recipient, and another one's name can be put into it.
func usable(raw []byte) bool {
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		return false
	}
	r, ok := m.Report()
	written := func(text string) bool { return bytes.Contains(raw, []byte(text)) } // and not encoded
	return ok && len(r.Recipients) == 1 && r.Recipients[0].Action == mail.ReportFailed && written(r.Recipients[0].Address) &&
		(len(r.MessageIDs) == 0 || written(r.MessageIDs[0]))
}

// about makes a report one about another mail: under another Message-ID, to another recipient, and come to another address.
func about(t *testing.T, raw []byte, id, recipient, to string) string {
	t.Helper()
	m, err := mail.Parse(raw, mail.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := m.Report()
	text := string(raw)
	for _, old := range r.MessageIDs {
		text = strings.ReplaceAll(text, old, id)
	}
	text = strings.ReplaceAll(text, r.Recipients[0].Address, recipient)
	if original := r.Recipients[0].Original; original != "" {
		text = strings.ReplaceAll(text, original, recipient)
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if strings.HasPrefix(text, "From ") { // of an mbox
		_, text, _ = strings.Cut(text, "\n")
	}
	return "Delivered-To: " + to + end + text
}

// A report on an address that is none of mail is about the answer that it returns: the delivery came back if it had one
// recipient, and otherwise people see the report in its conversation.
func TestBounceOfUnnamedRecipient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a    answered
		want map[string]sending.State
		seen int // interactions in the conversation
	}{
		"one recipient":  {answered{to: "ada@customer.example"}, map[string]sending.State{"ada@customer.example": sending.Bounced}, 1},
		"two recipients": {answered{to: "ada@customer.example", other: "bob@customer.example"}, map[string]sending.State{"ada@customer.example": sending.Sent, "bob@customer.example": sending.Sent}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, memblob.New())
			a := b.answerTo(tt.a)
			b.take("Return-Path: <>\nFrom: MAILER-DAEMON@mx.example\nTo: support@example.org\nSubject: Returned\nMessage-ID: <r@mx.example>\nMIME-Version: 1.0\n" +
				"Content-Type: multipart/report; report-type=delivery-status; boundary=cut\n\n--cut\n\nSorry.\n--cut\nContent-Type: message/delivery-status\n\n" +
				"Reporting-MTA: dns; mx.example\n\nFinal-Recipient: x400; /G=Ada/S=Marsh/C=DE/\nAction: failed\nStatus: 5.2.2\nX-Supplementary-Info: mailbox is full\n\n" +
				"--cut\nContent-Type: message/rfc822\n\nMessage-ID: <" + a.messageID + ">\nSubject: Your order\n\nIt is ready.\n--cut--\n")
			if err := b.filer.Handle(t.Context(), b.job()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.states(a)); diff != "" {
				t.Error(diff)
			}
			rows := b.ledger()
			inside := check(b.desk.Interactions().List(t.Context(), a.conversation, storage.PageRequest{}))(t).Items
			if last := rows[len(rows)-1]; last.State != ledger.Filed || last.ConversationID != a.conversation || len(inside) != tt.seen {
				t.Errorf("it is %s in conversation %d (%s), which has %d interactions", last.State, last.ConversationID, last.Reason, len(inside))
			}
			for _, d := range check(b.desk.Interactions().Deliveries(t.Context(), []int64{a.id}))(t) {
				if d.State == sending.Bounced && (d.EnhancedCode != "5.2.2" || d.Response != "mailbox is full") {
					t.Errorf("the reason is %q %q", d.EnhancedCode, d.Response)
				}
			}
		})
	}
}

// Bounces of answers, in the words of every mail system, are attributed to the one recipient concerned, and no other
// delivery changes: by the Message-ID of the answer, by the envelope sender if the report names no mail, or names another
// recipient, too, and by the reply token.
func TestBouncesInEveryDialect(t *testing.T) {
	t.Parallel()
	all := dialects(t)
	b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.MaxMailPerAddress = -1 })
	check(b.desk.Mailboxes().Update(b.t.Context(), b.mailbox, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}))(t)
	nobody := func(name string) string { return "nobody-knows-" + name + "@elsewhere.example" }
	ways := map[string]func(name string, raw []byte) (answered, string){
		"Message-ID": func(name string, raw []byte) (answered, string) {
			a := b.answer(name)
			return a, about(t, raw, a.messageID, a.to, "support@example.org")
		},
		"return path": func(name string, raw []byte) (answered, string) {
			a := b.answer(name)
			return a, about(t, raw, nobody(name), a.to, a.returnPath)
		},
		"return path alone": func(name string, raw []byte) (answered, string) {
			a := b.answer(name)
			return a, about(t, raw, nobody(name), "somewhere@else.example", strings.ToUpper(a.returnPath))
		},
		"reply token": func(name string, raw []byte) (answered, string) {
			a := b.answer(name)
			return a, about(t, raw, nobody(name), a.to, a.replyTo)
		},
	}
	sent := 0
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		var reports []string
		answers := map[string]answered{}
		words := map[string]bool{}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if m, err := mail.Parse(all[name], mail.Limits{}); err == nil && way == "Message-ID" {
				if r, _ := m.Report(); len(r.MessageIDs) == 0 {
					continue // it names none, like many others
				}
			}
			names = append(names, name)
		}
		for n, name := range names {
			a, report := ways[way](strings.ReplaceAll(way, " ", "-")+"-"+name, all[name])
			answers[name] = a
			// Reports of one system may be equal except for inserted values; here each is a separate mail.
			report = strings.Replace(report, "Delivered-To:", fmt.Sprintf("Message-ID: <%d@%s.example>\nDelivered-To:", n, strings.ReplaceAll(way, " ", "-")), 1)
			if m, err := mail.Parse([]byte(report), mail.Limits{}); err == nil {
				r, _ := m.Report()
				words[name] = r.InWords
			}
			reports = append(reports, report)
		}
		before := len(b.ledger())
		b.take(reports...)
		if err := b.filer.Handle(t.Context(), b.job()); err != nil {
			t.Fatal(err)
		}
		rows := b.ledger()[before:]
		for n, name := range names {
			a := answers[name]
			sent++
			want := map[string]sending.State{a.to: sending.Bounced, a.other: sending.Sent}
			if diff := cmp.Diff(want, b.states(a)); diff != "" {
				t.Errorf("%s by %s: %s\nit is %s (%s)", name, way, diff, rows[n].State, rows[n].Reason)
				continue
			}
			// Reports extracted from text are also shown in the conversation.
			seen := 1
			if words[name] {
				seen = 2
			}
			inside := check(b.desk.Interactions().List(t.Context(), a.conversation, storage.PageRequest{}))(t).Items
			if rows[n].State != ledger.Filed || rows[n].ConversationID != a.conversation || len(inside) != seen {
				t.Errorf("%s by %s is %s in %d (%s), not in %d, among %d interactions", name, way, rows[n].State, rows[n].ConversationID, rows[n].Reason, a.conversation, len(inside))
			} else if seen == 2 && (!inside[1].AutoSubmitted || inside[1].Threading.Rule != helpdesk.RuleReport) {
				t.Errorf("%s by %s is filed as %+v", name, way, inside[1].Threading)
			}
		}
	}
	t.Logf("%d answers came back in %d dialects", sent, len(all))
	for _, s := range check(b.desk.Suppressions().List(t.Context(), storage.PageRequest{Limit: 100}))(t).Items {
		if strings.Contains(s.Email, "-other@") || !strings.HasSuffix(s.Email, "@customer.example") {
			t.Errorf("suppressed is %+v", s)
		}
	}
}
