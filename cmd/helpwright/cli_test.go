package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foxcpp/go-mockdns"

	"github.com/helpwright/helpwright/storage/testenv"
)

// command runs the built program in a folder and returns its exit code and output.
func command(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := program(t)
	cmd := exec.CommandContext(t.Context(), path, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	busy := newSink(t, 0).address
	for _, tt := range []struct {
		name string
		args []string
		env  []string
		code int
		says []string
	}{
		{"no command", nil, nil, exitUsage, []string{"serve"}},
		{"unknown command", []string{"sreve"}, nil, exitUsage, []string{"sreve"}},
		{"unknown flag", []string{"serve", "--lisen", "x"}, nil, exitUsage, []string{"--lisen"}},
		{"several at once", []string{"serve"}, []string{"HELPWRIGHT_LISTEN=nonsense", "HELPWRIGHT_DATABASE_URL=mysql://x", "HELPWRIGHT_BLOB_URL=ftp:x", "HELPWRIGHT_SECRET_KEY=short"},
			exitUsage, []string{"HELPWRIGHT_LISTEN: must be HOST:PORT", "HELPWRIGHT_DATABASE_URL: must be sqlite:PATH", "HELPWRIGHT_BLOB_URL: must be", "HELPWRIGHT_SECRET_KEY: must have at least 32"}},
		{"addresses in a folder", []string{"serve"}, []string{"HELPWRIGHT_BLOB_REDIRECT=8"}, exitUsage, []string{"HELPWRIGHT_BLOB_REDIRECT: needs files in a bucket"}},
		{"relay without host", []string{"serve"}, []string{"HELPWRIGHT_SMTP_URL=smtp://user:geheim@"}, exitUsage, []string{"HELPWRIGHT_SMTP_URL"}},
		{"unknown tls mode", []string{"serve"}, []string{"HELPWRIGHT_SMTP_URL=smtp://user:geheim@relay.example?tls=maybe"}, exitUsage, []string{"HELPWRIGHT_SMTP_URL", "starttls"}},
		{"certificate without key", []string{"serve"}, []string{"HELPWRIGHT_INTAKE_TLS_CERT=cert.pem"}, exitUsage, []string{"HELPWRIGHT_INTAKE_TLS_KEY"}},
		{"port taken", []string{"serve"}, []string{"HELPWRIGHT_LISTEN=" + busy}, exitUsage, []string{"HELPWRIGHT_LISTEN", "choose another address"}},
		{"no PostgreSQL there", []string{"serve"}, []string{"HELPWRIGHT_DATABASE_URL=postgres://nobody@127.0.0.1:1/x"}, exitFail, []string{"database"}},
		{"bad duration", []string{"serve"}, []string{"HELPWRIGHT_FETCH_INTERVAL=soon"}, exitUsage, []string{"fetch-interval"}},
		{"bootstrap token too short", []string{"serve"}, []string{"HELPWRIGHT_BOOTSTRAP_TOKEN=short"}, exitUsage, []string{"HELPWRIGHT_BOOTSTRAP_TOKEN"}},
		{"token without user", []string{"token", "create", "--name", "x"}, nil, exitUsage, []string{"--user"}},
		{"token of nobody", []string{"token", "create", "--name", "x", "--user", "nobody@example.org"}, nil, exitFail, []string{"no user"}},
		{"unknown scope", []string{"token", "create", "--name", "x", "--user", "owner@example.org", "--scopes", "all.things"}, nil, exitFail, nil},
		{"bad expiry", []string{"token", "create", "--name", "x", "--user", "a@b", "--expires", "soon"}, nil, exitUsage, []string{"--expires"}},
		{"user without address", []string{"user", "create", "--email", "nonsense"}, nil, exitFail, []string{"email"}},
		{"version", []string{"version"}, nil, exitDone, nil},
		{"help", []string{"--help"}, nil, exitDone, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := command(t, t.TempDir(), tt.env, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, stderr)
			}
			for _, text := range tt.says {
				if !strings.Contains(stderr, text) {
					t.Errorf("%q is not in: %s", text, stderr)
				}
			}
			if strings.Contains(stderr, "geheim") {
				t.Errorf("the password is in: %s", stderr)
			}
		})
	}
}

