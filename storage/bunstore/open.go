// Package bunstore keeps the help desk's data in SQLite or PostgreSQL, through bun. One [DB] is the help desk's store
// ([helpdesk.Store]), the queue of jobs ([storage.Jobs]), the log of events ([storage.EventLog]) and the answers to
// requests that may come again ([storage.Idempotency]).
//
// It links no driver: packages sqlite, postgres and both open databases, each with the drivers that it links.
//
// All tables begin with hw_, so that they can live in the database of an embedding application. [DB.Migrate] makes
// and changes them.
package bunstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/internal/notify"
)

// Config of a [DB]. The zero value is ready to use.
type Config struct {
	// Logger tells about lost connections to the server's notifications. nil: discards.
	Logger *slog.Logger
	// MaxConns limits the connections that the Open of a driver's package makes: to PostgreSQL, by default 20; of the readers of SQLite, by
	// default 4, besides the one that writes.
	MaxConns int
	// SyncNormal lets SQLite commit without waiting for the disk (synchronous=NORMAL). A power cut may then undo the
	// last commits, and with them mail that its sender believes delivered; the database stays intact.
	SyncNormal bool
	// StatementTimeout ends a statement of PostgreSQL that takes longer. Default: one minute; negative: never, and
	// nothing about timeouts is sent to the server, which poolers such as PgBouncer want, and no statement is kept
	// prepared unless the address says how. A server that gives no
	// answer within five seconds more (after a minute when it is negative) is taken for gone, and the connection is
	// thrown away. A commit without an answer is an OutcomeUnknown fault.
	StatementTimeout time.Duration
	// Listen waits for the notifications of PostgreSQL on some channels, on a connection that it has for itself, until ctx
	// ends or the connection breaks. It calls begun when it has begun, and heard for each notification. Package postgres
	// has one, and sets it. nil: jobs and events of other processes are found by polling.
	Listen func(ctx context.Context, conn *sql.Conn, channels []string, begun func(), heard func(channel, payload string)) error
}

// Pools are the connections that a package which knows a driver has opened for a DB.
type Pools struct {
	Write *bun.DB
	Read  *bun.DB // nil: Write
	File  string  // of a SQLite on a disk; other processes that share it are noticed by locks beside it
	// Snapshot says that it is a copy of SQLite which is only read, and may have the schema of an earlier release: which
	// blobs it names can be told nevertheless.
	Snapshot bool
}

// DB is a database of the help desk.
type DB struct {
	directory
	write, read *bun.DB // the same on PostgreSQL
	schema      *bun.DB // write for migrations, whose statements may take their time
	patience    time.Duration
	cfg         Config
	postgres    bool
	deferred    bool // SQLite transactions may begin deferred, see attempt
	owned       bool
	snapshot    bool
	has         []blobColumn // of a snapshot
	marked      bool         // a snapshot that has a table of marks
	path        string       // of the file of a SQLite whose pools are ours; "": none that is known
	holder      holder
	hands       hands
	wake        chan struct{}
	watchers    notify.Watchers
}

var (
	_ helpdesk.Store   = (*DB)(nil)
	_ storage.Jobs     = (*DB)(nil)
	_ storage.EventLog = (*DB)(nil)

	_ storage.EventNotifier = (*DB)(nil)
)

// Own makes a DB of pools that were opened for it, and that it closes. SQLite's transactions begin immediately. It is for
// packages that know a driver. A database that does not answer is an Unavailable fault.
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
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	db.statistics(ctx)
	return db, nil
}

// New makes a DB of a bun.DB that the caller has opened, for SQLite or PostgreSQL, and goes on to own: Close leaves it
// open. The one bun.DB reads and writes. It is as quick as one that was opened for a DB when its pool is made by Pool of
// package sqlite or postgres. Of another one SQLite needs foreign_keys on and a busy_timeout; PostgreSQL
// standard_conforming_strings on (its default), and pgx, whose own cache would keep every text, QueryExecModeExec. Ping
// reports what is missing.
// With pgx, Config.Listen of package postgres finds jobs of other processes at once.
func New(db *bun.DB, cfg Config) *DB { return newDB(db, db, cfg) }

func newDB(write, read *bun.DB, cfg Config) *DB {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	db := &DB{
		write: write, read: read, schema: write, patience: time.Minute, cfg: cfg, wake: make(chan struct{}, 1),
		postgres: write.Dialect().Name() == dialect.PG,
	}
	if cfg.StatementTimeout > 0 {
		db.patience = cfg.StatementTimeout
	}
	db.patience += grace
	if db.postgres { // SQLite is a file: there is no network that swallows answers
		db.write = write.WithQueryHook(bounding{db.patience})
		db.read = db.write
	}
	db.deferred = !db.postgres
	db.directory = directory{&querier{store: db, db: db.read}}
	return db
}

// Ping asks the database for an answer and checks the settings that correctness stands on: wrong ones are a Disabled
// fault, no answer an Unavailable one.
func (db *DB) Ping(ctx context.Context) error {
	query, want := "PRAGMA foreign_keys", "1"
	switch db.write.Dialect().Name() {
	case dialect.PG:
		query, want = "SHOW standard_conforming_strings", "on"
	case dialect.SQLite:
	default:
		return fault.New(fault.Disabled, "bunstore works on SQLite and PostgreSQL only.")
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	for _, pool := range []*bun.DB{db.write, db.read} {
		var got string
		if err := pool.DB.QueryRowContext(ctx, query).Scan(&got); err != nil {
			return failure(ctx, err, "database", 0)
		}
		if got != want {
			return fault.Newf(fault.Disabled, "%s must be %s, it is %s.", query, want, got)
		}
	}
	return nil
}

// Close closes the connections of a DB that owns them, see [Own]. Run must have ended.
func (db *DB) Close() error {
	if !db.owned {
		return nil
	}
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
