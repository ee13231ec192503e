package helpdesk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// report is a mail of a mail system about another one.
func reportOf(messageID string, recipients ...sending.ReportedRecipient) ledger.Incoming {
	return ledger.Incoming{
		Message: message.Message{
			MessageID: "report-" + messageID, From: []mailaddr.Address{{Email: "MAILER-DAEMON@mx.example.com"}}, Subject: "Undelivered", Text: "Sorry",
			AutoSubmitted: true,
			Attachments:   []message.Part{{Filename: "status.txt", ContentType: "message/delivery-status", Body: []byte("x")}},
		}, Report: &sending.Report{MessageIDs: []string{messageID}, Recipients: recipients},
	}
}

func bounced(address, code, response string) sending.ReportedRecipient {
	return sending.ReportedRecipient{Address: address, State: sending.Bounced, EnhancedCode: code, Response: response}
}

func TestBounces(t *testing.T) {
	t.Parallel()
	delayed := bounced("ada@example.com", "4.4.1", "no answer")
	delayed.State = sending.Deferred
	for name, test := range map[string]struct {
		recipients []sending.ReportedRecipient
		state      sending.State
		status     helpdesk.Status // of the closed conversation
		suppressed bool
		own        bool // the report becomes a conversation of its own
		alone      bool // no other recipient of the answer could have made up the report
	}{
		"no such user": {[]sending.ReportedRecipient{bounced("ADA@example.com", "5.1.1", "no")}, sending.Bounced, helpdesk.StatusPosted, true, false, true},
		"in words":     {[]sending.ReportedRecipient{bounced("ada@example.com", "", "550 User unknown")}, sending.Bounced, helpdesk.StatusPosted, true, false, true},
		"no such user, or so another recipient says": {[]sending.ReportedRecipient{bounced("ada@example.com", "5.1.1", "no")}, sending.Bounced, helpdesk.StatusPosted, false, false, false},
		"full":                {[]sending.ReportedRecipient{bounced("ada@example.com", "5.2.2", "user unknown? no, full")}, sending.Bounced, helpdesk.StatusPosted, false, false, false},
		"given up":            {[]sending.ReportedRecipient{bounced("ada@example.com", "4.4.7", "expired")}, sending.Bounced, helpdesk.StatusPosted, false, false, false},
		"delayed":             {[]sending.ReportedRecipient{delayed}, sending.Sent, helpdesk.StatusClosed, false, false, false},
		"rewritten":           {[]sending.ReportedRecipient{bounced("ada@other.example", "5.1.1", "no")}, sending.Sent, helpdesk.StatusClosed, false, true, false},
		"rewritten, and told": {[]sending.ReportedRecipient{{Address: "x@other.example", Original: "ada@example.com", State: sending.Bounced}}, sending.Bounced, helpdesk.StatusPosted, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			var cc []string
			if !test.alone {
				cc = []string{"charles@example.com"}
			}
			i := b.answer(id, helpdesk.InteractionInput{Cc: cc})
			report(b, begin(b, i.ID), sending.Sent)
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
			before := len(b.interactions(id))
			row := b.receive(reportOf(i.MessageID, test.recipients...))
			d := b.deliveries(i.ID)
			if d[0].State != test.state || !test.alone && d[1].State != sending.Sent || b.conversation(id).Status != test.status {
				t.Errorf("%+v in a conversation that is %s", d, b.conversation(id).Status)
			}
			if len(b.interactions(id)) != before || (row.ConversationID != id) != test.own || row.State != ledger.Filed {
				t.Errorf("the report is %+v", row)
			}
			listed := must(b.desk.Suppressions().List(b.ctx, storage.PageRequest{}))(t).Items
			if (len(listed) == 1) != test.suppressed || len(listed) == 1 && (listed[0].Key != "ada@example.com" || listed[0].InteractionID != i.ID || listed[0].UserID != 0) {
				t.Errorf("suppressed are %+v", listed)
			}
			if again := b.receive(reportOf(i.MessageID, test.recipients...)); again.State != ledger.Ignored {
				t.Errorf("the same report again is %+v", again)
			}
		})
	}
}

