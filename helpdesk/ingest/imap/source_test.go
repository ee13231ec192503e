package imap_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// This test is not parallel to others: it counts goroutines. Those of parallel tests have not begun.
func TestNoGoroutineIsLeft(t *testing.T) { //nolint:paralleltest // it measures
	count := func() int {
		buf := make([]byte, 1<<20)
		stacks := string(buf[:runtime.Stack(buf, true)])
		return strings.Count(stacks, "imapclient.(*") + strings.Count(stacks, "imap.(*worker)")
	}
	before := count()
	for _, silent := range silences {
		reached := make(chan struct{}, 100)
		server := &fakeServer{mails: fakeMails(2), caps: "IDLE"}
		server.hook = func(c *fakeConn, _, command string) bool {
			if !silent(c, command) {
				return false
			}
			reached <- struct{}{}
			_, _ = c.lines.ReadString(0)
			return true
		}
		stop := wiretest.Run(t, newSource(t, server.start(t), newSink()))
		<-reached
		stop()
	}
	server := &fakeServer{mails: fakeMails(2)}
	once(t, newSource(t, server.start(t), newSink()))
	for deadline := time.Now().Add(10 * time.Second); count() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines of the client before, %d after", before, count())
		}
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	good := imap.Config{Server: imap.Server{Host: "mail.example.org", Username: "u", Password: "p"}}
	if _, err := imap.New(good, newSink()); err != nil {
		t.Errorf("defaults: %v", err)
	}
	if _, err := imap.New(good, nil); err == nil {
		t.Error("no sink, and no error")
	}
	tests := map[string]struct {
		change func(*imap.Config)
		want   string
	}{
		"no host":       {func(c *imap.Config) { c.Host = "" }, "host"},
		"host and path": {func(c *imap.Config) { c.Host = "a/b" }, "host"},
		"port":          {func(c *imap.Config) { c.Port = 1 << 16 }, "port"},
		"no user":       {func(c *imap.Config) { c.Username = "" }, "username"},
		"user":          {func(c *imap.Config) { c.Username = "a\r\nT9 LOGOUT" }, "username"},
		"password":      {func(c *imap.Config) { c.Password = "hunter2\n" }, "password"},
		"encryption":    {func(c *imap.Config) { c.Encryption = "tls1" }, "encryption"},
		"folder":        {func(c *imap.Config) { c.Folders = []string{"a\x00"} }, "folder"},
		"folder empty":  {func(c *imap.Config) { c.Folders = []string{""} }, "folder"},
		"folder bytes":  {func(c *imap.Config) { c.Folders = []string{"\xff"} }, "folder"},
		"interval":      {func(c *imap.Config) { c.PollInterval = -1 }, "PollInterval"},
		"limit":         {func(c *imap.Config) { c.MaxMessage = -1 }, "limit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			test.change(&cfg)
			_, err := imap.New(cfg, newSink())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("New: %v, want something about %s", err, test.want)
			}
			if testErr := imap.Test(t.Context(), cfg); testErr == nil || testErr.Error() != err.Error() {
				t.Errorf("Test: %v, want %v", testErr, err)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dials []time.Duration
		begin := time.Now()
		cfg := imap.Config{Server: imap.Server{Host: "h", Username: "u"}, Rand: func() float64 { return 0 }}
		cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
			dials = append(dials, time.Since(begin)/time.Second)
			return nil, os.ErrDeadlineExceeded
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		source := newSource(t, cfg, newSink())
		if err := source.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run: %v", err)
		}
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111}
		if diff := cmp.Diff(want, dials); diff != "" {
			t.Error(diff)
		}
		st := source.Status()
		if st.Connected || st.LastError == nil || !st.NextTry.IsZero() {
			t.Errorf("status: %+v", st)
		}
	})
}

