package bunstore

import (
	"context"
	"time"
)

// TableSize is how large a table is that grows with time.
type TableSize struct {
	Name  string // of the table
	Rows  int64  // as the planner of PostgreSQL estimates them; -1: not known
	Bytes int64  // with indexes; 0 on SQLite, which has all tables in one file
}

// growing are the tables that grow with mail and with what happens.
var growing = []string{
	"hw_inbound_mails", "hw_interactions", "hw_attachments", "hw_deliveries", "hw_events", "hw_audit", "hw_jobs", "hw_webhook_deliveries",
	"hw_notifications", "hw_idempotency", "hw_tokens",
}

// Sizes tells how large the tables are that grow with time. SQLite counts their rows, one table after the other: limit the
// time of all of that with ctx.
func (db *DB) Sizes(ctx context.Context) ([]TableSize, error) {
	sizes := make([]TableSize, len(growing))
	for i, name := range growing {
		sizes[i].Name = name
		var err error
		if db.postgres {
			err = db.raw("SELECT reltuples::bigint, pg_total_relation_size(oid) FROM pg_class WHERE oid = to_regclass(?)", name).
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

// Clock is the time of the database's server, the zero time where it is no server.
func (db *DB) Clock(ctx context.Context) (time.Time, error) {
	if !db.postgres {
		return time.Time{}, nil
	}
	var us int64
	err := db.raw("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(ctx, &us)
	return timeOf(us), failure(ctx, err, "clock", 0)
}
