package api_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// The stored counts are correct after any concurrent changes by several agents.
func TestCountsAreRight(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			w.clock.step = 1000
			agents := []*helpdesk.Desk{w.desk(t), w.deskOf(t, "agent")}
			for range 3 {
				must(agents[0].Mailboxes().Create(t.Context(), helpdesk.MailboxInput{}))(t)
			}
			var everybody sync.WaitGroup
			for n := range 4 {
				everybody.Go(func() {
					(&busyAgent{world: w, t: t, desk: agents[n%2], Rand: rand.New(rand.NewPCG(7, uint64(n)))}).work(80)
				})
			}
			everybody.Wait()
			for _, d := range agents {
				want, got := w.countAll(t, d), must(d.Conversations().Counts(t.Context()))(t)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
			// The conversations of a member who leaves become unassigned.
			alf := agents[1].UserID()
			members := must(agents[0].Members().List(t.Context(), storage.PageRequest{}))(t).Items
			at := slices.IndexFunc(members, func(m identity.Membership) bool { return m.UserID == alf })
			if err := agents[0].Members().Remove(t.Context(), members[at].ID); err != nil {
				t.Fatal(err)
			}
			if err := w.svc.Jobs().Unassign(t.Context(), storage.ClaimedJob{Job: storage.Job{AccountID: w.account.ID, Subject: alf}}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w.countAll(t, agents[0]), must(agents[0].Conversations().Counts(t.Context()))(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// deskOf returns the desk of a user with a token.
func (w *world) deskOf(t *testing.T, who string) *helpdesk.Desk {
	t.Helper()
	caller := must(w.svc.Authenticate(t.Context(), w.tokens[who]))(t)
	return must(w.svc.Desk(t.Context(), caller, w.account.ID))(t)
}

// must returns the value of a call that may not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// countAll counts conversations one by one.
func (w *world) countAll(t *testing.T, d *helpdesk.Desk) helpdesk.Counts {
	t.Helper()
	var counts helpdesk.Counts
	by := map[int64]*helpdesk.MailboxCounts{}
	page := storage.Page[helpdesk.Conversation]{Next: "first"}
	for req := (storage.PageRequest{Limit: 100}); page.Next != ""; req.Cursor = page.Next {
		page = must(d.Conversations().List(t.Context(), helpdesk.ConversationQuery{}, req))(t)
		for _, c := range page.Items {
			if c.Status != helpdesk.StatusPosted && c.Status != helpdesk.StatusPending {
				continue
			}
			if !c.SnoozedUntil.IsZero() {
				counts.Snoozed++
				continue
			}
			if by[c.MailboxID] == nil {
				by[c.MailboxID] = &helpdesk.MailboxCounts{MailboxID: c.MailboxID}
			}
			counts.Open++
			by[c.MailboxID].Open++
			if c.UserID == d.UserID() {
				counts.Mine++
			}
			if c.UserID == 0 {
				counts.Unassigned++
				by[c.MailboxID].Unassigned++
			}
			if !c.AwaitingSince.IsZero() {
				counts.Waiting++
				by[c.MailboxID].Waiting++
			}
		}
	}
	for _, m := range by {
		counts.Mailboxes = append(counts.Mailboxes, *m)
	}
	slices.SortFunc(counts.Mailboxes, func(a, b helpdesk.MailboxCounts) int { return int(a.MailboxID - b.MailboxID) })
	drafts := must(d.Conversations().List(t.Context(), helpdesk.ConversationQuery{DraftBy: d.UserID()}, storage.PageRequest{Limit: 100}))(t)
	counts.Drafts = int64(len(drafts.Items))
	return counts
}

// busyAgent does things at random.
type busyAgent struct {
	*world
	*rand.Rand
	t    *testing.T
	desk *helpdesk.Desk
}

func (a *busyAgent) work(times int) {
	for range times {
		err := a.act()
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Forbidden) {
			a.t.Error(err)
		}
	}
}

// some returns random ids of conversations, some of which exist.
func (a *busyAgent) some(n int) (ids []int64) {
	for range n {
		if id := 1 + a.Int64N(40); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (a *busyAgent) status() helpdesk.Status {
	all := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending, helpdesk.StatusClosed, helpdesk.StatusDraft}
	return all[a.IntN(len(all))]
}

func (a *busyAgent) user() storage.Opt[int64] {
	return []storage.Opt[int64]{storage.Some(a.desk.UserID()), storage.Null[int64](), {}}[a.IntN(3)]
}

func (a *busyAgent) snooze() storage.Opt[time.Time] {
	return []storage.Opt[time.Time]{storage.Some(a.clock.now().Add(time.Hour)), storage.Null[time.Time](), {}}[a.IntN(3)]
}

func (a *busyAgent) act() error {
	ctx, id := a.t.Context(), a.some(1)[0]
	mailbox := 1 + a.Int64N(3)
	switch a.IntN(12) {
	case 0, 1, 2, 3:
		_, err := a.desk.Conversations().Create(ctx, helpdesk.ConversationInput{
			Channel: "email", To: fmt.Sprintf("c%d@example.com", a.IntN(5)), Status: a.status(), UserID: a.user(), MailboxID: mailbox,
			Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help"}},
		})
		return err
	case 4:
		_, err := a.desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{})
		return err
	case 5:
		_, err := a.desk.Interactions().Create(ctx, id, helpdesk.InteractionInput{
			Type: helpdesk.TypeUser, Status: []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusDraft}[a.IntN(2)], Body: "So",
		})
		return err
	case 6:
		_, err := a.desk.Interactions().Create(ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "And?"})
		return err
	case 7:
		_, err := a.desk.Conversations().Update(ctx, id, helpdesk.ConversationUpdate{Status: storage.Some(a.status()), UserID: a.user(), MailboxID: storage.Some(mailbox)})
		return err
	case 8:
		_, err := a.desk.Conversations().UpdateAll(ctx, a.some(5), helpdesk.BulkUpdate{Status: storage.Some(a.status()), UserID: a.user(), SnoozedUntil: a.snooze()})
		return err
	case 9:
		_, err := a.desk.Conversations().Merge(ctx, id, a.some(1)[0])
		return err
	case 10:
		said, err := a.desk.Interactions().List(ctx, id, storage.PageRequest{})
		if err != nil || len(said.Items) < 2 {
			return err
		}
		_, err = a.desk.Conversations().Split(ctx, id, helpdesk.SplitInput{InteractionIDs: []int64{said.Items[1].ID}})
		return err
	}
	switch a.IntN(4) {
	case 0:
		return a.desk.Customers().Delete(ctx, 1+a.Int64N(5), true)
	case 1:
		return a.desk.Mailboxes().Delete(ctx, mailbox, true)
	}
	return a.desk.Conversations().DeleteAll(ctx, a.some(1))
}
