package s3blob_test

import (
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/s3blob"
	"github.com/helpwright/helpwright/storage/storagetest"
	"github.com/helpwright/helpwright/storage/storagetest/testenv"
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
