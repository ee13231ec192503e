// Package bunstore stores the help desk's data in SQLite or PostgreSQL through bun. One [DB] is the help desk's store
// ([helpdesk.Store]), the job queue ([storage.Jobs]), the event log ([storage.EventLog]) and the store of idempotency notes
// ([storage.Idempotency]).
//
// It links no driver: packages sqlite, postgres and both open databases with the drivers that they link.
//
// All table names begin with hw_, so that the tables can share the database of an embedding application. [DB.Migrate]
// creates and changes them.
package bunstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/internal/notify"
)

// Config configures a [DB]. The zero value is ready to use.
type Config struct {
	// Logger logs lost connections to the server's notifications. nil: discards.
	Logger *slog.Logger
	// MaxConns limits the connections that the Open of a driver's package makes: to PostgreSQL, by default 20; for SQLite's
	// readers, by default 4, plus one writer.
	MaxConns int
	// SyncNormal lets SQLite commit without waiting for the disk (synchronous=NORMAL). A power failure may then lose the last
	// commits, including mail that its sender believes delivered; the database stays intact.
	SyncNormal bool
	// StatementTimeout limits statements on PostgreSQL. Default: one minute. Negative: no limit; then no timeout is sent to the
	// server, as poolers such as PgBouncer require. A server that does not answer within five more seconds (within a minute when
	// negative) counts as gone, and its connection is discarded. A commit without an answer is an OutcomeUnknown fault.
	StatementTimeout time.Duration
	// Replica is the "postgres://" URL of a streaming replica (physical standby) of a PostgreSQL database, for the Open of a
	// driver's package: lists and searches of scopes with MayLag are read from it, see [helpdesk.Desk.Lagging]. "": none.
	//
	// An answer of the replica is at most one second old, and has everything that was committed through this DB, in the same
	// account, before it was asked for; it also has the events of the account that this DB has returned. The DB compares the
	// servers' positions in the log five times a second, and reads from the primary while the replica lacks such a commit, is
	// more than a second behind, does not answer or fails. Commits of transactions that the caller binds, see [DB.Bind], count
	// from [DB.WakeWorkers] on. The user needs no more rights than on the primary; the replica has MaxConns too.
	//
	// The address of another server, of the primary itself, or of another of its databases is a Disabled fault with the
	// Resource "replica"; a replica that does not answer is logged, and used once it does. When the database's address names
	// several servers for failover, the replica may be the primary, which is logged too.
	Replica string
	// Tracer receives transactions and statements, without their values. nil: nothing is traced.
	Tracer storage.Tracer
	// Listen waits for PostgreSQL notifications on some channels, on a connection of its own, until ctx ends or the connection
	// breaks. It calls begun once it listens, and heard for each notification. Package postgres sets it to its implementation.
	// nil: jobs and events of other processes are found by polling.
	Listen func(ctx context.Context, conn *sql.Conn, channels []string, begun func(), heard func(channel, payload string)) error
}

// Pools holds the connections that a driver's package has opened for a DB.
type Pools struct {
	Write *bun.DB
	Read  *bun.DB // nil: Write
	File  string  // of a SQLite database on disk; locks next to it reveal other processes that share it
	// Snapshot marks a read-only copy of a SQLite database, whose schema may be of an earlier release; it can still list the
	// blobs it refers to.
	Snapshot bool
	// Replica is a replica of a PostgreSQL database; nil: there is none.
	Replica *ReplicaPools
}

// DB is a database of the help desk.
type DB struct {
	directory
	write, read   *bun.DB // the same on PostgreSQL
	schema        *bun.DB // write, for migrations, whose statements have no time limit
	patience      time.Duration
	cfg           Config
	postgres      bool
	deferred      bool // SQLite transactions may begin deferred, see attempt
	owned         bool
	snapshot      bool
	has           []blobColumn // of a snapshot
	marked        bool         // whether a snapshot has a table of marks
	path          string       // of the SQLite file whose pools are ours; "": none, or unknown
	holder        holder
	hands         hands
	wake          chan struct{}
	woken         woken
	process       string // names this DB in notifications of PostgreSQL
	watchers      notify.Watchers
	announcements announcements
	unmerged      atomic.Bool // something was written since SQLite's full-text indexes were merged
	replica       *replica    // nil: none
}

var (
	_ helpdesk.Store   = (*DB)(nil)
	_ storage.Jobs     = (*DB)(nil)
	_ storage.EventLog = (*DB)(nil)

	_ storage.KindWaker     = (*DB)(nil)
	_ storage.EventNotifier = (*DB)(nil)

	_ helpdesk.PeriodDropper = (*DB)(nil)
)

