// Package wiretest has the test helpers that sources share: servers for one test, and sinks with a wait.
package wiretest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testnet"
)

// patience limits how long a test waits before it fails, as testenv.Patience does for tests with servers.
const patience = 5 * time.Minute

// Listen serves connections to a port of 127.0.0.1, which it returns, until the test ends: then they are closed.
func Listen(t testing.TB, serve func(net.Conn)) (port int) {
	t.Helper()
	addr, err := netip.ParseAddrPort(testnet.Listen(t, serve))
	if err != nil {
		t.Fatal(err)
	}
	return int(addr.Port())
}

// Run runs a source until the test or the returned function ends it.
func Run(t testing.TB, source interface {
	Run(ctx context.Context) error
}) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(patience):
				t.Error("Run does not end")
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// Watched is a lock that signals changes made under it. The zero value is ready.
type Watched struct {
	sync.Mutex
	changed chan struct{} // closed at the next change; nil if nothing waits
}

// Announce wakes waiting goroutines. It is called under the lock.
func (w *Watched) Announce() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Wait waits until ok, which is called under the lock after every change, returns true. On a timeout it shows the result of
// last, which is also called under the lock.
func (w *Watched) Wait(t testing.TB, what string, ok func() bool, last func() any) {
	t.Helper()
	timeout := time.After(patience)
	for {
		w.Lock()
		done := ok()
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			w.Lock()
			defer w.Unlock()
			t.Fatalf("waited in vain for %s; the last status: %+v", what, last())
		}
	}
}
