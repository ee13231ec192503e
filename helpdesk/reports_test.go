package helpdesk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	figures "github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// fold does what the job does.
func (b *bundle) fold() {
	b.t.Helper()
	ok(b.t, b.svc.Jobs().FoldFacts(b.ctx, storage.ClaimedJob{Job: storage.Job{AccountID: b.account.ID}}))
}

// factRows are the facts as they are stored, by conversation, without their own ids.
func (b *bundle) factRows() []helpdesk.ConversationFact {
	b.t.Helper()
	r := helpdesk.Nouns().ConversationFacts.Reader(b.store.Within(b.desk.Scope()))
	all := must(r.List(b.ctx, helpdesk.ConversationFactFilter{}, storage.Seek{Limit: storage.NoLimit}))(b.t)
	for n := range all {
		all[n].ID = 0
	}
	slices.SortFunc(all, func(x, y helpdesk.ConversationFact) int { return int(x.ConversationID - y.ConversationID) })
	return all
}

// writes begins a conversation, or continues one.
func (b *bundle) writes(id string, refers ...string) int64 {
	b.t.Helper()
	return b.receive(ledger.Incoming{Message: message.Message{
		MessageID: id + "@example.com", From: []mailaddr.Address{ada}, To: opening().To, References: refers, Subject: "About " + id, Text: id,
	}}).ConversationID
}

// facts of a small desk in which everything happened that counts, or must not.
func busyDesk(b *bundle) map[string]int64 {
	b.t.Helper()
	b.office()
	b.autoReply(helpdesk.AutoReplyInput{})
	of := map[string]int64{}
	hour := func(n int) { b.clock.Add(time.Duration(n) * time.Hour) }

	of["plain"] = b.writes("plain") // at 12:00
	b.answerAll()
	hour(1)
	must(b.desk.Interactions().Create(b.ctx, of["plain"], helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "Who knows?"}))(b.t)
	must(b.desk.Interactions().Create(b.ctx, of["plain"], helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "Not yet"}))(b.t)
	b.answer(of["plain"], helpdesk.InteractionInput{IsForward: true, To: []string{"expert@example.org"}})
	hour(1)
	b.answer(of["plain"], helpdesk.InteractionInput{}) // after two hours
	b.close(of["plain"])
	hour(24)
	b.writes("plain again", "plain@example.com") // opens it
	hour(3)
	b.answer(of["plain"], helpdesk.InteractionInput{})
	b.close(of["plain"])
	must(b.desk.Ratings().Record(b.ctx, of["plain"], helpdesk.RatingInput{Score: 5}))(b.t)

	of["unanswered"] = b.writes("unanswered")
	hour(1)
	b.close(of["unanswered"])
	hour(1)
	b.writes("unanswered again", "unanswered@example.com")
	hour(1)
	b.answer(of["unanswered"], helpdesk.InteractionInput{}) // no first reply: it was closed before

	of["spam"] = b.writes("spam")
	b.update(of["spam"], helpdesk.ConversationUpdate{Spam: storage.Some(true)})
	of["no spam"] = b.writes("no spam")
	b.update(of["no spam"], helpdesk.ConversationUpdate{Spam: storage.Some(true)})
	hour(1)
	b.update(of["no spam"], helpdesk.ConversationUpdate{Spam: storage.Some(false)})

	of["merged"] = b.writes("merged")
	hour(1)
	of["into"] = b.writes("into")
	must(b.desk.Conversations().Merge(b.ctx, of["merged"], of["into"]))(b.t)

	of["split"] = b.writes("split")
	hour(5)
	b.writes("part", "split@example.com")
	said := b.interactions(of["split"])
	hour(5)
	of["part"] = must(b.desk.Conversations().Split(b.ctx, of["split"], helpdesk.SplitInput{InteractionID: said[len(said)-1].ID}))(b.t).ID

	began := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{
		Channel: "email", To: "new@example.com", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "Hello"}},
	}))(b.t)
	of["ours"] = began.ID
	of["draft"] = must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "new@example.com", Status: helpdesk.StatusDraft}))(b.t).ID

	then := time.Date(2024, 2, 29, 10, 0, 0, 0, time.UTC)
	results := must(b.svc.MoveIn().File(b.ctx, b.account.ID, b.mailbox.ID, "zendesk", []helpdesk.ImportedConversation{{
		Key: "1", Customer: ada, Status: helpdesk.StatusClosed, CreatedAt: then, UpdatedAt: then.Add(100 * time.Hour), Messages: []helpdesk.ImportedMessage{
			{Key: "a", Type: helpdesk.TypeCustomer, Author: ada, Text: "Old", At: then},
			{Key: "b", Type: helpdesk.TypeUser, UserID: b.owner.ID, Text: "Older", At: then.Add(90 * time.Minute)},
		},
		Rating: helpdesk.ImportedRating{Score: 1, Scale: 2, At: then.Add(3 * time.Hour), UserID: b.owner.ID},
	}}))(b.t)
	of["imported"] = results[0].ConversationID
	return of
}

