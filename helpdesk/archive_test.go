package helpdesk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// imported files a mail from an archive that was sent some days ago.
func (b *bundle) imported(days int, m ledger.Incoming) ledger.Mail {
	b.t.Helper()
	b.source = ledger.SourceImport
	defer func() { b.source = "" }()
	m.Archived, m.Date = true, b.clock.Now().Add(-time.Duration(days)*24*time.Hour)
	if m.MessageID == "" {
		m.MessageID = fmt.Sprintf("%d@import.example", b.taken)
	}
	return b.receive(m)
}

// Whom a mail of an archive is from decides whether it is a customer's or an answer.
func TestAnswersOfAnArchive(t *testing.T) {
	t.Parallel()
	support, lise := mailaddr.Address{Name: "Support", Email: "Support@example.org"}, mailaddr.Address{Name: "Lise", Email: "agent@example.org"}
	to := func(all ...mailaddr.Address) []mailaddr.Address { return all }
	bob, stranger := mailaddr.Address{Email: "bob@example.com"}, mailaddr.Address{Email: "stranger@example.net"}
	for name, c := range map[string]struct {
		mail   ledger.Incoming
		kind   helpdesk.InteractionType
		member bool   // the member is its author
		first  string // the customer
	}{
		"of the mailbox":                      {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: to(ada)}}, helpdesk.TypeUser, false, ada.Email},
		"of a member in its name":             {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, Sender: []mailaddr.Address{lise}, To: to(ada)}}, helpdesk.TypeUser, true, ada.Email},
		"of a stranger in its name":           {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, Sender: []mailaddr.Address{stranger}, To: to(ada)}}, helpdesk.TypeUser, false, ada.Email},
		"of a member to a customer":           {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{lise}, To: to(ada), Cc: to(support)}}, helpdesk.TypeUser, true, ada.Email},
		"of a member to us and a customer":    {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{lise}, To: to(support, ada)}}, helpdesk.TypeCustomer, false, lise.Email},
		"of a member to us":                   {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{lise}, To: to(support)}}, helpdesk.TypeCustomer, false, lise.Email},
		"of the mailbox to itself":            {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: to(support)}}, helpdesk.TypeCustomer, false, ledger.UnknownSender},
		"of the mailbox to nobody":            {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}}}, helpdesk.TypeCustomer, false, ledger.UnknownSender},
		"of the mailbox to two":               {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: to(support, bob, ada)}}, helpdesk.TypeUser, false, bob.Email},
		"of the mailbox, blind":               {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, Bcc: to(ada)}}, helpdesk.TypeUser, false, ada.Email},
		"of a customer":                       {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}, To: to(support)}}, helpdesk.TypeCustomer, false, ada.Email},
		"of a customer to another":            {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{ada}, To: to(bob)}}, helpdesk.TypeCustomer, false, ada.Email},
		"a report in the name of the mailbox": {ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: to(ada)}, Report: &sending.Report{}}, helpdesk.TypeCustomer, false, ledger.UnknownSender},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: lise.Email}))(t)
			must(b.svc.Operator().AddMember(b.ctx, b.account.ID, user.ID, identity.RoleAgent))(t)
			c.mail.Subject, c.mail.Text = "The door", "It opens."
			row := b.imported(100, c.mail)
			if row.State != ledger.Filed {
				t.Fatalf("%s: %s", row.State, row.Reason)
			}
			i := b.interactions(row.ConversationID)[0]
			author := int64(0)
			if c.member {
				author = user.ID
			}
			got := []any{i.Type, i.UserID, i.PostedByID, b.conversation(row.ConversationID).CustomerEmail}
			if diff := cmp.Diff([]any{c.kind, author, author, c.first}, got); diff != "" {
				t.Error(diff)
			}
			if live := b.receive(func() ledger.Incoming { m := c.mail; m.MessageID = "live@x.example"; return m }()); live.State == ledger.Filed {
				if i := must(b.desk.Interactions().Get(b.ctx, live.ConversationID, live.InteractionID))(t); i.Type != helpdesk.TypeCustomer {
					t.Errorf("a mail that was not imported became a %s's", i.Type)
				}
			}
		})
	}
}

