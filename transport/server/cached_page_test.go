package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeKept answers for /kept, and counts nothing else.
func fakeKept(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/kept" || r.Host != "a" {
		return false
	}
	w.Header().Set("Content-Length", "4")
	_, _ = io.WriteString(w, "kept") // a buffer
	return true
}

// connect serves h, with kept before it, and returns a connection to it.
func connect(t *testing.T, h http.Handler, kept keptFunc) (conn net.Conn, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l, h, kept) }()
	ended := false
	end = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	if conn, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, end
}

const (
	get   = "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n"
	other = "GET /other HTTP/1.1\r\nHost: a\r\n\r\n"
)

// Requests on a connection are answered once each, in order, whichever part answers.
func TestKeptAnswers(t *testing.T) {
	t.Parallel()
	long := "GET /kept HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 6000) + "\r\n\r\n"
	tests := []struct {
		name string
		sent []string // each when the one before was answered
		want []string
	}{
		{"the first is for net/http", []string{get, get, get}, []string{"net", "kept", "kept"}},
		{"others between", []string{other, get, other, get}, []string{"net", "kept", "net", "kept"}},
		{"fields do not matter", []string{get, "GET /kept HTTP/1.1\r\nUser-Agent: b\r\nhost:a\r\nConnection: Keep-Alive\r\nCookie: c=d\r\n\r\n"}, []string{"net", "kept"}},
		{"HEAD", []string{get, "HEAD /kept HTTP/1.1\r\nHost: a\r\n\r\n", get}, []string{"net", "", "kept"}},
		{"two at once", []string{get, get + get, get}, []string{"net", "net net", "net"}},
		{"two, the first ends without CR", []string{get, "GET /other HTTP/1.1\nHost: a\n\n" + get, get}, []string{"net", "net net", "net"}},
		{"another host", []string{get, "GET /kept HTTP/1.1\r\nHost: b\r\n\r\n", get}, []string{"net", "net", "kept"}},
		{"a query", []string{get, "GET /kept?a HTTP/1.1\r\nHost: a\r\n\r\n", get}, []string{"net", "net", "kept"}},
		{"a form of the path that is not simple", []string{get, "GET /kept;a HTTP/1.1\r\nHost: a\r\n\r\n", get}, []string{"net", "net", "kept"}},
		{"a whole address", []string{get, "GET http://a/kept HTTP/1.1\r\nHost: a\r\n\r\n", get}, []string{"net", "net", "kept"}},
		{"long", []string{get, long, get}, []string{"net", "net", "net"}},
		{"a body of no bytes", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", get}, []string{"net", "net", "net"}},
		{"a body that looks like a request", []string{get, fmt.Sprintf("POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(get)) + get, get}, []string{"net", "net " + get, "net"}},
		{"chunks", []string{get, fmt.Sprintf("POST /other HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(get), get), get}, []string{"net", "net " + get, "net"}},
		{"a body of a GET", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", get}, []string{"net", "net ab", "net"}},
		{"the end of the connection", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"}, []string{"net", "net"}},
		{"HTTP/1.0", []string{get, "GET /kept HTTP/1.0\r\nHost: a\r\n\r\n"}, []string{"net", "net"}},
		{"no host", []string{get, "GET /kept HTTP/1.1\r\n\r\n"}, []string{"net", "400"}},
		{"two hosts", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"}, []string{"net", "400"}},
		{"a folded field", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", get}, []string{"net", "net", "net"}},
		{"a space before the colon", []string{get, "GET /kept HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\nab"}, []string{"net", "400"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// A request that arrives before net/http has finished the one before is its own, and so are all that follow. The client
			// then waits longer between its requests.
			for pause := time.Duration(0); ; pause = 2*pause + time.Millisecond {
				got := answersTo(t, tt.sent, tt.want, pause)
				if pause < time.Second && onlyMissed(tt.want, got) {
					continue
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				return
			}
		})
	}
}

// answersTo sends the requests on a connection of their own, a pause before each but the first, and returns the answers. Two
// requests sent at once have their answers in one text, as want has.
func answersTo(t *testing.T, sent, want []string, pause time.Duration) []string {
	t.Helper()
	conn, _ := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := strings.TrimSpace("net " + string(body))
		if len(body) > 0 {
			text = "net " + string(body)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(w, text) // the client sees it
	}), fakeKept)
	in := bufio.NewReader(conn)
	var got []string
	for i, request := range sent {
		if i > 0 {
			time.Sleep(pause)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(request, " ")
		var texts []string
		for range 1 + strings.Count(want[i], "net net") {
			texts = append(texts, readAnswer(t, in, method))
		}
		got = append(got, strings.Join(texts, " "))
	}
	if n := in.Buffered(); n > 0 {
		t.Errorf("%d bytes too many", n)
	}
	return got
}

// onlyMissed reports whether got differs from want only where net/http answered a request for a cached page.
func onlyMissed(want, got []string) bool {
	if slices.Equal(want, got) {
		return false
	}
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || w == "kept" && g == "net" })
}

// readAnswer reads one answer: its body, or its status if that is not 200.
func readAnswer(t *testing.T, in *bufio.Reader, method string) string {
	t.Helper()
	res, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil && time.Since(date) > time.Minute {
		t.Error("Date:", date)
	}
	if res.StatusCode != http.StatusOK {
		return strconv.Itoa(res.StatusCode)
	}
	return string(body)
}

// A body may come later than its header, and look like a request.
func TestKeptIsNotInABody(t *testing.T) {
	t.Parallel()
	begun, bodies := make(chan struct{}), make(chan string, 1)
	conn, _ := connect(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		close(begun)
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}), fakeKept)
	in := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, get) // the missing answer reports it
	readAnswer(t, in, "GET")
	fmt.Fprintf(conn, "POST /kept HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(get))
	<-begun
	_, _ = io.WriteString(conn, get) // the missing answer reports it
	if got := <-bodies; got != get {
		t.Errorf("%q", got)
	}
	if got := readAnswer(t, in, "POST"); got != "" || in.Buffered() > 0 {
		t.Error(got, in.Buffered())
	}
}

// Requests that arrive while a handler works wait for their turn.
func TestKeptWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}, 1), make(chan struct{}, 1)
	conn, _ := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-goOn
		_, _ = io.WriteString(w, "net") // the client sees it
	}), fakeKept)
	in := bufio.NewReader(conn)
	for range 2 {
		_, _ = io.WriteString(conn, other) // the missing answer reports it
		<-begun
		_, _ = io.WriteString(conn, other) // the missing answer reports it
		goOn <- struct{}{}
		goOn <- struct{}{}
		<-begun
		for range 2 {
			if got := readAnswer(t, in, "GET"); got != "net" {
				t.Error(got)
			}
		}
	}
}

// An answer that is on its way arrives whole when the server ends.
func TestKeptAnswerAtTheEnd(t *testing.T) {
	t.Parallel()
	page := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	var (
		in  *bufio.Reader
		end func() error
	)
	// As above, net/http may answer a request that comes too soon.
	for pause := time.Duration(0); ; pause = 2*pause + time.Millisecond {
		sending, missed := make(chan struct{}, 1), make(chan struct{}, 2)
		var conn net.Conn
		conn, end = connect(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { missed <- struct{}{} }), func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", strconv.Itoa(len(page)))
			_, _ = w.Write(page) // a buffer
			sending <- struct{}{}
			return true
		})
		in = bufio.NewReader(conn)
		_, _ = io.WriteString(conn, get) // the missing answer reports it
		if got := readAnswer(t, in, "GET"); got != "" {
			t.Fatal(got)
		}
		<-missed
		time.Sleep(pause)
		_, _ = io.WriteString(conn, get) // the missing answer reports it
		select {
		case <-sending:
		case <-missed:
			if pause < time.Second {
				continue
			}
			t.Fatal("net/http answers each request")
		}
		break
	}
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(body, page) {
		t.Error(len(body), err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n, err := in.Read(make([]byte, 1)); err == nil {
		t.Error(n, "the connection is open")
	}
}

// Requests that net/http would parse differently are left to it.
func FuzzParseGet(f *testing.F) {
	for _, seed := range []string{
		get, other, get + get, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%C3%A9/a_b~c HTTP/1.1\r\nHOST: a:80\r\naccept-encoding: gzip, br;q=0.5\r\nIf-None-Match: W/\"a\"\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET //b/../c HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		r, whole := parseGet(p)
		if r != nil && !whole {
			t.Fatal("a part of a request")
		}
		in := bufio.NewReaderSize(bytes.NewReader(p), len(p)+16)
		want, err := http.ReadRequest(in)
		if !whole || err != nil {
			if err != nil && r != nil {
				t.Fatal(err)
			}
			return
		}
		if n := in.Buffered(); n > 0 || want.ContentLength != 0 || len(want.TransferEncoding) > 0 || want.Close {
			t.Fatalf("%d bytes more, %+v", n, want)
		}
		if r == nil {
			return
		}
		type parsed struct{ Method, Host, Path, Query, Coding, Tag string }
		of := func(r *http.Request) parsed {
			u := *r.URL
			return parsed{r.Method, r.Host, u.EscapedPath(), u.RawQuery, strings.Join(r.Header.Values("Accept-Encoding"), ", "), strings.Join(r.Header.Values("If-None-Match"), ", ")}
		}
		if diff := cmp.Diff(of(want), of(r)); diff != "" {
			t.Fatal(diff)
		}
		if _, err := url.Parse(want.RequestURI); err != nil {
			t.Fatal(err)
		}
	})
}

// net/http leaves a connection without a time limit for answers: the next cached answer sets it, however soon it comes, as
// otherwise a client that reads nothing would keep its connection forever.
func TestKeptAnswersHaveATimeLimit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := wholeListener{Listener: l, kept: fakeKept}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := accepted.(*wholeConn)
	t.Cleanup(func() { _ = c.Close() })
	over := time.Now().Add(-2 * writeTimeout)
	renew := func(at time.Time) {
		t.Helper()
		if err := c.renew(at); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("a")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("there is no time limit:", err)
		}
	}
	renew(over)
	if err := c.SetWriteDeadline(time.Time{}); err != nil { // as net/http does after a request
		t.Fatal(err)
	}
	turned(c, http.StateIdle)
	renew(over.Add(time.Millisecond))
}
