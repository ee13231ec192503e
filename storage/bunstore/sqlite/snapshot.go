package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// Snapshot copies the database file at path, as of one moment, into another file (VACUUM INTO), which must be missing or
// empty. Programs can use the database meanwhile; their writes stay in the WAL file until the copy is done. The copy has the
// size of the database without its free pages. It is not synced to disk.
func Snapshot(ctx context.Context, path, to string) (err error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		return fault.Wrap(fault.Invalid, "sqlite.Snapshot", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Wrap(fault.Unavailable, "sqlite.Snapshot", err)
	}
	return nil
}

// OpenSnapshot opens a copy made by [Snapshot], of this or an earlier release, for reading: it returns the blobs that rows
// refer to, the mark and the migrations. It first checks the whole file, and every reference between its rows. A damaged
// file is an Invalid fault, one of a later release a Conflict fault, see [bunstore.DB.CheckSchema]. It writes neither to the
// file nor next to it.
func OpenSnapshot(ctx context.Context, path string) (*bunstore.DB, error) {
	pool, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?mode=ro&immutable=1&_pragma=foreign_keys(1)&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)")
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "sqlite.OpenSnapshot", err)
	}
	pool.SetMaxOpenConns(1)
	if err := intact(ctx, pool); err != nil {
		_ = pool.Close()
		return nil, err
	}
	db, err := bunstore.Own(ctx, bunstore.Pools{Write: bun.NewDB(pool, sqlitedialect.New()), Snapshot: true}, bunstore.Config{})
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	done, err := db.Applied(ctx)
	if err == nil && len(done) == 0 {
		err = fault.New(fault.Invalid, "The file is not a help desk database.")
	}
	if err == nil {
		err = db.CheckSchema(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// intact checks the pages, the indexes and the references of a database.
func intact(ctx context.Context, db *sql.DB) error {
	damaged := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &fault.Error{Kind: fault.Invalid, Op: "sqlite.OpenSnapshot", Message: "The file is not an intact SQLite database.", Err: err}
	}
	problems, err := texts(ctx, db, "PRAGMA integrity_check(5)")
	if err == nil && (len(problems) != 1 || problems[0] != "ok") {
		err = errors.New(strings.Join(problems, "; "))
	}
	if err != nil {
		return damaged(err)
	}
	broken, err := texts(ctx, db, `SELECT "table" || ' refers to what is not in ' || parent FROM pragma_foreign_key_check LIMIT 5`)
	if err == nil && len(broken) > 0 {
		err = errors.New(strings.Join(broken, "; "))
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}