func factText(f figures.Fact) string {
	return fmt.Sprintf("replies %d, touches %d, received %d, reopened %d, first %d, business %d, wait %d, resolution %d, rating %q",
		f.Replies, f.Touches, f.Received, f.Reopened, f.FirstReply(), f.BusinessReply, f.Wait, f.Resolution(), f.Verdict)
}

// Everything that happens in a desk becomes facts, and these are the same when they are made again: after any interruption, and when
// the events are gone that told some of it.
func TestFacts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	of := busyDesk(b)
	b.fold()
	got, want := map[string]string{}, map[string]string{
		"plain":      "replies 2, touches 4, received 2, reopened 1, first 7200, business 7200, wait 18000, resolution 104400, rating \"good\"",
		"unanswered": "replies 1, touches 1, received 2, reopened 1, first -1, business -1, wait 7200, resolution -1, rating \"\"",
		"no spam":    "replies 0, touches 0, received 1, reopened 0, first -1, business -1, wait 0, resolution -1, rating \"\"",
		"into":       "replies 0, touches 0, received 2, reopened 0, first -1, business -1, wait 0, resolution -1, rating \"\"",
		"split":      "replies 0, touches 0, received 1, reopened 0, first -1, business -1, wait 0, resolution -1, rating \"\"",
		"part":       "replies 0, touches 0, received 1, reopened 0, first -1, business -1, wait 0, resolution -1, rating \"\"",
		"ours":       "replies 1, touches 1, received 0, reopened 0, first -1, business -1, wait 0, resolution -1, rating \"\"",
		"imported":   "replies 1, touches 1, received 1, reopened 0, first 5400, business 5400, wait 5400, resolution 5400, rating \"bad\"",
	}
	facts := map[int64]figures.Fact{}
	for _, s := range b.factRows() {
		facts[s.ConversationID] = s.Fact
	}
	for name, id := range of {
		if f, there := facts[id]; there {
			got[name] = factText(f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got): %s", diff)
	}
	if a, c := facts[of["into"]].CreatedAt, facts[of["part"]].CreatedAt; !a.Equal(b.interactions(of["into"])[0].At.Truncate(time.Second)) || !c.Equal(b.interactions(of["part"])[0].At.Truncate(time.Second)) {
		t.Errorf("what was merged began at %v, what was parted at %v", a, c)
	}
	before := b.factRows()
	again := func(what string) {
		t.Helper()
		n := must(b.svc.RebuildFacts(b.ctx, b.account.ID))(t)
		if diff := cmp.Diff(before, b.factRows()); diff != "" || n != len(before) {
			t.Errorf("%s, %d facts (-before +rebuilt): %s", what, n, diff)
		}
	}
	again("rebuilt")
	for n := range 6 { // killed before any of the transactions
		left := n
		whole := b.svc
		b.with(func(cfg *helpdesk.Config) { cfg.Store = &dying{b.store, &left} })
		_, err := b.svc.RebuildFacts(b.ctx, b.account.ID)
		b.svc = whole
		if err != nil && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		b.fold()
		if diff := cmp.Diff(before, b.factRows()); diff != "" {
			t.Errorf("after it died before transaction %d: %s", n, diff)
		}
	}
	b.clock.Add(200 * 24 * time.Hour)
	if pruned := must(b.svc.Prune(b.ctx))(t); pruned.Events == 0 {
		t.Error("no events were pruned")
	}
	again("rebuilt without events")
	b.deleteConversation(of["plain"])
	b.fold()
	if left := len(b.factRows()); left != len(before)-1 {
		t.Errorf("%d facts are left", left)
	}
}

// dying is a store whose process dies before some transaction.
type dying struct {
	helpdesk.Store
	left *int
}

