package blobs_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// While a backup copies the database and the files, nothing is deleted.
func ExampleHold() {
	ctx, store, files := context.Background(), memstore.New(), memblob.New()
	tie, err := blobs.NewTie(blobs.TieConfig{Blobs: files, Marks: store, Rows: rows{}})
	if err == nil {
		_, err = tie.Put(ctx, "accounts/1/a", strings.NewReader("a file"))
	}
	if err == nil {
		err = blobs.Hold(ctx, files, func(ctx context.Context) error {
			removed := tie.Delete(ctx, "accounts/1/a")
			fmt.Println("held:", fault.Is(removed, fault.Unavailable))
			return nil
		})
	}
	fmt.Println(err, tie.Delete(ctx, "accounts/1/a"))
	// Output:
	// held: true
	// <nil> <nil>
}
