package outbound_test

import (
	"net"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage/testnet"
)

// A relay that never ends a reply is given up, and little of its reply is kept.
func TestHostileRelay(t *testing.T) {
	t.Parallel()
	const gigabyte = 1 << 30
	drip := func(first, again string) func(t *testing.T) string {
		return func(t *testing.T) string { return testnet.Drip(t, first, again, time.Millisecond) }
	}
	flood := func(first, again string) func(t *testing.T) string {
		return func(t *testing.T) string { return testnet.Flood(t, first, again, gigabyte) }
	}
	// asked greets, and floods the client after any command.
	asked := func(first, again string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return testnet.Listen(t, func(conn net.Conn) {
				_, _ = conn.Write([]byte("220 hello\r\n"))
				if _, err := conn.Read(make([]byte, 100)); err != nil {
					return
				}
				for text := first; ; text = strings.Repeat(again, 1000) {
					if _, err := conn.Write([]byte(text)); err != nil {
						return
					}
				}
			})
		}
	}
	for name, tc := range map[string]struct {
		start func(t *testing.T) string
		says  string // a regular expression
	}{
		"an endless line":                        {flood("220 ", "x"), "too long"},
		"an endless answer":                      {flood("220-hello\r\n", "220-more\r\n"), "too long"},
		"an endless line, drop by drop":          {drip("220 ", "x"), ""},
		"an endless answer, drop by drop":        {drip("220-hello\r\n", "220-more\r\n"), "timed out"},
		"an endless line after the greeting":     {asked("250-", "x"), "too long"},
		"an endless answer after the greeting":   {asked("250-x\r\n", "250-AUTH\r\n"), "too long"},
		"an answer before it was asked":          {flood("220 hello\r\n250-", "x"), "out of turn"},
		"answers to all that may ever be asked":  {flood("220 hello\r\n", "250 ok\r\n"), ""},
		"answers to nothing, drop by drop":       {drip("220 hello\r\n", "250-x\r\n"), "timed out|out of turn"},
		"bytes that are no text":                 {flood("\x00\xff\x16\x03\x01", "\x00"), ""},
		"lines without a number":                 {flood("hello\r\n", "hello\r\n"), ""},
		"a number of many digits":                {flood("2", "2"), ""},
		"an extension with endless arguments":    {asked("250-SIZE ", "9"), "too long"},
		"an extension whose argument is endless": {asked("250-AUTH", " PLAIN"), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Second
			if strings.HasSuffix(name, "drop by drop") {
				timeout = 200 * time.Millisecond
			}
			for _, encryption := range []mailserver.Encryption{mailserver.None, mailserver.STARTTLS, mailserver.TLS} {
				host, port, err := net.SplitHostPort(tc.start(t))
				if err != nil {
					t.Fatal(err)
				}
				number, _ := strconv.Atoi(port)
				relay := newRelay(t, outbound.RelayConfig{
					Host: host, Port: number, Encryption: encryption, HelloName: "desk.example",
					CommandTimeout: timeout, SubmitTimeout: timeout,
				})
				results, err := relay.Send(t.Context(), "d@example.org", []string{"a@example.com"}, newMail(t, text(body)))
				if err == nil && (len(results) != 1 || results[0].State == sent && encryption != mailserver.None) {
					t.Errorf("%s: %+v, %v", encryption, results, err)
				}
				if encryption == mailserver.None && (err == nil || !regexp.MustCompile(tc.says).MatchString(err.Error())) && tc.says != "" {
					t.Errorf("%+v, %v; want %q", results, err, tc.says)
				}
				if err != nil && len(err.Error()) > 10_000 {
					t.Errorf("the error has %d bytes", len(err.Error()))
				}
			}
		})
	}
}

// The cost of a relay's replies is bounded by the limit.
func TestHostileRelayCost(t *testing.T) { //nolint:paralleltest // it measures
	addr := testnet.Flood(t, "220-hello\r\n", "220-more\r\n", 1<<30)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, _ := strconv.Atoi(port)
	relay := newRelay(t, outbound.RelayConfig{Host: host, Port: number, Encryption: mailserver.None})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := relay.Check(t.Context()); err == nil {
		t.Error("it works")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("allocated %d MiB", took>>20)
	}
}

// A reply that the end of the wait has cut is no reply, and its rest is not the next one.
func TestReplyCutByTimeout(t *testing.T) {
	t.Parallel()
	const limit = 200 * time.Millisecond
	for name, replies := range map[string][2]string{
		"greeting": {"220 hel", "lo\r\n"},
		"hello":    {"220 hello\r\n250-desk.exam", "ple\r\n250 OK\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, port, err := net.SplitHostPort(testnet.Listen(t, func(conn net.Conn) {
				first, rest, _ := strings.Cut(replies[0], "\n")
				if rest == "" {
					_, _ = conn.Write([]byte(first))
				} else {
					_, _ = conn.Write([]byte(first + "\n"))
					_, _ = conn.Read(make([]byte, 100))
					_, _ = conn.Write([]byte(rest))
				}
				time.Sleep(limit + limit/2)
				_, _ = conn.Write([]byte(replies[1]))
				_, _ = conn.Read(make([]byte, 100))
				time.Sleep(limit)
			}))
			if err != nil {
				t.Fatal(err)
			}
			number, _ := strconv.Atoi(port)
			relay := newRelay(t, outbound.RelayConfig{
				Host: host, Port: number, Encryption: mailserver.None, HelloName: "desk.example",
				CommandTimeout: limit, SubmitTimeout: limit,
			})
			if err := relay.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "timed out") {
				t.Errorf("%v; want a timeout", err)
			}
		})
	}
}
