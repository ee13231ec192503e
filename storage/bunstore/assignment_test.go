package bunstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// office is a help desk with two teams that share members, on two servers over one database.
type office struct {
	desks    [2]*helpdesk.Desk
	services [2]*helpdesk.Service
	stores   [2]*bunstore.DB
	account  int64
	teams    [2]int64
	members  []int64
	capacity int
}

func newOffice(t *testing.T, url string) *office {
	t.Helper()
	o := &office{capacity: 3}
	ctx := t.Context()
	sealer, err := storage.NewSealer(make([]byte, 32))
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	done(err)
	for n := range o.services {
		o.stores[n] = open(t, url, bunstore.Config{})
		o.services[n], err = helpdesk.New(helpdesk.Config{Store: o.stores[n], Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32)})
		done(err)
	}
	operator := o.services[0].Operator()
	owner, err := operator.CreateUser(ctx, identity.UserInput{Email: "owner@example.org"})
	done(err)
	account, err := operator.CreateAccount(ctx, identity.AccountInput{Name: "Acme"}, owner.ID)
	done(err)
	o.account = account.ID
	for n := range o.desks {
		o.desks[n], err = o.services[n].Desk(ctx, o.services[n].As(owner.ID), account.ID)
		done(err)
	}
	_, err = o.desks[0].Mailboxes().Create(ctx, helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")})
	done(err)
	for n := range 4 {
		u, err := operator.CreateUser(ctx, identity.UserInput{Email: fmt.Sprintf("agent%d@example.org", n)})
		done(err)
		_, err = operator.AddMember(ctx, account.ID, u.ID, identity.RoleAgent)
		done(err)
		o.members = append(o.members, u.ID)
	}
	for n := range o.teams { // the second and the third member are in both
		made, err := o.desks[0].Teams().Create(ctx, helpdesk.TeamInput{
			Name: fmt.Sprint("Team ", n), MemberIDs: storage.Some(o.members[n : n+3]), Assignment: helpdesk.AssignmentInput{
				Strategy: storage.Some([]assign.Strategy{assign.RoundRobin, assign.Balanced}[n]), Capacity: storage.Some(o.capacity), Who: storage.Some(assign.All),
			},
		})
		done(err)
		o.teams[n] = made.ID
	}
	return o
}

// work begins, closes, snoozes and gives away conversations on a server.
func (o *office) work(ctx context.Context, server int, random *rand.Rand) error {
	d := o.desks[server]
	for n := range 12 {
		in := helpdesk.ConversationInput{
			Channel: "email", To: fmt.Sprintf("c%d@example.com", random.IntN(50)), Subject: fmt.Sprint(n), TeamID: storage.Some(o.teams[random.IntN(2)]),
			Priority: helpdesk.Priorities()[random.IntN(4)],
		}
		if _, err := d.Conversations().Create(ctx, in); err != nil {
			return err
		}
		held, err := d.Conversations().List(ctx, helpdesk.ConversationQuery{UserID: storage.Some(o.members[random.IntN(4)]), Statuses: []helpdesk.Status{helpdesk.StatusPosted}}, storage.PageRequest{Limit: 5})
		if err != nil {
			return err
		}
		if len(held.Items) == 0 || random.IntN(3) == 0 {
			continue
		}
		change := helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}
		switch random.IntN(4) {
		case 0:
			change = helpdesk.ConversationUpdate{UserID: storage.Null[int64](), TeamID: storage.Some(o.teams[random.IntN(2)])}
		case 1:
			change = helpdesk.ConversationUpdate{SnoozedUntil: storage.Some(time.Now().Add(time.Hour))}
		}
		if _, err := d.Conversations().Update(ctx, held.Items[random.IntN(len(held.Items))].ID, change); err != nil && !fault.Is(err, fault.Invalid) { // snoozed while another closed it
			return err
		}
	}
	return nil
}

// handOut runs the jobs that are due on a server.
func (o *office) handOut(ctx context.Context, server int) error {
	claimed, err := o.stores[server].Claim(ctx, map[string]int{helpdesk.JobHandOut: 10}, time.Now(), time.Now().Add(time.Minute))
	if err != nil {
		return err
	}
	for _, job := range claimed {
		if err := o.services[server].Jobs().HandOut(ctx, job); err != nil {
			return err
		}
	}
	return o.stores[server].Finish(ctx, claimed...)
}

