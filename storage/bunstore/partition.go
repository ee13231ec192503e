package bunstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
)

// On PostgreSQL the logs that are pruned by age are partitioned by calendar months (UTC). A partition
// for what belongs to no month takes rows of all other times, so that no insert fails.

// partitioned is a partitioned table.
type partitioned struct {
	name, time, key string
	locks           string // what is locked for a new partition, in the order in which writers lock it
}

var (
	eventParts = partitioned{"hw_events", "time", "account_id, seq", "ONLY hw_accounts, ONLY hw_events"}
	auditParts = partitioned{"hw_audit", "created_at", "id", "ONLY hw_audit, ONLY hw_accounts"}
)

const (
	// monthsAhead is for how many months after the present one partitions are made.
	monthsAhead = 2
	// mostMoved is the number of rows that are moved at most while others wait. With more rows a month gets no partition, or a
	// partition is kept.
	mostMoved = 1000
	// partitionLock is the lock under which partitions are made and dropped.
	partitionLock = 0x68770002
	// partitionWait is how long making or dropping a partition waits for locks. All who use the table wait meanwhile. It is
	// less than PostgreSQL's deadlock_timeout, so that this transaction gives in and not another.
	partitionWait = "500ms"
)

// errKept is returned to leave a partition as it is.
var errKept = errors.New("the partition is kept")

