package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/transport/server"
)

// serve serves h until the test ends.
func serve(t *testing.T, l net.Listener, h http.Handler) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
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

// Answers are the same whether they are sent in one piece or not, one after the other on a connection.
func TestAnswersArriveWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 5000)
	write := func(announced int, pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if announced > 0 {
				w.Header().Set("Content-Length", strconv.Itoa(announced))
			}
			for _, p := range pieces {
				if _, err := io.WriteString(w, p); err != nil {
					t.Error(err)
				}
			}
		}
	}
	answers := []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"short", write(5, "short"), "short"},
		{"two writes of net/http", write(8000, text[:8000]), text[:8000]},
		{"the largest that is one", write(64<<10, text[:64<<10]), text[:64<<10]},
		{"larger", write(64<<10+1, text[:64<<10+1]), text[:64<<10+1]},
		{"in pieces", write(8000, text[:4000], text[4000:8000]), text[:8000]},
		{"of no known length", write(0, text[:8000]), text[:8000]},
		{"from a reader", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9000")
			_, _ = io.Copy(w, strings.NewReader(text[:9000])) // the client sees it
		}, text[:9000]},
	}
	address := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		answers[n].h(w, r)
	}))
	conn := dial(t, address)
	var all strings.Builder
	for n := range answers { // at once
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", n)
	}
	if _, err := io.WriteString(conn, all.String()); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for _, tt := range answers {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		body, err := io.ReadAll(res.Body)
		if diff := cmp.Diff(tt.want, string(body)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
	}
	if _, err := io.WriteString(conn, "HEAD /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /0 HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	head, err := http.ReadResponse(r, &http.Request{Method: http.MethodHead})
	if err != nil || head.ContentLength != 8000 {
		t.Fatal(head, err)
	}
	if res, err := http.ReadResponse(r, nil); err != nil || res.ContentLength != 5 {
		t.Error(res, err)
	}
}

// Written answers reach the client while their handler continues, and a stream arrives as it is flushed.
func TestAnswersDoNotWaitForTheirHandler(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 8000)
	goOn := make(chan struct{})
	h := http.NewServeMux()
	h.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8000")
		_, _ = io.WriteString(w, text) // the client sees it
		<-goOn
	})
	h.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		flusher, ok := w.(http.Flusher)
		if !ok {
			t.Error("no http.Flusher")
			return
		}
		_, _ = io.WriteString(w, text)
		flusher.Flush()
		<-goOn
	})
	address := serve(t, listen(t), h)
	t.Cleanup(func() { close(goOn) }) // before the server ends
	for _, path := range []string{"/whole", "/stream"} {
		conn := dial(t, address)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(path, err)
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != text {
			t.Errorf("%s: %v %.20s", path, err, got)
		}
	}
}

func TestHandlersTakeOverConnections(t *testing.T) {
	t.Parallel()
	address := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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

// A client that takes nothing ends the answer, and with it the connection.
func TestWholeAnswerNotRead(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	address := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := strings.Repeat("x", 60_000)
		w.Header().Set("Content-Length", "60000")
		if err := http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)); err != nil {
			t.Error(err)
		}
		_, err := io.WriteString(w, piece)
		failed <- err
	}))
	conn := dial(t, address)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if err := <-failed; err == nil {
		t.Error("the handler was not told")
	}
	if got, err := io.ReadAll(conn); err == nil && len(got) > 0 {
		t.Errorf("%d bytes came", len(got))
	}
}

// Connections of TLS are as they were.
func TestWholeAnswersOverTLS(t *testing.T) {
	t.Parallel()
	borrowed := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(borrowed.Close)
	l := listen(t)
	address := serve(t, tls.NewListener(l, borrowed.TLS), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "8000")
		_, _ = fmt.Fprintf(w, "%8000t", r.TLS != nil) // the client sees it
	}))
	res, err := borrowed.Client().Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if want := strings.Repeat(" ", 7996) + "true"; err != nil || string(body) != want {
		t.Errorf("%v %q", err, body)
	}
}
