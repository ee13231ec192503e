package testenv

import (
	"testing"
	"time"
)

// patience ends a test that waits in vain. It is no measurement: a busy machine may take minutes.
const patience = 5 * time.Minute

// Eventually waits until a condition holds, for five minutes at most.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(patience); !holds(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
		pause = min(pause*3/2, 500*time.Millisecond) // asking costs time that what it waits for may need
	}
}
