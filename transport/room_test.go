package transport_test

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

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// wireConn is a connection from an address.
type wireConn struct {
	net.Conn
	from string
}

func (c wireConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1} }

// roomServer answers GET /api/v1/large with 1 MiB of 20 rows, and /small with next to nothing. POST /api/v1/large does the
// same without reading rows.
type roomServer struct {
	t    *testing.T
	pipe wirePipe
}

const largeRow = 52_000

func newRoomServer(t *testing.T, total int64) *roomServer {
	t.Helper()
	table := transport.New(transport.Config{Logger: discard, Memory: total})
	nobody := func(context.Context, *transport.Request) (struct{}, error) { return struct{}{}, nil }
	operation := func(id, method, path string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Public: true}
	}
	row := string(bytes.Repeat([]byte("x"), largeRow))
	rows := func(ctx context.Context, n int) (storage.Page[string], error) {
		var page storage.Page[string]
		for range n {
			if m := storage.MeterOf(ctx); m != nil {
				if err := m.Take(len(row)); err != nil {
					return page, err
				}
			}
			time.Sleep(time.Millisecond)
			page.Items = append(page.Items, row)
		}
		return page, nil
	}
	transport.HandlePage(table, nobody, operation("large", "GET", "/large"),
		func(ctx context.Context, _, _ struct{}) (storage.Page[string], error) { return rows(ctx, 20) })
	transport.HandlePage(table, nobody, operation("small", "GET", "/small"),
		func(ctx context.Context, _, _ struct{}) (storage.Page[string], error) { return rows(ctx, 1) })
	transport.HandlePage(table, nobody, operation("post", "POST", "/large"),
		func(ctx context.Context, _, _ struct{}) (storage.Page[string], error) { return rows(ctx, 20) })
	s := &roomServer{t: t, pipe: wirePipe{make(chan net.Conn)}}
	mux := http.NewServeMux()
	mux.Handle("/api/", table.Handler())
	mux.Handle("/page", table.Bound(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := storage.MeterOf(r.Context()).Take(1 << 20); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) // the client may have disconnected
	})))
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(s.pipe) }()
	t.Cleanup(func() { close(s.pipe.accepted); _ = server.Close() })
	return s
}

// ask sends a request, and returns the connection of the answer.
func (s *roomServer) ask(from, request string) *bufio.Reader {
	s.t.Helper()
	here, there := net.Pipe()
	s.t.Cleanup(func() { _ = here.Close() })
	s.pipe.accepted <- wireConn{there, from}
	if _, err := io.WriteString(here, request+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		s.t.Error(err)
	}
	return bufio.NewReaderSize(here, 16)
}

// answer reads a whole answer at a rate per second; 0 is unlimited. It returns the result and the time it took.
func (s *roomServer) answer(r *bufio.Reader, pace int) (got string, took time.Duration) {
	s.t.Helper()
	begun := time.Now()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return "none", time.Since(begun)
	}
	defer res.Body.Close()
	for err == nil {
		n := int64(pace)
		if pace == 0 {
			n = 1 << 30
		}
		if _, err = io.CopyN(io.Discard, res.Body, n); err == nil {
			time.Sleep(time.Second)
		}
	}
	whole := ""
	if err != io.EOF { //nolint:errorlint // CopyN returns it as it is
		whole = " cut off"
	}
	return fmt.Sprint(res.StatusCode, whole, " ", res.Header.Get("Retry-After")), time.Since(begun)
}

// TestRoom lets clients fill the memory for answers, and checks which clients get an answer then, and when.
func TestRoom(t *testing.T) {
	t.Parallel()
	const total = 16 << 20
	for name, c := range map[string]struct {
		crowd int
		from  func(i int) string
		ask   string // of the crowd
		pace  int    // bytes that each of the crowd reads every second; -1: nothing

		asks   string // of one more client
		want   string
		within time.Duration // rounded up to seconds
		cut    bool          // some of the crowd are
	}{
		"one address takes half, and another does not wait":      {40, oneAddress, "GET /api/v1/large", -1, "GET /api/v1/large", "200 ", time.Second, true},
		"small answers do not wait":                              {100, manyAddresses, "GET /api/v1/large", -1, "GET /api/v1/small", "200 ", time.Second, true},
		"the deaf are cut off for others":                        {100, manyAddresses, "GET /api/v1/large", -1, "GET /api/v1/large", "200 ", 20 * time.Second, true},
		"the deaf that have done something too":                  {100, manyAddresses, "POST /api/v1/large", -1, "GET /api/v1/large", "200 ", 20 * time.Second, true},
		"pages beside the API are counted":                       {100, manyAddresses, "GET /page", -1, "GET /api/v1/large", "200 ", 20 * time.Second, true},
		"pages have room, too":                                   {40, oneAddress, "GET /api/v1/large", -1, "GET /page", "200 ", time.Second, true},
		"who reads is not cut off, and the others are told":      {13, manyAddresses, "GET /api/v1/large", 32 << 10, "GET /api/v1/large", "503 1", 21 * time.Second, false},
		"who has room to spare is not cut off, and nobody waits": {8, manyAddresses, "GET /api/v1/large", 32 << 10, "GET /api/v1/large", "200 ", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRoomServer(t, total)
				ended := map[string]int{}
				results := make(chan string, c.crowd)
				for i := range c.crowd {
					r := s.ask(c.from(i), c.ask)
					go func() {
						if c.pace < 0 {
							time.Sleep(time.Minute)
						}
						got, _ := s.answer(r, max(c.pace, 0))
						results <- got
					}()
					time.Sleep(30 * time.Millisecond)
				}
				got, took := s.answer(s.ask("192.0.2.1", c.asks), 0)
				if got != c.want || took > c.within {
					t.Errorf("%s after %v, want %s within %v", got, took, c.want, c.within)
				}
				for range c.crowd {
					ended[<-results]++
				}
				if cut := ended["200 "] < c.crowd; cut != c.cut {
					t.Errorf("the crowd: %v", ended)
				}
			})
		})
	}
}

func oneAddress(int) string      { return "192.0.2.77" }
func manyAddresses(i int) string { return fmt.Sprintf("198.51.100.%d", i+1) }

// TestRoomIsGivenBack: whatever becomes of requests, all memory is there again afterwards.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRoomServer(t, 16<<20)
		for range 3 {
			for i := range 60 {
				_ = s.ask(manyAddresses(i), []string{"GET /api/v1/large", "POST /api/v1/large", "GET /api/v1/small", "HEAD /api/v1/large"}[i%4])
			}
			time.Sleep(2 * time.Minute)
		}
		got := map[string]int{}
		for range 50 {
			status, _ := s.answer(s.ask("192.0.2.1", "GET /api/v1/large"), 0)
			got[status]++
		}
		if diff := cmp.Diff(map[string]int{"200 ": 50}, got); diff != "" {
			t.Error(diff)
		}
	})
}
