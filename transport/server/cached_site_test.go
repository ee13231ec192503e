package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/transport/server"
)

// reader requests pages on a connection that stays open.
type reader struct {
	address, page string
	conn          net.Conn
	in            *bufio.Reader
}

type answer struct {
	Status string
	Header http.Header
	Body   string
}

// ask sends a request with additional fields. fast means that net/http has not seen the request: it sends Date after fields
// that begin with a letter before D, which all these answers have.
func (r *reader) ask(t *testing.T, fields string) (got answer, fast bool) {
	t.Helper()
	if r.conn == nil {
		r.conn = dial(t, r.address)
		r.in = bufio.NewReader(r.conn)
	}
	fmt.Fprintf(r.conn, "GET %s HTTP/1.1\r\nHost: help.example.org\r\n%s\r\n", r.page, fields)
	_, err := r.in.Peek(1)
	if err != nil {
		t.Fatal(err)
	}
	begin, _ := r.in.Peek(r.in.Buffered()) // it is there
	_, second, _ := strings.Cut(string(begin), "\r\n")
	fast = strings.HasPrefix(second, "Date: ")
	res, err := http.ReadResponse(r.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Header.Del("Date")
	return answer{res.Status, res.Header, string(body)}, fast
}

// both repeats a request until it was answered both by net/http and without it.
func (r *reader) both(t *testing.T, fields string) (slow, fast answer) {
	t.Helper()
	testenv.Eventually(t, "an answer without net/http", func() bool {
		got, ok := r.ask(t, fields)
		fast = got
		return ok
	})
	slow, ok := r.ask(t, fields+"Content-Length: 0\r\n")
	if ok {
		t.Fatal("a request with a body was taken")
	}
	r.conn = nil // it belongs to net/http now
	return slow, fast
}

// A kept page is the same whether net/http answers or the connection does, in all its forms, until it changes.
func TestKeptPages(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Listener = listen(t)
	var observed atomic.Value
	cfg.Observe = func(r server.Request) {
		r.Took = 0
		observed.Store(r)
	}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	editor, page := publish(t, srv)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	r := &reader{address: cfg.Listener.Addr().String(), page: page}
	for _, fields := range []string{
		"", "Accept-Encoding: gzip\r\n", "Accept-Encoding: gzip, deflate, br, zstd\r\n", "Accept-Encoding: gzip;q=0\r\n", "If-None-Match: *\r\n",
	} {
		slow, fast := r.both(t, fields)
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Errorf("%q: %s", fields, diff)
		}
	}
	testenv.Eventually(t, "an answer without net/http", func() bool {
		_, fast := r.ask(t, "If-None-Match: *\r\n")
		return fast
	})
	want := server.Request{Method: "GET", Route: "{site}/{locale}/articles/{name}", Status: http.StatusNotModified}
	if diff := cmp.Diff(want, observed.Load()); diff != "" {
		t.Error(diff)
	}
	id, _ := kb.ParsePageName(path.Base(page))
	if err := editor.DeleteArticle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the change", func() bool {
		got, _ := r.ask(t, "")
		return got.Status == "404 Not Found"
	})
}