// A report about a mail that was never sent changes nothing, and is an ordinary mail.
func TestForgedBounces(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening())
	i := b.answer(first.ConversationID, helpdesk.InteractionInput{})
	report(b, begin(b, i.ID), sending.Sent)
	for what, id := range map[string]string{"an unknown mail": "forged@example.com", "the customer's own mail": "1@example.com"} {
		row := b.receive(reportOf(id, bounced("ada@example.com", "5.1.1", "no")))
		if row.State != ledger.Filed || row.ConversationID == first.ConversationID || strings.Contains(row.Reason, "reports") {
			t.Errorf("a report about %s is %+v", what, row)
		}
	}
	if d := b.deliveries(i.ID)[0]; d.State != sending.Sent {
		t.Errorf("the delivery is %+v", d)
	}
	if listed := must(b.desk.Suppressions().List(b.ctx, storage.PageRequest{}))(t).Items; len(listed) != 0 {
		t.Errorf("suppressed are %+v", listed)
	}
}

// tagging makes the mailbox one that takes tagged addresses.
func tagging(b *bundle) {
	b.t.Helper()
	must(b.desk.Mailboxes().Update(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplySubaddress)}))(b.t)
}

// A report that came to the address which names a delivery is about that and no other, whatever else it names; only this
// makes sure of an address among several.
func TestBouncesByReturnPath(t *testing.T) {
	t.Parallel()
	carol := bounced("carol@example.com", "5.1.1", "no")
	for name, test := range map[string]struct {
		ids        []string
		recipients []sending.ReportedRecipient
		inWords    bool
		state      sending.State
		suppressed bool
	}{
		"names him":                 {nil, []sending.ReportedRecipient{bounced("ada@example.com", "5.1.1", "no")}, false, sending.Bounced, true},
		"rewritten":                 {nil, []sending.ReportedRecipient{bounced("ada@elsewhere.example", "5.1.1", "no")}, false, sending.Bounced, true},
		"full":                      {nil, []sending.ReportedRecipient{bounced("ada@example.com", "5.2.2", "full")}, false, sending.Bounced, false},
		"members of a list":         {nil, []sending.ReportedRecipient{bounced("x@example.com", "5.1.1", "no"), bounced("y@example.com", "5.1.1", "User unknown")}, false, sending.Bounced, false},
		"names another one as well": {nil, []sending.ReportedRecipient{carol, bounced("ada@example.com", "5.1.1", "no")}, false, sending.Bounced, true},
		"names another one":         {nil, []sending.ReportedRecipient{carol}, false, sending.Bounced, true},
		"names another mail":        {[]string{"1@example.com"}, []sending.ReportedRecipient{bounced("ada@example.com", "5.1.1", "no")}, false, sending.Bounced, true},
		"in words":                  {nil, []sending.ReportedRecipient{bounced("ada@example.com", "5.1.1", "no")}, true, sending.Bounced, true},
		"in words that name nobody": {nil, nil, true, sending.Bounced, false},
	} {
		for _, where := range []string{"Delivered-To", "To", "the returned mail"} {
			t.Run(name+" by "+where, func(t *testing.T) {
				t.Parallel()
				b := newBundle(t)
				tagging(b)
				id := b.receive(opening()).ConversationID
				i := b.answer(id, helpdesk.InteractionInput{Cc: []string{"carol@example.com"}})
				mail := begin(b, i.ID)
				report(b, mail, sending.Sent)
				m := reportOf("unknown@example.com", test.recipients...)
				m.Report.MessageIDs, m.Report.InWords = test.ids, test.inWords
				path := mail.ReturnPaths[mail.Due[0].ID]
				switch where {
				case "To":
					m.To = []mailaddr.Address{{Email: strings.ToUpper(path)}}
				case "Delivered-To":
					m.DeliveredTo = []mailaddr.Address{{Email: path}}
				default:
					m.Report.Senders = []string{"x@example.com", path}
				}
				row := b.receive(m)
				d := b.deliveries(i.ID)
				if d[0].State != test.state || d[1].State != sending.Sent || row.ConversationID != id {
					t.Errorf("%+v, and the report is %+v", d, row)
				}
				listed := must(b.desk.Suppressions().List(b.ctx, storage.PageRequest{}))(t).Items
				if (len(listed) == 1) != test.suppressed || len(listed) == 1 && listed[0].Key != "ada@example.com" {
					t.Errorf("suppressed are %+v", listed)
				}
			})
		}
	}
}