func TestRefusedLoginIsNotRepeatedSoon(t *testing.T) {
	t.Parallel()
	for answer, wait := range map[string]time.Duration{
		"NO [AUTHENTICATIONFAILED] no":    time.Hour,
		"NO go away, user@example.org":    time.Hour,
		"NO [UNAVAILABLE] database is up": time.Millisecond,
	} {
		server := &fakeServer{}
		server.hook = func(c *fakeConn, tag, command string) bool {
			if strings.HasPrefix(command, "LOGIN") {
				c.say("%s %s", tag, answer)
				return true
			}
			return false
		}
		var logged bytes.Buffer
		cfg := server.start(t)
		cfg.BackoffMax = time.Hour
		cfg.Rand = func() float64 { return 0 }
		cfg.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		sink := newSink()
		source := newSource(t, cfg, sink)
		stop := wiretest.Run(t, source)
		var st imap.Status
		sink.wait(t, "the failure", func() bool {
			if len(sink.statuses) == 0 {
				return false
			}
			st = sink.statuses[len(sink.statuses)-1]
			return !st.NextTry.IsZero()
		})
		stop()
		if got := st.NextTry.Sub(st.LastErrorAt); got != wait {
			t.Errorf("%s: waits %v, want %v", answer, got, wait)
		}
		for _, secret := range []string{"secret", "user@", "go away"} {
			if strings.Contains(logged.String(), secret) {
				t.Errorf("the log has %q: %s", secret, logged.String())
			}
		}
		if !strings.Contains(logged.String(), "step=login reason=") {
			t.Errorf("the log does not tell what failed: %s", logged.String())
		}
	}
}

// memoryServer is a second implementation of the protocol, of both its revisions.
func memoryServer(t testing.TB, options imapserver.Options) (*imapmemserver.User, imap.Config) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	memory := imapmemserver.New()
	user := imapmemserver.NewUser("user", "pass")
	memory.AddUser(user)
	options.NewSession = func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
		return memory.NewSession(), nil, nil
	}
	options.Logger = log.New(io.Discard, "", 0)
	server := imapserver.New(&options)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return user, imap.Config{Server: imap.Server{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Username: "user", Password: "pass", Encryption: "NONE",
	}}
}

func appendMail(t testing.TB, user *imapmemserver.User, folder, raw string) {
	t.Helper()
	if _, err := user.Append(folder, literal{strings.NewReader(raw)}, &goimap.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

type literal struct{ *strings.Reader }

func TestRevisionsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]goimap.CapSet{
		"rev1":             {goimap.CapIMAP4rev1: {}},
		"rev2":             {goimap.CapIMAP4rev2: {}},
		"rev1 and rev2":    {goimap.CapIMAP4rev1: {}, goimap.CapIMAP4rev2: {}},
		"rev1 and literal": {goimap.CapIMAP4rev1: {}, goimap.CapLiteralPlus: {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user, cfg := memoryServer(t, imapserver.Options{Caps: caps, InsecureAuth: true})
			cfg.Folders = []string{"INBOX", "Größe & 日本語"}
			for _, folder := range cfg.Folders {
				if err := user.Create(folder, nil); err != nil {
					t.Fatal(err)
				}
			}
			sink := newSink()
			cfg.PollInterval = 20 * time.Millisecond
			wiretest.Run(t, newSource(t, cfg, sink))
			sink.wait(t, "a pass", func() bool {
				return len(sink.statuses) > 0 && !sink.statuses[len(sink.statuses)-1].LastSuccess.IsZero()
			})
			for _, folder := range cfg.Folders {
				appendMail(t, user, folder, "Subject: in "+folder+"\r\n\r\n")
				sink.wait(t, folder, func() bool { return len(sink.mails[folder]) == 1 })
			}
		})
	}
}

func TestServerThatWantsTLSForPasswords(t *testing.T) {
	t.Parallel()
	_, cfg := memoryServer(t, imapserver.Options{})
	err := imap.Test(t.Context(), cfg)
	var step *imap.StepError
	if !errors.As(err, &step) || step.Step != imap.StepLogin || !errors.Is(err, imap.ErrLoginDisabled) {
		t.Errorf("got %v, want ErrLoginDisabled", err)
	}
	cfg.Encryption = mailserver.STARTTLS // which it does not have: there is no way back to plain
	if err := imap.Test(t.Context(), cfg); !errors.As(err, &step) || step.Step != imap.StepSTARTTLS {
		t.Errorf("got %v, want a failure of starttls", err)
	}
}

func TestLogHasNoMail(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(3)}
	server.hook = func(c *fakeConn, _, command string) bool {
		if isBody(command) {
			c.say(`* 1 FETCH (UID 1 BODY[] "private" X-PRIVATE private)`)
		}
		return isBody(command)
	}
	var logged bytes.Buffer
	cfg := server.start(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	once(t, newSource(t, cfg, newSink()))
	for _, secret := range []string{"rivate", "RIVATE", "user@", "secret"} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log has %q: %s", secret, logged.String())
		}
	}
	if n := strings.Count(logged.String(), "mail not fetched"); n != 3 {
		t.Errorf("%d problems in the log, want 3: %s", n, logged.String())
	}
}
