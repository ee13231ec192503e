package bunstore

import (
	"context"
	"time"
)

// SQLite has no process that keeps the statistics of tables. They are made when a database is opened, and from time to
// time while it is in use, of the tables that have grown tenfold since; of each index a hundred rows are looked at, which
// takes milliseconds whatever its size. PostgreSQL does it by itself.
const (
	statisticsEvery = time.Hour
	makeStatistics  = "PRAGMA analysis_limit = 100; PRAGMA optimize = 0x10002" // all tables, and not only those just read
)

// statistics makes those of a SQLite on a disk. A query may be slower without them, and is right all the same.
func (db *DB) statistics(ctx context.Context) {
	if db.path == "" {
		return
	}
	if _, err := db.write.DB.ExecContext(ctx, makeStatistics); err != nil && ctx.Err() == nil {
		db.cfg.Logger.DebugContext(ctx, "making the statistics of tables failed", "error", err)
	}
}

// keepStatistics makes them until ctx ends.
func (db *DB) keepStatistics(ctx context.Context) {
	for db.path != "" && pause(ctx, statisticsEvery) == nil {
		db.statistics(ctx)
	}
}
