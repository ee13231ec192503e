package memblob_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/storagetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Blobs(t, func(*testing.T) storage.Blobs { return memblob.New() })
}

func ExampleNew() {
	ctx := context.Background()
	blobs := memblob.New()
	_, _ = blobs.Put(ctx, "raw/1/a.eml", strings.NewReader("From: ada@example.com"))
	r, err := blobs.GetRange(ctx, "raw/1/a.eml", 6, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	data, _ := io.ReadAll(r)
	fmt.Println(string(data))
	// Output: ada
}
