package s3blob_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/helpwright/helpwright/storage/s3blob"
)

// The address and the keys are configured separately: the address is public, and the keys come from the environment.
func ExampleNew() {
	server := httptest.NewServer(&tinyS3{})
	defer server.Close()
	cfg, err := s3blob.ParseURL("s3://desk-files/production?region=eu-central-1&endpoint=" + server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.AccessKey, cfg.SecretKey = "AKIAEXAMPLE", "not-a-secret"
	blobs, err := s3blob.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer blobs.Close()
	ctx := context.Background()
	n, err := blobs.Put(ctx, "accounts/1/raw/7", strings.NewReader("Subject: hello\r\n"))
	fmt.Println(n, err)
	r, err := blobs.GetRange(ctx, "accounts/1/raw/7", 9, 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	fmt.Println(string(text), err)
	// Output:
	// 16 <nil>
	// hello <nil>
}
