package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diary notes in which order parts start and end.
type diary struct {
	mu   sync.Mutex
	said []string
}

func (d *diary) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, text)
}

// part is one that takes a while to end.
func (d *diary) part(name string, slow time.Duration) part {
	return part{name, func(ctx context.Context) error {
		d.note(name + " starts")
		<-ctx.Done()
		time.Sleep(slow)
		d.note(name + " ends")
		return ctx.Err()
	}}
}

func TestStagesEndInTheOppositeOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- runStages(ctx, []part{d.part("store", 0)}, []part{d.part("jobs", time.Second)}, []part{d.part("http", time.Minute)})
		}()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"http ends", "jobs ends", "store ends"}, d.said[3:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPartThatFailsEndsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		failed := errors.New("the port is gone")
		err := runStages(t.Context(), []part{d.part("store", 0)}, []part{{"http", func(context.Context) error {
			time.Sleep(time.Second)
			return failed
		}}, d.part("fetching", 0)})
		if !errors.Is(err, failed) || err.Error() != "http: the port is gone" {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff([]string{"fetching ends", "store ends"}, d.said[2:]); diff != "" {
			t.Error(diff)
		}
	})
}

// pipes is a listener of connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A proxy keeps connections, and does not know yet that the server is shutting down: each gets an answer while they are used
// one after the other, and is closed with it.
func TestLeavingServerAnswersOnKeptConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- Serve(ctx, l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					time.Sleep(400 * time.Millisecond)
				}
			}))
		}()
		var kept []*bufio.ReadWriter
		for range 9 {
			c, s := net.Pipe()
			l.conns <- s
			kept = append(kept, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)))
		}
		ask := func(c *bufio.ReadWriter, path string) (bool, error) {
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", path)
			if err := c.Flush(); err != nil {
				return false, err
			}
			res, err := http.ReadResponse(c.Reader, nil)
			if err != nil {
				return false, err
			}
			return res.Close, nil
		}
		for _, c := range kept {
			if closing, err := ask(c, "/"); closing || err != nil {
				t.Fatalf("before: %v, %v", closing, err)
			}
		}
		slow := make(chan error)
		go func() { _, err := ask(kept[0], "/slow"); slow <- err }() // begins before and ends after
		synctest.Wait()
		leave()
		begin := time.Now()
		for i, c := range kept[1:] {
			time.Sleep(200 * time.Millisecond)
			if i == 3 {
				if err := <-slow; err != nil {
					t.Errorf("a slow request: %v", err)
				}
				if closing, err := ask(kept[0], "/"); !closing || err != nil {
					t.Errorf("after a slow request: %v, %v", closing, err)
				}
			}
			if closing, err := ask(c, "/"); !closing || err != nil {
				t.Errorf("connection %d: %v, %v", i, closing, err)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("leaving took %v", took)
		}
	})
}

// A client that sends requests endlessly does not prevent the shutdown.

// A client that sends requests endlessly does not prevent the shutdown.
func TestLeavingServerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l leaving
		ctx, cancel := context.WithCancel(t.Context())
		var client sync.WaitGroup
		client.Go(func() {
			for ctx.Err() == nil {
				l.asked.Add(1)
				time.Sleep(beat / 2)
			}
		})
		begin := time.Now()
		l.wait()
		cancel()
		defer client.Wait()
		if took := time.Since(begin); took != mostBeats*beat {
			t.Errorf("%v", took)
		}
	})
}
