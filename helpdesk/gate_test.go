package helpdesk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// However many arrive at once, few hash at a time, a bounded number waits, and a cancelled caller stops waiting.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		var now, most, passed, refused, gone atomic.Int64
		var all sync.WaitGroup
		leaving, leave := context.WithCancel(t.Context())
		for n := range 400 {
			ctx := t.Context()
			if n%4 == 0 {
				ctx = leaving
			}
			all.Go(func() {
				err := g.pass(ctx, func() {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(time.Second)
					now.Add(-1)
				})
				switch {
				case err == nil:
					passed.Add(1)
				case fault.Is(err, fault.RateLimited):
					refused.Add(1)
				default:
					gone.Add(1)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if most.Load() > hashesAtOnce || passed.Load()+gone.Load() != hashesAtOnce+hashesWaiting || refused.Load() != 400-hashesAtOnce-hashesWaiting {
			t.Errorf("%d at a time, %d passed, %d refused, %d gone", most.Load(), passed.Load(), refused.Load(), gone.Load())
		}
		if err := g.pass(t.Context(), func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	th := newThrottle()
	pair := []tryKey{{"ada@example.com", "192.0.2.1"}, {"", "192.0.2.1"}, {"ada@example.com", ""}}
	for n := range limitPair.free {
		if wait := th.try(now, pair); wait != 0 {
			t.Fatalf("try %d waits %v", n, wait)
		}
	}
	var waits []time.Duration
	at := now
	for range 12 {
		wait := th.try(at, pair)
		if wait == 0 {
			t.Fatal("nobody waits")
		}
		waits = append(waits, wait)
		if again := th.try(at, pair); again != wait {
			t.Fatalf("a refused try counts: %v", again)
		}
		at = at.Add(wait)
		if th.try(at, pair) != 0 {
			t.Fatal("waiting is of no use")
		}
	}
	if waits[0] != time.Second || waits[1] != 2*time.Second || waits[11] != limitPair.longest {
		t.Errorf("%v", waits)
	}
	if wait := th.try(at, []tryKey{{"ada@example.com", "198.51.100.7"}, {"", "198.51.100.7"}}); wait != 0 {
		t.Errorf("from elsewhere: %v", wait)
	}
	if wait := th.try(at.Add(2*forgetTries), pair); wait != 0 {
		t.Errorf("long after: %v", wait)
	}
	// Made-up addresses take no more memory than is given to them.
	for n := range maxTries + 50_000 {
		th.try(now, []tryKey{{fmt.Sprint(n), ""}})
	}
	if len(th.tries) > maxTries {
		t.Errorf("%d counts are kept", len(th.tries))
	}
	if a, b := network("2001:db8::1"), network("2001:db8::ffff:2"); a != b || network("192.0.2.1") == network("192.0.2.2") {
		t.Errorf("%s, %s", a, b)
	}
}
