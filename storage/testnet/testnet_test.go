package testnet_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testnet"
)

// echo starts a server that echoes each line.
func echo(t *testing.T) string {
	t.Helper()
	return testnet.Listen(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn := testnet.Idle(t, addr)
	return conn, bufio.NewReader(conn)
}

func say(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	got, err := lines.ReadString('\n')
	if err != nil || got != want+"\n" {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

// silent fails if data arrives within a while.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !isTimeout(err) {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	_ = conn.SetReadDeadline(time.Time{})
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestProxyFreezesAndPasses(t *testing.T) {
	t.Parallel()
	proxy := testnet.NewProxy(t, echo(t))
	conn, lines := dial(t, proxy.Addr())
	say(t, conn, "one")
	hear(t, lines, "one")
	proxy.Freeze()
	say(t, conn, "two")
	silent(t, conn)
	fresh, freshLines := dial(t, proxy.Addr())
	say(t, fresh, "three")
	silent(t, fresh)
	proxy.Pass()
	hear(t, lines, "two")
	hear(t, freshLines, "three")
	if n := proxy.Count(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestProxyFrozenEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var conn net.Conn
	t.Run("frozen", func(t *testing.T) {
		proxy := testnet.NewProxy(t, echo(t))
		conn, _ = dial(t, proxy.Addr())
		proxy.Freeze()
		say(t, conn, "one")
	})
}

func TestProxySwallows(t *testing.T) {
	t.Parallel()
	proxy := testnet.NewProxy(t, echo(t))
	proxy.Swallow()
	conn, _ := dial(t, proxy.Addr())
	if _, err := conn.Write(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	silent(t, conn)
}

func TestProxyMutes(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	proxy := testnet.NewProxy(t, testnet.Listen(t, func(conn net.Conn) {
		line, _ := bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, "heard\n")
		heard <- line
	}))
	proxy.Mute()
	conn, _ := dial(t, proxy.Addr())
	say(t, conn, "one")
	if line := <-heard; line != "one\n" {
		t.Errorf("the server heard %q", line)
	}
	if text, _ := io.ReadAll(conn); len(text) > 0 {
		t.Errorf("the client heard %q", text)
	}
}

func TestProxyCutsAndRefuses(t *testing.T) {
	t.Parallel()
	proxy := testnet.NewProxy(t, echo(t))
	conn, lines := dial(t, proxy.Addr())
	say(t, conn, "one")
	hear(t, lines, "one")
	proxy.Cut()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection was not cut")
	}
	conn, lines = dial(t, proxy.Addr())
	say(t, conn, "two")
	hear(t, lines, "two")
	proxy.Refuse()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection was not refused")
	}
}

func TestSilentAndFlood(t *testing.T) {
	t.Parallel()
	conn, _ := dial(t, testnet.Silent(t))
	say(t, conn, "hello")
	silent(t, conn)
	conn, _ = dial(t, testnet.Flood(t, "* OK\r\n", "(", 100_000))
	text, err := io.ReadAll(io.LimitReader(conn, 100_000))
	if want := "* OK\r\n" + strings.Repeat("(", 100_000-6); err != nil || string(text) != want {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	silent(t, conn)
}

func TestCutterBreaksRequests(t *testing.T) {
	t.Parallel()
	got := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		got <- err
	}))
	t.Cleanup(server.Close)
	var cutter testnet.Cutter
	for _, c := range []struct {
		after int64
		whole bool
	}{{0, true}, {50_000, false}} {
		cutter.After(c.after)
		res, err := cutter.Client().Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", 100_000)))
		if err == nil {
			_ = res.Body.Close()
		}
		if (err == nil) != c.whole {
			t.Errorf("after %d bytes: %v", c.after, err)
		}
		if err := <-got; (err == nil) != c.whole {
			t.Errorf("after %d bytes the server got %v", c.after, err)
		}
	}
}

func TestDeafKeepsTheServerWriting(t *testing.T) {
	t.Parallel()
	stuck := make(chan error, 1)
	addr := testnet.Listen(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := conn.Write(make([]byte, 64<<20))
		stuck <- err
	})
	testnet.Deaf(t, addr, "GET\n")
	if err := <-stuck; !isTimeout(err) {
		t.Errorf("got %v, want a timeout", err)
	}
}