func TestUsersAndTokens(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		env := []string{"HELPWRIGHT_DATABASE_URL=" + databaseURL}
		code, out, stderr := command(t, s.dir, env, "user", "create", "--email", "agent@example.org", "--name", "Agent", "--password", "long enough", "--account", "1", "--role", "collaborator")
		if code != exitDone {
			t.Fatal(stderr)
		}
		s.token = lastLine(out)
		if status := s.call("GET", "/accounts/1/conversations", nil, nil); status != 200 {
			t.Errorf("the new user's token: %d", status)
		}
		if status := s.call("DELETE", "/accounts/1", nil, nil); status != 403 {
			t.Errorf("a collaborator deletes the account: %d", status)
		}
		code, out, stderr = command(t, s.dir, env, "token", "create", "--user", "AGENT@example.org", "--name", "reader", "--scopes", "customers.view", "--expires", "1h")
		if code != exitDone {
			t.Fatal(stderr)
		}
		s.token = lastLine(out)
		if status := s.call("GET", "/accounts/1/conversations", nil, nil); status != 403 {
			t.Errorf("beyond the token's scopes: %d", status)
		}
		code, _, stderr = command(t, s.dir, env, "user", "create", "--email", "Agent@example.org")
		if code != exitFail || !strings.Contains(stderr, "is already taken") {
			t.Errorf("the same address again: %d %s", code, stderr)
		}
	})
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, _ := command(t, dir, nil, "doctor")
	if code != exitDone || !strings.Contains(out, "is made at the first start") {
		t.Errorf("before the first start: %d\n%s", code, out)
	}
	s := newServer(t)
	s.mailbox(imapForm(testenv.DovecotServer{Addr: "127.0.0.1:1", Password: "x"}, "u", "a@example.org"))
	relay := newSink(t, 0)
	for _, tt := range []struct {
		name string
		env  []string
		code int
		says []string
	}{
		{"all there but a mailbox", []string{"HELPWRIGHT_SMTP_URL=smtp://" + relay.address + "?tls=none"}, exitFail,
			[]string{"ok    database", "ok    blobs", "ok    relay", "FAIL  mailbox 1 (IMAP)", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS"}},
		{"unreachable relay", []string{"HELPWRIGHT_SMTP_URL=smtp://127.0.0.1:1?tls=none"}, exitFail, []string{"FAIL  relay", "answers wait"}},
		{"wrong settings", []string{"HELPWRIGHT_LISTEN=x"}, exitFail, []string{"FAIL  configuration"}},
	} {
		code, out, _ := command(t, s.dir, tt.env, "doctor")
		if code != tt.code {
			t.Errorf("%s: exit code %d\n%s", tt.name, code, out)
		}
		for _, text := range tt.says {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %q is not in:\n%s", tt.name, text, out)
			}
		}
	}
	if err := os.Chmod(filepath.Join(s.dir, "data", "secret.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := command(t, s.dir, nil, "doctor"); !strings.Contains(out, "can be read by others") {
		t.Errorf("a key for everybody: %s", out)
	}
}

// The envelopes of answers have addresses of the intake domain, whose SPF record should let the relay pass.
func TestDoctorSeesSPF(t *testing.T) {
	t.Parallel()
	mx := []net.MX{{Host: "mx.example.net.", Pref: 10}}
	names, err := mockdns.NewServerWithLogger(map[string]mockdns.Zone{
		"good.example.":   {MX: mx, TXT: []string{"google-site-verification=x", "v=spf1 include:spf.example.net -all"}},
		"bare.example.":   {MX: mx, TXT: []string{"google-site-verification=x"}},
		"silent.example.": {MX: mx},
		"closed.example.": {MX: mx, TXT: []string{"v=spf1 -all"}},
		"two.example.":    {MX: mx, TXT: []string{"v=spf1 include:spf.example.net -all", "v=spf1 mx -all"}},
	}, log.New(io.Discard, "", 0), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	relay := newSink(t, 0)
	for domain, says := range map[string][]string{
		"good.example":   {"ok    SPF of the intake domain"},
		"bare.example":   {"note  SPF of the intake domain: There is no SPF record", "to do: publish v=spf1 include:spf.example.net ~all"},
		"silent.example": {"note  SPF of the intake domain: There is no TXT record", "to do: publish"},
		"closed.example": {"note  SPF of the intake domain: The SPF record lacks include:spf.example.net", "to do: "},
		"two.example":    {"note  SPF of the intake domain: There is more than one SPF record", "to do: "},
	} {
		code, out, _ := command(t, t.TempDir(), []string{
			"HELPWRIGHT_SMTP_URL=smtp://" + relay.address + "?tls=none", "HELPWRIGHT_DNS_SERVER=" + names.LocalAddr().String(),
			"HELPWRIGHT_SPF=include:spf.example.net", "HELPWRIGHT_INTAKE_DOMAIN=" + domain,
		}, "doctor")
		if code != exitDone {
			t.Errorf("%s: exit code %d\n%s", domain, code, out)
		}
		for _, text := range says {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %q is not in:\n%s", domain, text, out)
			}
		}
	}
}

// TestStopsInTime ends a server that is idle, at once and without an error.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_METRICS_LISTEN=127.0.0.1:0")
		for _, path := range []string{"/healthz", "/readyz"} {
			if status := s.call("GET", "http://"+s.http+path, nil, nil); status != 200 {
				t.Errorf("%s: %d", path, status)
			}
		}
		s.stop()
		if strings.Contains(s.stdout.String(), s.token) {
			t.Error("the token was given, and is printed nevertheless")
		}
	})
}

