package heap

import (
	"context"
	"runtime/debug"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		percent int
		since   time.Duration
		live    uint64
		want    int
	}{
		"idle":                        {usual, time.Minute, 10 << 20, usual},
		"busy, little in use":         {usual, 50 * time.Millisecond, 10 << 20, most},
		"busy, more in use":           {usual, 50 * time.Millisecond, 32 << 20, 200},
		"busy, more in use than room": {usual, 50 * time.Millisecond, 1 << 30, usual},
		"busy, nothing in use":        {usual, 50 * time.Millisecond, 0, most},
		"rarer because of the pacing": {most, 3 * time.Second, 10 << 20, most},
		"idle again":                  {most, 2 * time.Minute, 10 << 20, usual},
		"two collections at once":     {most, 0, 10 << 20, most},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := next(c.percent, c.since, c.live); got != c.want {
				t.Errorf("next(%d, %v, %d) = %d, want %d", c.percent, c.since, c.live, got, c.want)
			}
		})
	}
}

// The heap of a busy process may grow; afterwards Go's default is back.
func TestPace(t *testing.T) { //nolint:paralleltest // the percentage is one of the process
	t.Setenv("GOGC", "")
	debug.SetGCPercent(usual)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	Pace(ctx)
	var kept []byte
	testenv.Eventually(t, "the heap may grow", func() bool {
		for range 1000 {
			kept = make([]byte, 64<<10)
		}
		return percent() > usual
	})
	_ = kept
	stop()
	testenv.Eventually(t, "the default is back", func() bool { return percent() == usual })
}

// Whoever sets GOGC decides.
func TestPaceAsTold(t *testing.T) { //nolint:paralleltest // the percentage is one of the process
	t.Setenv("GOGC", "150")
	debug.SetGCPercent(150)
	defer debug.SetGCPercent(usual)
	Pace(t.Context())
	for range 3 {
		debug.FreeOSMemory()
	}
	if got := percent(); got != 150 {
		t.Errorf("%d %%, want 150", got)
	}
}

func percent() int {
	_, percent := read()
	return percent
}
