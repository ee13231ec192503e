package wire_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
)

// Failures wait longer each time, progress and successes begin again, and each change reaches the sink.
func TestRepeat(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	broken := &wire.StepError{Protocol: "x", Step: "greet", Err: errors.New("secret words of the server")}
	var logged strings.Builder
	var seen []string
	now := time.Unix(0, 0).UTC()
	r := wire.NewReporter(wire.ReporterConfig[wire.Status]{
		Protocol: "x", Host: "mail.example.org", BackoffMin: 1, BackoffMax: 4,
		Common: func(st *wire.Status) *wire.Status { return st },
		Copy:   func(st wire.Status) wire.Status { return st },
		Sink: func(_ context.Context, st wire.Status) {
			switch {
			case ctx.Err() != nil:
				seen = append(seen, "ended")
			case st.LastError != nil:
				seen = append(seen, st.NextTry.Sub(now).String())
			default:
				seen = append(seen, "fetched")
			}
		},
		Now: func() time.Time { return now }, Rand: func() float64 { return 0 }, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	}, wire.Status{})
	rounds := []struct {
		progress bool
		err      error
	}{{false, broken}, {false, broken}, {false, broken}, {false, broken}, {true, broken}, {false, broken}, {false, nil}, {false, broken}}
	err := r.Repeat(ctx, func(ctx context.Context) (time.Duration, bool, error) {
		if len(rounds) == 0 {
			cancel()
			return 0, false, ctx.Err()
		}
		round := rounds[0]
		rounds = rounds[1:]
		if round.err == nil {
			r.Succeeded(ctx)
		}
		return 0, round.progress, round.err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"1ns", "2ns", "4ns", "4ns", "1ns", "2ns", "fetched", "1ns", "ended"}, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if st := r.Status(); st.Connected || !st.NextTry.IsZero() {
		t.Errorf("%+v", st)
	}
	if log := logged.String(); strings.Contains(log, "secret") || !strings.Contains(log, `msg="x: connection failed" host=mail.example.org step=greet`) {
		t.Error(log)
	}
}
