// Package sqlite opens SQLite databases for package bunstore with the driver modernc.org/sqlite, which needs no C.
package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"syscall"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the "sqlite" driver

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// Memory is the path of an in-memory database, which ends with its DB.
const Memory = ":memory:"

// Open opens the database in the file at path, and creates it if necessary. It runs no migrations, see
// [bunstore.DB.Migrate]. A database that cannot be opened is an Unavailable fault.
func Open(ctx context.Context, path string, cfg bunstore.Config) (*bunstore.DB, error) {
	if path == "" {
		return nil, fault.New(fault.Invalid, "The path does not name a file.")
	}
	if cfg.Replica != "" {
		return nil, fault.Field("Replica", "goes with PostgreSQL: a database of SQLite has no replicas")
	}
	memory := path == Memory
	synchronous := "FULL"
	if cfg.SyncNormal {
		synchronous = "NORMAL"
	}
	params := "?_pragma=synchronous(" + synchronous + ")"
	name := Memory
	if !memory {
		name = "file:" + (&url.URL{Path: path}).EscapedPath()
		if err := ownerOnly(path); err != nil {
			return nil, fault.Wrap(fault.Unavailable, "sqlite.Open", err)
		}
	}
	// temp_store: what undoes a failed statement or savepoint stays in memory, else SQLite writes it to a file.
	// secure_delete: what is deleted is overwritten, so that an erased customer is gone from the file.
	writer, err := Pool(name + params + "&_pragma=temp_store(MEMORY)&_pragma=secure_delete(1)")
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "sqlite.Open", err)
	}
	writer.SetMaxOpenConns(1) // there is only one writer at a time
	write := bun.NewDB(writer, sqlitedialect.New())
	if memory { // the connection is the database
		return bunstore.Own(ctx, bunstore.Pools{Write: write}, cfg)
	}
	reader, err := Pool(name + params + "&_txlock=deferred&_pragma=query_only(1)")
	if err != nil {
		_ = writer.Close()
		return nil, fault.Wrap(fault.Invalid, "sqlite.Open", err)
	}
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 4
	}
	reader.SetMaxOpenConns(conns)
	reader.SetMaxIdleConns(conns)
	return bunstore.Own(ctx, bunstore.Pools{Write: write, Read: bun.NewDB(reader, sqlitedialect.New()), File: path}, cfg)
}

// ownerOnly restricts the file of a database, and SQLite's files next to it, to their owner, whatever the folder. Files that
// SQLite creates later get the mode of the database file.
func ownerOnly(path string) error {
	// Do not open an existing file: closing it would release the locks that another DB of this process has on it.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil // SQLite reports the problem
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		// The mode of another user's file is up to that user.
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return nil
}
