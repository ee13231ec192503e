package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

func eventTests() []testCase {
	return []testCase{
		{"Order", testEventOrder},
		{"Paging", testEventPaging},
		{"Data", testEventData},
		{"Filter", testEventFilter},
		{"Notify", testEventNotify},
		{"NothingIsMissed", testNothingIsMissed},
	}
}

func event(subject int64) storage.Event {
	return storage.Event{Type: "test.happened", Subject: subject, Data: []byte("{}"), Time: base}
}

// Every account numbers its events separately, in the order they were emitted.
func testEventOrder(t *testing.T, b Backend) {
	w, other := newAccount(t, b), newAccount(t, b)
	for n := range int64(3) {
		w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.Emit(ctx, event(10*n), event(10*n+1)))
			ok(t, tx.Emit(ctx))
			return tx.Emit(ctx, event(10*n+2))
		})
		other.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Emit(ctx, event(n)) })
	}
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		ok(t, tx.Within(w.scope).Emit(ctx, event(100)))
		ok(t, tx.Within(other.scope).Emit(ctx, event(200)))
		return tx.Within(w.scope).Emit(ctx, event(101))
	})
	ok(t, err)
	var got, want []string
	for _, e := range w.log(t) {
		got = append(got, fmt.Sprint(e.Seq, " ", e.Subject))
	}
	for i, subject := range []int64{0, 1, 2, 10, 11, 12, 20, 21, 22, 100, 101} {
		want = append(want, fmt.Sprint(i+1, " ", subject))
	}
	same(t, "log", want, got)
	same(t, "another log", 4, len(other.log(t)))
}

func testEventPaging(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n := range int64(7) {
			ok(t, tx.Emit(ctx, event(n)))
		}
		return nil
	})
	read := func(after int64, limit int) []int64 {
		events, err := b.Events.Events(t.Context(), w.account.ID, after, limit)
		ok(t, err)
		return ids(events, func(e storage.Event) int64 { return e.Seq })
	}
	same(t, "first", []int64{1, 2, 3}, read(0, 3))
	same(t, "next", []int64{4, 5, 6}, read(3, 3))
	same(t, "last", []int64{7}, read(6, 3))
	same(t, "none", []int64{}, read(7, 3))
	same(t, "beyond", []int64{}, read(1000, 3))
	events, err := b.Events.Events(t.Context(), nobody, 0, 10)
	ok(t, err)
	same(t, "of no account", 0, len(events))
}

func testEventData(t *testing.T, b Backend) {
	w := newAccount(t, b)
	e := storage.Event{Type: "conversation.created", Subject: 1 << 40, MailboxID: w.mailbox.ID, ConversationID: 1 << 41, ActorID: w.user.ID,
		Data: []byte(`{"b":"ü💥 \\ ' ?","a":[1,{"c":null}]}`), Time: time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.FixedZone("x", 3600))}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Emit(ctx, e) })
	got := w.log(t)[0]
	var want, have any
	ok(t, json.Unmarshal(e.Data, &want))
	ok(t, json.Unmarshal(got.Data, &have))
	same(t, "data", want, have) // as JSON: a database may write it in another way
	e.Seq, e.Data, got.Data, e.Time = 1, nil, nil, e.Time.Truncate(time.Microsecond)
	same(t, "event", e, got)
}

// A reader that continues after the last event it saw never misses one, while transactions of different length commit in any
// order.
func testNothingIsMissed(t *testing.T, b Backend) {
	const writers, each = 6, 20
	w := newAccount(t, b)
	var done atomic.Bool
	var group sync.WaitGroup
	defer group.Wait() // also when the test ends early
	for writer := range writers {
		group.Go(func() {
			for n := range each {
				err := w.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					if err := tx.Emit(ctx, event(int64(writer)), event(int64(n))); err != nil {
						return err
					}
					for range writer { // some take longer between Emit and commit
						if _, err := tx.Account(ctx); err != nil {
							return err
						}
					}
					if n%7 == 6 {
						return errOnPurpose
					}
					return nil
				})
				if err != nil && n%7 != 6 {
					t.Errorf("transaction: %v", err)
				}
			}
		})
	}
	go func() {
		group.Wait()
		done.Store(true)
	}()
	var last int64
	for {
		finished := done.Load()
		events, err := b.Events.Events(t.Context(), w.account.ID, last, 10)
		ok(t, err)
		for _, e := range events {
			if e.Seq != last+1 {
				t.Fatalf("after event %d came %d", last, e.Seq)
			}
			last = e.Seq
		}
		if finished && len(events) == 0 {
			break
		}
	}
	committed := 0
	for n := range each {
		if n%7 != 6 {
			committed++
		}
	}
	same(t, "events", int64(2*writers*committed), last)
}

