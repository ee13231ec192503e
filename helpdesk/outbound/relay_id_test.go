package outbound_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

const sesID = "0102018c3f5e7a91-3b6c2f10-9d4e-4a7b-8c21-5f0e6d7a8b9c-000000"

// A relay replaces the Message-ID of a mail. A reply and a report that name only the relay's id find the mail by what the
// relay answered.
func TestReplacedMessageID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer    string // of the relay
		messageID string // of the mail that the customer gets
		found     bool
	}{
		"Amazon SES in Ireland":  {"250 Ok " + sesID, sesID + "@eu-west-1.amazonses.com", true},
		"Amazon SES in Virginia": {"250 Ok " + sesID, sesID + "@email.amazonses.com", true},
		"Microsoft":              {"250 2.0.0 OK <AM0PR01@AM0PR01.prod.example> [Hostname=AM0PR01.prod.example]", "AM0PR01@AM0PR01.prod.example", true},
		"another mail's id":      {"250 Ok " + sesID, "1" + sesID + "@eu-west-1.amazonses.com", false},
		"a queue's id":           {"250 2.0.0 Ok: queued as 4ABCDEF012", "4ABCDEF012@relay.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, w := context.Background(), newWorld(t)
			must[helpdesk.Mailbox](t)(w.desk.Mailboxes().Update(ctx, w.box.ID, helpdesk.MailboxInput{ReplyAddress: storage.Some(helpdesk.ReplyPlain)}))
			relay := (&sink{answer: func(line string) string {
				if line == "." {
					return test.answer
				}
				return ""
			}}).start(t)
			sent := w.answer(helpdesk.InteractionInput{Body: "Your order is ready.", Cc: []string{"cora@example.com"}})
			if err := w.handle(w.sender(relay.relay(t))); err != nil {
				t.Fatal(err)
			}
			w.received(fmt.Sprintf("From: carl@example.com\nTo: support@example.org\nMessage-ID: <r@example.com>\nIn-Reply-To: <%[1]s>\nReferences: <%[1]s>\nSubject: Re: x\n\nThanks.\n", test.messageID))
			thread := must[storage.Page[helpdesk.Interaction]](t)(w.desk.Interactions().List(ctx, sent.ConversationID, storage.PageRequest{})).Items
			if joins := len(thread) == 2; joins != test.found {
				t.Errorf("the reply joins: %v", joins)
			} else if joins && (thread[1].Threading.Rule != helpdesk.RuleReferences || thread[1].Threading.Matched != test.messageID) {
				t.Errorf("the reply joins by %+v", thread[1].Threading)
			}
			w.received(fmt.Sprintf(`From: MAILER-DAEMON@relay.example
To: support@example.org
Message-ID: <d@relay.example>
Subject: Delivery Status Notification (Failure)
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b

It could not be delivered.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example

Final-Recipient: rfc822; carl@example.com
Action: failed
Status: 5.1.1

--b
Content-Type: text/rfc822-headers

Message-ID: <%s>
Subject: x

--b--
`, test.messageID))
			var states []sending.State
			for _, d := range w.deliveries(sent) {
				states = append(states, d.State)
			}
			if bounced := states[0] == sending.Bounced; len(states) != 2 || bounced != test.found || states[1] != sending.Sent {
				t.Errorf("the deliveries are %q", states)
			}
			mails := must[storage.Page[ledger.Mail]](t)(w.desk.InboundMails().List(ctx, ledger.Filter{MailboxID: w.box.ID}, storage.PageRequest{})).Items
			if report := mails[0]; report.State != ledger.Filed || (report.ConversationID == sent.ConversationID) != test.found {
				t.Errorf("the report is %+v", report)
			}
		})
	}
}
