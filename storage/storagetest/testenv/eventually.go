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
	pause := time.Millisecond
	for end := time.Now().Add(limit); !holds(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		pause = min(pause*3/2, 500*time.Millisecond) // checking takes time from what it waits for
	}
}