// Own returns a DB that owns its pools and closes them. SQLite's transactions must begin immediately. It is for packages
// that know a driver. A database that does not answer is an Unavailable fault.
func Own(ctx context.Context, pools Pools, cfg Config) (*DB, error) {
	if pools.Write == nil {
		return nil, fault.Field("Write", "is required")
	}
	if pools.Read == nil {
		pools.Read = pools.Write
	}
	db := newDB(pools.Write, pools.Read, cfg)
	db.owned, db.deferred, db.path, db.snapshot = true, false, pools.File, pools.Snapshot
	err := db.Ping(ctx)
	if err == nil && db.snapshot {
		err = db.look(ctx)
	}
	if err == nil && pools.Replica != nil {
		err = db.openReplica(ctx, *pools.Replica)
	}
	if err != nil {
		if db.replica == nil && pools.Replica != nil {
			pools.Replica.close()
		}
		_ = db.Close()
		return nil, err
	}
	db.statistics(ctx)
	return db, nil
}

// New returns a DB on a bun.DB that the caller opened, for SQLite or PostgreSQL, and still owns: Close leaves it open. The
// one bun.DB serves both reads and writes. Best is a pool made by Pool of package sqlite or postgres. Any other SQLite pool
// needs foreign_keys on, a busy_timeout, WAL, and transactions that begin immediately. Any other PostgreSQL pool needs
// standard_conforming_strings on (the default) and, with pgx, QueryExecModeExec, because pgx's own cache would keep every
// statement. Ping reports missing settings. With pgx, set Config.Listen to that of package postgres to find jobs of other
// processes at once.
func New(db *bun.DB, cfg Config) *DB { return newDB(db, db, cfg) }

func newDB(write, read *bun.DB, cfg Config) *DB {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{
		write: write, read: read, schema: write, patience: time.Minute, cfg: cfg, wake: make(chan struct{}, 1), process: rand.Text(),
		postgres: write.Dialect().Name() == dialect.PG,
	}
	if cfg.StatementTimeout > 0 {
		db.patience = cfg.StatementTimeout
	}
	db.patience += grace
	if db.postgres { // SQLite is a file: no network can swallow answers
		db.write = write.WithQueryHook(bounding{db.patience})
		db.read = db.write
	}
	db.traced()
	db.deferred = !db.postgres
	db.directory = directory{&querier{store: db, db: db.read}}
	return db
}

// Ping queries the database and checks the settings that correctness depends on. Wrong settings are a Disabled fault, no
// answer an Unavailable one.
func (db *DB) Ping(ctx context.Context) error {
	check := db.checkSQLite
	switch db.write.Dialect().Name() {
	case dialect.PG:
		check = checkPostgres
	case dialect.SQLite:
	default:
		return fault.New(fault.Disabled, "bunstore works on SQLite and PostgreSQL only.")
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	for _, pool := range []*bun.DB{db.write, db.read} {
		if err := check(ctx, pool.DB); err != nil {
			return failure(ctx, err, "database", 0)
		}
	}
	return nil
}

// checkPostgres checks that text in statements means what bun writes, and that the driver prepares none of them: they have
// their values in them, and each would stay in memory.
func checkPostgres(ctx context.Context, pool *sql.DB) error {
	var quoting string
	var prepared int
	err := pool.QueryRowContext(ctx, `SELECT current_setting('standard_conforming_strings'),
		(SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%standard_conforming_strings%')`).Scan(&quoting, &prepared)
	switch {
	case err != nil:
		return err
	case quoting != "on":
		return fault.Newf(fault.Disabled, "standard_conforming_strings must be on, it is %s.", quoting)
	case prepared > 0:
		return fault.New(fault.Disabled, "The driver prepares statements. Create the pool with postgres.Pool, or set default_query_exec_mode=exec in the address.")
	}
	return nil
}

// checkSQLite checks that references hold, that writers wait for each other, and that they do not wait for readers.
func (db *DB) checkSQLite(ctx context.Context, pool *sql.DB) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var keys, timeout int
	var journal string
	err = conn.QueryRowContext(ctx, `SELECT foreign_keys, timeout, journal_mode FROM pragma_foreign_keys, pragma_busy_timeout, pragma_journal_mode`).
		Scan(&keys, &timeout, &journal)
	if err != nil || db.snapshot { // which nobody writes to
		return err
	}
	immediate := true
	err = conn.Raw(func(of any) error {
		if c, ok := of.(interface{ BeginsImmediate() bool }); ok && pool == db.write.DB { // another driver cannot say
			immediate = c.BeginsImmediate()
		}
		return nil
	})
	for _, setting := range []struct {
		ok   bool
		want string
	}{
		{keys == 1, "foreign_keys(1)"}, {timeout > 0, "busy_timeout(5000)"}, {journal == "wal" || journal == "memory", "journal_mode(WAL)"}, {immediate, "_txlock=immediate"},
	} {
		if err == nil && !setting.ok {
			return fault.Newf(fault.Disabled, "The connections of SQLite lack %s. Create the pool with sqlite.Pool, which sets it.", setting.want)
		}
	}
	return err
}

// Close waits until other processes were told about what was committed, and closes the connections of a DB that owns them, see
// [Own]. Run must have ended.
func (db *DB) Close() error {
	db.announcements.wait()
	if !db.owned {
		return nil
	}
	db.replica.close()
	db.holder.letGo()
	err := db.write.Close()
	if db.read != db.write {
		if readErr := db.read.Close(); err == nil {
			err = readErr
		}
	}
	if err != nil {
		return fmt.Errorf("bunstore: close: %w", err)
	}
	return nil
}
