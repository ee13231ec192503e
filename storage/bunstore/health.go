package bunstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/helpwright/helpwright/storage/fault"
)

// probeSize is how many bytes CheckWrite writes: more than the free space of a page or two, so that it notices a file that
// cannot grow.
const probeSize = 16 << 10

// CheckWrite writes and commits dummy data. A database that is read-only, full or unreachable is an Unavailable fault. It
// waits for other writers like any write; limit ctx.
func (db *DB) CheckWrite(ctx context.Context) error { return db.probe(ctx, nil) }

// TryWrite is [DB.CheckWrite] that rolls back, and so does not notice all ways of being full.
func (db *DB) TryWrite(ctx context.Context) error {
	enough := errors.New("it works")
	if err := db.probe(ctx, enough); !errors.Is(err, enough) {
		return err
	}
	return nil
}

// probe writes dummy data in a transaction that ends with an error, or commits.
func (db *DB) probe(ctx context.Context, end error) error {
	data := make([]byte, probeSize)
	if db.postgres {
		data = data[:8]
	}
	_, _ = rand.Read(data) // never fails
	return db.transact(ctx, entry{}, func(ctx context.Context, q *querier) error {
		_, err := q.raw(`INSERT INTO hw_marks (id, mark, probe) VALUES (1, '', ?) ON CONFLICT (id) DO UPDATE SET probe = excluded.probe`, data).Exec(ctx)
		if err == nil && !db.postgres { // frees the space for the next writer
			_, err = q.raw(`UPDATE hw_marks SET probe = NULL`).Exec(ctx)
		}
		if err == nil {
			return end
		}
		return failure(ctx, err, "probe", 0)
	})
}

// CheckIntegrity makes SQLite check the whole file (PRAGMA quick_check). PostgreSQL checks what it reads by itself.
func (db *DB) CheckIntegrity(ctx context.Context) error {
	if db.postgres {
		return nil
	}
	var problems []string
	if err := db.raw("PRAGMA quick_check(5)").Scan(ctx, &problems); err != nil {
		return failure(ctx, err, "database", 0)
	}
	if len(problems) == 1 && problems[0] == "ok" {
		return nil
	}
	return fault.New(fault.Internal, "The database file is damaged: "+strings.Join(problems, "; "))
}
