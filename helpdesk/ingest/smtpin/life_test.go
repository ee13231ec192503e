package smtpin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
)

// pipeListener gives connections in memory, for tests with a clock of their own.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *pipeListener) dial(t testing.TB) *client {
	t.Helper()
	near, far := net.Pipe()
	l.conns <- far
	c := newClient(t, near)
	c.expect("220")
	return c
}

// end reads the rest of the server's output.
func (c *client) end() string {
	_ = c.conn.SetReadDeadline(time.Time{})
	rest, _ := io.ReadAll(c.r)
	return string(rest)
}

func TestSlowClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		slow func(c *client)
		want time.Duration
		says string
	}{
		"silence":         {func(*client) {}, time.Minute, "421 4.3.2"},
		"drops of a line": {func(c *client) { drip(c, "N", 10*time.Second) }, time.Minute, "421 4.3.2"},
		"NOOP for ever":   {func(c *client) { drip(c, "NOOP\r\n", 50*time.Second) }, 10*time.Minute + 50*time.Second, "421 4.3.2"},
		"drops of data":   {func(c *client) { drip(c, "x", 10*time.Second) }, 5 * time.Minute, ""},
		"it does not read": {func(c *client) {
			for range 10 {
				if _, err := io.WriteString(c.conn, strings.Repeat("NOOP\r\n", 1000)); err != nil {
					return
				}
			}
		}, time.Minute, ""},
	} {
		for _, lmtp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, LMTP %t", name, lmtp), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newPipeListener()
					_, stop := w.start(t, smtpin.Config{LMTP: lmtp, Listener: l})
					c := l.dial(t)
					c.lmtp = lmtp
					if name == "drops of data" {
						c.begin(w.address(0))
						c.do("DATA", "354")
					}
					began := time.Now()
					var writer sync.WaitGroup
					if name == "it does not read" {
						tc.slow(c)
					} else {
						writer.Go(func() { tc.slow(c) })
					}
					said := c.end()
					if took := time.Since(began); took != tc.want {
						t.Errorf("ended after %v, want %v", took, tc.want)
					}
					if !strings.Contains(said, tc.says) {
						t.Errorf("it said %q", said)
					}
					c.conn.Close()
					writer.Wait()
					stop()
				})
			})
		}
	}
	if n := len(w.raws(t, 0)); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func drip(c *client, piece string, pause time.Duration) {
	for {
		time.Sleep(pause)
		if _, err := io.WriteString(c.conn, piece); err != nil {
			return
		}
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, listener net.Listener, w *world) (cancel func(), ended chan error) {
		t.Helper()
		server := must[*smtpin.Server](t)(smtpin.New(smtpin.Config{Intake: w.svc.Intake(), Listener: listener, Domain: "mx.example"}))
		ctx, cancel := context.WithCancel(context.Background())
		ended = make(chan error, 1)
		go func() { ended <- server.Run(ctx) }()
		return cancel, ended
	}
	t.Run("idle connections end at once, data is finished", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, l := newWorld(t), newPipeListener()
			cancel, ended := run(t, l, w)
			idle, between, busy := l.dial(t), l.dial(t), l.dial(t)
			between.begin(w.address(1))
			busy.begin(w.address(0))
			busy.do("DATA", "354")
			busy.write(simple)
			cancel()
			for _, c := range []*client{idle, between} {
				if said := c.end(); !strings.HasPrefix(said, "421 4.3.2") {
					t.Errorf("it said %q", said)
				}
			}
			time.Sleep(7 * time.Second)
			busy.write(".\r\n")
			busy.expect("250 2.6.0")
			busy.expect("421 4.3.2")
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if n := len(w.raws(t, 0)); n != 1 {
				t.Errorf("%d mails", n)
			}
		})
	})
	t.Run("data that takes too long is cut off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, l := newWorld(t), newPipeListener()
			cancel, ended := run(t, l, w)
			c := l.dial(t)
			c.begin(w.address(0))
			c.do("DATA", "354")
			began := time.Now()
			cancel()
			var writer sync.WaitGroup
			writer.Go(func() { drip(c, "x", time.Second) })
			<-ended
			if took := time.Since(began); took != 8*time.Second {
				t.Errorf("ended after %v", took)
			}
			writer.Wait()
		})
	})
	t.Run("storing that takes too long is broken off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, l := newWorld(t), newPipeListener()
			w.store.hold = make(chan struct{})
			cancel, ended := run(t, l, w)
			c := l.dial(t)
			c.begin(w.address(0))
			c.do("DATA", "354")
			c.write(simple + ".\r\n")
			cancel()
			<-ended
			if said := c.end(); said != "" {
				t.Errorf("it said %q", said)
			}
		})
	})
	t.Run("the listener fails", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		_, ended := run(t, l, w)
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
