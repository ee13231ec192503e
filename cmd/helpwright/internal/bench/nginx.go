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
	"time"

	"github.com/helpwright/helpwright/storage/storagetest/testenv/nginx"
)

// againstNginx compares the server's answers over TCP to those of nginx, which has the same content in a file. Without nginx
// the floor is a handler.
func againstNginx(ctx context.Context, w *world, bare http.Handler, content []byte, path string) (f figure, err error) {
	const goal = 0.5
	if w.cfg.nginx == "" {
		return against(ctx, w, bare, goal, func(int) string { return path })
	}
	dir, err := os.MkdirTemp(w.cfg.Dir, "nginx-")
	if err != nil {
		return f, err
	}
	theirs, err := nginx.Start(w.cfg.nginx, dir, content)
	if err != nil {
		return f, err
	}
	defer theirs.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	ours := &http.Server{Handler: w.srv.Handler(), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- ours.Serve(l) }()
	defer func() { _, _ = ours.Close(), <-ended }()
	floor, err := newCrowd(theirs.Addr, "/page")
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
