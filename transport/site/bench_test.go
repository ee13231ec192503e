package site_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/helpwright/helpwright/storage/testenv"
	"github.com/helpwright/helpwright/transport/site"
)

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
