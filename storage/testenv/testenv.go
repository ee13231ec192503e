// Package testenv gives tests access to real servers: a PostgreSQL database of their own, a Dovecot that they may restart, a
// Postfix, and a folder in a bucket of an S3 server. The servers run outside the test; eval "$(.ci/services)" starts them
// and exports the variables that this package reads.
//
// Without the variables a test that needs a server is skipped. With HELPWRIGHT_TEST_REQUIRE=1, as in continuous integration,
// it fails instead, so that a missing server does not go unnoticed.
//
// It serves the tests of this module alone and may change at any time; backends are tested with storage/storagetest.
package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver
)

// The variables with the addresses of the servers.
const (
	EnvRequire         = "HELPWRIGHT_TEST_REQUIRE"          // 1: a missing server fails a test
	EnvPostgresURL     = "HELPWRIGHT_TEST_POSTGRES_URL"     // postgres:// URL of a role that may create databases
	EnvDovecot         = "HELPWRIGHT_TEST_DOVECOT"          // host:port, plain with STARTTLS
	EnvDovecotTLS      = "HELPWRIGHT_TEST_DOVECOT_TLS"      // host:port, implicit TLS
	EnvDovecotPOP3     = "HELPWRIGHT_TEST_DOVECOT_POP3"     // host:port, plain with STLS
	EnvDovecotPOP3TLS  = "HELPWRIGHT_TEST_DOVECOT_POP3_TLS" // host:port, implicit TLS
	EnvDovecotPassword = "HELPWRIGHT_TEST_DOVECOT_PASSWORD" // the password of all users
	EnvDovecotCtl      = "HELPWRIGHT_TEST_DOVECOT_CTL"      // a program taking start, stop, restart
	EnvDovecotCA       = "HELPWRIGHT_TEST_DOVECOT_CA"       // a PEM file: Dovecot's certificate
	EnvPostfix         = "HELPWRIGHT_TEST_POSTFIX"          // host:port, offers STARTTLS
	EnvPostfixCA       = "HELPWRIGHT_TEST_POSTFIX_CA"       // a PEM file: the issuer of Postfix's certificate
	EnvPostfixCtl      = "HELPWRIGHT_TEST_POSTFIX_CTL"      // a program taking start, stop, restart, queue
	EnvS3              = "HELPWRIGHT_TEST_S3"               // host:port, without TLS
	EnvS3Secret        = "HELPWRIGHT_TEST_S3_SECRET"        // the secret key of its only access key
	EnvS3Ctl           = "HELPWRIGHT_TEST_S3_CTL"           // a program taking start, stop, restart
	EnvScreens         = "HELPWRIGHT_TEST_SCREENS"          // a folder for screenshots; unset: they are not kept
)

// DovecotServer describes the Dovecot of the test run. It accepts any user name with the one password. Each user has
// separate mail folders, empty at first, so a test uses a user name of its own (see [Name]). Other tests use the server at
// the same time: a test that stops or restarts one uses [OwnDovecot].
type DovecotServer struct {
	Addr        string // host:port, plain, offers STARTTLS
	TLSAddr     string // host:port, implicit TLS
	POP3Addr    string // host:port, plain, offers STLS; may be empty, see POP3
	POP3TLSAddr string // host:port, implicit TLS; may be empty, see POP3
	Password    string // of every user
	Ctl         string // a program: Ctl start, Ctl stop, Ctl restart; restart changes no address and loses no mail
	CAFile      string // PEM file with the certificate, made for "localhost" and 127.0.0.1; may be empty
}

// Requires reports whether this run is to skip nothing, as in continuous integration.
func Requires() bool { return os.Getenv(EnvRequire) == "1" }

// Slow skips a test that takes long, unless the run requires everything.
func Slow(t testing.TB, reason string) {
	t.Helper()
	if !Requires() {
		t.Skipf("slow: %s; %s=1 runs it", reason, EnvRequire)
	}
}

