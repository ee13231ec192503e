package site_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
	"github.com/helpwright/helpwright/transport/site"
)

// BenchmarkCached serves a page that is kept, over connections that stay open. Its floor is nginx with the same bytes in a
// file.
func BenchmarkCached(b *testing.B) {
	w := newWorld(b, memstore.New())
	w.library()
	server := httptest.NewServer(w.Handler)
	b.Cleanup(server.Close)
	rec := w.ask(w.Handler, "GET", "http://help.example.org"+articlePath, nil, "Accept-Encoding", "gzip")
	own := server.Listener.Addr().String()
	for _, bench := range []struct{ name, address, path string }{
		{"Helpwright", own, articlePath}, {"Nginx", testenv.Nginx(b, rec.Body.Bytes()).Addr, "/page"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			load(b, bench.address, "GET "+bench.path+" HTTP/1.1\r\nHost: help.example.org\r\nAccept-Encoding: gzip\r\n\r\n")
		})
	}
}

// load sends a request over and over, on 16 connections at once. It reads the answers without understanding them, so that it
// takes little time from the server: they have to be of the same length.
func load(b *testing.B, address, request string) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			size := answer(b, conn, request)
			buffer := make([]byte, size)
			for left.Add(-1) >= 0 {
				if _, err := io.WriteString(conn, request); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(conn, buffer); err != nil || !bytes.HasPrefix(buffer, []byte("HTTP/1.1 200")) {
					b.Errorf("%v: %.20s", err, buffer)
					return
				}
			}
		})
	}
	all.Wait()
}

// answer is how many bytes a request is answered with.
func answer(b *testing.B, conn net.Conn, request string) int {
	b.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		b.Error(err)
		return 0
	}
	var raw bytes.Buffer
	r := bufio.NewReaderSize(io.TeeReader(conn, &raw), 1)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != 200 {
		b.Error(res, err)
		return 0
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Error(err)
	}
	return raw.Len()
}

// BenchmarkUncached renders a page for every request, and reports its processor time: Page is an uncached page, First one
// without any cached data, as after each change.
func BenchmarkUncached(b *testing.B) {
	for name, open := range map[string]func() string{
		"SQLite":     func() string { return "sqlite:" + filepath.Join(b.TempDir(), "bench.db") },
		"PostgreSQL": func() string { return testenv.Postgres(b) },
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, openSQLite(b, open()))
			w.library()
			for _, of := range []struct {
				name   string
				change func(*site.Config)
			}{
				{"Page", func(c *site.Config) { c.CacheSize = 1 }},
				{"First", func(c *site.Config) { c.LastEvent = nil }},
			} {
				h := w.handler(of.change)
				b.Run(of.name, func(b *testing.B) {
					before := processorTime(b)
					for b.Loop() {
						if rec := w.ask(h, "GET", "https://help.example.org"+articlePath, nil, "Accept-Encoding", "br"); rec.Code != 200 {
							b.Fatal(rec.Code)
						}
					}
					b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "CPU-us/op")
				})
			}
		})
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