var errDied = errors.New("died")

// InTx implements helpdesk.Store.
func (d *dying) InTx(ctx context.Context, s helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	if *d.left--; *d.left < 0 {
		return errDied
	}
	return d.Store.InTx(ctx, s, fn)
}

// Reports are about what their reader reaches, and their rows are what they count.
func TestReportsOfDesk(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	of := busyDesk(b)
	q := figures.Query{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), GroupBy: figures.ByDay}
	if r := must(b.desk.Reports().Get(b.ctx, figures.Volume, q))(t); !r.FoldedAt.IsZero() || r.Total.Figures[0].Value != 0 {
		t.Errorf("before anything was folded: %+v", r)
	}
	b.fold()
	r := must(b.desk.Reports().Get(b.ctx, figures.Volume, q))(t)
	if created := r.Total.Figures[0]; created.Value != 7 || created.Of != 7 || len(r.Lines) != 30 || r.FoldedAt.IsZero() || r.Before.Figures[0].Value != 0 {
		t.Errorf("%+v", r)
	}
	for _, name := range figures.Names() {
		all := q
		all.GroupBy = name.Groups()[0]
		r := must(b.desk.Reports().Get(b.ctx, name, all))(t)
		for _, line := range append(r.Lines, r.Total) {
			for i, m := range r.Measures {
				var values []float64
				req := storage.PageRequest{Limit: 2}
				for more := true; more; {
					page := must(b.desk.Reports().Rows(b.ctx, name, all, m.Key, line.Key, req))(t)
					for _, row := range page.Items {
						values = append(values, row.Value)
					}
					req.Cursor, more = page.Next, page.Next != ""
				}
				if diff := cmp.Diff(line.Figures[i], m.Statistic.Of(values)); diff != "" {
					t.Errorf("%s of %s in %q (-figure +rows): %s", m.Key, name, line.Key, diff)
				}
			}
		}
	}
	var each []int64
	ok(t, b.desk.Reports().Each(b.ctx, q, func(f figures.Fact) error {
		each = append(each, f.ConversationID)
		return nil
	}))
	if len(each) != 7 || !slices.IsSorted(each) || slices.Contains(each, of["imported"]) {
		t.Errorf("each: %v", each)
	}
	old := figures.Query{From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	if r := must(b.desk.Reports().Get(b.ctx, figures.FirstReply, old))(t); r.Total.Figures[1].Value != 5400 {
		t.Errorf("what was imported: %+v", r.Total)
	}
	other := must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other"), Email: storage.Some("other@example.org")}))(t)
	m := membershipOf(t, b.ctx, b.member(identity.RoleAgent))
	must(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{other.ID})}))(t)
	agent := must(b.svc.Desk(b.ctx, b.svc.As(m.UserID), b.account.ID))(t)
	if r := must(agent.Reports().Get(b.ctx, figures.Volume, q))(t); r.Total.Figures[0].Of != 0 {
		t.Errorf("somebody limited to another mailbox: %+v", r.Total)
	}
	for name, test := range map[string]struct {
		name   figures.Name
		change func(q *figures.Query)
		field  string
	}{
		"no such group":       {figures.BusyHours, func(q *figures.Query) { q.GroupBy = figures.ByTag }, "group_by"},
		"six years":           {figures.Volume, func(q *figures.Query) { q.To = q.From.AddDate(6, 0, 0) }, "to"},
		"backwards":           {figures.Volume, func(q *figures.Query) { q.To = q.From }, "to"},
		"nowhere":             {figures.Volume, func(q *figures.Query) { q.Timezone = "Mars" }, "timezone"},
		"no such hours":       {figures.Volume, func(q *figures.Query) { q.CalendarID = 99 }, "calendar_id"},
		"before any computer": {figures.Volume, func(q *figures.Query) { q.From = time.Time{} }, "from"},
	} {
		asked := q
		test.change(&asked)
		_, err := b.desk.Reports().Get(b.ctx, test.name, asked)
		if f, is := errors.AsType[*fault.Error](err); !is || f.Fields[test.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.desk.Reports().Get(b.ctx, "none", q); !fault.Is(err, fault.NotFound) {
		t.Errorf("a report that there is not: %v", err)
	}
	if _, err := b.member(identity.RoleCollaborator).Reports().Get(b.ctx, figures.Volume, q); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a collaborator: %v", err)
	}
}
