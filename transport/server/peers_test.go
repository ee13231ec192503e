package server

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// living reports the processes in a list as alive.
type living struct {
	name string
	all  map[string]bool
}

func (l living) Process(context.Context) (string, error)            { return l.name, nil }
func (l living) Lives(_ context.Context, name string) (bool, error) { return l.all[name], nil }

// TestServersSeal runs two servers on one store: each must be able to open what the other has sealed.
func TestServersSeal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second string // keys, each of one letter
		runs          bool
	}{
		"the same key":              {"a", "a", true},
		"a further key, one by one": {"a", "ab", true},
		"a further key, all":        {"ab", "ab", true},
		"it seals, one by one":      {"ab", "ba", true},
		"it seals, all":             {"ba", "ba", true},
		"the old one is dropped":    {"ba", "b", true},
		"another key":               {"a", "b", false},
		"a new key seals at once":   {"a", "ba", false},
		"dropped too early":         {"ab", "b", false},
		"one does not have the new": {"ba", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, all := memstore.New(), map[string]bool{"1": true, "2": true}
			now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
			server := func(name, letters string) *Server {
				t.Helper()
				var keys [][]byte
				for _, letter := range []byte(letters) {
					keys = append(keys, bytes.Repeat([]byte{letter}, 32))
				}
				s, err := New(Config{
					Store: store, Blobs: memblob.New(), Keys: keys, Desk: helpdesk.Config{Processes: living{name, all}}, Now: func() time.Time { return now },
				})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			first, second := server("1", tt.first), server("2", tt.second)
			if err := first.join(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := second.join(t.Context())
			want := []Peer{{"1", first.KeyIDs()}, {"2", second.KeyIDs()}}
			if !tt.runs {
				want = want[:1] // it does not stay among those that run
			}
			if tt.runs != (err == nil) || !tt.runs && !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
			peers := func(want []Peer) {
				t.Helper()
				got, err := second.Peers(t.Context())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Error(err, diff)
				}
			}
			peers(want)
			second.leave(t.Context())
			peers(want[:1])
			all["1"] = false // killed: it does not block others
			peers(nil)
			if err := second.join(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// stumbling fails the first calls.
type stumbling struct {
	living
	left *atomic.Int32 // failures
}

func (s stumbling) Process(ctx context.Context) (string, error) {
	if s.left.Add(-1) >= 0 {
		return "", errors.New("the session was ended")
	}
	return s.living.Process(ctx)
}

// A server keeps running while the store fails, and publishes itself once it can.
func TestServerStaysOverFailures(t *testing.T) {
	t.Parallel()
	left := new(atomic.Int32)
	left.Store(2)
	s, err := New(Config{
		Store: memstore.New(), Blobs: memblob.New(), Keys: [][]byte{make([]byte, 32)},
		Desk: helpdesk.Config{Processes: stumbling{living{"1", map[string]bool{"1": true}}, left}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.stay(ctx) }()
	for {
		peers, err := s.Peers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(peers) == 1 {
			break
		}
		select {
		case err := <-ended:
			t.Fatal("ended: ", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// If the store cannot tell which processes are alive, a silent one is considered dead after a while.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	store, now := memstore.New(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s, err := New(Config{
		Store: store, Blobs: memblob.New(), Keys: [][]byte{make([]byte, 32)}, Desk: helpdesk.Config{Processes: living{}}, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		passes time.Duration
		lives  int
	}{{peerSilence - time.Second, 1}, {time.Second, 0}, {peerCleanup, 0}} {
		now = now.Add(tt.passes)
		if got, err := s.Peers(t.Context()); len(got) != tt.lives || err != nil {
			t.Errorf("at %s: %v %v", now, got, err)
		}
	}
	if items, err := store.Items(t.Context(), peersKey); len(items) != 0 || err != nil {
		t.Errorf("%v are left: %v", items, err)
	}
}
