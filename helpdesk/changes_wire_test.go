package helpdesk_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/events"
)

// logged are the events about conversations, interactions and customers since one, with their data.
func (b *bundle) logged(after int64) (lines []string) {
	b.t.Helper()
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, after, 1000))(b.t) {
		if area, _, _ := strings.Cut(e.Type, "."); area == "conversation" || area == "interaction" || area == "customer" {
			lines = append(lines, e.Type+" "+string(e.Data))
		}
	}
	return lines
}

// Actors and changes of events, as they are stored and sent.
func TestChangesInEvents(t *testing.T) {
	t.Parallel()
	again := func() ledger.Incoming {
		m := opening()
		m.MessageID, m.References, m.Text = "2@example.com", []string{"1@example.com"}, "Still stuck."
		return m
	}
	closed := func(b *bundle, id int64) {
		must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(b.t)
	}
	for name, tt := range map[string]struct {
		before func(b *bundle, id int64)
		act    func(b *bundle, id int64)
		want   []string
	}{
		"a member": {nil, func(b *bundle, id int64) {
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{
				Subject: storage.Some("Stuck door"), Priority: storage.Some(helpdesk.PriorityUrgent), UserID: storage.Some(b.owner.ID),
			}))(b.t)
		}, []string{
			`conversation.updated {"actor":{"type":"user","id":1},"changes":{"priority":{"from":"normal","to":"urgent"},"subject":{},"user_id":{"from":null,"to":1}},"id":1}`,
			`conversation.prioritized {"actor":{"type":"user","id":1},"changes":{"priority":{"from":"normal","to":"urgent"},"subject":{},"user_id":{"from":null,"to":1}},"id":1}`,
			`conversation.assigned {"actor":{"type":"user","id":1},"changes":{"priority":{"from":"normal","to":"urgent"},"subject":{},"user_id":{"from":null,"to":1}},"id":1}`,
		}},
		"a member who changes nothing": {nil, func(b *bundle, id int64) {
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("The door is stuck")}))(b.t)
		}, []string{`conversation.updated {"actor":{"type":"user","id":1},"changes":{},"id":1}`}},
		"a token": {nil, func(b *bundle, id int64) {
			program := must(b.svc.Desk(b.ctx, b.scoped(), b.account.ID))(b.t)
			must(program.Conversations().AddTags(b.ctx, id, []int64{b.tag("door")}))(b.t)
		}, []string{`conversation.updated {"actor":{"type":"token","id":1},"changes":{"tags":{"added":[1],"removed":[]}},"id":1}`}},
		"a customer by mail": {closed, func(b *bundle, _ int64) { b.receive(again()) }, []string{
			`interaction.created {"actor":{"type":"customer","id":1},"changes":{"body":{},"customer_id":{"from":null,"to":1},"source":{},"status":{"from":null,"to":"posted"},"to":{}},"id":2}`,
			`conversation.reopened {"actor":{"type":"customer","id":1},"changes":{"status":{"from":"closed","to":"posted"}},"id":1,"interaction_id":2}`,
		}},
		"a customer in the portal": {closed, func(b *bundle, id int64) {
			must(b.portal("ada@example.com").CreateInteraction(b.ctx, id, helpdesk.PortalMessage{Body: "Still stuck."}))(b.t)
		}, []string{
			`interaction.created {"actor":{"type":"customer","id":1},"changes":{"body":{},"customer_id":{"from":null,"to":1},"source":{},"status":{"from":null,"to":"posted"}},"id":2}`,
			`conversation.reopened {"actor":{"type":"customer","id":1},"changes":{"status":{"from":"closed","to":"posted"}},"id":1,"interaction_id":2}`,
		}},
		"a report": {func(b *bundle, id int64) {
			i := b.sent(id, helpdesk.InteractionInput{})
			must(b.svc.Outgoing().Report(b.ctx, b.account.ID, i.ID, []helpdesk.Outcome{{DeliveryID: b.deliveries(i.ID)[0].ID, State: sending.Sent, MessageID: i.MessageID}}))(b.t)
			closed(b, id)
		}, func(b *bundle, id int64) {
			b.receive(reportOf(b.interactions(id)[1].MessageID, bounced("ada@example.com", "5.1.1", "no")))
		}, []string{
			`interaction.delivery_bounced {"actor":{"type":"mail","id":2},"changes":{},"id":2}`,
			`conversation.reopened {"actor":{"type":"mail","id":2},"changes":{"status":{"from":"closed","to":"posted"}},"id":1}`,
		}},
		"the server": {func(b *bundle, id int64) { b.snoozed(id); b.clock.Add(time.Hour) }, func(b *bundle, _ int64) { b.due() }, []string{
			`conversation.updated {"actor":{"type":"system"},"changes":{"snoozed_until":{"from":"2026-11-01T13:00:00Z","to":null}},"id":1}`,
			`conversation.woken {"actor":{"type":"system"},"changes":{"snoozed_until":{"from":"2026-11-01T13:00:00Z","to":null}},"id":1}`,
		}},
		"a customer's names": {nil, func(b *bundle, id int64) {
			must(b.desk.Customers().Update(b.ctx, b.conversation(id).CustomerID, helpdesk.CustomerInput{FirstName: storage.Some("Augusta"), Company: storage.Some("Analytical Engines")}))(b.t)
		}, []string{`customer.updated {"actor":{"type":"user","id":1},"changes":{"company":{},"first_name":{}},"id":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			id := b.receive(opening()).ConversationID
			if tt.before != nil {
				tt.before(b, id)
			}
			last := must(b.desk.Events().Last(b.ctx))(t)
			tt.act(b, id)
			if diff := cmp.Diff(tt.want, b.logged(last)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Several mails are filed in one transaction; each event has what its own mail changed.
func TestChangesOfMailsFiledTogether(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.receive(opening()).ConversationID
	second := opening()
	second.MessageID, second.Subject = "other@example.com", "The window is stuck"
	b.receive(second)
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{first}, helpdesk.BulkUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	last := must(b.desk.Events().Last(b.ctx))(t)
	raw := []ledger.Raw{{Raw: []byte("one more")}, {Raw: []byte("two more")}}
	if err := b.svc.Intake().Take(b.ctx, b.account.ID, b.mailbox.ID, "smtp", raw, nil); err != nil {
		t.Fatal(err)
	}
	var mails []ledger.Parsed
	for n, m := range must(b.svc.Intake().Waiting(b.ctx, b.account.ID, b.mailbox.ID, 0, 10))(t) {
		mails = append(mails, ledger.Parsed{ID: m.ID, Mail: ledger.Incoming{Message: message.Message{
			MessageID: fmt.Sprintf("more%d@example.com", n), References: []string{"1@example.com"}, From: opening().From, To: opening().To,
			Subject: "Re: The door is stuck", Text: fmt.Sprint("More ", n),
		}, Identity: []byte{byte(n)}}})
	}
	must(b.svc.Intake().FileAll(b.ctx, b.account.ID, mails))(t)
	var reopened []string
	for _, line := range b.logged(last) {
		if strings.HasPrefix(line, "conversation.") {
			reopened = append(reopened, line)
		}
	}
	want := []string{`conversation.reopened {"actor":{"type":"customer","id":1},"changes":{"status":{"from":"closed","to":"posted"}},"id":1,"interaction_id":3}`}
	if diff := cmp.Diff(want, reopened); diff != "" {
		t.Error(diff)
	}
}

// A conversation that moves from a mailbox to another one: members and webhooks of one do not learn the other's id or values.
func TestChangesStayInTheirMailbox(t *testing.T) {
	t.Parallel()
	var hub *events.Hub
	b := newBundle(t, func(cfg *helpdesk.Config) {
		log, _ := cfg.Store.(storage.EventLog)
		hub, _ = events.New(events.Config{Log: log})
		cfg.Feed = hub
	})
	there := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(t)
	limited := func(mailbox int64) *helpdesk.Desk {
		d := b.member("agent")
		m := membershipOf(t, b.ctx, d)
		must(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{mailbox})}))(t)
		return b.again(d)
	}
	left, joined := limited(b.mailbox.ID), limited(there.ID)
	w, _, err := b.desk.Webhooks().Create(b.ctx, subscription.WebhookInput{
		URL: storage.Some("https://example.org"), Events: storage.Some([]string{"conversation.updated", "conversation.prioritized", "conversation.moved"}), MailboxIDs: storage.Some([]int64{there.ID}),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := b.receive(opening()).ConversationID
	b.distribute()
	after := must(b.desk.Events().Last(b.ctx))(t)
	must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{
		MailboxID: storage.Some(there.ID), Priority: storage.Some(helpdesk.PriorityHigh),
	}))(t)
	b.distribute()
	seen := func(d *helpdesk.Desk) (lines []string) {
		for _, e := range must(d.Events().List(b.ctx, subscription.EventQuery{After: after}, storage.PageRequest{}))(t).Items {
			if strings.HasPrefix(e.Type, "conversation.") {
				lines = append(lines, e.Type+" "+string(e.Data))
			}
		}
		return lines
	}
	rest := `"priority":{"from":"normal","to":"high"}},"id":1}`
	user := `{"actor":{"type":"user","id":1},"changes":{"mailbox_id":`
	want := [][]string{
		{"conversation.moved " + user + `{"from":1}},"id":1}`},
		{"conversation.updated " + user + `{"to":2},` + rest, "conversation.prioritized " + user + `{"to":2},` + rest},
		{
			"conversation.moved " + user + `{"from":1,"to":2}},"id":1}`, "conversation.updated " + user + `{"from":1,"to":2},` + rest,
			"conversation.prioritized " + user + `{"from":1,"to":2},` + rest,
		},
	}
	if diff := cmp.Diff(want, [][]string{seen(left), seen(joined), seen(b.desk)}); diff != "" {
		t.Error(diff)
	}
	var posted []string
	for _, call := range b.take(w, 1, 10) {
		posted = append(posted, string(call.Body))
	}
	if got := strings.Join(posted, "\n"); len(posted) != 2 || strings.Count(got, `"mailbox_id":{"to":2}`) != 2 || strings.Contains(got, `"from":1`) {
		t.Errorf("a webhook of the other mailbox gets %s", got)
	}
	history := must(joined.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{Type: helpdesk.HistoryChange}, storage.PageRequest{}))(t).Items
	if len(history) != 1 || history[0].Changes["mailbox_id"].From.IsSet() || len(history[0].Events) != 2 {
		t.Errorf("the history has %+v", history)
	}
}

// Every field of a conversation is compared, or known to say nothing of its own.
func TestChangesKnowAllFields(t *testing.T) {
	t.Parallel()
	compared := []string{"Status", "Priority", "UserID", "TeamID", "MailboxID", "CustomerID", "SnoozedUntil", "SpamAt", "Subject", "SLAID", "HeldAt"}
	derived := []string{
		"ID", "Number", "Channel", "CreatedAt", "UpdatedAt", // fixed, or part of every change
		"CustomerEmailID", "CustomerEmail", // with the customer
		"Preview", "AwaitingSince", // with the interactions
		"RefersTo",               // with the first mail
		"HeldByID", "HoldReason", // with HeldAt
		"ErasedAt",                    // the event conversation.erased tells it
		"SLATrack", "DueAt", "SoonAt", // follow from the others, see dues
	}
	known := map[string]bool{}
	for _, name := range append(compared, derived...) {
		known[name] = true
	}
	got := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[helpdesk.Conversation]()) {
		got[f.Name] = true
	}
	if diff := cmp.Diff(known, got); diff != "" {
		t.Errorf("fields of Conversation (-known +there): %s", diff)
	}
}
