package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
)

// says fails unless a doctor's output contains all texts.
func says(t *testing.T, name, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%s: %q is not in:\n%s", name, text, out)
		}
	}
}

// Ports are free, taken by the server itself, or taken by something else.
func TestDoctorLooksAtPorts(t *testing.T) {
	t.Parallel()
	dir, busy, metrics := t.TempDir(), newSink(t, 0).address, freeAddress(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	selfSigned(t, cert, key, "desk.example", 90*24*time.Hour)
	env := []string{
		"HELPWRIGHT_LISTEN=" + freeAddress(t), "HELPWRIGHT_TLS_LISTEN=" + freeAddress(t), "HELPWRIGHT_TLS_CERT=" + cert, "HELPWRIGHT_TLS_KEY=" + key,
		"HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_INTAKE_LISTEN=" + freeAddress(t), "HELPWRIGHT_LMTP_LISTEN=" + freeAddress(t),
		"HELPWRIGHT_METRICS_LISTEN=" + metrics, "HELPWRIGHT_DNS_SERVER=127.0.0.1:1",
	}
	code, out, _ := command(t, dir, env, "doctor")
	if code != exitDone || strings.Count(out, "ok    port of ") != 5 || strings.Contains(out, "runs there") {
		t.Errorf("nothing runs: %d\n%s", code, out)
	}
	s := newServer(t, env...)
	testenv.Eventually(t, "the server is ready", func() bool {
		code, out, _ = command(t, s.dir, env, "doctor")
		return strings.Count(out, ": a server of this kind runs there") == 5
	})
	if code != exitDone {
		t.Errorf("%d\n%s", code, out)
	}
	s.stop()
	for _, name := range []string{"HELPWRIGHT_LISTEN", "HELPWRIGHT_TLS_LISTEN", "HELPWRIGHT_INTAKE_LISTEN", "HELPWRIGHT_LMTP_LISTEN", "HELPWRIGHT_METRICS_LISTEN"} {
		code, out, _ := command(t, dir, append(env, name+"="+busy), "doctor")
		if code != exitFail {
			t.Errorf("%s: %d", name, code)
		}
		says(t, name, out, "FAIL  port of "+name+" ("+busy+"): something else listens there\n      to do: stop what listens there")
	}
}

// Certificates in files that cannot be read, are for another host, have expired or are about to.
func TestDoctorLooksAtCertificates(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host     string
		validity time.Duration
		breaks   bool
		says     []string
		code     int
	}{
		"good":          {"desk.example", 90 * 24 * time.Hour, false, []string{"ok    certificate (HELPWRIGHT_TLS_CERT)\n", "ok    certificate (HELPWRIGHT_TLS_CERT), its names", "ok    certificate (HELPWRIGHT_INTAKE_TLS_CERT)\n"}, exitDone},
		"soon":          {"desk.example", 13 * 24 * time.Hour, false, []string{"FAIL  certificate (HELPWRIGHT_TLS_CERT): it expires at ", "FAIL  certificate (HELPWRIGHT_INTAKE_TLS_CERT): it expires at ", "renew it"}, exitFail},
		"expired":       {"desk.example", -time.Hour, false, []string{"FAIL  certificate (HELPWRIGHT_TLS_CERT): it has expired at "}, exitFail},
		"of other host": {"other.example", 90 * 24 * time.Hour, false, []string{"FAIL  certificate (HELPWRIGHT_TLS_CERT), its names", "desk.example", "ok    certificate (HELPWRIGHT_INTAKE_TLS_CERT)"}, exitFail},
		"none":          {"desk.example", time.Hour, true, []string{"FAIL  certificate (HELPWRIGHT_TLS_CERT): ", "to do: let this user read"}, exitFail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
			selfSigned(t, cert, key, tt.host, tt.validity)
			if tt.breaks {
				write(t, cert, "none")
			}
			code, out, _ := command(t, dir, []string{
				"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_TLS_LISTEN=127.0.0.1:0", "HELPWRIGHT_TLS_CERT=" + cert, "HELPWRIGHT_TLS_KEY=" + key,
				"HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_INTAKE_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_TLS_CERT=" + cert, "HELPWRIGHT_INTAKE_TLS_KEY=" + key,
			}, "doctor")
			if code != tt.code {
				t.Errorf("%d\n%s", code, out)
			}
			says(t, name, out, tt.says...)
		})
	}
}

