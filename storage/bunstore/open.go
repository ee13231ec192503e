// Package bunstore keeps the help desk's data in SQLite or PostgreSQL, through bun. One [DB] is the help desk's store
// ([helpdesk.Store]), the queue of jobs ([storage.Jobs]), the log of events ([storage.EventLog]) and the answers to
// requests that may come again ([storage.Idempotency]).
//
// All tables begin with hw_, so that they can live in the database of an embedding application. [DB.Migrate] makes
// and changes them.
package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the "sqlite" driver

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/internal/notify"
)

// Config of a [DB]. The zero value is ready to use.
type Config struct {
	// Logger tells about lost connections to the server's notifications. Default: none.
	Logger *slog.Logger
	// MaxConns limits the connections that [Open] makes: to PostgreSQL, by default 20; of the readers of SQLite, by
	// default 4, besides the one that writes.
	MaxConns int
	// SyncNormal lets SQLite commit without waiting for the disk (synchronous=NORMAL). A power cut may then undo the
	// last commits, and with them mail that its sender believes delivered; the database stays intact.
	SyncNormal bool
	// StatementTimeout ends a statement of PostgreSQL that takes longer. Default: one minute; negative: never, and
	// nothing about timeouts is sent to the server, which poolers such as PgBouncer want. A server that gives no
	// answer within five seconds more (after a minute when it is negative) is taken for gone, and the connection is
	// thrown away. A commit without an answer is an OutcomeUnknown fault.
	StatementTimeout time.Duration
}

// connectTimeout is how long making a connection to PostgreSQL may take, unless the address says it.
const connectTimeout = 10 * time.Second

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
	path        string // of the file of a SQLite that Open opened; "": none that is known
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

// Open opens a database: "sqlite:path/to/file.db", "sqlite::memory:" for one that ends with the DB, or a
// "postgres://" URL as libpq takes it. It migrates nothing, see [DB.Migrate]. An unknown form is an Invalid fault, a
// database that does not answer an Unavailable one.
func Open(ctx context.Context, address string, cfg Config) (*DB, error) {
	var db *DB
	var err error
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		db, err = openSQLite(strings.TrimPrefix(rest, "//"), cfg)
	case "postgres", "postgresql":
		db, err = openPostgres(address, cfg)
	default:
		err = fault.New(fault.Invalid, "A database address begins with sqlite: or postgres:.")
	}
	if err != nil {
		return nil, err
	}
	db.owned = true
	if err := db.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// New makes a DB of a bun.DB that the caller has opened, for SQLite or PostgreSQL, and goes on to own: Close leaves it
// open. The one bun.DB reads and writes. SQLite needs foreign_keys on and a busy_timeout; PostgreSQL
// standard_conforming_strings on (its default), and pgx is quickest in QueryExecModeExec. Open does all this by itself,
// and lets a [storage.Meter] count what is read; Ping reports what is missing.
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

// openSQLite opens one connection that writes and several that read.
func openSQLite(path string, cfg Config) (*DB, error) {
	if path == "" {
		return nil, fault.New(fault.Invalid, "The address names no file.")
	}
	memory := path == ":memory:"
	synchronous := "FULL"
	if cfg.SyncNormal {
		synchronous = "NORMAL"
	}
	// busy_timeout comes first: switching to WAL may have to wait already.
	params := "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(" +
		synchronous + ")"
	name := ":memory:"
	if !memory {
		name = "file:" + (&url.URL{Path: path}).EscapedPath()
	}
	if !memory {
		if err := ownerOnly(path); err != nil {
			return nil, fault.Wrap(fault.Unavailable, "bunstore.Open", err)
		}
	}
	writer, err := openPrepared(name + params + "&_txlock=immediate")
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "bunstore.Open", err)
	}
	writer.SetMaxOpenConns(1) // others would only wait for the one that writes
	write := bun.NewDB(writer, sqlitedialect.New())
	if memory { // the database is the connection
		db := newDB(write, write, cfg)
		db.deferred = false
		return db, nil
	}
	reader, err := openPrepared(name + params + "&_pragma=query_only(1)")
	if err != nil {
		_ = writer.Close()
		return nil, fault.Wrap(fault.Invalid, "bunstore.Open", err)
	}
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 4
	}
	reader.SetMaxOpenConns(conns)
	reader.SetMaxIdleConns(conns)
	db := newDB(write, bun.NewDB(reader, sqlitedialect.New()), cfg)
	db.deferred, db.path = false, path
	return db, nil
}

// ownerOnly makes the file of a database, and what SQLite keeps beside it, readable and writable by the owner alone,
// wherever it lies. What SQLite makes later has the mode of the file.
func ownerOnly(path string) error {
	// A file that is there is not opened: closing it would let go of the locks that another DB of this process has on it.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil // SQLite will say what is wrong
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		// Of another's file the mode is that one's choice.
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return nil
}

// openPostgres opens a pool whose connections are set up so that bun's way of writing values into the statement is
// safe and quick.
func openPostgres(address string, cfg Config) (*DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The address is no PostgreSQL URL.") // err would show the password
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // every text is new, so nothing is to be prepared
	config.RuntimeParams["standard_conforming_strings"] = "on"
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["timezone"] = "UTC"
	defaults := map[string]string{"application_name": "helpwright"}
	if cfg.StatementTimeout >= 0 {
		timeout := cfg.StatementTimeout
		if timeout == 0 {
			timeout = time.Minute
		}
		defaults["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
		defaults["lock_timeout"] = "30000"
		// Of a process or a network that is gone the server lets go soon: of its locks, and of the lock that says it lives.
		defaults["idle_in_transaction_session_timeout"] = "60000"
		defaults["tcp_keepalives_idle"] = "10"
		defaults["tcp_keepalives_interval"] = "5"
		defaults["tcp_keepalives_count"] = "3"
	}
	for name, value := range defaults {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	pool := sql.OpenDB(meteredPostgres{stdlib.GetConnector(*config)})
	conns := cfg.MaxConns
	if conns <= 0 {
		conns = 20
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db := bun.NewDB(pool, pgdialect.New())
	return newDB(db, db, cfg), nil
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

// Close closes the connections of a DB that [Open] has opened. Run must have ended.
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
