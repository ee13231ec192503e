package pop3_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/ingest/pop3"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/testenv"
)

func dovecotConfig(t testing.TB, server testenv.DovecotServer, user, addr string, encryption mailserver.Encryption) pop3.Config {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return pop3.Config{
		Server:     pop3.Server{Host: host, Port: number, Username: user, Password: server.Password, Encryption: encryption, InsecureSkipVerify: true},
		BackoffMin: time.Millisecond, BackoffMax: 50 * time.Millisecond, PollInterval: 10 * time.Millisecond,
	}
}

// deliver puts mails into a user's Maildir, where Dovecot finds them.
func deliver(t testing.TB, server testenv.DovecotServer, user string, raws ...string) {
	t.Helper()
	home := filepath.Join(filepath.Dir(server.Ctl), "mail", user)
	owner, err := os.Stat(filepath.Join(filepath.Dir(server.Ctl), "mail"))
	if err != nil {
		testenv.Skip(t, "the mail of this Dovecot is somewhere else: "+err.Error())
	}
	for _, folder := range []string{"", "tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		own(t, filepath.Join(home, folder), owner)
	}
	for _, raw := range raws {
		// Maildir keeps lines with LF alone; Dovecot sends them with CR LF.
		name := testenv.Name(fmt.Sprint(time.Now().UnixNano())) + ".test"
		path := filepath.Join(home, "tmp", name)
		if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		own(t, path, owner)
		if err := os.Rename(path, filepath.Join(home, "new", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// rawMails makes mails with every byte that a mail can have, of 100 bytes to 20 kB.
func rawMails(prefix string, n int) []string {
	var body strings.Builder
	for b := 1; b < 256; b++ {
		if b != '\r' && b != '\n' {
			body.WriteByte(byte(b))
		}
	}
	raws := make([]string, n)
	for i := range raws {
		raws[i] = fmt.Sprintf("From: a@example.org\r\nSubject: %s %d\r\n\r\n.\r\n..\r\n%s\r\n", prefix, i,
			strings.Repeat("."+body.String()+"\r\n", i%80))
	}
	return raws
}

func TestDovecotImport(t *testing.T) {
	t.Parallel()
	server := testenv.POP3(t)
	user := testenv.Name("pop3")
	raws := rawMails("first", 500)
	deliver(t, server, user, raws...)
	sink := newSink()
	source := newSource(t, dovecotConfig(t, server, user, server.POP3Addr, mailserver.None), sink)
	once(t, source)
	once(t, source)
	if diff := cmp.Diff(raws, texts(sink.taken())); diff != "" {
		t.Fatalf("%.2000s", diff)
	}
	more := rawMails("second", 20)
	deliver(t, server, user, more...)
	once(t, source)
	if diff := cmp.Diff(more, texts(sink.taken()[500:])); diff != "" {
		t.Errorf("%.2000s", diff)
	}
	ids, err := source.List(t.Context())
	if err != nil || len(ids) != 520 {
		t.Errorf("%d mails are left on the server (%v), want all 520", len(ids), err)
	}
	again, err := source.Fetch(t.Context(), ids[7])
	if err != nil || string(again.Raw) != raws[7] {
		t.Errorf("fetched again: %q, %v", again.Raw, err)
	}
}

func TestDovecotRestart(t *testing.T) {
	t.Parallel()
	server := testenv.OwnDovecot(t)
	user := testenv.Name("pop3")
	raws := rawMails("first", 300)
	deliver(t, server, user, raws...)
	cfg := dovecotConfig(t, server, user, server.POP3Addr, mailserver.STARTTLS)
	cfg.BatchSize = 3
	sink := newSink()
	wiretest.Run(t, newSource(t, cfg, sink))
	for i := range 3 {
		sink.wait(t, "some mails", func() bool { return len(sink.mails) >= 20*(i+1) })
		if out, err := exec.CommandContext(t.Context(), server.Ctl, "restart").CombinedOutput(); err != nil {
			t.Fatalf("restart: %v: %s", err, out)
		}
	}
	sink.wait(t, "all mails", func() bool { return len(sink.mails) >= len(raws) })
	// Each mail comes once and whole. The order is the server's: a session that is killed while it scans the folder may leave
	// mails for the next one to number.
	if diff := cmp.Diff(slices.Sorted(slices.Values(raws)), slices.Sorted(slices.Values(texts(sink.taken())))); diff != "" {
		t.Errorf("%.2000s", diff)
	}
}

func TestDovecotConfigurations(t *testing.T) {
	t.Parallel()
	server := testenv.POP3(t)
	user := testenv.Name("pop3")
	pem, err := os.ReadFile(server.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	own := x509.NewCertPool()
	own.AppendCertsFromPEM(pem)
	tests := []struct {
		name       string
		addr       string
		encryption mailserver.Encryption
		change     func(*pop3.Config)
		step       string // that fails
	}{
		{name: "plain", addr: server.POP3Addr, encryption: "NONE"},
		{name: "STLS", addr: server.POP3Addr, encryption: "TLS"},
		{name: "STLS, valid", addr: server.POP3Addr, encryption: "TLS",
			change: func(c *pop3.Config) { c.InsecureSkipVerify, c.RootCAs = false, own }},
		{name: "STLS, invalid", addr: server.POP3Addr, encryption: "TLS", step: wire.StepTLS,
			change: func(c *pop3.Config) { c.InsecureSkipVerify = false }},
		{name: "SSL", addr: server.POP3TLSAddr, encryption: "SSL"},
		{name: "SSL, valid", addr: server.POP3TLSAddr, encryption: "SSL",
			change: func(c *pop3.Config) { c.InsecureSkipVerify, c.RootCAs, c.Host = false, own, "localhost" }},
		{name: "SSL, invalid", addr: server.POP3TLSAddr, encryption: "SSL", step: wire.StepTLS,
			change: func(c *pop3.Config) { c.InsecureSkipVerify = false }},
		{name: "SSL on the plain port", addr: server.POP3Addr, encryption: "SSL", step: wire.StepTLS},
		{name: "plain on the SSL port", addr: server.POP3TLSAddr, encryption: "NONE", step: wire.StepGreeting,
			change: func(c *pop3.Config) { c.StepTimeout = 100 * time.Millisecond }},
		{name: "STLS on the SSL port", addr: server.POP3TLSAddr, encryption: "TLS", step: wire.StepSTARTTLS,
			change: func(c *pop3.Config) { c.StepTimeout = 100 * time.Millisecond }},
		{name: "wrong password", addr: server.POP3Addr, encryption: "TLS", step: wire.StepLogin,
			change: func(c *pop3.Config) { c.Password = "wrong ü" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := dovecotConfig(t, server, user, test.addr, test.encryption)
			if test.change != nil {
				test.change(&cfg)
			}
			err := pop3.Test(t.Context(), cfg)
			var step *wire.StepError
			switch {
			case test.step == "" && err != nil:
				t.Errorf("got %v", err)
			case test.step != "" && (!errors.As(err, &step) || step.Step != test.step):
				t.Errorf("got %v, want a failure of %s", err, test.step)
			case test.step == wire.StepLogin && !wire.NeedsReauth(err):
				t.Errorf("%v is not known as a wrong password", err)
			}
		})
	}
}

// BenchmarkDovecot imports 2,000 mails of 10 kB on average.
func BenchmarkDovecot(b *testing.B) {
	server := testenv.POP3(b)
	user := testenv.Name("pop3")
	raws := rawMails("bench", 2000)
	deliver(b, server, user, raws...)
	b.ReportAllocs()
	for b.Loop() {
		sink := newSink()
		source := newSource(b, dovecotConfig(b, server, user, server.POP3Addr, mailserver.None), sink)
		if err := source.Once(b.Context()); err != nil || len(sink.mails) != len(raws) {
			b.Fatalf("%d mails, %v", len(sink.mails), err)
		}
	}
	b.ReportMetric(float64(len(raws)*b.N)/b.Elapsed().Seconds(), "mails/s")
}
