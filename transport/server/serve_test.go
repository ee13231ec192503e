package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/transport/server"
)

// serve serves h until end is called or the test ends.
func serve(t *testing.T, l net.Listener, h http.Handler) (address string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l, h) }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return l.Addr().String(), end
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial opens a connection that ends by itself.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A stream arrives as it is flushed, while its handler goes on.
func TestStreamArrivesAsItIsFlushed(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 8000)
	goOn := make(chan struct{})
	address, _ := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		flusher, ok := w.(http.Flusher)
		if !ok {
			t.Error("no http.Flusher")
			return
		}
		_, _ = io.WriteString(w, text) // the client sees it
		flusher.Flush()
		<-goOn
	}))
	t.Cleanup(func() { close(goOn) }) // before the server ends
	conn := dial(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != text {
		t.Errorf("%v %.20s", err, got)
	}
}

func TestHandlersTakeOverConnections(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			t.Error("no http.Hijacker")
			return
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "mine") // the client sees it
		_ = conn.Close()
	}))
	conn := dial(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if got, err := io.ReadAll(conn); err != nil || string(got) != "mine" {
		t.Errorf("%v %q", err, got)
	}
}

// An answer that is on its way arrives whole when the server ends, and its connection is closed then.
func TestAnswerAtTheEnd(t *testing.T) {
	t.Parallel()
	page := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	sending := make(chan struct{}, 1)
	address, end := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sending <- struct{}{}
		_, _ = w.Write(page) // the client sees it
	}))
	conn := dial(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-sending
	ended := make(chan struct{})
	go func() { end(); close(ended) }()
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(body, page) {
		t.Error(len(body), err)
	}
	<-ended
	if n, err := in.Read(make([]byte, 1)); err == nil {
		t.Error(n, "the connection is open")
	}
}

// wires is a listener of connections without buffers: a write waits until it is read.
type wires chan net.Conn

func (w wires) Accept() (net.Conn, error) {
	if c, ok := <-w; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (w wires) Close() error { return nil }

func (w wires) Addr() net.Addr { return &net.TCPAddr{} }

// A client that asks and reads nothing, with the first request of its connection or a later one, loses the connection after a
// minute, and the handler is told.
func TestClientsThatReadNothing(t *testing.T) {
	t.Parallel()
	for _, read := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(read), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, failed := make(wires), make(chan error, 4)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error)
				go func() {
					done <- server.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Length", "60000")
						_, err := io.WriteString(w, strings.Repeat("x", 60_000))
						failed <- err
					}))
				}()
				client, conn := net.Pipe()
				l <- conn
				in := bufio.NewReader(client)
				for range read {
					fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
					res, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, res.Body); err != nil || n != 60_000 {
						t.Error(n, err)
					}
					if err := <-failed; err != nil {
						t.Error(err)
					}
				}
				fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				began := time.Now()
				if err := <-failed; err == nil {
					t.Error("the handler was not told")
				}
				if took := time.Since(began); took > time.Minute {
					t.Error(took)
				}
				stop()
				close(l)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