// replayed counts what the log of events tells, in the order of commits.
type replayed struct {
	given, most int
	problems    []string
}

// replay follows the open conversations of each member through the log.
func (o *office) replay(ctx context.Context) (replayed, error) {
	var out replayed
	type state struct {
		user            int64
		closed, snoozed bool
	}
	states, loads := map[int64]state{}, map[int64]int{}
	counts := func(s state) bool { return s.user != 0 && !s.closed && !s.snoozed }
	for from := int64(0); ; {
		events, err := o.stores[0].Events(ctx, o.account, from, 500)
		if err != nil || len(events) == 0 {
			return out, err
		}
		for _, e := range events {
			from = e.Seq
			told := subscription.ChangedBy(e)
			if e.Type != "conversation.updated" && e.Type != "conversation.created" {
				continue
			}
			old := states[e.Subject]
			now := old
			if c, ok := told.Changes["user_id"]; ok {
				id, _ := c.To.Or(nil).(int64)
				now.user = id
			}
			if c, ok := told.Changes["status"]; ok {
				now.closed = c.To.Or(nil) == "closed"
			}
			if c, ok := told.Changes["snoozed_until"]; ok {
				now.snoozed = !c.To.IsNull()
			}
			if counts(old) {
				loads[old.user]--
			}
			if told.Actor.Type == subscription.ActorTeam && now.user != 0 {
				out.given++
				if loads[now.user] >= o.capacity {
					out.problems = append(out.problems, fmt.Sprintf("event %d gives member %d a conversation beside %d", e.Seq, now.user, loads[now.user]))
				}
			}
			if counts(now) {
				loads[now.user]++
				out.most = max(out.most, loads[now.user])
			}
			states[e.Subject] = now
		}
	}
}

// Two servers over one database hand out conversations at the same time, to members who are in two teams: nobody gets one beyond
// the capacity, and in the end nothing waits while somebody is free.
func TestTwoServersHandOut(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"SQLite":     func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "help.db") },
		"PostgreSQL": func(t testing.TB) string { return testenv.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, url(t))
			ctx := t.Context()
			var wait sync.WaitGroup
			errs, stop := make(chan error, 100), make(chan struct{})
			for n := range 8 {
				wait.Go(func() { errs <- o.work(ctx, n%2, rand.New(rand.NewPCG(uint64(n), 1))) })
			}
			var jobs sync.WaitGroup
			for server := range o.services {
				jobs.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := o.handOut(ctx, server); err != nil {
							errs <- err
							return
						}
						time.Sleep(time.Millisecond)
					}
				})
			}
			begun := time.Now()
			wait.Wait()
			took := time.Since(begun)
			close(stop)
			jobs.Wait()
			close(errs)
			for err := range errs {
				if err != nil {
					t.Error(err)
				}
			}
			for range 20 { // jobs that jobs have enqueued
				if err := o.handOut(ctx, 0); err != nil {
					t.Fatal(err)
				}
			}
			seen, err := o.replay(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range seen.problems {
				t.Error(problem)
			}
			waiting := o.checkQueues(t)
			t.Logf("%d handed out in %v, %d wait, at most %d open per member", seen.given, took, waiting, seen.most)
			if seen.given < 50 || seen.most != o.capacity {
				t.Errorf("%d handed out, at most %d open per member", seen.given, seen.most)
			}
		})
	}
}

// checkQueues checks that nothing waits while a member of the team is free.
func (o *office) checkQueues(t *testing.T) (waiting int) {
	t.Helper()
	for _, team := range o.teams {
		queue, err := o.desks[0].Teams().Queue(t.Context(), team, storage.PageRequest{Limit: 100})
		members, err2 := o.desks[1].Teams().Members(t.Context(), team)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		waiting += len(queue.Items)
		for _, m := range members {
			if len(queue.Items) > 0 && !m.Full {
				t.Errorf("%d wait in team %d while member %d has only %d", len(queue.Items), team, m.UserID, m.Load)
			}
		}
	}
	return waiting
}