// A list can be filtered by type, area, conversation and mailbox, in both directions.
func testEventFilter(t *testing.T, b Backend) {
	w := newAccount(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for n, e := range []storage.Event{
			{Type: "tag.created"},
			{Type: "conversation.created", MailboxID: w.mailbox.ID, ConversationID: 7},
			{Type: "conversation.updated", MailboxID: w.empty.ID, ConversationID: 8},
			{Type: "interaction.created", MailboxID: w.mailbox.ID, ConversationID: 7},
			{Type: "conversationist.created"},
			{Type: "tag.created"},
			{Type: "conversation.created", MailboxID: w.empty.ID, ConversationID: 9},
		} {
			e.Time, e.Subject = at(n), int64(n)
			ok(t, tx.Emit(ctx, e))
		}
		return nil
	})
	read := func(f subscription.EventFilter, mailboxes []int64, desc bool, from int64, limit int) []int64 {
		t.Helper()
		seek := storage.Seek{Desc: desc, Limit: limit}
		if from != 0 {
			seek.From = &storage.Position{ID: from}
		}
		events, err := b.Store.Within(helpdesk.Scope{AccountID: w.account.ID, Mailboxes: mailboxes}).Events(t.Context(), f, seek)
		ok(t, err)
		return ids(events, func(e storage.Event) int64 { return e.Seq })
	}
	type filter = subscription.EventFilter
	same(t, "all", []int64{1, 2, 3, 4, 5, 6, 7}, read(filter{}, nil, false, 0, 100))
	same(t, "some", []int64{3, 4}, read(filter{}, nil, false, 2, 2))
	same(t, "backwards", []int64{4, 3}, read(filter{}, nil, true, 5, 2))
	same(t, "of a type", []int64{1, 6}, read(filter{Types: []string{"tag.created"}}, nil, false, 0, 100))
	types := []string{"tag.created", "conversation.created", "tag.created", "no.such"}
	same(t, "of types", []int64{1, 2, 6, 7}, read(filter{Types: types}, nil, false, 0, 100))
	same(t, "of types, some", []int64{2, 6}, read(filter{Types: types}, nil, false, 1, 2))
	same(t, "of types, backwards", []int64{7, 6, 2}, read(filter{Types: types}, nil, true, 0, 3))
	same(t, "of an area", []int64{2, 3, 7}, read(filter{Areas: []string{"conversation"}}, nil, false, 0, 100))
	same(t, "of areas and a type", []int64{2, 7}, read(filter{Types: types, Areas: []string{"conversation", "view"}}, nil, false, 0, 100))
	same(t, "of no area", []int64{}, read(filter{Areas: []string{}}, nil, false, 0, 100))
	same(t, "of a conversation", []int64{2, 4}, read(filter{ConversationIDs: []int64{7}}, nil, false, 0, 100))
	same(t, "of conversations", []int64{2, 4}, read(filter{ConversationIDs: []int64{7, 99}}, nil, false, 0, 100))
	same(t, "of no conversation", []int64{}, read(filter{ConversationIDs: []int64{}}, nil, false, 0, 100))
	same(t, "of a conversation and types", []int64{2}, read(filter{ConversationIDs: []int64{7}, Types: types}, nil, false, 0, 100))
	same(t, "of a mailbox", []int64{1, 2, 4, 5, 6}, read(filter{}, []int64{w.mailbox.ID}, false, 0, 100))
	same(t, "of no mailbox", []int64{1, 5, 6}, read(filter{}, []int64{}, false, 0, 100))
	same(t, "of a mailbox and types", []int64{1, 6, 7}, read(filter{Types: types}, []int64{w.empty.ID}, false, 0, 100))
	same(t, "nothing", []int64{}, read(filter{}, nil, false, 0, 0))
	last, err := w.in().LastEvent(t.Context())
	ok(t, err)
	same(t, "last", int64(7), last)
}

// Watchers are notified of new events after a commit, and not after a rollback.
func testEventNotify(t *testing.T, b Backend) {
	notifier, is := b.Events.(storage.EventNotifier)
	if !is {
		lacks(t, "the log does not notify")
	}
	w := newAccount(t, b)
	told := make(chan struct{}, 100)
	stop := notifier.NotifyEvents(func(account int64) {
		if account == w.account.ID {
			told <- struct{}{}
		}
	})
	emit := func(fail error) {
		err := b.Store.InTx(t.Context(), w.scope, func(ctx context.Context, tx helpdesk.Tx) error {
			ok(t, tx.Emit(ctx, event(1)))
			return fail
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
	}
	emit(errOnPurpose)
	select {
	case <-told:
		t.Error("a transaction that was rolled back is announced")
	case <-time.After(200 * time.Millisecond): // what is announced wrongly usually comes at once
	}
	emit(nil)
	<-told
	stop()
	for len(told) > 0 {
		<-told
	}
	emit(nil)
	same(t, "told after the stop", 0, len(told))
}