// monthOf returns the first instant of a time's month.
func monthOf(at time.Time) time.Time {
	at = at.UTC()
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// ofMonth returns the name of a month's partition.
func (p partitioned) ofMonth(month time.Time) string {
	return fmt.Sprintf("%s_y%04dm%02d", p.name, month.Year(), month.Month())
}

// fallback returns the name of the partition for all other times.
func (p partitioned) fallback() string { return p.name + "_default" }

// part is a partition of the times from from to before until, in microseconds.
type part struct {
	name        string
	from, until int64
}

// bounds finds the limits in how PostgreSQL writes them.
var bounds = regexp.MustCompile(`^FOR VALUES FROM \('(-?\d+)'\) TO \('(-?\d+)'\)$`)

// parts lists the partitions, except the one for all other times.
func (p partitioned) parts(ctx context.Context, q *querier) ([]part, error) {
	var rows []struct{ Name, Bounds string }
	err := q.raw(`SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass(?) ORDER BY c.relname`, p.name).Scan(ctx, &rows)
	var all []part
	for _, row := range rows {
		found := bounds.FindStringSubmatch(row.Bounds)
		if found == nil {
			continue
		}
		one := part{name: row.Name}
		one.from, _ = strconv.ParseInt(found[1], 10, 64) // digits of a BIGINT
		one.until, _ = strconv.ParseInt(found[2], 10, 64)
		all = append(all, one)
	}
	return all, failure(ctx, err, "partition", 0)
}

// makeNextPartitions makes the partitions of this month and the next ones, by the clock of the database's server.
func (db *DB) makeNextPartitions(ctx context.Context) error {
	if !db.postgres {
		return nil
	}
	now, err := db.Clock(ctx)
	if err != nil {
		return err
	}
	return db.makePartitions(ctx, now, 1+monthsAhead)
}

// makePartitions makes the partitions of n months from a time's on. Others may do the same at once. A month that has many
// rows already gets none, nor does one whose turn is when others hold locks; the next call tries it again.
func (db *DB) makePartitions(ctx context.Context, at time.Time, n int) error {
	for _, table := range []partitioned{eventParts, auditParts} {
		for i := range n {
			month := monthOf(at).AddDate(0, i, 0)
			err := db.partition(ctx, func(q *querier) error { return table.make(ctx, q, month) })
			if err != nil && !db.kept(ctx, err, table.ofMonth(month)) {
				return err
			}
		}
	}
	return nil
}

// make makes the partition of a month, unless another has its rows.
func (p partitioned) make(ctx context.Context, q *querier, month time.Time) error {
	own := part{p.ofMonth(month), micros(month), micros(month.AddDate(0, 1, 0))}
	all, err := p.parts(ctx, q)
	if err != nil {
		return err
	}
	for _, other := range all {
		if own.from < other.until && other.from < own.until {
			return nil
		}
	}
	// Nobody may be adding rows: an insert that chose the fallback before the new partition came would fail. The foreign key of
	// the new partition locks the accounts.
	return q.each(ctx, fmt.Sprintf("LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", p.locks),
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS, PRIMARY KEY (%s))", own.name, p.name, p.key),
		fmt.Sprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", p.fallback()),
		func() error { return p.move(ctx, q, own) },
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", p.name, own.name, own.from, own.until))
}

// move moves the rows that a new partition is for.
func (p partitioned) move(ctx context.Context, q *querier, to part) error {
	fallback, column := bun.Ident(p.fallback()), bun.Ident(p.time)
	var rows int
	err := q.raw("SELECT count(*) FROM (SELECT 1 FROM ? WHERE ? >= ? AND ? < ? LIMIT ?) AS found",
		fallback, column, to.from, column, to.until, mostMoved+1).Scan(ctx, &rows)
	if err == nil && rows > mostMoved {
		return errKept
	}
	if err == nil && rows > 0 {
		_, err = q.raw("WITH moved AS (DELETE FROM ? WHERE ? >= ? AND ? < ? RETURNING *) INSERT INTO ? SELECT * FROM moved",
			fallback, column, to.from, column, to.until, bun.Ident(to.name)).Exec(ctx)
	}
	return failure(ctx, err, "partition", 0)
}

// each runs statements, and functions between them.
func (s *querier) each(ctx context.Context, steps ...any) error {
	for _, step := range steps {
		var err error
		switch step := step.(type) {
		case string:
			_, err = s.raw(step).Exec(ctx)
		case func() error:
			err = step()
		}
		if err != nil {
			return failure(ctx, err, "partition", 0)
		}
	}
	return nil
}

// partition runs fn once, in a transaction that does not wait long for locks. One of all servers does so at a time.
func (db *DB) partition(ctx context.Context, fn func(q *querier) error) error {
	return db.attempt(ctx, entry{}, func(ctx context.Context, q *querier) error {
		err := q.each(ctx, "SET LOCAL lock_timeout = '"+partitionWait+"'", fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", partitionLock))
		if err != nil {
			return err
		}
		return fn(q)
	})
}

// kept reports whether an error only means that a partition stays as it is, and logs that.
func (db *DB) kept(ctx context.Context, err error, name string) bool {
	e, refused := ofPostgres(err)
	if !errors.Is(err, errKept) && (!refused || e.code != pgLockNotAvailable && e.code != pgDeadlockDetected && e.code != pgQueryCanceled) {
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	db.cfg.Logger.InfoContext(ctx, "a partition is left as it is until the next time", "partition", name, "reason", err)
	return true
}

// DropPeriods implements [helpdesk.PeriodDropper]. On PostgreSQL it also makes the partitions of the next months. A partition
// that others use right now, or of which more than a thousand events are still needed, is left for the next call.
func (db *DB) DropPeriods(ctx context.Context, before helpdesk.Periods) (dropped int, err error) {
	if !db.postgres {
		return 0, nil
	}
	if err := db.makeNextPartitions(ctx); err != nil {
		return 0, err
	}
	return db.dropPartitions(ctx, before)
}

// dropPartitions drops old partitions, each in its own transaction.
func (db *DB) dropPartitions(ctx context.Context, before helpdesk.Periods) (dropped int, err error) {
	for _, old := range []struct {
		partitioned
		before time.Time
		needed func(ctx context.Context, q *querier, name string) ([]eventRow, error)
	}{{eventParts, before.Events, neededEvents}, {auditParts, before.Audit, nil}} {
		if old.before.IsZero() {
			continue
		}
		all, err := old.parts(ctx, db.querier)
		if err != nil {
			return dropped, err
		}
		for _, one := range all {
			if one.until > micros(old.before) {
				continue
			}
			err := db.partition(ctx, func(q *querier) error { return dropPartition(ctx, q, one.name, old.needed) })
			if err == nil {
				dropped++
			} else if !db.kept(ctx, err, one.name) {
				return dropped, err
			}
		}
	}
	return dropped, nil
}

// dropPartition drops a partition; the rows of it that are still needed move to the one for all other times. It reads them
// before it locks the whole table.
func dropPartition(ctx context.Context, q *querier, name string, needed func(context.Context, *querier, string) ([]eventRow, error)) error {
	err := q.each(ctx, fmt.Sprintf("LOCK TABLE %s IN SHARE MODE", name)) // nobody adds a row
	var rows []eventRow
	if err == nil && needed != nil {
		rows, err = needed(ctx, q, name)
	}
	if err == nil && len(rows) > mostMoved {
		err = errKept
	}
	if err == nil {
		err = q.each(ctx, "DROP TABLE "+name)
	}
	if err == nil && len(rows) > 0 {
		_, err = q.inserts(&rows).Exec(ctx)
	}
	return failure(ctx, err, "partition", 0)
}

// neededEvents returns the events of a partition that pruning keeps, one more than may be moved at most.
func neededEvents(ctx context.Context, q *querier, name string) ([]eventRow, error) {
	var rows []eventRow
	err := q.raw(`SELECT e.* FROM hw_accounts AS a, LATERAL (?) AS needed (seq),
		LATERAL (SELECT * FROM ? AS p WHERE p.account_id = a.id AND p.seq >= needed.seq ORDER BY p.seq LIMIT ?) AS e LIMIT ?`,
		q.neededSince(bun.Safe("a.id")), bun.Ident(name), mostMoved+1, mostMoved+1).Scan(ctx, &rows)
	return rows, failure(ctx, err, "event", 0)
}
