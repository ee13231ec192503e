package helpdesk_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// report is a mail of a mail system about another one.
func reportOf(messageID string, recipients ...helpdesk.ReportedRecipient) helpdesk.IncomingMail {
	return helpdesk.IncomingMail{
		MessageID: "report-" + messageID, From: helpdesk.Address{Email: "MAILER-DAEMON@mx.example.com"}, Subject: "Undelivered", Text: "Sorry",
		AutoSubmitted: true, Report: &helpdesk.DeliveryReport{MessageIDs: []string{messageID}, Recipients: recipients},
		Attachments: []helpdesk.IncomingFile{{Filename: "status.txt", ContentType: "message/delivery-status", Content: []byte("x")}},
	}
}

func bounced(address, code, response string) helpdesk.ReportedRecipient {
	return helpdesk.ReportedRecipient{Address: address, State: helpdesk.DeliveryBounced, EnhancedCode: code, Response: response}
}

func TestBounces(t *testing.T) {
	t.Parallel()
	delayed := bounced("ada@example.com", "4.4.1", "no answer")
	delayed.State = helpdesk.DeliveryDeferred
	for name, test := range map[string]struct {
		recipients []helpdesk.ReportedRecipient
		state      helpdesk.DeliveryState
		status     helpdesk.Status // of the closed conversation
		suppressed bool
		own        bool // the report becomes a conversation of its own
		alone      bool // nobody else got the answer, who could have made the report up
	}{
		"no such user": {[]helpdesk.ReportedRecipient{bounced("ADA@example.com", "5.1.1", "no")}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, true, false, true},
		"in words":     {[]helpdesk.ReportedRecipient{bounced("ada@example.com", "", "550 User unknown")}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, true, false, true},
		"no such user, or so another recipient says": {[]helpdesk.ReportedRecipient{bounced("ada@example.com", "5.1.1", "no")}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, false, false, false},
		"full":                {[]helpdesk.ReportedRecipient{bounced("ada@example.com", "5.2.2", "user unknown? no, full")}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, false, false, false},
		"given up":            {[]helpdesk.ReportedRecipient{bounced("ada@example.com", "4.4.7", "expired")}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, false, false, false},
		"delayed":             {[]helpdesk.ReportedRecipient{delayed}, helpdesk.DeliverySent, helpdesk.StatusClosed, false, false, false},
		"rewritten":           {[]helpdesk.ReportedRecipient{bounced("ada@other.example", "5.1.1", "no")}, helpdesk.DeliverySent, helpdesk.StatusClosed, false, true, false},
		"rewritten, and told": {[]helpdesk.ReportedRecipient{{Address: "x@other.example", Original: "ada@example.com", State: helpdesk.DeliveryBounced}}, helpdesk.DeliveryBounced, helpdesk.StatusPosted, false, false, false},
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
			report(b, begin(b, i.ID), helpdesk.DeliverySent)
			must(b.desk.UpdateConversation(b.ctx, id, helpdesk.ConversationUpdate{Subject: "x", Status: storage.Some(helpdesk.StatusClosed)}))(t)
			before := len(b.interactions(id))
			row := b.receive(reportOf(i.MessageID, test.recipients...))
			d := b.deliveries(i.ID)
			if d[0].State != test.state || !test.alone && d[1].State != helpdesk.DeliverySent || b.conversation(id).Status != test.status {
				t.Errorf("%+v in a conversation that is %s", d, b.conversation(id).Status)
			}
			if len(b.interactions(id)) != before || (row.ConversationID != id) != test.own || row.State != helpdesk.InboundFiled {
				t.Errorf("the report is %+v", row)
			}
			listed := must(b.desk.Suppressions(b.ctx, storage.PageRequest{}))(t).Items
			if (len(listed) == 1) != test.suppressed || len(listed) == 1 && (listed[0].Key != "ada@example.com" || listed[0].InteractionID != i.ID || listed[0].UserID != 0) {
				t.Errorf("suppressed are %+v", listed)
			}
			if again := b.receive(reportOf(i.MessageID, test.recipients...)); again.State != helpdesk.InboundIgnored {
				t.Errorf("the same report again is %+v", again)
			}
		})
	}
}

// A report about what was never sent changes nothing, and is a mail as others.
func TestForgedBounces(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening())
	i := b.answer(first.ConversationID, helpdesk.InteractionInput{})
	report(b, begin(b, i.ID), helpdesk.DeliverySent)
	for what, id := range map[string]string{"an unknown mail": "forged@example.com", "the customer's own mail": "1@example.com"} {
		row := b.receive(reportOf(id, bounced("ada@example.com", "5.1.1", "no")))
		if row.State != helpdesk.InboundFiled || row.ConversationID == first.ConversationID || strings.Contains(row.Reason, "reports") {
			t.Errorf("a report about %s is %+v", what, row)
		}
	}
	if d := b.deliveries(i.ID)[0]; d.State != helpdesk.DeliverySent {
		t.Errorf("the delivery is %+v", d)
	}
	if listed := must(b.desk.Suppressions(b.ctx, storage.PageRequest{}))(t).Items; len(listed) != 0 {
		t.Errorf("suppressed are %+v", listed)
	}
}
