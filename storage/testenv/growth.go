package testenv

import (
	"testing"
	"time"
)

// Growth fails the test when the cost of work grows faster than its input. It doubles the input twice and compares the
// processor time with that for the same amount in four pieces, each the best of several tries, so that the result is the
// same on slow, fast and busy machines. The work must run in the goroutine that calls it. The whole may take 2.4 times as
// long as the pieces, to allow for caches and the garbage collector; quadratic work takes four times as long. prepare makes
// an input of about n units and returns the work on it.
func Growth(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	small, large := prepare(n), prepare(4*n)
	least := func(best time.Duration, times int, work func()) time.Duration {
		took := cpuTime(func() {
			for range times {
				work()
			}
		})
		if best == 0 || took < best {
			return took
		}
		return best
	}
	var pieces, whole time.Duration
	for try := range 20 {
		pieces, whole = least(pieces, 4, small), least(whole, 1, large)
		if try > 1 && 10*whole < 24*pieces || whole < time.Millisecond { // too short to measure
			return
		}
	}
	t.Errorf("in one piece the same input takes %.1f times as long (%v and %v)", float64(whole)/float64(pieces), whole, pieces)
}
