package backup_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/backup"
	"github.com/helpwright/helpwright/storage/memblob"
)

// An archive can be written to any io.Writer, and is checked while it is read.
func Example() {
	ctx, files := context.Background(), memblob.New()
	_, err := files.Put(ctx, "accounts/1/a", strings.NewReader("a file"))
	check(err)
	var archive bytes.Buffer // a real program writes to a file, see Create, or to an upload
	_, err = backup.Write(ctx, &archive, backup.Source{
		Info:  backup.Info{Program: "shop", Created: time.Now(), Database: "postgres"},
		Blobs: files, Keys: backup.Stored(ctx, files, ""),
	})
	check(err)
	totals, err := backup.Read(ctx, &archive, backup.Sink{Blob: func(key string, r io.Reader, size int64) error {
		text, err := io.ReadAll(r)
		fmt.Printf("%s: %s (%d bytes)\n", key, text, size)
		return err
	}})
	fmt.Println(totals.Blobs, err)
	// Output:
	// accounts/1/a: a file (6 bytes)
	// 1 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