// Certificates of an authority are looked at where the servers keep them.
func TestDoctorLooksAtTheAuthority(t *testing.T) {
	t.Parallel()
	plain, secure := freeAddress(t), freeAddress(t)
	pebble := testenv.Pebble(t, portOf(plain), portOf(secure), 0)
	env := []string{
		"HELPWRIGHT_LISTEN=" + plain, "HELPWRIGHT_TLS_LISTEN=" + secure, "HELPWRIGHT_BASE_URL=https://desk.example", "HELPWRIGHT_ACME_EMAIL=ops@desk.example",
		"HELPWRIGHT_ACME_URL=" + pebble.Directory, "HELPWRIGHT_ACME_CA=" + pebble.CAFile, "HELPWRIGHT_INTAKE_LISTEN=",
	}
	s := newServer(t, env...)
	out := ""
	testenv.Eventually(t, "the certificate is there", func() bool {
		_, out, _ = command(t, s.dir, env, "doctor")
		return strings.Contains(out, "note  certificates of the authority: 1 are good")
	})
	if strings.Contains(out, "FAIL") {
		t.Error(out)
	}
	_, out, _ = command(t, s.dir, append(env, "HELPWRIGHT_ACME_HOSTS=mx.desk.example"), "doctor")
	says(t, "a further host", out, "note  certificate of mx.desk.example: there is none yet")
	late := &doctor{session: &session{ctx: t.Context(), now: func() time.Time { return time.Now().Add(88 * 24 * time.Hour) }}}
	if err := expiry(late.clock(), time.Time{}, time.Now().Add(90*24*time.Hour), authorityTerm); err == nil {
		t.Error("a certificate that should have been renewed is good")
	}
	env = append(env, "HELPWRIGHT_SECRET_KEY="+strings.Repeat("another", 8))
	code, out, _ := command(t, s.dir, env, "doctor")
	if code != exitFail {
		t.Errorf("%d\n%s", code, out)
	}
	says(t, "with another key", out, "FAIL  certificate of desk.example: it was sealed with another secret key")
}

