package s3blob_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/s3blob"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/testenv"
)

func config(s testenv.S3Server) s3blob.Config {
	return s3blob.Config{Endpoint: s.Endpoint, Bucket: s.Bucket, Prefix: s.Prefix, AccessKey: s.AccessKey, SecretKey: s.SecretKey}
}

func open(t testing.TB, cfg s3blob.Config) *s3blob.Blobs {
	t.Helper()
	b, err := s3blob.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return open(t, config(testenv.S3(t))) })
}

// BenchmarkPut stores mails of 8 KiB, one at a time and many, and a file of 64 MiB.
func BenchmarkPut(b *testing.B) {
	for name, size := range map[string]int{"mail": 8 << 10, "file": 64 << 20} {
		content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		blobs := open(b, config(testenv.S3(b)))
		var n atomic.Int64
		one := func() {
			if _, err := blobs.Put(b.Context(), fmt.Sprintf("raw/%d", n.Add(1)), bytes.NewReader(content)); err != nil {
				b.Error(err)
			}
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				one()
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.SetBytes(int64(size))
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one()
				}
			})
		})
	}
}

// Blobs of any size are read back unchanged, including sizes around those of buffers and parts.
func TestSizes(t *testing.T) {
	t.Parallel()
	blobs := open(t, config(testenv.S3(t)))
	for _, edge := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20} {
		for size := edge - 1; size <= edge+1; size++ {
			content := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
			n, err := blobs.Put(t.Context(), "k", iotest.HalfReader(bytes.NewReader(content)))
			if err != nil || n != int64(size) {
				t.Fatal(size, n, err)
			}
			if got := get(t, blobs, "k"); got != string(content) {
				t.Errorf("of %d bytes others came back: %d", size, len(got))
			}
		}
	}
}
