package helpdesk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Replies begun together are the same as one by one, and independent of each other.
func TestBeginAll(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	other := must(b.desk.CreateConversation(b.ctx, helpdesk.ConversationInput{
		Channel: "email", To: "Carl <carl@example.com>", Subject: "A window",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Open it."}},
	}))(t)
	opened := must(b.desk.Interactions(b.ctx, other.ID, storage.PageRequest{}))(t).Items[0]
	first, second := b.answer(id, helpdesk.InteractionInput{Body: "Push."}), b.answer(id, helpdesk.InteractionInput{Body: "Pull.", Cc: []string{"cc@example.com"}})
	must(b.desk.Suppress(b.ctx, sending.SuppressionInput{Email: "gone@example.com"}))(t)
	suppressed := b.answer(id, helpdesk.InteractionInput{Cc: []string{"gone@example.com"}})
	later := b.answer(id, helpdesk.InteractionInput{SendAt: b.clock.Now().Add(time.Hour), Body: "Later."})
	note := must(b.desk.CreateInteraction(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Hm."}))(t)
	ids := []int64{opened.ID, first.ID, second.ID, suppressed.ID, later.ID, note.ID, 99999, first.ID}
	var starts []helpdesk.Start
	for n, i := range ids {
		starts = append(starts, helpdesk.Start{InteractionID: i, Job: int64(n + 1)})
	}
	begun := must(b.svc.Outgoing().BeginAll(b.ctx, b.account.ID, starts))(t)
	var due []int
	for n, got := range begun {
		due = append(due, len(got.Mail.Due))
		if absent := n == 5 || n == 6; absent != errors.Is(got.Err, helpdesk.ErrNotFound) || !absent && got.Err != nil {
			t.Errorf("%d: %v", n, got.Err)
		}
		if got.Err != nil {
			continue
		}
		alone := must(b.svc.Outgoing().Begin(b.ctx, b.account.ID, ids[n], starts[n].Job))(t) // the same job gets it again
		if diff := cmp.Diff(alone, got.Mail); diff != "" {
			t.Errorf("%d: %s", n, diff)
		}
	}
	if diff := cmp.Diff([]int{1, 1, 2, 1, 0, 0, 0, 0}, due); diff != "" {
		t.Errorf("due: %s", diff)
	}
	if at := begun[7].Mail.NextTry; !at.Equal(b.clock.Now().Add(30 * time.Minute)) {
		t.Errorf("the second job of a reply is to come again at %v", at)
	}
}

// Reports of several replies are recorded as they would be one by one, and a second time they change nothing.
func TestReportAll(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	var starts []helpdesk.Start
	for range 4 {
		starts = append(starts, helpdesk.Start{InteractionID: b.answer(id, helpdesk.InteractionInput{Cc: []string{"cc@example.com"}}).ID, Job: 1})
	}
	states := [][]sending.State{
		{sending.Sent, sending.Sent}, {sending.Sent, sending.Sent},
		{sending.Sent, sending.Deferred}, {sending.Sent, sending.Failed},
	}
	var reports []helpdesk.Report
	for n, got := range must(b.svc.Outgoing().BeginAll(b.ctx, b.account.ID, starts))(t) {
		r := helpdesk.Report{InteractionID: got.Mail.InteractionID}
		for k, d := range got.Mail.Due {
			r.Outcomes = append(r.Outcomes, helpdesk.Outcome{DeliveryID: d.ID, State: states[n][k], Code: 250})
		}
		reports = append(reports, r)
	}
	reports = append(reports, helpdesk.Report{InteractionID: 99999, Outcomes: []helpdesk.Outcome{{DeliveryID: 1, State: sending.Sent}}})
	before := len(must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t))
	for range 2 {
		for n, got := range must(b.svc.Outgoing().ReportAll(b.ctx, b.account.ID, reports))(t) {
			want := time.Time{}
			if n == 2 {
				want = b.clock.Now().Add(time.Minute)
			}
			if got.Err != nil || !got.Next.Equal(want) {
				t.Errorf("%d: %v, again at %v", n, got.Err, got.Next)
			}
		}
		for n, want := range states {
			var got []sending.State
			for _, d := range b.deliveries(starts[n].InteractionID) {
				if got = append(got, d.State); d.Attempts != 1 || d.HeldBy != 0 {
					t.Errorf("%d: %+v", n, d)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d: %s", n, diff)
			}
		}
	}
	var sent []int64
	for _, e := range must(b.store.Events(b.ctx, b.account.ID, 0, 1000))(t)[before:] {
		if e.Type == "interaction.delivery_sent" {
			sent = append(sent, e.Subject)
		}
	}
	slices.Sort(sent)
	want := []int64{starts[0].InteractionID, starts[1].InteractionID, starts[2].InteractionID, starts[3].InteractionID}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

// Replies to one address that are begun together count for its hourly limit, in the order in which they are begun, however
// they are.
func TestBeginAllOverBudget(t *testing.T) {
	t.Parallel()
	b := newBundle(t).with(func(cfg *helpdesk.Config) { cfg.MaxMailPerAddress = 2 })
	id := b.receive(opening()).ConversationID
	must(b.desk.Suppress(b.ctx, sending.SuppressionInput{Email: "gone@example.com"}))(t)
	var starts []helpdesk.Start
	for n, in := range []helpdesk.InteractionInput{
		{Cc: []string{"gone@example.com"}}, // is begun alone, after the others
		{}, {Cc: []string{"cc@example.com"}}, {To: []string{"cc@example.com"}}, {To: []string{"cc@example.com"}},
	} {
		in.Body = "Push."
		starts = append(starts, helpdesk.Start{InteractionID: b.answer(id, in).ID, Job: int64(n + 1)})
	}
	begun := must(b.svc.Outgoing().BeginAll(b.ctx, b.account.ID, starts))(t)
	var due []int
	for _, got := range begun {
		if got.Err != nil {
			t.Error(got.Err)
		}
		due = append(due, len(got.Mail.Due))
	}
	if diff := cmp.Diff([]int{0, 1, 2, 1, 0}, due); diff != "" {
		t.Errorf("due: %s", diff)
	}
	for _, n := range []int{0, 4} {
		deliveries := must(b.desk.Deliveries(b.ctx, []int64{starts[n].InteractionID}))(t)
		at := slices.IndexFunc(deliveries, func(d sending.Delivery) bool { return d.State == sending.Deferred })
		if at < 0 || !deliveries[at].NextAttemptAt.After(b.clock.Now()) || begun[n].Mail.NextTry.IsZero() {
			t.Errorf("%d: %+v, again at %v", n, deliveries, begun[n].Mail.NextTry)
		}
	}
}

// careless is a store whose reads outside transactions fail now and then.
type careless struct {
	helpdesk.Store
	users, quotes int    // reads that fail next
	before        func() // runs before users are read; nil: nothing
}

type carelessReader struct {
	helpdesk.Reader
	of *careless
}

type carelessInteractions struct {
	storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter]
	of *careless
}

func (c *careless) Within(scope helpdesk.Scope) helpdesk.Reader {
	return carelessReader{c.Store.Within(scope), c}
}

func (r carelessReader) UsersByID(ctx context.Context, ids []int64) ([]identity.User, error) {
	if r.of.before != nil {
		r.of.before()
	}
	if r.of.users--; r.of.users >= 0 {
		return nil, fault.New(fault.Unavailable, "Try again.")
	}
	return r.Reader.UsersByID(ctx, ids)
}

func (r carelessReader) Interactions() storage.RowReader[helpdesk.Interaction, helpdesk.InteractionFilter] {
	return carelessInteractions{r.Reader.Interactions(), r.of}
}

func (r carelessInteractions) ByIDs(ctx context.Context, ids []int64) ([]helpdesk.Interaction, error) {
	if r.of.quotes--; r.of.quotes >= 0 {
		return nil, fault.New(fault.Unavailable, "Try again.")
	}
	return r.RowReader.ByIDs(ctx, ids)
}

// A reply that is begun but whose mail cannot be read stays with its job, which gets it when it begins again. The others that
// began with it are sent.
func TestBeginAgain(t *testing.T) {
	t.Parallel()
	store := &careless{}
	b := newBundle(t, func(cfg *helpdesk.Config) { store.Store = cfg.Store; cfg.Store = store })
	must(b.desk.UpdateMailbox(b.ctx, b.mailbox.ID, helpdesk.MailboxInput{Quotes: storage.Some(helpdesk.QuoteAll)}))(t)
	id := b.receive(opening()).ConversationID
	var starts []helpdesk.Start
	for n := range 2 {
		starts = append(starts, helpdesk.Start{InteractionID: b.answer(id, helpdesk.InteractionInput{Body: "Push."}).ID, Job: int64(n + 1)})
	}
	out := b.svc.Outgoing()
	store.users = 1
	if _, err := out.BeginAll(b.ctx, b.account.ID, starts); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("without users: %v", err)
	}
	if mail := must(out.Begin(b.ctx, b.account.ID, starts[0].InteractionID, 9))(t); len(mail.Due) > 0 || mail.NextTry.IsZero() {
		t.Errorf("another job gets %v, and is to come again at %v", mail.Due, mail.NextTry)
	}
	store.quotes = 1
	begun := must(out.BeginAll(b.ctx, b.account.ID, starts))(t)
	if !fault.Is(begun[0].Err, fault.Unavailable) || len(begun[0].Mail.Due) > 0 {
		t.Errorf("without its quotes: %v, %v", begun[0].Mail.Due, begun[0].Err)
	}
	if begun[1].Err != nil || len(begun[1].Mail.Due) != 1 {
		t.Errorf("beside it: %v, %v", begun[1].Mail.Due, begun[1].Err)
	}
	store.quotes = 1
	if mail, err := out.Begin(b.ctx, b.account.ID, starts[0].InteractionID, 1); !fault.Is(err, fault.Unavailable) || len(mail.Due) > 0 {
		t.Errorf("alone, without its quotes: %v, %v", mail.Due, err)
	}
	if mail := must(out.Begin(b.ctx, b.account.ID, starts[0].InteractionID, 1))(t); len(mail.Due) != 1 || !strings.Contains(mail.HTML, "Push.") {
		t.Errorf("again: %v, %q", mail.Due, mail.HTML)
	}
}

// A reply that is deleted while it is begun has its attachments or is not sent: never without them.
func TestDeletedWhileBegun(t *testing.T) {
	t.Parallel()
	store := &careless{}
	b := newBundle(t, func(cfg *helpdesk.Config) { store.Store = cfg.Store; cfg.Store = store })
	id := b.receive(opening()).ConversationID
	posted := b.answer(id, helpdesk.InteractionInput{Body: "See the plan."})
	must(b.desk.CreateAttachment(b.ctx, id, posted.ID, helpdesk.Upload{Filename: "plan.txt", Content: strings.NewReader("plan")}))(t)
	out := b.svc.Outgoing()
	store.before = func() {
		store.before = nil
		if err := b.desk.DeleteConversation(b.ctx, id); err != nil {
			t.Error(err)
		}
	}
	mail := must(out.Begin(b.ctx, b.account.ID, posted.ID, 1))(t)
	if len(mail.Due) != 1 || len(mail.Attachments) != 1 {
		t.Errorf("due %v with %v", mail.Due, mail.Attachments)
	}
	if _, err := out.Begin(b.ctx, b.account.ID, posted.ID, 1); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("begun again: %v", err)
	}
}
