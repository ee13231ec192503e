package smtpin_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/storage/testenv"
)

// lmtp connects to an LMTP server.
func lmtp(t testing.TB, network, addr string) *client {
	t.Helper()
	conn := must[net.Conn](t)(net.Dial(network, addr))
	t.Cleanup(func() { conn.Close() })
	c := newClient(t, conn)
	c.lmtp = true
	c.expect("220 mx.example LMTP")
	return c
}

// Each recipient has an answer of its own, in the order of RCPT (RFC 2033 section 4.2).
func TestLMTPAnswersForEachRecipient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{LMTP: true})
	c := lmtp(t, "tcp", addr)
	c.do("EHLO client.example", "500 5.5.1")
	c.do("HELO client.example", "500 5.5.1")
	c.begin(w.address(0), w.address(2))
	c.do("RCPT TO:<nobody@in.example>", "550 5.1.1")
	c.do("RCPT TO:<"+w.address(0)+">", "250")
	c.do("DATA", "354")
	c.write(simple + ".\r\n")
	for range 3 {
		c.expect("250 2.6.0")
	}
	c.do("NOOP", "250 2.0.0") // and no answer more
	if diff := cmp.Diff([]string{front("LMTP", w.address(0), w.address(0)) + simple}, stableAll(w.raws(t, 0))); diff != "" {
		t.Error(diff)
	}
	if n := len(w.raws(t, 2)); n != 1 {
		t.Errorf("the other account has %d mails", n)
	}
}

func stableAll(raws []string) []string {
	for i := range raws {
		raws[i] = stable(raws[i])
	}
	return raws
}

func TestLMTPRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{LMTP: true, MaxSize: 1000})
	c := lmtp(t, "tcp", addr)
	c.begin()
	c.do("DATA", "503 5.5.1") // RFC 2033: without a recipient there is no reply to send
	c.do("RCPT TO:<"+w.address(0)+">", "250")
	c.do("RCPT TO:<"+w.address(1)+">", "250")
	c.do("DATA", "354")
	c.write(strings.Repeat("x", 1500) + "\r\n.\r\n")
	for range 2 {
		c.expect("552 5.3.4")
	}
	c.begin(w.address(0), w.address(1))
	w.store.writes.Store(true)
	c.do("DATA", "354")
	c.write(simple + ".\r\n")
	for range 2 {
		c.expect("451 4.3.0")
	}
	w.store.writes.Store(false)
	c.begin(w.address(0))
	c.do("DATA", "354")
	c.write(simple + ".\r\n")
	c.expect("250 2.6.0")
	if n := len(w.raws(t, 0)); n != 1 {
		t.Errorf("%d mails were stored, want 1", n)
	}
}

// A socket's clients count as one: idle connections do not keep others out.
func TestIdleConnectionsToSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := must[string](t)(os.MkdirTemp("/tmp", "hw"))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "lmtp.sock")
	w.start(t, smtpin.Config{LMTP: true, Listen: "unix:" + path, MaxConnections: 10, MaxPerPeer: 3})
	busy := lmtp(t, "unix", path)
	busy.begin(w.address(0))
	busy.do("DATA", "354")
	var idle []*client
	for range 40 {
		idle = append(idle, lmtp(t, "unix", path))
	}
	idle[0].expect("421 4.3.2")
	lmtp(t, "unix", path).send(simple+".\r\n", "250 2.6.0", w.address(0))
	busy.write(simple + ".\r\n")
	busy.expect("250 2.6.0")
	if n := len(w.raws(t, 0)); n != 2 {
		t.Errorf("%d mails", n)
	}
}

// The client of another library over a socket, which a crash has left behind before.
func TestLMTPOverSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := must[string](t)(os.MkdirTemp("/tmp", "hw")) // names of sockets are limited to some 100 bytes
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "lmtp.sock")
	left := must[*net.UnixListener](t)(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	for conn, err := net.Dial("unix", path); err == nil; conn, err = net.Dial("unix", path) {
		_ = conn.Close() // a process that another test starts holds the socket until its exec
		time.Sleep(10 * time.Millisecond)
	}
	addr, stop := w.start(t, smtpin.Config{LMTP: true, Listen: "unix:" + path})
	if addr != path {
		t.Errorf("it listens on %s", addr)
	}
	if _, err := smtpin.New(smtpin.Config{Intake: w.svc.Intake(), LMTP: true, Listen: "unix:" + path}); err == nil {
		t.Error("a second server takes the socket of the first")
	}
	c := gosmtp.NewClientLMTP(must[net.Conn](t)(net.Dial("unix", path)))
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Mail("sender@example.net", nil); err != nil {
		t.Fatal(err)
	}
	for _, box := range []int{0, 1} {
		if err := c.Rcpt(w.address(box), nil); err != nil {
			t.Fatal(err)
		}
	}
	data, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.Write([]byte(simple)); err != nil {
		t.Fatal(err)
	}
	if err := data.Close(); err != nil {
		t.Errorf("LMTP: %v", err)
	}
	for _, box := range []int{0, 1} {
		if n := len(w.raws(t, box)); n != 1 {
			t.Errorf("mailbox %d has %d mails, want 1", box, n)
		}
	}
	stop()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is left behind")
	}
}

// Python's smtplib delivers, as an independent client; it reads one answer only.
func TestLMTPFromPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		testenv.Skip(t, "no python3")
	}
	w := newWorld(t)
	addr, _ := w.start(t, smtpin.Config{LMTP: true})
	host, port, _ := net.SplitHostPort(addr)
	const script = `import smtplib, sys
with smtplib.LMTP(sys.argv[1], int(sys.argv[2])) as c:
    refused = c.sendmail("sender@example.net", sys.argv[3:], b"Subject: Hi\r\n\r\n.dot\r\n")
    assert list(refused) == ["nobody@in.example"], refused`
	out, err := exec.CommandContext(context.Background(), python, "-c", script, host, port, w.address(0), "nobody@in.example").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if raws := w.raws(t, 0); len(raws) != 1 || !strings.HasSuffix(raws[0], "\r\n\r\n.dot\r\n") {
		t.Errorf("the mailbox has %q", raws)
	}
}
