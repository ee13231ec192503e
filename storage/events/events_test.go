package events_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/events"
	"github.com/helpwright/helpwright/storage/fault"
)

// log is an event log that can notify.
type log struct {
	mu       sync.Mutex
	accounts map[int64][]storage.Event
	reads    int
	failure  error
	watchers []func(int64)
	silent   bool  // does not notify
	gone     int64 // the last event that is no longer kept
}

func (l *log) emit(account int64, n int) {
	l.mu.Lock()
	for range n {
		seq := int64(len(l.accounts[account]) + 1)
		l.accounts[account] = append(l.accounts[account], storage.Event{Seq: seq, Type: "test.happened"})
	}
	watchers := slices.Clone(l.watchers)
	l.mu.Unlock()
	for _, fn := range watchers {
		fn(account)
	}
}

func (l *log) Events(ctx context.Context, account, after int64, limit int) ([]storage.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.failure != nil {
		return nil, l.failure
	}
	all := l.accounts[account]
	from := min(max(int(after), int(l.gone)), len(all))
	return slices.Clone(all[from:min(from+limit, len(all))]), ctx.Err()
}

func (l *log) NotifyEvents(fn func(int64)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.silent {
		l.watchers = append(l.watchers, fn)
	}
	return func() {}
}

// start runs a hub; stop ends it and waits.
func start(t *testing.T, cfg events.Config) (hub *events.Hub, stop func()) {
	t.Helper()
	hub, err := events.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return hub, func() { cancel(); wait.Wait() }
}

func newLog() *log { return &log{accounts: map[int64][]storage.Event{}} }

func seqs(all []storage.Event) []int64 {
	out := []int64{}
	for _, e := range all {
		out = append(out, e.Seq)
	}
	return out
}

func next(t *testing.T, s storage.EventStream) []int64 {
	t.Helper()
	found, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seqs(found)
}

// A stream continues from the given position, in memory and in the log.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		l.emit(1, 5)
		hub, stop := start(t, events.Config{Log: l, Keep: 3, Batch: 2})
		defer stop()
		s, late := hub.Follow(1, 1), hub.Follow(1, 5)
		defer s.Close()
		defer late.Close()
		var got [][]int64
		for range 2 {
			got = append(got, next(t, s))
		}
		l.emit(2, 9) // of another account
		go func() {
			time.Sleep(time.Second)
			l.emit(1, 1)
		}()
		got = append(got, next(t, s), next(t, late))
		l.emit(1, 5)
		for range 3 {
			got = append(got, next(t, late))
		}
		for range 3 {
			got = append(got, next(t, s))
		}
		want := [][]int64{{2, 3}, {4, 5}, {6}, {6}, {7, 8}, {9, 10}, {11}, {7, 8}, {9, 10}, {11}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Events that are no longer kept do not block streams.
func TestGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		l.emit(1, 5)
		l.gone, l.silent = 3, true
		hub, stop := start(t, events.Config{Log: l, Keep: 3, Batch: 2})
		defer stop()
		s := hub.Follow(1, 1)
		defer s.Close()
		got := [][]int64{next(t, s)}
		go func() {
			time.Sleep(time.Second)
			l.mu.Lock()
			l.gone = 7
			l.mu.Unlock()
			l.emit(1, 4)
		}()
		got = append(got, next(t, s))
		go func() {
			time.Sleep(10 * time.Second)
			l.emit(1, 1)
		}()
		got = append(got, next(t, s))
		if diff := cmp.Diff([][]int64{{4, 5}, {8, 9}, {10}}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Without notifications the hub polls; while the log cannot be read, streams wait.
func TestPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		l.silent = true
		hub, stop := start(t, events.Config{Log: l, Poll: 3 * time.Second})
		defer stop()
		s := hub.Follow(1, 0)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		l.mu.Lock()
		l.failure = fault.New(fault.Unavailable, "away")
		l.mu.Unlock()
		l.emit(1, 2)
		began := time.Now()
		time.AfterFunc(4*time.Second, func() {
			l.mu.Lock()
			l.failure = nil
			l.mu.Unlock()
		})
		if diff := cmp.Diff([]int64{1, 2}, next(t, s)); diff != "" {
			t.Error(diff)
		}
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// When the hub ends, all streams end, including later ones.
func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, stop := start(t, events.Config{Log: newLog()})
		s := hub.Follow(1, 0)
		time.AfterFunc(time.Second, stop)
		for _, s := range []storage.EventStream{s, s, hub.Follow(2, 0)} {
			if _, err := s.Next(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
			s.Close()
			s.Close()
		}
	})
}

// Many streams of an account share a single reader of its log.
func TestOneReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		hub, stop := start(t, events.Config{Log: l, Poll: time.Hour})
		defer stop()
		var wait sync.WaitGroup
		for range 50 {
			s := hub.Follow(1, 0)
			wait.Go(func() {
				defer s.Close()
				for want := range int64(20) {
					if got := next(t, s); !slices.Equal(got, []int64{want + 1}) {
						t.Errorf("got %v, want %d", got, want+1)
					}
				}
			})
		}
		synctest.Wait()
		l.mu.Lock()
		l.reads = 0
		l.mu.Unlock()
		for range 20 {
			l.emit(1, 1)
			time.Sleep(time.Second)
		}
		wait.Wait()
		if l.reads > 20 {
			t.Errorf("%d reads for 20 events and 50 streams", l.reads)
		}
	})
}

// An event is passed on at once, and those that come soon after it are passed on together.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		hub, stop := start(t, events.Config{Log: l, Poll: time.Hour, Pause: 50 * time.Millisecond})
		defer stop()
		s := hub.Follow(1, 0)
		defer s.Close()
		type read struct {
			Seqs  []int64
			After time.Duration
		}
		var got []read
		began := time.Now()
		var wait sync.WaitGroup
		wait.Go(func() {
			for range 4 {
				got = append(got, read{next(t, s), time.Since(began)})
			}
		})
		for _, pause := range []time.Duration{0, 10, 10, 20, 30, 100} {
			time.Sleep(pause * time.Millisecond)
			l.emit(1, 1)
		}
		wait.Wait()
		want := []read{{[]int64{1}, 0}, {[]int64{2, 3, 4}, 50 * time.Millisecond}, {[]int64{5}, 100 * time.Millisecond}, {[]int64{6}, 170 * time.Millisecond}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Streams that come and go while events are written see each event once and in order.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	l := newLog()
	hub, stop := start(t, events.Config{Log: l, Keep: 8, Batch: 5, Poll: 20 * time.Millisecond})
	defer stop()
	const total = 2000
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := range total / 4 {
			l.emit(1, 1+n%2*6) // four on average
		}
	})
	for reader := range 8 {
		wait.Go(func() {
			s := hub.Follow(1, 0)
			defer func() { s.Close() }()
			var last int64
			for n := 0; last < total; n++ {
				found, err := s.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range found {
					if e.Seq != last+1 {
						t.Errorf("after %d came %d", last, e.Seq)
						return
					}
					last = e.Seq
				}
				if n%(reader+2) == 0 { // reconnects
					s.Close()
					s = hub.Follow(1, last)
				}
			}
		})
	}
	wait.Wait()
}

func TestNewAsksForALog(t *testing.T) {
	t.Parallel()
	if _, err := events.New(events.Config{}); err == nil {
		t.Error("a hub without a log")
	}
}