// A report extracted from text changes the delivery and is shown; a complaint is shown. Their authors do not become
// participants, and only the failure reopens the conversation.
func TestReportsThatPeopleSee(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*ledger.Incoming)
		state  sending.State
		status helpdesk.Status
	}{
		"words":       {func(m *ledger.Incoming) { m.Report.InWords = true }, sending.Bounced, helpdesk.StatusPosted},
		"a complaint": {func(m *ledger.Incoming) { m.Report.Complaint, m.Report.Recipients = true, nil }, sending.Sent, helpdesk.StatusClosed},
		"other things": {func(m *ledger.Incoming) {
			m.Report.InWords = true
			m.Report.Recipients[0].Address = "x@isp.example"
		}, sending.Sent, helpdesk.StatusClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			i := b.answer(id, helpdesk.InteractionInput{})
			report(b, begin(b, i.ID), sending.Sent)
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("x"), Status: storage.Some(helpdesk.StatusClosed)}))(t)
			m := reportOf(i.MessageID, bounced("ada@example.com", "5.1.1", "no"))
			m.AutoSubmitted = false
			test.change(&m)
			if name == "other things" {
				m.AutoSubmitted = true
			}
			row := b.receive(m)
			if d := b.deliveries(i.ID)[0]; d.State != test.state {
				t.Errorf("the delivery is %+v", d)
			}
			if got := b.conversation(id); got.Status != test.status || !got.AwaitingSince.IsZero() {
				t.Errorf("the conversation is %+v", got)
			}
			all := b.interactions(id)
			if name == "other things" { // which may concern any mail
				if len(all) != 2 || row.ConversationID == id || row.State != ledger.Filed {
					t.Errorf("it is %+v among %d", row, len(all))
				}
				return
			}
			last := all[len(all)-1]
			if len(all) != 3 || row.InteractionID != last.ID || !last.AutoSubmitted || last.Threading.Rule != helpdesk.RuleReport || last.Threading.Matched != i.MessageID {
				t.Fatalf("it is %+v: %+v", row, last)
			}
			why := must(b.desk.Interactions().ExplainThreading(b.ctx, id, last.ID))(t)
			if !strings.Contains(strings.Join(why.Words, " "), "report about the answer") {
				t.Errorf("the explanation is %q", why.Words)
			}
			if again := must(b.desk.Interactions().Rethread(b.ctx, id, last.ID))(t); again.ConversationID != id {
				t.Errorf("threaded once more it is %+v", again)
			}
			// The daemon did not become a participant who can join by a Message-ID.
			forged := b.receive(ledger.Incoming{Message: message.Message{MessageID: "f", From: m.From, InReplyTo: []string{i.MessageID}, Text: "I join.", AutoSubmitted: true}})
			if forged.ConversationID == id {
				t.Error("the daemon takes part in the conversation")
			}
		})
	}
}

// A report to the reply address is attributed to the latest answer to the reported recipient.
func TestBouncesByReplyToken(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	var answers []helpdesk.Interaction
	token := ""
	for _, cc := range [][]string{nil, nil, {"carol@example.com"}} {
		i := b.answer(id, helpdesk.InteractionInput{Cc: cc})
		mail := begin(b, i.ID)
		report(b, mail, sending.Sent)
		answers, token = append(answers, i), mail.ReplyTo
	}
	file := func(r sending.ReportedRecipient) ledger.Mail {
		m := reportOf("unknown@example.com", r)
		m.MessageID, m.Report.MessageIDs, m.To = r.Address+r.Response, nil, []mailaddr.Address{{Email: token}}
		return b.receive(m)
	}
	states := func() (all []sending.State) {
		for _, i := range answers {
			for _, d := range b.deliveries(i.ID) {
				all = append(all, d.State)
			}
		}
		return all
	}
	sent, back := sending.Sent, sending.Bounced
	for n, step := range []struct {
		reported string
		want     []sending.State // ada, ada, ada, carol
		seen     int
	}{
		{"stranger@example.com", []sending.State{sent, sent, sent, sent}, 5}, // a mail as others, in its conversation
		{"carol@example.com", []sending.State{sent, sent, sent, back}, 5},
		{"ADA@example.com", []sending.State{sent, sent, back, back}, 5},
		{"ada@example.com", []sending.State{sent, back, back, back}, 5},
	} {
		row := file(bounced(step.reported, "5.1.1", strings.Repeat("x", n)))
		if diff := cmp.Diff(step.want, states()); diff != "" || row.ConversationID != id || len(b.interactions(id)) != step.seen {
			t.Errorf("after a report on %s: %s\n%+v among %d", step.reported, diff, row, len(b.interactions(id)))
		}
	}
	// carol was one of several, and anybody among them has the token; ada was alone once.
	listed := must(b.desk.Suppressions().List(b.ctx, storage.PageRequest{}))(t).Items
	if len(listed) != 1 || listed[0].Key != "ada@example.com" {
		t.Errorf("suppressed are %+v", listed)
	}
}

