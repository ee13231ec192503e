package wire

import (
	"context"
	"time"
)

// Backoff returns the wait after a failure that follows a number of others: shortest at first, doubled each time up to
// longest, and longest at once after a rejected login. random, in [0, 1), shortens it by up to a half.
func Backoff(shortest, longest time.Duration, failures int, err error, random float64) time.Duration {
	wait := longest
	if failures < 32 && !Refused(err) {
		wait = min(wait, shortest<<failures)
	}
	if wait <= 0 { // overflow
		wait = longest
	}
	return wait - time.Duration(random*float64(wait)/2)
}

// Sleep waits for d or the end of ctx.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