// Files that others on the machine can read are reported.
func TestDoctorLooksAtModes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.stop()
	key := filepath.Join(s.dir, "key.pem")
	selfSigned(t, filepath.Join(s.dir, "cert.pem"), key, "localhost", 90*24*time.Hour)
	env := []string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_TLS_CERT=cert.pem", "HELPWRIGHT_INTAKE_TLS_KEY=key.pem"}
	if code, out, _ := command(t, s.dir, env, "doctor"); code != exitDone || strings.Count(out, "ok    mode of ") < 4 {
		t.Errorf("%d\n%s", code, out)
	}
	for path, mode := range map[string]os.FileMode{"data/helpwright.db": 0o644, "data/blobs": 0o755, "data/outbox": 0o750, "key.pem": 0o604} {
		full := filepath.Join(s.dir, path)
		before, err := os.Stat(full)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(full, mode); err != nil {
			t.Fatal(err)
		}
		code, out, _ := command(t, s.dir, env, "doctor")
		if code != exitFail || strings.Count(out, "FAIL") != 1 {
			t.Errorf("%s: %d\n%s", path, code, out)
		}
		says(t, path, out, "FAIL  mode of "+path+": can be read or changed by others", "to do: chmod ")
		if err := os.Chmod(full, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that is nearly full is reported, with its use.
func TestDoctorLooksAtDisks(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	for name, tt := range map[string]struct {
		disk disk
		bad  bool
	}{
		"empty":               {disk{free: 90 * gb, all: 100 * gb}, false},
		"small, with room":    {disk{free: gb / 4, all: gb}, false},
		"small and full":      {disk{free: gb / 40, all: gb}, true},
		"large and full":      {disk{free: 4 * gb, all: 1000 * gb}, true},
		"large, with room":    {disk{free: 20 * gb, all: 1000 * gb}, false},
		"no files left":       {disk{free: 90 * gb, all: 100 * gb, freeFiles: 5, allFiles: 1000}, true},
		"files without limit": {disk{free: 90 * gb, all: 100 * gb}, false},
	} {
		if err := tt.disk.problem(); (err != nil) != tt.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	code, out, _ := command(t, dir, []string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="}, "doctor")
	says(t, "this disk", out, "room for HELPWRIGHT_DATA ("+".", "room for temporary files (")
	if code != exitDone && !strings.Contains(out, "are left") {
		t.Errorf("%d\n%s", code, out)
	}
	if os.Getuid() != 0 {
		testenv.Skip(t, "only root can mount a disk")
	}
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=1m"); err != nil {
		t.Logf("no disk can be mounted here, as in some containers; the table above has the rule: %v", err)
		return
	}
	t.Cleanup(func() { _ = syscall.Unmount(full, syscall.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(full, "ballast"), make([]byte, 1<<20-32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = command(t, dir, []string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN=", "HELPWRIGHT_DATA=full"}, "doctor")
	if code != exitFail {
		t.Errorf("%d\n%s", code, out)
	}
	says(t, "a full disk", out, "FAIL  room for HELPWRIGHT_DATA (full): 0 MB of 1 are left", "free some, or enlarge the disk")
}

// diagnosed runs the doctor of a folder in this process, at a time of its own.
func diagnosed(t *testing.T, set Settings, now func() time.Time) (string, error) {
	t.Helper()
	var out bytes.Buffer
	set.complete()
	s := &session{ctx: context.WithoutCancel(t.Context()), settings: &set, stdout: &out, stderr: io.Discard, log: slog.New(slog.DiscardHandler), data: set.Data, now: now}
	err := doctorCmd{}.Run(s)
	return out.String(), err
}

// doctored are the settings that a server of a test was started with.
func doctored(s *process, databaseURL string) Settings {
	return Settings{
		Listen: "127.0.0.1:0", Data: filepath.Join(s.dir, "data"), DatabaseURL: databaseURL, SPF: "a mx", NotifyAfter: time.Minute, FetchInterval: time.Minute,
		MaxAttachment: 1, MaxSiteFile: 1, IntakeDomain: "localhost", LogLevel: "info", LogFormat: "json",
	}
}

// Clocks that differ are told, and how large the tables and files have become.
func TestDoctorLooksAtClocksAndSizes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		s.stop()
		if path, ok := strings.CutPrefix(databaseURL, "sqlite:"); ok {
			databaseURL = "sqlite:" + filepath.Join(s.dir, path)
		}
		out, err := diagnosed(t, doctored(s, databaseURL), nil)
		if err != nil {
			t.Error(err, out)
		}
		says(t, "right clocks", out, "note  rows of tables that grow: inbound_mails ", ", events ", "note  files of mails, attachments and sites: ")
		server := strings.HasPrefix(databaseURL, "postgres")
		if strings.Contains(out, "ok    clock of the database") != server {
			t.Error(out)
		}
		for off, want := range map[time.Duration]string{time.Hour: "it is 1h0m0s behind this machine's", -time.Hour: "it is 1h0m0s ahead of this machine's"} {
			out, err := diagnosed(t, doctored(s, databaseURL), func() time.Time { return time.Now().Add(off).Truncate(time.Second) })
			if failed := err != nil && strings.Contains(out, "FAIL  clock of the database: it is "); failed != server {
				t.Errorf("%v: %v, want %s\n%s", off, err, want, out)
			}
		}
	})
}

func TestSkew(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for off, want := range map[time.Duration]string{
		0: "", 29 * time.Second: "", -29 * time.Second: "", time.Minute: "it is 1m0s ahead of this machine's", -time.Minute: "it is 1m0s behind this machine's",
	} {
		got := ""
		if err := skew(now, now, now.Add(off)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: %q, want %q", off, got, want)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	theirs, err := dated(t.Context(), server.URL)
	if err != nil || skew(now, now, theirs) == nil {
		t.Error(theirs, err)
	}
}

// Each failure is listed under its own part.
func TestDoctorFilesFailures(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.stop()
	db := filepath.Join(s.dir, "data", "helpwright.db")
	quiet := []string{"HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="}
	if code, out, _ := command(t, s.dir, quiet, "doctor"); code != exitDone {
		t.Errorf("%d\n%s", code, out)
	}
	raw, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(s.dir, "data", "secret.key")
	for name, tt := range map[string]struct {
		change func(dir string) error
		says   []string
	}{
		"no key": {func(dir string) error { return os.Remove(filepath.Join(dir, "data", "secret.key")) }, []string{"ok    database", "FAIL  secret key: there is none, and the database needs it", "restore secret.key"}},
		"a broken key": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "data", "secret.key"), []byte("x"), 0o600)
		}, []string{"FAIL  secret key (", "holds no key"}},
		"no database": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "data", "helpwright.db"), []byte("none, but long enough to be taken for one"), 0o600)
		}, []string{"FAIL  database: ", "HELPWRIGHT_DATABASE_URL"}},
		"no such folder": {func(dir string) error {
			blobs := filepath.Join(dir, "data", "blobs")
			if err := os.RemoveAll(blobs); err != nil {
				return err
			}
			return os.WriteFile(blobs, nil, 0o600)
		}, []string{"ok    database", "FAIL  store of files (HELPWRIGHT_BLOB_URL): ", "make the folder readable and writable"}},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(s.dir, "data"))); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"data/helpwright.db", "data/secret.key", "data/blobs"} { // CopyFS adds modes
			_ = os.Chmod(filepath.Join(dir, path), map[bool]os.FileMode{true: 0o700, false: 0o600}[path == "data/blobs"])
		}
		if err := tt.change(dir); err != nil {
			t.Fatal(err)
		}
		code, out, _ := command(t, dir, quiet, "doctor")
		if code != exitFail {
			t.Errorf("%s: %d\n%s", name, code, out)
		}
		says(t, name, out, tt.says...)
	}
	if now, err := os.ReadFile(db); err != nil || !bytes.Equal(now, raw) {
		t.Error("the doctor has changed the database", err)
	}
	if _, err := os.Stat(key); err != nil {
		t.Error(err)
	}
}