// A thread of an archive is one conversation with its dates, closed if no answer is expected any more. Nothing is sent.
func TestThreadOfAnArchive(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	support := mailaddr.Address{Email: "support@example.org"}
	ask := func(days int, id, answers, text string) ledger.Mail {
		m := ledger.Incoming{Message: message.Message{MessageID: id, From: []mailaddr.Address{ada}, To: []mailaddr.Address{support}, Subject: "The door", Text: text}}
		if answers != "" {
			m.InReplyTo = []string{answers}
		}
		return b.imported(days, m)
	}
	answer := func(days int, id, answers string, to ...mailaddr.Address) ledger.Mail {
		return b.imported(days, ledger.Incoming{Message: message.Message{MessageID: id, From: []mailaddr.Address{support}, To: to, Subject: "Re: The door", Text: "Pull.", InReplyTo: []string{answers}}})
	}
	state := func(id int64) string {
		c := b.conversation(id)
		return fmt.Sprintf("%s, waiting %v, %d days ago", c.Status, !c.AwaitingSince.IsZero(), int(b.clock.Now().Sub(c.UpdatedAt).Hours()/24))
	}
	first := ask(400, "q1@x.example", "", "It sticks.").ConversationID
	steps := []string{state(first)}
	for _, next := range []func() ledger.Mail{
		func() ledger.Mail {
			return answer(399, "a1@x.example", "q1@x.example", ada)
		},
		func() ledger.Mail {
			return ask(398, "q2@x.example", "a1@x.example", "Thank you.")
		},
		func() ledger.Mail {
			return answer(20, "a2@x.example", "q2@x.example", ada)
		},
		func() ledger.Mail {
			return ask(10, "q3@x.example", "a2@x.example", "It sticks again.")
		},
		func() ledger.Mail {
			return b.imported(9, ledger.Incoming{Message: message.Message{From: []mailaddr.Address{support}, To: []mailaddr.Address{ada}, Subject: "Re: The door", Text: "We got it.", InReplyTo: []string{"q3@x.example"}, AutoSubmitted: true}})
		},
		func() ledger.Mail {
			return answer(8, "f1@x.example", "q3@x.example", mailaddr.Address{Email: "smith@locks.example"})
		},
		func() ledger.Mail {
			return answer(5, "a3@x.example", "q3@x.example", ada)
		},
		func() ledger.Mail {
			return answer(200, "a4@x.example", "q1@x.example", ada)
		},
	} {
		row := next()
		if row.ConversationID != first {
			t.Errorf("%s: %s in %d", row.State, row.Reason, row.ConversationID)
		}
		steps = append(steps, state(first))
	}
	if diff := cmp.Diff([]string{
		"closed, waiting false, 400 days ago", "closed, waiting false, 399 days ago", "closed, waiting false, 398 days ago", "closed, waiting false, 20 days ago",
		"posted, waiting true, 10 days ago", "posted, waiting true, 9 days ago", "posted, waiting true, 8 days ago", "closed, waiting false, 5 days ago",
		"closed, waiting false, 5 days ago",
	}, steps); diff != "" {
		t.Error(diff)
	}
	var order []string
	for _, i := range b.interactions(first) {
		order = append(order, i.MessageID)
		if i.Type == helpdesk.TypeUser && i.MessageID != "" {
			if all := must(b.desk.Interactions().Deliveries(b.ctx, []int64{i.ID}))(t); len(all) != 0 || i.SendStartedAt.IsZero() || i.IsForward != strings.HasPrefix(i.MessageID, "f") {
				t.Errorf("%s: forward %v, begun %v, deliveries %v", i.MessageID, i.IsForward, i.SendStartedAt, all)
			}
		}
	}
	if len(order) != 9 || order[0] != "q1@x.example" || order[3] != "a4@x.example" {
		t.Errorf("the order is %q", order)
	}
	if again := answer(5, "a3@x.example", "q3@x.example", ada); again.State != ledger.Ignored {
		t.Errorf("a double is %s", again.State)
	}
}

// An old mail in a current conversation does not change its state, and none is a command or a forward by command.
func TestArchiveLeavesWorkAlone(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "agent@example.org"}))(t)
	must(b.svc.Operator().AddMember(b.ctx, b.account.ID, user.ID, identity.RoleAgent))(t)
	row := b.receive(opening())
	old := opening()
	old.MessageID, old.InReplyTo, old.Text = "old@example.com", []string{"1@example.com"}, "Long ago."
	if got := b.imported(300, old); got.ConversationID != row.ConversationID {
		t.Fatalf("%s: %s", got.State, got.Reason)
	}
	if c := b.conversation(row.ConversationID); c.Status != helpdesk.StatusPosted || c.AwaitingSince.IsZero() {
		t.Errorf("the conversation is %s", c.Status)
	}
	before := b.count()
	command := ledger.Incoming{
		Message: message.Message{
			From: []mailaddr.Address{{Email: "agent@example.org"}}, To: []mailaddr.Address{{Email: "support@example.org"}}, Subject: "Fwd: Hello",
			Text: "@fwd\n\n---------- Forwarded message ---------\nFrom: Bob <bob@example.com>\nSubject: Hello\n\nHello!",
		},
	}
	got := b.imported(3, command)
	if c := b.conversation(got.ConversationID); got.State != ledger.Filed || c.CustomerEmail != "agent@example.org" || b.count() != before+1 {
		t.Errorf("a command of an archive: %s %q", got.State, c.CustomerEmail)
	}
}