// A report says what became of a sent answer; what reached a mailbox is no longer on its way, but may still come back.
func TestDeliveryReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reports []sending.State
		want    sending.State
		events  int // of type interaction.delivery_delivered
	}{
		"delivered":             {[]sending.State{sending.Delivered}, sending.Delivered, 1},
		"relayed":               {[]sending.State{sending.Sent}, sending.Sent, 0},
		"delayed, delivered":    {[]sending.State{sending.Deferred, sending.Delivered}, sending.Delivered, 1},
		"delivered, delayed":    {[]sending.State{sending.Delivered, sending.Deferred}, sending.Delivered, 1},
		"delivered twice":       {[]sending.State{sending.Delivered, sending.Delivered}, sending.Delivered, 1},
		"delivered, and failed": {[]sending.State{sending.Delivered, sending.Bounced}, sending.Bounced, 1},
		"failed, and delivered": {[]sending.State{sending.Bounced, sending.Delivered}, sending.Bounced, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			i := b.answer(id, helpdesk.InteractionInput{})
			report(b, begin(b, i.ID), sending.Sent)
			for n, state := range tt.reports {
				m := reportOf(i.MessageID, sending.ReportedRecipient{Address: "ada@example.com", State: state, EnhancedCode: "2.0.0"})
				m.MessageID = fmt.Sprint("report ", n)
				b.receive(m)
			}
			if d := b.deliveries(i.ID)[0]; d.State != tt.want {
				t.Errorf("the delivery is %s, want %s", d.State, tt.want)
			}
			page := must(b.desk.Events().List(b.ctx, subscription.EventQuery{}, storage.PageRequest{Limit: storage.MaxLimit}))(t)
			events := 0
			for _, e := range page.Items {
				if e.Type == "interaction.delivery_delivered" {
					events++
				}
			}
			if events != tt.events {
				t.Errorf("%d events, want %d", events, tt.events)
			}
			if n := len(b.interactions(id)); n != 2 {
				t.Errorf("the conversation has %d messages", n)
			}
		})
	}
}

// Automatic answers go to the envelope sender (RFC 3834 section 4): they are filed in the conversation, and so are mails
// from people to that address. None is lost.
func TestAnswersToTheReturnPath(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tagging(b)
	id := b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{})
	mail := begin(b, i.ID)
	report(b, mail, sending.Sent)
	path := mail.ReturnPaths[mail.Due[0].ID]
	for n, m := range []ledger.Incoming{
		{Message: message.Message{MessageID: "v", From: []mailaddr.Address{ada}, Subject: "Out of office", Text: "Ask bob@example.com.", AutoSubmitted: true, DeliveredTo: []mailaddr.Address{{Email: path}}}},
		{Message: message.Message{MessageID: "w", From: []mailaddr.Address{{Email: "ada@home.example"}}, Subject: "Undelivered", Text: "From home.", To: []mailaddr.Address{{Email: path}}}},
	} {
		row := b.receive(m)
		all := b.interactions(id)
		if row.ConversationID != id || len(all) != 3+n || all[len(all)-1].Threading.Rule != helpdesk.RuleToken {
			t.Errorf("%s is %+v", m.Subject, row)
		}
	}
	if d := b.deliveries(i.ID)[0]; d.State != sending.Sent {
		t.Errorf("the delivery is %+v", d)
	}
	// The address is ours and not a participant.
	reply := b.answer(id, helpdesk.InteractionInput{})
	if strings.Contains(strings.Join(append(reply.To, reply.Cc...), " "), "+b-") {
		t.Errorf("an answer goes to %q", append(reply.To, reply.Cc...))
	}
}
