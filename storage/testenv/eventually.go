package testenv

import (
	"testing"
	"time"
)

// Patience limits how long a test waits before it fails. It is no measurement: a busy machine may take minutes.
const Patience = 5 * time.Minute

// Eventually waits until a condition holds. The test fails when that takes longer than [Patience].
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, Patience, what, holds)
}

// Within is [Eventually] with a shorter limit, for conditions that a slower mechanism would fulfil later, such as a retry.
func Within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	wait(t, limit, what, func() (string, bool) { return "", holds() })
}

// Moving waits until a condition holds, for as long as something moves: the test fails when the state that look returns beside the
// condition has not changed for [Patience]. It is for much work, which a busy machine needs any time for.
func Moving(t testing.TB, what string, look func() (state string, holds bool)) {
	t.Helper()
	wait(t, Patience, what, look)
}

func wait(t testing.TB, limit time.Duration, what string, look func() (state string, holds bool)) {
	t.Helper()
	last, pause := "", time.Millisecond
	for end := time.Now().Add(limit); ; {
		begin := time.Now()
		state, holds := look()
		if holds {
			return
		}
		if state != last {
			last, end = state, time.Now().Add(limit)
		}
		if begin.After(end) {
			t.Fatalf("waited in vain: %s %s", what, state)
		}
		time.Sleep(max(pause, 2*time.Since(begin))) // checking takes time from what it waits for
		pause = min(pause*3/2, 500*time.Millisecond)
	}
}
