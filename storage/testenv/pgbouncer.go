package testenv

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// PgBouncer returns the URL of a new database behind PgBouncer in transaction mode, with Debian's other defaults. It skips the
// test if there is no PostgreSQL or PgBouncer.
func PgBouncer(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // not in everyone's PATH
	}
	if _, err := os.Stat(program); err != nil {
		Skip(t, "there is no PgBouncer")
	}
	u, err := url.Parse(Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close() // it is PgBouncer's from now on
	user := ""
	if os.Geteuid() == 0 {
		user = "user = nobody\n" // it does not run as root
	}
	config := filepath.Join(t.TempDir(), "pgbouncer.ini")
	login := "user=" + u.User.Username()
	if password, ok := u.User.Password(); ok {
		login += " password=" + password
	}
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s %s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\n%s", u.Hostname(), u.Port(), login, port, user)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, config)
	log := &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Process.Kill()
		err := cmd.Wait()
		if text := log.Bytes(); t.Failed() {
			t.Logf("PgBouncer ended with %v, and its log with:\n%s", err, text[max(0, len(text)-2000):])
		}
	})
	u.Host = net.JoinHostPort("127.0.0.1", port)
	query := u.Query()
	query.Set("pool_mode", "transaction")
	u.RawQuery = query.Encode()
	for range 100 {
		if conn, err := net.Dial("tcp", u.Host); err == nil {
			_ = conn.Close()
			return u.String()
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("PgBouncer does not listen")
	return ""
}
