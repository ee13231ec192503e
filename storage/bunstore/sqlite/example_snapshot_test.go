package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
)

// A database is copied while it is in use, and the copy is checked before use.
func ExampleSnapshot() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "help")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "help.db"), bunstore.Config{})
	check(err)
	check(db.Migrate(ctx))
	check(sqlite.Snapshot(ctx, filepath.Join(dir, "help.db"), filepath.Join(dir, "copy.db")))
	copied, err := sqlite.OpenSnapshot(ctx, filepath.Join(dir, "copy.db"))
	check(err)
	pending, err := copied.Pending(ctx)
	fmt.Println(len(pending), errors.Join(err, copied.Close(), db.Close()))
	// Output: 0 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
