package imap_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/testenv"
)

// account is a user of a real Dovecot, with a connection to put mail there.
type account struct {
	server testenv.DovecotServer
	user   string
	client *imapclient.Client
}

func newAccount(t *testing.T, server testenv.DovecotServer) *account {
	t.Helper()
	a := &account{server: server, user: testenv.Name("imap")}
	a.logIn(t)
	return a
}

func (a *account) logIn(t testing.TB) {
	t.Helper()
	client, err := imapclient.DialInsecure(a.server.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Login(a.user, a.server.Password).Wait(); err != nil {
		t.Fatal(err)
	}
	a.client = client
}

func (a *account) config(t testing.TB, addr string, encryption mailserver.Encryption) imap.Config {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return imap.Config{
		Server:     imap.Server{Host: host, Port: number, Username: a.user, Password: a.server.Password, Encryption: encryption, InsecureSkipVerify: true},
		BackoffMin: time.Millisecond, BackoffMax: 50 * time.Millisecond,
	}
}

func (a *account) create(t *testing.T, folder string) {
	t.Helper()
	if err := a.client.Create(folder, nil).Wait(); err != nil {
		t.Fatal(err)
	}
}

func (a *account) deliver(t testing.TB, folder string, raws ...string) {
	t.Helper()
	for _, raw := range raws {
		cmd := a.client.Append(folder, int64(len(raw)), nil)
		if _, err := cmd.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// rawMails makes mails with every byte that a mail can have, of 100 bytes to 20 kB.
func rawMails(prefix string, n int) []string {
	var body strings.Builder
	for b := 1; b < 256; b++ {
		body.WriteByte(byte(b))
	}
	raws := make([]string, n)
	for i := range raws {
		raws[i] = fmt.Sprintf("From: a@example.org\r\nSubject: %s %d\r\n\r\n.\r\n%s\r\n", prefix, i,
			strings.Repeat(strings.NewReplacer("\r", "", "\n", "").Replace(body.String())+"\r\n", i%80))
	}
	return raws
}

func TestDovecotImport(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	folders := []string{"INBOX", `Größe & 日本語 "x" \y`}
	a.create(t, folders[1])
	mails := map[string][]string{}
	for _, folder := range folders {
		mails[folder] = rawMails(folder, 500)
		a.deliver(t, folder, mails[folder]...)
	}
	for _, limits := range []imap.Config{
		{},
		{BatchSize: 7},
		{BatchBytes: 30_000},
		{BatchBytes: 1},
	} {
		t.Run(fmt.Sprintf("%d mails %d bytes", limits.BatchSize, limits.BatchBytes), func(t *testing.T) {
			t.Parallel()
			cfg := a.config(t, a.server.Addr, mailserver.None)
			cfg.Folders, cfg.BatchSize, cfg.BatchBytes = folders, limits.BatchSize, limits.BatchBytes
			sink := newSink()
			source := newSource(t, cfg, sink)
			once(t, source)
			once(t, source)
			for _, folder := range folders {
				got := sink.taken(t, folder)
				if diff := cmp.Diff(mails[folder], texts(got)); diff != "" {
					t.Errorf("%s: %d mails:\n%.2000s", folder, len(got), diff)
				}
			}
			for _, n := range sink.batches {
				if limits.BatchSize > 0 && n > limits.BatchSize || limits.BatchBytes == 1 && n > 1 {
					t.Fatalf("a batch of %d mails", n)
				}
			}
		})
	}
	t.Cleanup(func() { // after the subtests
		for _, folder := range folders {
			status, err := a.client.Status(folder, &goimap.StatusOptions{NumMessages: true, NumUnseen: true}).Wait()
			if err != nil {
				t.Fatal(err)
			}
			if *status.NumMessages != 500 || *status.NumUnseen != 500 {
				t.Errorf("%s: %d mails, %d unseen; want 500 of each", folder, *status.NumMessages, *status.NumUnseen)
			}
		}
	})
}

// The poll interval is an hour here: only IDLE can bring the mail in time.
func TestDovecotIdle(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	a.create(t, "Other")
	cfg := a.config(t, a.server.TLSAddr, mailserver.TLS)
	cfg.Folders = []string{"Other", "inbox"}
	cfg.PollInterval = time.Hour
	cfg.BackoffMin = time.Millisecond
	sink := newSink()
	wiretest.Run(t, newSource(t, cfg, sink))
	raws := rawMails("new", 20)
	for i, raw := range raws {
		a.deliver(t, "INBOX", raw)
		sink.wait(t, "mail "+strconv.Itoa(i), func() bool { return len(sink.mails["INBOX"]) == i+1 })
	}
	if diff := cmp.Diff(raws, texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Error(diff)
	}
}

func TestDovecotOtherFoldersArePolled(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	a.create(t, "Other")
	cfg := a.config(t, a.server.Addr, mailserver.None)
	cfg.Folders = []string{"INBOX", "Missing", "Other"}
	cfg.PollInterval = 20 * time.Millisecond
	sink := newSink()
	source := newSource(t, cfg, sink)
	wiretest.Run(t, source)
	raws := rawMails("new", 3)
	for i, raw := range raws {
		a.deliver(t, "Other", raw)
		a.deliver(t, "INBOX", raw)
		sink.wait(t, "mail "+strconv.Itoa(i), func() bool {
			return len(sink.mails["Other"]) == i+1 && len(sink.mails["INBOX"]) == i+1
		})
	}
	st := source.Status()
	var step *imap.StepError
	if err := st.Folders[1].LastError; !errors.As(err, &step) || step.Step != "select Missing" {
		t.Errorf("the missing folder: %v", err)
	}
	if !st.Connected || st.Folders[0].LastError != nil || st.Folders[2].Taken != 3 {
		t.Errorf("status: %+v", st)
	}
	a.create(t, "Missing")
	a.deliver(t, "Missing", raws...)
	sink.wait(t, "the folder that was missing", func() bool { return len(sink.mails["Missing"]) == 3 })
	sink.wait(t, "a success", func() bool {
		last := sink.statuses[len(sink.statuses)-1]
		return last.LastError == nil && !last.LastSuccess.IsZero()
	})
}

func TestDovecotRestart(t *testing.T) {
	t.Parallel()
	server := testenv.OwnDovecot(t)
	a := newAccount(t, server)
	raws := rawMails("first", 200)
	a.deliver(t, "INBOX", raws...)
	cfg := a.config(t, server.Addr, mailserver.None)
	cfg.BatchSize = 3
	sink := newSink()
	wiretest.Run(t, newSource(t, cfg, sink))
	for i := range 3 {
		sink.wait(t, "some mails", func() bool { return len(sink.mails["INBOX"]) >= 20*(i+1) })
		if out, err := exec.CommandContext(t.Context(), server.Ctl, "restart").CombinedOutput(); err != nil {
			t.Fatalf("restart: %v: %s", err, out)
		}
		a.logIn(t)
		more := rawMails("after restart "+strconv.Itoa(i), 5)
		a.deliver(t, "INBOX", more...)
		raws = append(raws, more...)
	}
	sink.wait(t, "all mails", func() bool { return len(sink.mails["INBOX"]) >= len(raws) })
	if diff := cmp.Diff(raws, texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Errorf("%.2000s", diff)
	}
}

func TestDovecotRenumberedFolder(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	cfg := a.config(t, a.server.Addr, mailserver.None)
	cfg.Folders = []string{"Box"}
	sink := newSink()
	source := newSource(t, cfg, sink)
	a.create(t, "Box")
	first, second := rawMails("first", 5), rawMails("second", 3)
	a.deliver(t, "Box", first...)
	once(t, source)
	before := sink.cursors["Box"]
	if err := a.client.Delete("Box").Wait(); err != nil {
		t.Fatal(err)
	}
	if err := source.Once(t.Context()); err == nil {
		t.Error("the folder is gone, and there is no error")
	}
	// UIDVALIDITY is made from the time in seconds, and Dovecot takes care that it grows.
	a.create(t, "Box")
	a.deliver(t, "Box", second...)
	once(t, source)
	if after := sink.cursors["Box"]; after.UIDValidity == before.UIDValidity || after.UID != 3 {
		t.Errorf("cursor before %+v, after %+v", before, after)
	}
	if diff := cmp.Diff(append(first, second...), texts(sink.taken(t, "Box"))); diff != "" {
		t.Error(diff)
	}
}

func TestDovecotConfigurations(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	pem, err := os.ReadFile(a.server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	own := x509.NewCertPool()
	own.AppendCertsFromPEM(pem)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name       string
		addr       string
		encryption mailserver.Encryption
		change     func(*imap.Config)
		step       string // that fails
		is         error
	}{
		{name: "plain", addr: a.server.Addr, encryption: "NONE"},
		{name: "STARTTLS", addr: a.server.Addr, encryption: "TLS"},
		{name: "STARTTLS, valid", addr: a.server.Addr, encryption: "TLS",
			change: func(c *imap.Config) { c.InsecureSkipVerify, c.RootCAs = false, own }},
		{name: "STARTTLS, invalid", addr: a.server.Addr, encryption: "TLS", step: imap.StepTLS,
			change: func(c *imap.Config) { c.InsecureSkipVerify = false }},
		{name: "SSL", addr: a.server.TLSAddr, encryption: "SSL"},
		{name: "SSL, valid", addr: a.server.TLSAddr, encryption: "SSL",
			change: func(c *imap.Config) { c.InsecureSkipVerify, c.RootCAs, c.Host = false, own, "localhost" }},
		{name: "SSL, invalid", addr: a.server.TLSAddr, encryption: "SSL", step: imap.StepTLS,
			change: func(c *imap.Config) { c.InsecureSkipVerify = false }},
		{name: "SSL on the plain port", addr: a.server.Addr, encryption: "SSL", step: imap.StepTLS},
		{name: "plain on the SSL port", addr: a.server.TLSAddr, encryption: "NONE", step: imap.StepGreeting, is: imap.ErrTimeout,
			change: func(c *imap.Config) { c.StepTimeout = 100 * time.Millisecond }},
		{name: "STARTTLS on the SSL port", addr: a.server.TLSAddr, encryption: "TLS", step: imap.StepSTARTTLS,
			change: func(c *imap.Config) { c.StepTimeout = 100 * time.Millisecond }},
		{name: "wrong password", addr: a.server.Addr, encryption: "TLS", step: imap.StepLogin,
			change: func(c *imap.Config) { c.Password = "wrong ü" }},
		{name: "no folder", addr: a.server.Addr, encryption: "TLS", step: "select Größe",
			change: func(c *imap.Config) { c.Folders = []string{"INBOX", "Größe"} }},
		{name: "nobody listens", addr: closed.Addr().String(), encryption: "TLS", step: imap.StepConnect},
		{name: "no such host", addr: a.server.Addr, encryption: "TLS", step: imap.StepResolve,
			change: func(c *imap.Config) {
				c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, &net.DNSError{Name: "x"} }
			}},
		{name: "dialer refuses", addr: a.server.Addr, encryption: "TLS", step: imap.StepConnect, is: os.ErrPermission,
			change: func(c *imap.Config) {
				c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, os.ErrPermission }
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := a.config(t, test.addr, test.encryption)
			if test.change != nil {
				test.change(&cfg)
			}
			err := imap.Test(t.Context(), cfg)
			var step *imap.StepError
			switch {
			case test.step == "" && err != nil:
				t.Errorf("got %v", err)
			case test.step != "" && (!errors.As(err, &step) || step.Step != test.step):
				t.Errorf("got %v, want a failure of %s", err, test.step)
			case test.is != nil && !errors.Is(err, test.is):
				t.Errorf("got %v, want %v", err, test.is)
			}
			var reply *imap.ReplyError
			if test.step == imap.StepLogin && (!errors.As(err, &reply) || reply.Code != "AUTHENTICATIONFAILED") {
				t.Errorf("got %v, want AUTHENTICATIONFAILED", err)
			}
		})
	}
}

// BenchmarkDovecot imports 2,000 mails of 10 kB on average; its floor is the same bytes over a bare loopback connection.
func BenchmarkDovecot(b *testing.B) {
	server := testenv.Dovecot(b)
	a := &account{server: server, user: testenv.Name("imap")}
	t := b
	a.logIn(t)
	raws := rawMails("bench", 2000)
	a.deliver(t, "INBOX", raws...)
	var bytes int64
	for _, raw := range raws {
		bytes += int64(len(raw))
	}
	b.Run("import", func(b *testing.B) {
		b.SetBytes(bytes)
		b.ReportAllocs()
		for range b.N {
			sink := newSink()
			source, err := imap.New(a.config(t, server.Addr, mailserver.None), sink)
			if err != nil {
				b.Fatal(err)
			}
			if err := source.Once(context.Background()); err != nil || len(sink.mails["INBOX"]) != len(raws) {
				b.Fatalf("%d mails, %v", len(sink.mails["INBOX"]), err)
			}
		}
		b.ReportMetric(float64(len(raws)*b.N)/b.Elapsed().Seconds(), "mails/s")
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(bytes)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		for range b.N {
			go func() {
				if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
					for _, raw := range raws {
						_, _ = conn.Write([]byte(raw))
					}
					_ = conn.Close()
				}
			}()
			conn, err := listener.Accept()
			if err != nil {
				b.Fatal(err)
			}
			for buf := make([]byte, 64<<10); err == nil; {
				_, err = conn.Read(buf)
			}
			_ = conn.Close()
		}
		b.ReportMetric(float64(len(raws)*b.N)/b.Elapsed().Seconds(), "mails/s")
	})
}