// Skip ends the test because something is missing: with t.Skip, or with t.Fatal when the run requires everything.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if Requires() {
		t.Fatalf("%s (and %s=1)", reason, EnvRequire)
	}
	t.Skip(reason)
}

// Name returns a name that no other test of this or another run uses: prefix, an underscore, and 16 hexadecimal digits. It
// is valid for a database, a mail user and a folder.
func Name(prefix string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return prefix + "_" + hex.EncodeToString(b[:])
}

// Postgres creates an empty database, encoded in UTF-8, for this test alone and returns its URL. The database is dropped at
// the end of the test, along with open connections to it.
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv(EnvPostgresURL)
	if server == "" {
		Skip(t, "no PostgreSQL: "+EnvPostgresURL+" is not set")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL", EnvPostgresURL) // err would show the password
	}
	name := Name("helpwright_test")
	execPostgres(t, server, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8'`)
	t.Cleanup(func() { execPostgres(t, server, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) })
	u.Path = "/" + name
	query := u.Query()
	query.Set("connect_timeout", "60") // by default a server gives up after 10 seconds, too soon on a busy machine
	u.RawQuery = query.Encode()
	return u.String()
}

// OpenConnections opens n connections of a pool, which keeps as many of them as it keeps idle ones.
func OpenConnections(t testing.TB, pool *sql.DB, n int) {
	t.Helper()
	for range n {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
}

// execPostgres runs one statement on a separate connection.
func execPostgres(t testing.TB, dsn, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatalf("open PostgreSQL: %v", err)
	}
	defer func() { _ = db.Close() }()
	// Not t.Context(), which has ended when a cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Dovecot returns the Dovecot of the test run.
func Dovecot(t testing.TB) DovecotServer {
	t.Helper()
	d := dovecotServer(os.Getenv)
	if d.Addr == "" || d.TLSAddr == "" || d.Password == "" || d.Ctl == "" {
		Skip(t, "no Dovecot: "+EnvDovecot+", "+EnvDovecotTLS+", "+EnvDovecotPassword+" and "+EnvDovecotCtl+" are not all set")
	}
	return d
}

// POP3 is [Dovecot] with POP3: that of the run, or a separate one when that of the run has no POP3.
func POP3(t testing.TB) DovecotServer {
	t.Helper()
	if d := Dovecot(t); d.POP3Addr != "" && d.POP3TLSAddr != "" {
		return d
	}
	return OwnDovecot(t)
}

// OwnDovecot starts another Dovecot for this test alone, which may stop and restart it with its Ctl while other tests
// continue with that of the run. It is stopped at the end of the test. configuration is appended to the default
// configuration.
func OwnDovecot(t testing.TB, configuration ...string) DovecotServer {
	t.Helper()
	Dovecot(t)
	return dovecotServer(own(t, "dovecot", configuration))
}

// own starts a server for one test with a script of .ci, and returns the variables that the script prints.
func own(t testing.TB, script string, configuration []string) func(name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hw") // not t.TempDir: the names of sockets are limited to some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // when run by root, the server is another user
		t.Fatal(err)
	}
	server, more := filepath.Join(dir, script), filepath.Join(dir, "more.conf")
	if err := os.WriteFile(more, []byte(strings.Join(configuration, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, ok := moduleRoot(t)
	if !ok {
		Skip(t, "no "+script+": the test does not run inside the module, which has the script that makes one")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", script), "new", server, more)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("start a server: %v\n%s", err, &problem)
	}
	t.Cleanup(func() {
		if err := exec.Command(filepath.Join(server, "ctl"), "stop").Run(); err != nil {
			t.Errorf("stop the %s: %v", script, err)
		}
	})
	env := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

// dovecotServer reads the variables that the script prints.
func dovecotServer(env func(name string) string) DovecotServer {
	return DovecotServer{
		Addr: env(EnvDovecot), TLSAddr: env(EnvDovecotTLS), POP3Addr: env(EnvDovecotPOP3), POP3TLSAddr: env(EnvDovecotPOP3TLS),
		Password: env(EnvDovecotPassword), Ctl: env(EnvDovecotCtl), CAFile: env(EnvDovecotCA),
	}
}

// PostfixServer describes the Postfix of the test run. Clients on this machine may send to any recipient. The recipient's
// address determines where a mail goes: see [PostfixServer.Relayed] and its neighbours, and the script .ci/postfix. Postfix
// retries undeliverable mail every second, and bounces it after two.
type PostfixServer struct {
	Addr   string // host:port, offers STARTTLS
	CAFile string // PEM file of the issuer of its certificate, which is for "localhost" and 127.0.0.1
	Ctl    string // a program: Ctl start, Ctl stop, Ctl restart; Ctl queue prints a line per queued mail
}

// Postfix returns the Postfix of the test run, which has one only if root started its servers.
func Postfix(t testing.TB) PostfixServer {
	t.Helper()
	p := postfixServer(os.Getenv)
	if p.Addr == "" || p.Ctl == "" {
		Skip(t, "no Postfix: "+EnvPostfix+" and "+EnvPostfixCtl+" are not both set")
	}
	return p
}

// OwnPostfix starts another Postfix for this test alone. It is stopped at the end of the test. Each line of configuration
// sets a parameter of its main.cf.
func OwnPostfix(t testing.TB, configuration ...string) PostfixServer {
	t.Helper()
	Postfix(t)
	return postfixServer(own(t, "postfix", configuration))
}

func postfixServer(env func(name string) string) PostfixServer {
	return PostfixServer{Addr: env(EnvPostfix), CAFile: env(EnvPostfixCA), Ctl: env(EnvPostfixCtl)}
}

// Relayed returns a domain whose mail Postfix relays by SMTP to a port of 127.0.0.1.
func (PostfixServer) Relayed(port string) string { return "p" + port + ".smtp.test" }

// Delivered returns a domain whose mail Postfix delivers by LMTP to a port of 127.0.0.1.
func (PostfixServer) Delivered(port string) string { return "p" + port + ".lmtp.test" }

// Forwarded returns an external address whose mail Postfix forwards to an address in the domain Relayed(port).
func (PostfixServer) Forwarded(local, port string) string {
	return local + ".p" + port + "@forward.test"
}

// Discarded is an address whose mail Postfix discards.
const Discarded = "nobody-reads-this@discard.test"

// Box returns an address whose mails Postfix keeps, see [PostfixServer.Mails]. Names that begin with "nobody" are unknown to
// it.
func (PostfixServer) Box(name string) string { return name + "@box.test" }

// Mails returns the mails delivered to a Box.
func (p PostfixServer) Mails(t testing.TB, name string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(p.Ctl), "mail", "box", "new", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var mails []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "\nDelivered-To: "+p.Box(name)+"\n") {
			mails = append(mails, string(raw))
		}
	}
	return mails
}

// moduleRoot returns the root folder of the module that contains the test.
func moduleRoot(t testing.TB) (string, bool) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// Corpus returns the folder of real mails and other collected samples, "shared/corpus" beside the module's root. It is not
// part of the module, so tests that need it are skipped without it, even in a run that requires everything else.
func Corpus(t testing.TB) string {
	t.Helper()
	corpus, ok := FindCorpus(t)
	if !ok {
		t.Skip("no corpus: shared/corpus is not beside the module")
	}
	return corpus
}

// FindCorpus is [Corpus] for tests that can run without it.
func FindCorpus(t testing.TB) (dir string, ok bool) {
	t.Helper()
	root, ok := moduleRoot(t)
	if !ok {
		return "", false
	}
	corpus := filepath.Join(filepath.Dir(root), "shared", "corpus")
	info, err := os.Stat(corpus)
	return corpus, err == nil && info.IsDir()
}
