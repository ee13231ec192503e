package outbound_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// slowStore is a store whose transactions take a second each.
type slowStore struct {
	helpdesk.Store
	writes atomic.Int64
}

func (s *slowStore) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	s.writes.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Store.InTx(ctx, scope, fn)
}

// safe lets several goroutines use a transport.
type safe struct {
	mu sync.Mutex
	taken
}

func (s *safe) Send(ctx context.Context, from string, to []string, m *outbound.Mail) ([]outbound.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken.Send(ctx, from, to, m)
}

// Concurrent jobs share transactions: the first begins alone, as there are no others yet, and those that arrived meanwhile
// begin together. The same applies to their reports.
func TestTransactionsAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []helpdesk.Interaction
	for range 10 {
		all = append(all, w.answer(helpdesk.InteractionInput{Body: "Hello."}))
	}
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: w.store}
		w.configure(func(cfg *helpdesk.Config) { cfg.Store = store })
		relay := &safe{}
		s := w.sender(relay)
		var group sync.WaitGroup
		for n, i := range all {
			group.Go(func() {
				job := storage.ClaimedJob{ID: int64(n + 1), Job: storage.Job{AccountID: w.account, Subject: i.ID}}
				if err := s.Handle(t.Context(), job); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := store.writes.Load(); len(relay.mails) != 10 || n > 5 {
			t.Errorf("%d mails were sent with %d transactions", len(relay.mails), n)
		}
	})
	for _, i := range all {
		if d := w.deliveries(i); d[0].State != sending.Sent {
			t.Errorf("the delivery is %+v", d)
		}
	}
}

// A job whose context ends does not wait for the transaction of others, and the others are not harmed, even when it was to
// begin theirs.
func TestOneOfSeveralEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []helpdesk.Interaction
	for range 6 {
		all = append(all, w.answer(helpdesk.InteractionInput{Body: "Hello."}))
	}
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{Store: w.store}
		w.configure(func(cfg *helpdesk.Config) { cfg.Store = store })
		relay := &safe{}
		s := w.sender(relay)
		var group sync.WaitGroup
		for n, i := range all {
			ctx, cancel := context.WithCancel(t.Context())
			ends := n > 0 && n < 4 // the second while the first is begun, the next two while they are themselves
			if ends {
				time.AfterFunc(time.Duration(n)*time.Second/2+time.Millisecond, cancel)
			}
			group.Go(func() {
				defer cancel()
				job := storage.ClaimedJob{ID: int64(n + 1), Job: storage.Job{AccountID: w.account, Subject: i.ID}}
				if err := s.Handle(ctx, job); ends != errors.Is(err, context.Canceled) || !ends && err != nil {
					t.Errorf("%d: %v", n, err)
				}
			})
			synctest.Wait() // in this order
		}
		group.Wait()
		if len(relay.mails) != 3 {
			t.Errorf("%d mails were sent", len(relay.mails))
		}
	})
}

// A relay gets no more messages at once than it is to.
func TestMaxSending(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	s := (&sink{}).start(t)
	s.answer = func(line string) string {
		if line != "." {
			return ""
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		now--
		return ""
	}
	cfg := s.config()
	cfg.MaxSending = 2
	relay := newRelay(t, cfg)
	var group sync.WaitGroup
	for range 8 {
		m := newMail(t, text(body))
		group.Go(func() {
			got, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, m)
			if err != nil || got[0].State != sending.Sent {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	group.Wait()
	if _, mails, conns := s.seen(); most > 2 || conns > 2 || len(mails) != 8 {
		t.Errorf("%d mails over %d connections, up to %d at once", len(mails), conns, most)
	}
}

// Messages that the relay leaves without a reply for long do not keep others from it.
func TestMaxSendingWhileSilent(t *testing.T) {
	t.Parallel()
	s := (&sink{}).start(t)
	s.answer = func(line string) string {
		if line == "RCPT TO:<slow@example.com>" {
			return silent
		}
		return ""
	}
	cfg := s.config()
	cfg.MaxSending, cfg.Silence, cfg.CommandTimeout = 1, 600*time.Millisecond, 3*time.Second
	relay := newRelay(t, cfg)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		_, _ = relay.Send(t.Context(), "d@example.org", []string{"slow@example.com"}, newMail(t, text(body)))
	})
	time.Sleep(50 * time.Millisecond) // usually it comes first
	began := time.Now()
	got, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body)))
	if err != nil || got[0].State != sending.Sent || time.Since(began) > 2*time.Second {
		t.Errorf("%+v, %v after %v", got, err, time.Since(began))
	}
}
