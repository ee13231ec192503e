package postgres

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusals tells the connections of a pool when the server refused a write. A server that has become read-only may no longer be
// the one that the address leads to, as after a failover, and sessions may stay read-only when the database no longer is.
type refusals struct {
	last atomic.Pointer[time.Time]
}

// keeps decides whether a connection is kept after an error of the server.
func (r *refusals) keeps(or func(*pgconn.PgConn, *pgconn.PgError) bool) func(*pgconn.PgConn, *pgconn.PgError) bool {
	return func(c *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != readOnly {
			return or(c, err)
		}
		// Once a second at most: as long as the database is read-only, its readers should not connect again and again.
		now := time.Now()
		if last := r.last.Load(); last == nil || now.Sub(*last) >= time.Second {
			r.last.Store(&now)
		}
		return false
	}
}

// since reports whether a write was refused after a time.
func (r *refusals) since(at time.Time) bool {
	last := r.last.Load()
	return last != nil && at.Before(*last)
}

// readOnly is the code of the error for a write in a read-only transaction.
const readOnly = "25006"

// ResetSession implements [driver.SessionResetter]. After the server has refused a write, older connections are not used again:
// they may be just as read-only.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.refused.since(c.opened) {
		return driver.ErrBadConn
	}
	return c.pgxConn.ResetSession(ctx)
}
