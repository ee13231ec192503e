package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An answer that is written at once is one segment, which on the loopback interface holds all that one call sends.
func TestWholeAnswerIsOneSegment(t *testing.T) {
	t.Parallel()
	address := serve(t, listen(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8000")
		_, _ = io.WriteString(w, strings.Repeat("x", 8000)) // the client sees it
	}))
	conn := dial(t, address)
	r := bufio.NewReader(conn)
	for n := range 3 {
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		if got := segments(t, conn); got != n+1 {
			t.Fatalf("%d segments for %d answers", got, n+1)
		}
	}
}

// segments is how many with data have come in.
func segments(t *testing.T, conn net.Conn) int {
	t.Helper()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatal(conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	var failed error
	if err := raw.Control(func(fd uintptr) { info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return int(info.Data_segs_in)
}
