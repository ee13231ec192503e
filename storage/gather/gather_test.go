package gather_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/gather"
)

type key struct{ group, id int }

// bundle is a Gatherer of sums whose writes are recorded, and fail as told.
type bundle struct {
	*gather.Gatherer[key, int]
	now    time.Time
	fails  map[int]error // by group
	writes []string
	logged strings.Builder
}

func newBundle() *bundle {
	b := &bundle{now: time.Unix(1000, 0), fails: map[int]error{}}
	b.Gatherer = gather.New(gather.Config[key, int]{
		Name:     "views",
		Compare:  func(x, y key) int { return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.id, y.id)) },
		Together: func(x, y key) bool { return x.group == y.group },
		Merge:    func(_ key, x, y int) int { return x + y },
		Write: func(_ context.Context, batch []gather.Entry[key, int]) error {
			if err := b.fails[batch[0].Key.group]; err != nil {
				return err
			}
			var words []string
			for _, e := range batch {
				words = append(words, fmt.Sprintf("%d=%d", e.Key.id, e.Value))
			}
			b.writes = append(b.writes, fmt.Sprintf("%d: %s", batch[0].Key.group, strings.Join(words, " ")))
			return nil
		},
		Now:    func() time.Time { return b.now },
		Logger: slog.New(slog.NewTextHandler(&b.logged, nil)),
	})
	return b
}

func (b *bundle) expect(t *testing.T, want ...string) {
	t.Helper()
	if d := diff.Diff(want, b.writes); d != "" {
		t.Errorf("writes (-want +got)\n%s", d)
	}
	b.writes = nil
}

func TestFlush(t *testing.T) {
	t.Parallel()
	b := newBundle()
	for _, k := range []key{{2, 1}, {1, 2}, {1, 1}, {1, 2}} {
		b.Add(t.Context(), k, 1)
	}
	b.expect(t)
	for range 2 { // the second time there is nothing to write
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.expect(t, "1: 1=1 2=2", "2: 1=1")
}

func TestBatches(t *testing.T) {
	t.Parallel()
	b := newBundle()
	for n := range 450 {
		b.Add(t.Context(), key{1, n}, 1)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, w := range b.writes {
		sizes = append(sizes, strings.Count(w, "="))
	}
	if !slices.Equal(sizes, []int{200, 200, 50}) {
		t.Error(sizes)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err   error
		kept  bool
		after []string // written when the database is well again
	}{
		"unreachable": {fault.New(fault.Unavailable, "away"), true, []string{"1: 1=3", "2: 1=3"}},
		"unknown":     {fault.New(fault.OutcomeUnknown, "lost"), false, []string{"1: 1=1", "2: 1=1"}},
		"broken":      {errors.New("broken"), false, []string{"1: 1=1", "2: 1=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle()
			b.fails[1], b.fails[2] = test.err, test.err
			b.Add(t.Context(), key{1, 1}, 2)
			b.Add(t.Context(), key{2, 1}, 2)
			if err := b.Flush(t.Context()); (err != nil) != test.kept {
				t.Errorf("flushing: %v", err)
			}
			if lost := strings.Contains(b.logged.String(), "views were lost"); lost != (name == "broken") {
				t.Errorf("log: %s", &b.logged)
			}
			clear(b.fails)
			b.Add(t.Context(), key{1, 1}, 1)
			b.Add(t.Context(), key{2, 1}, 1)
			if err := b.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.expect(t, test.after...)
		})
	}
}

// Without Run, whoever adds an observation writes them all when they are overdue.
func TestOverdue(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.Add(t.Context(), key{1, 1}, 1)
	b.now = b.now.Add(29 * time.Second)
	b.Add(t.Context(), key{1, 1}, 1)
	b.expect(t)
	b.now = b.now.Add(time.Second)
	b.Add(t.Context(), key{1, 1}, 1)
	b.expect(t, "1: 1=3")
	for n := range 999 {
		b.Add(t.Context(), key{1, n}, 1)
	}
	b.expect(t)
	b.Add(t.Context(), key{1, 999}, 1)
	if len(b.writes) != 5 {
		t.Errorf("%d batches", len(b.writes))
	}
}

// The end of Run writes what is left.
func TestRun(t *testing.T) {
	t.Parallel()
	b := newBundle()
	ctx, cancel := context.WithCancel(t.Context())
	b.Add(ctx, key{1, 1}, 1)
	cancel()
	if err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
	b.expect(t, "1: 1=1")
}
