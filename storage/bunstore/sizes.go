package bunstore

import (
	"context"
	"time"
)

// TableSize is the size of a table that grows over time.
type TableSize struct {
	Name  string // of the table
	Rows  int64  // as estimated by PostgreSQL's planner; -1: unknown
	Bytes int64  // including indexes; 0 on SQLite, which stores all tables in one file
}

// growing lists the tables that grow with mail and events.
var growing = []string{
	"hw_inbound_mails", "hw_interactions", "hw_attachments", "hw_deliveries", "hw_events", "hw_audit", "hw_jobs", "hw_webhook_deliveries",
	"hw_notifications", "hw_idempotency", "hw_tokens",
}

// Sizes returns the sizes of the tables that grow over time, with all their partitions. On SQLite it counts the rows of one table after the other;
// limit the total time with ctx.
func (db *DB) Sizes(ctx context.Context) ([]TableSize, error) {
	sizes := make([]TableSize, len(growing))
	for i, name := range growing {
		sizes[i].Name = name
		var err error
		if db.postgres {
			err = db.raw(`SELECT coalesce(sum(reltuples) FILTER (WHERE relkind = 'r' AND reltuples >= 0), -1)::bigint, sum(pg_total_relation_size(oid))::bigint
				FROM pg_class WHERE oid = to_regclass(?) OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(?))`, name, name).
				Scan(ctx, &sizes[i].Rows, &sizes[i].Bytes)
		} else {
			err = db.raw("SELECT count(*) FROM "+name).Scan(ctx, &sizes[i].Rows)
		}
		if err != nil {
			return nil, failure(ctx, err, "table", 0)
		}
	}
	return sizes, nil
}

// Clock returns the time of the database server, or the zero time without a server.
func (db *DB) Clock(ctx context.Context) (time.Time, error) {
	if !db.postgres {
		return time.Time{}, nil
	}
	var us int64
	err := db.raw("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(ctx, &us)
	return timeOf(us), failure(ctx, err, "clock", 0)
}
