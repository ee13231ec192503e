package transport_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/transport"
)

// wirePipe is a network of connections without buffers: a write blocks until it is read.
type wirePipe struct{ accepted chan net.Conn }

func (p wirePipe) Accept() (net.Conn, error) {
	if c, ok := <-p.accepted; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p wirePipe) Close() error   { return nil }
func (p wirePipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestClientsThatDoNotRead checks that clients that do not read are cut off and their memory is released; slow clients get
// everything.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path  string
		pause time.Duration // after each 64 KiB; 0: nothing is read
		whole bool
	}{
		"an object, deaf":     {"/object", 0, false},
		"a file, deaf":        {"/file", 0, false},
		"a stream, deaf":      {"/stream", 0, false},
		"an object, slow":     {"/object", 20 * time.Second, true},
		"a file, slow":        {"/file", 20 * time.Second, true},
		"an object, too slow": {"/object", 40 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const size = 2 << 20
				ended := make(chan struct{})
				text := bytes.Repeat([]byte("x"), size)
				table := transport.New(transport.Config{Logger: discard})
				nobody := func(context.Context, *transport.Request) (struct{}, error) { return struct{}{}, nil }
				transport.Handle(table, nobody, transport.Operation{ID: "object", Method: "GET", Path: "/object", Public: true},
					func(context.Context, struct{}, struct{}) (string, error) { return string(text), nil })
				transport.HandleContent(table, nobody, transport.Operation{ID: "file", Method: "GET", Path: "/file", Public: true},
					func(context.Context, struct{}, struct{}) (transport.Content, error) {
						return transport.Content{Body: nopSeeker{bytes.NewReader(text)}}, nil
					})
				transport.HandleStream(table, nobody, transport.Operation{ID: "stream", Method: "GET", Path: "/stream", Public: true},
					func(context.Context, struct{}, struct{}) (transport.Stream, error) {
						return func(_ context.Context, w *transport.EventWriter) error {
							for {
								if err := w.Send("1", "", text[:1000]); err != nil {
									return err
								}
							}
						}, nil
					})
				handler := table.Handler()
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					handler.ServeHTTP(w, r)
				})}
				pipe := wirePipe{make(chan net.Conn, 1)}
				go func() { _ = server.Serve(pipe) }()
				here, there := net.Pipe()
				pipe.accepted <- there
				began := time.Now()
				if _, err := io.WriteString(here, "GET /api/v1"+c.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				read := 0
				for b := make([]byte, 64<<10); c.pause > 0; time.Sleep(c.pause) {
					n, err := io.ReadFull(here, b)
					read += n
					if err != nil {
						break
					}
				}
				<-ended
				if (read >= size) != c.whole {
					t.Errorf("%d bytes were read", read)
				}
				if took := time.Since(began); c.pause == 0 && took > time.Minute {
					t.Errorf("the client held its answer for %v", took)
				}
				_ = here.Close()
				close(pipe.accepted)
				_ = server.Close()
			})
		})
	}
}

type nopSeeker struct{ io.ReadSeeker }

func (nopSeeker) Close() error { return nil }