// TestSecondSignal sends a second signal while the first waits for a client that does not end its request.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	conn, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s/accounts/1/mailboxes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", apiBase, s.token); err != nil {
		t.Fatal(err)
	}
	// The server requests the body when a handler waits for it; until then the connection may not have been accepted.
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	signal := func() {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	testenv.Eventually(t, "nobody is let in any more", func() bool {
		c, err := net.Dial("tcp", s.http)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	time.Sleep(2 * signalGap) // one of the same moment is the same
	signal()
	state, err := s.cmd.Process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = nil
	if state.ExitCode() != exitInterrupted {
		t.Errorf("the server ended with %v", state)
	}
	s.start() // as after a crash
	s.stop()
}

// TestBootstrapToken prints a token that the server has made up, once.
func TestBootstrapToken(t *testing.T) {
	t.Parallel()
	s := newServer(t, "HELPWRIGHT_BOOTSTRAP_TOKEN=")
	printed := func() bool { return strings.Contains(s.stdout.String(), "TOKEN='hwp_") }
	testenv.Eventually(t, "the token is printed", printed)
	s.stop()
	s.start()
	s.stop()
	if printed() {
		t.Error("the token was printed again")
	}
}

// TestConfigFile takes settings from a file, which variables overrule.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c.json"), []byte(`{"listen": "nonsense", "intake_domain": "a b"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"serve", "--config", filepath.Join(dir, "c.json")}, &out, &errs)
	for _, text := range []string{"HELPWRIGHT_LISTEN", "HELPWRIGHT_INTAKE_DOMAIN"} {
		if code != exitUsage || !strings.Contains(errs.String(), text) {
			t.Errorf("%d: %s does not name %s", code, errs.String(), text)
		}
	}
}

// The address for requests follows from the address a server listens at.
func TestDialable(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80", "[::]:8080": "[::1]:8080", "[::1]:1": "[::1]:1", "help.test:80": "help.test:80", "8080": "",
	} {
		if got, err := dialable(listen); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", listen, got, err)
		}
	}
}
