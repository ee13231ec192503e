package testenv

import (
	"testing"
	"time"
)

// Patience ends what would wait forever in a test that fails. It is no measurement: a busy machine may take minutes.
const Patience = 5 * time.Minute

// Eventually waits until a condition holds, and ends the test when [Patience] is over.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(Patience); !holds(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		pause = min(pause*3/2, 500*time.Millisecond) // asking costs time that what it waits for may need
	}
}
