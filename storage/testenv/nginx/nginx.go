// Package nginx starts nginx with one file: the lowest cost of serving these bytes, with which servers are compared.
package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Find returns the path of nginx; "" if it is not installed.
func Find() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} { // not in everyone's PATH
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Server is a running nginx.
type Server struct {
	Addr string // host:port
	cmd  *exec.Cmd
	said bytes.Buffer
}

// Start starts nginx with two processes and no log. It serves a file at /page and keeps it open. dir is an empty folder for
// its files. The server runs until Close.
func Start(program, dir string, file []byte) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: l.Addr().String()}
	_ = l.Close() // it is nginx's from now on
	for name, text := range map[string][]byte{"page": file, "conf": []byte(config(dir, s.Addr))} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	s.cmd = exec.CommandContext(context.Background(), program, "-p", dir, "-c", filepath.Join(dir, "conf")) //nolint:gosec // nginx
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			_ = conn.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Close()
	return nil, errors.New("nginx does not listen: " + s.said.String())
}

func config(dir, address string) string {
	user, temp := "", ""
	if os.Geteuid() == 0 {
		user = "user root root;" // others may not read the folder
	}
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += name + "_temp_path " + filepath.Join(dir, name) + "; "
	}
	return fmt.Sprintf(`daemon off; worker_processes 2; %[4]s pid %[1]s/pid; error_log stderr;
events { worker_connections 256; }
http { %[3]s access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10; default_type text/html;
server { listen %[2]s; root %[1]s; } }`, dir, address, temp, user)
}

// Close ends the server.
func (s *Server) Close() {
	if s.cmd.Process.Signal(os.Interrupt) != nil {
		_ = s.cmd.Process.Kill() // signals are not supported
	}
	_ = s.cmd.Wait() // it was asked to end
}

// CPUTime returns the processor time of its processes; 0 where the system does not report it.
func (s *Server) CPUTime() time.Duration {
	master := strconv.Itoa(s.cmd.Process.Pid)
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
