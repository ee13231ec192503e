package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func eventTests() []testCase {
	return []testCase{
		{"Order", testEventOrder},
		{"Paging", testEventPaging},
		{"Data", testEventData},
		{"NothingIsMissed", testNothingIsMissed},
	}
}

func event(subject int64) storage.Event {
	return storage.Event{Type: "test.happened", Subject: subject, Data: []byte("{}"), Time: base}
}

// Every account counts its events by itself, in the order in which they were emitted.
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
	e := storage.Event{Type: "conversation.created", Subject: 1 << 40, MailboxID: w.mailbox.ID, ActorID: w.user.ID,
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

// A reader that goes on from the last event it saw never misses one, while
// transactions of different length commit in any order.
func testNothingIsMissed(t *testing.T, b Backend) {
	const writers, each = 6, 20
	w := newAccount(t, b)
	var done atomic.Bool
	var group sync.WaitGroup
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
