package testenv

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// NginxServer is an nginx server for a test.
type NginxServer struct {
	Addr string // host:port
	pid  int
}

// Nginx starts nginx with two processes and no log. It serves a body at /page from a file that it keeps open: the minimum
// cost of serving these bytes.
func Nginx(t testing.TB, body []byte) NginxServer {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // not in everyone's PATH
	}
	if _, err := os.Stat(path); err != nil {
		Skip(t, "there is no nginx")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	_ = os.Chmod(filepath.Dir(dir), 0o755) // its workers run as another user
	_ = os.Chmod(dir, 0o755)
	temp := ""
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += name + "_temp_path " + filepath.Join(dir, name) + ";\n"
	}
	conf := fmt.Sprintf(`daemon off; worker_processes 2; pid %[1]s/pid; error_log stderr;
events { worker_connections 256; }
http { %[3]s access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10; default_type text/html;
server { listen %[2]s; root %[1]s; } }`, dir, address, temp)
	for name, text := range map[string][]byte{"page": body, "conf": []byte(conf)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { // its workers read it
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "conf"))
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return NginxServer{Addr: address, pid: cmd.Process.Pid}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nginx does not listen")
	return NginxServer{}
}

// CPUTime returns the processor time of its processes; 0 where the system does not report it.
func (n NginxServer) CPUTime() time.Duration {
	master := strconv.Itoa(n.pid)
	workers, _ := os.ReadFile("/proc/" + master + "/task/" + master + "/children")
	var total time.Duration
	for _, pid := range strings.Fields(string(workers)) {
		line, _ := os.ReadFile("/proc/" + pid + "/schedstat")
		if fields := strings.Fields(string(line)); len(fields) > 0 {
			busy, _ := strconv.ParseInt(fields[0], 10, 64)
			total += time.Duration(busy)
		}
	}
	return total
}
