package storagetest

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func idempotencyTests() []testCase {
	return []testCase{
		{"Answered", testAnswered},
		{"Lease", testReservationLease},
		{"Release", testRelease},
		{"Sweep", testSweep},
		{"ConcurrentReservations", testConcurrentReservations},
	}
}

// idempotency is the backend's, which need not have any.
func idempotency(t *testing.T, b Backend) storage.Idempotency {
	t.Helper()
	i, ok := b.Store.(storage.Idempotency)
	if !ok {
		t.Skip("the store keeps no idempotency keys")
	}
	return i
}

// reservation is one of a key that this test alone has; the lease ends at minute n.
func reservation(t *testing.T, name string, n int) storage.Reservation {
	t.Helper()
	key, request := sha256.Sum256([]byte(t.Name()+"\x00"+name)), sha256.Sum256([]byte("request"))
	return storage.Reservation{Key: key[:], Request: request[:], Holder: "holder " + name, Until: at(n)}
}

func reserve(t *testing.T, i storage.Idempotency, r storage.Reservation, now time.Time) (storage.Reservation, bool) {
	t.Helper()
	got, mine, err := i.Reserve(t.Context(), r, now)
	ok(t, err)
	return got, mine
}

func testAnswered(t *testing.T, b Backend) {
	i := idempotency(t, b)
	first := reservation(t, "a", 5)
	got, mine := reserve(t, i, first, at(0))
	same(t, "the first is reserved", true, mine)
	same(t, "reservation", first, got)
	second := first
	second.Holder, second.Request = "another", bytes.Repeat([]byte("r"), 32)
	got, mine = reserve(t, i, second, at(1))
	same(t, "while the first works", false, mine)
	same(t, "what the second gets", first, got)
	if got.Answer != nil {
		t.Errorf("an answer before there is one: %q", got.Answer)
	}
	late := second
	late.Answer = []byte("late")
	fails(t, "the answer of another", i.Answered(t.Context(), late), fault.Conflict)

	first.Answer, first.Until = bytes.Repeat([]byte("\x00a\xff"), 128<<10/3), at(100)
	ok(t, i.Answered(t.Context(), first))
	got, mine = reserve(t, i, second, at(99))
	same(t, "the answered one is reserved again", false, mine)
	same(t, "answer", first, got)
	fails(t, "a second answer", i.Answered(t.Context(), first), fault.Conflict)
	ok(t, i.Release(t.Context(), first)) // does nothing to an answer
	_, mine = reserve(t, i, second, at(99))
	same(t, "after the release of an answered one", false, mine)

	second.Until = at(105)
	got, mine = reserve(t, i, second, at(100))
	same(t, "when the answer is forgotten", true, mine)
	same(t, "nothing is left of it", second, got)
}

// Who loses the key by the end of the lease can neither answer nor release it.
func testReservationLease(t *testing.T, b Backend) {
	i := idempotency(t, b)
	old, current := reservation(t, "a", 5), reservation(t, "a", 10)
	current.Holder = "current"
	reserve(t, i, old, at(0))
	_, mine := reserve(t, i, current, at(5))
	same(t, "after the lease", true, mine)
	old.Answer, old.Until = []byte("old"), at(99)
	fails(t, "the answer of who lost the key", i.Answered(t.Context(), old), fault.Conflict)
	ok(t, i.Release(t.Context(), old))
	_, mine = reserve(t, i, old, at(6))
	same(t, "still the other's", false, mine)
	current.Answer, current.Until = []byte{}, at(99)
	ok(t, i.Answered(t.Context(), current))
	got, _ := reserve(t, i, old, at(6))
	if got.Answer == nil {
		t.Error("an empty answer is none")
	}
}

func testRelease(t *testing.T, b Backend) {
	i := idempotency(t, b)
	r := reservation(t, "a", 5)
	ok(t, i.Release(t.Context(), r)) // nothing is there
	reserve(t, i, r, at(0))
	ok(t, i.Release(t.Context(), r))
	_, mine := reserve(t, i, r, at(0))
	same(t, "after the release", true, mine)
	ok(t, i.Release(t.Context(), r))
	r.Answer = []byte("x")
	fails(t, "an answer after the release", i.Answered(t.Context(), r), fault.Conflict)
}

func testSweep(t *testing.T, b Backend) {
	i := idempotency(t, b)
	old := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC) // before what other tests keep
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r := reservation(t, name, 0)
		r.Until = old
		if name == "e" {
			r.Until = old.Add(time.Microsecond)
		}
		reserve(t, i, r, old.Add(-time.Hour))
	}
	for n, want := range []int{0, 3, 1, 0} {
		got, err := i.Sweep(t.Context(), old, n*3)
		ok(t, err)
		same(t, "swept", want, got)
	}
	kept := reservation(t, "e", 5)
	got, mine := reserve(t, i, kept, old)
	same(t, "what is not over is swept", false, mine)
	same(t, "until", old.Add(time.Microsecond), got.Until)
}

// Of many who reserve a key at once one succeeds, also one whose lease is over.
func testConcurrentReservations(t *testing.T, b Backend) {
	i := idempotency(t, b)
	for round := range 10 {
		var mine atomic.Int32
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				r := reservation(t, "a", 10*round+10)
				r.Holder = string(rune('a' + n))
				_, got, err := i.Reserve(t.Context(), r, at(10*round))
				if err != nil {
					t.Error(err)
				}
				if got {
					mine.Add(1)
				}
			})
		}
		group.Wait()
		same(t, "who reserved the key", int32(1), mine.Load())
	}
}
