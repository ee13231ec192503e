package s3blob_test

import (
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// peak is a reader that records the peak memory use meanwhile.
type peak struct {
	io.Reader
	read, next int64
	most       *atomic.Uint64
}

func (p *peak) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.read += int64(n); p.read >= p.next {
		p.next += 16 << 20
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.most.Store(max(p.most.Load(), m.HeapAlloc))
	}
	return n, err
}

// A large blob is never completely in memory. The test runs alone, because it measures the memory of the whole process.
func TestMemory(t *testing.T) { //nolint:paralleltest // see above
	const size, allowed = 200 << 20, 24 << 20
	b := open(t, config(testenv.S3(t)))
	put(t, b, "warm", "x")
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	n, err := b.Put(t.Context(), "large", &peak{Reader: io.LimitReader(zeros{}, size), most: &most})
	if err != nil || n != size {
		t.Fatal(n, err)
	}
	r, err := b.Get(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, &peak{Reader: r, most: &most}); err != nil || n != size {
		t.Fatal(n, err)
	}
	used := int64(most.Load()) - int64(before.HeapAlloc)
	t.Logf("%.1f MiB for a blob of 200 MiB", float64(used)/(1<<20))
	if used > allowed {
		t.Errorf("a blob of 200 MiB takes %d bytes", used)
	}
	if err := b.Delete(t.Context(), "large"); err != nil {
		t.Error(err)
	}
}
