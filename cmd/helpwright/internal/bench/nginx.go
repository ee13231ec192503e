package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// findNginx returns the path of nginx; "" if it is not installed.
func findNginx() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} { // not in everyone's PATH
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// againstNginx compares the server's answers over TCP to those of nginx, which has the same bytes in a file. Without nginx
// the floor is a handler.
func againstNginx(ctx context.Context, w *world, bare http.Handler, goal float64, path string) (f figure, err error) {
	program := findNginx()
	if program == "" {
		return against(ctx, w, bare, goal, func(int) string { return path })
	}
	first, err := ask(ctx, w.srv.Handler(), helpCentre+path, "")
	if err != nil {
		return f, err
	}
	theirs, end, err := startNginx(ctx, program, w.cfg.Dir, first.body.Bytes())
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, end()) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	srv := &http.Server{Handler: w.srv.Handler(), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	defer func() { _, _ = srv.Close(), <-ended }()
	floor, err := newCrowd(theirs, "/page")
	if err != nil {
		return f, err
	}
	defer floor.leave()
	work, err := newCrowd(l.Addr().String(), path)
	if err != nil {
		return f, err
	}
	defer work.leave()
	took, spent, err := inTurns(ctx, w.cfg.Time, wall(), floor.ask, work.ask)
	return share(took/crowdRequests, spent/crowdRequests, goal), err
}

// startNginx starts nginx with a file at /page, and returns its address.
func startNginx(ctx context.Context, program, dir string, file []byte) (address string, end func() error, err error) {
	if dir, err = os.MkdirTemp(dir, "nginx-"); err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	_ = l.Close() // it is nginx's from now on
	user, temp := "", ""
	if os.Geteuid() == 0 {
		user = "user root root;" // others may not read the folder
	}
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += name + "_temp_path " + filepath.Join(dir, name) + "; "
	}
	conf := fmt.Sprintf(`daemon off; worker_processes 2; %[4]s pid %[1]s/pid; error_log stderr;
events { worker_connections 256; }
http { %[3]s access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10;
server { listen %[2]s; root %[1]s; } }`, dir, address, temp, user)
	for name, text := range map[string][]byte{"page": file, "conf": []byte(conf)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", nil, err
		}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-p", dir, "-c", filepath.Join(dir, "conf")) //nolint:gosec // nginx
	cmd.Stderr, cmd.Cancel = &said, func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() error {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was asked to end
		return os.RemoveAll(dir)
	}
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			return address, end, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", nil, fmt.Errorf("nginx does not listen: %w: %s", end(), said.Bytes())
}

// crowd is visitors who ask for the same page over connections that stay open. They read the answers without understanding
// them, so that they take little time from the server: all must be of the same length.
type crowd struct {
	conns   []net.Conn
	request []byte
	size    int
}

// Requests of a crowd.
const (
	crowdVisitors = 16
	crowdEach     = 20
	crowdRequests = crowdVisitors * crowdEach
)

func newCrowd(address, path string) (c *crowd, err error) {
	c = &crowd{request: []byte("GET " + path + " HTTP/1.1\r\nHost: help.example.org\r\n\r\n")}
	defer func() {
		if err != nil {
			c.leave()
		}
	}()
	for range crowdVisitors {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	conn := c.conns[0]
	if _, err := conn.Write(c.request); err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReaderSize(io.TeeReader(conn, &raw), 1), nil)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return nil, err
	}
	c.size = raw.Len()
	return c, res.Body.Close()
}

// ask makes all visitors ask for the page several times.
func (c *crowd) ask(int) error {
	failed := make(chan error, len(c.conns))
	for _, conn := range c.conns {
		go func() { failed <- c.visit(conn) }()
	}
	var all []error
	for range c.conns {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

func (c *crowd) visit(conn net.Conn) error {
	answer := make([]byte, c.size)
	for range crowdEach {
		if _, err := conn.Write(c.request); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return err
		}
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("a page is answered with %.40q", answer)
		}
	}
	return nil
}

func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}