// A schema of an earlier release is told as such, and not changed.
func TestDoctorLooksAtTheSchema(t *testing.T) {
	t.Parallel()
	out, err := diagnosed(t, Settings{
		Listen: "127.0.0.1:0", Data: t.TempDir(), DatabaseURL: testenv.Postgres(t), SPF: "a mx", NotifyAfter: time.Minute, FetchInterval: time.Minute,
		MaxAttachment: 1, MaxSiteFile: 1, IntakeDomain: "localhost", LogLevel: "info", LogFormat: "json",
	}, nil)
	if err != nil {
		t.Error(err, out)
	}
	says(t, "empty", out, "ok    database", "note  schema of the database: is made at the first start", "note  secret key")
}

// pickyRelay takes mail for addresses without a tag.
func pickyRelay(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				c := textproto.NewConn(conn)
				_ = c.PrintfLine("220 picky ESMTP")
				for {
					line, err := c.ReadLine()
					switch {
					case err != nil:
						return
					case strings.HasPrefix(line, "RCPT") && strings.Contains(line, "+"):
						_ = c.PrintfLine("550 5.1.1 No such user")
					case strings.HasPrefix(line, "DATA"):
						t.Error("a mail is handed in")
						return
					case strings.HasPrefix(line, "QUIT"):
						_ = c.PrintfLine("221 bye")
						return
					default:
						_ = c.PrintfLine("250 ok")
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A mail server without support for tagged addresses is reported, if it rejects the relay's question or has returned the
// mail of the connection's test.
func TestDoctorLooksAtTags(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	s := newServer(t, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true")
	s.mailbox(imapForm(dovecot, testenv.Name("doctor"), "support@example.org"))
	env := func(relay string) []string {
		return []string{"HELPWRIGHT_SMTP_URL=smtp://" + relay + "?tls=none", "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_LISTEN=127.0.0.1:0", "HELPWRIGHT_INTAKE_LISTEN="}
	}
	code, out, _ := command(t, s.dir, env(newSink(t, 0).address), "doctor")
	if code != exitDone {
		t.Errorf("%d\n%s", code, out)
	}
	says(t, "a relay that takes all", out, "note  mailbox 1 (IMAP), address with a tag: Whether mail")
	code, out, _ = command(t, s.dir, env(pickyRelay(t)), "doctor")
	if code != exitFail {
		t.Errorf("%d\n%s", code, out)
	}
	says(t, "a relay that takes none", out, "FAIL  mailbox 1 (IMAP), address with a tag: the relay takes mail for the mailbox's address, and none for it with a tag: 550 No such user", "recipient_delimiter")
}
