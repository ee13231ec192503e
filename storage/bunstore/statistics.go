package bunstore

import (
	"context"
	"time"
)

// SQLite has no process that maintains table statistics. They are computed when a database is opened and from time to time
// while it is in use, for tables that have grown tenfold since. Only a hundred rows per index are sampled, which takes
// milliseconds at any size. PostgreSQL maintains its own.
const (
	statisticsEvery = time.Hour
	makeStatistics  = "PRAGMA analysis_limit = 100; PRAGMA optimize = 0x10002" // all tables, not only those just read
)

// statistics computes the statistics of a SQLite database on disk. Without them queries may be slower but are still correct.
func (db *DB) statistics(ctx context.Context) {
	if db.path == "" {
		return
	}
	if _, err := db.write.DB.ExecContext(ctx, makeStatistics); err != nil && ctx.Err() == nil {
		db.cfg.Logger.DebugContext(ctx, "making the statistics of tables failed", "error", err)
	}
}

// keepStatistics recomputes them until ctx ends.
func (db *DB) keepStatistics(ctx context.Context) {
	for db.path != "" && pause(ctx, statisticsEvery) == nil {
		db.statistics(ctx)
	}
}
