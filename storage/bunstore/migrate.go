package bunstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun/migrate"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filelock"
)

//go:embed migrations
var migrationFiles embed.FS

// The names of what keeps track of the migrations.
const (
	migrationsTable = "hw_migrations"
	migrationsLock  = "hw_migration_locks" // bun's own, not used: a crash would leave it locked
	leaseTable      = "hw_migration_lease"
	advisoryKey     = 0x68656c7077 // "helpw"
)

// A lease on the migration of SQLite is renewed while it is held. One that was left behind by a crash is taken over at once
// where its holder is known to be dead, else after its end.
const (
	leaseTime = 30 * time.Second
	leasePoll = 50 * time.Millisecond
	// waitingSaid is how often it is said that somebody waits.
	waitingSaid = 5 * time.Second
)

// Migrate brings the tables up to this release. Calls at the same time, of this process or of others, wait for each
// other and all succeed; one that a crash has interrupted stops nobody on the same host, and others for 30 seconds. Each migration is
// one transaction; what is older than the order of interactions is then put into its place and what is older than search
// into its index, each account in one of its own, and the articles that are older than references get theirs, each site
// in one of its own. There is no way back but a backup. A schema of a later release is a Conflict fault, see
// [DB.CheckSchema].
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	migrator, err := db.migrator()
	if err != nil {
		return err
	}
	lock := db.leaseLock
	if db.postgres {
		lock = db.advisoryLock
	}
	unlock, err := lock(ctx)
	if err != nil {
		return failure(ctx, err, "migration", 0)
	}
	defer unlock()
	if err := db.CheckSchema(ctx); err != nil {
		return err
	}
	if err := migrator.Init(ctx); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	if _, err := migrator.Migrate(ctx); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	for _, step := range []func(context.Context) error{db.order, db.index, db.relink} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pending lists the migrations that [DB.Migrate] would run, in their order.
func (db *DB) Pending(ctx context.Context) ([]string, error) {
	done, err := db.Applied(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.migrations()
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, m := range all.Sorted() {
		if !slices.Contains(done, m.Name) {
			pending = append(pending, m.Name+"_"+m.Comment)
		}
	}
	return pending, nil
}

// Applied lists the numbers of the migrations that the database has had, such as "0110", in their order.
func (db *DB) Applied(ctx context.Context) ([]string, error) {
	migrator, err := db.migrator()
	if err != nil {
		return nil, err
	}
	known := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`
	if db.postgres {
		known = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?`
	}
	var tables int
	if err := db.write.NewRaw(known, migrationsTable).Scan(ctx, &tables); err != nil || tables == 0 {
		return nil, failure(ctx, err, "migration", 0)
	}
	migrations, err := migrator.AppliedMigrations(ctx)
	if err != nil {
		return nil, failure(ctx, err, "migration", 0)
	}
	var names []string
	for _, m := range migrations {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names, nil
}

// CodeNewerSchema is the code of the Conflict fault of [DB.CheckSchema].
const CodeNewerSchema = "newer_schema"

// CheckSchema reports a schema that a later release has made as a Conflict fault: this one does not know what it would
// break there. An older one is none, see [DB.Pending].
func (db *DB) CheckSchema(ctx context.Context) error {
	done, err := db.Applied(ctx)
	if err != nil {
		return err
	}
	all, err := db.migrations()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range all.Sorted() {
		known[m.Name] = true
	}
	for _, name := range done {
		if !known[name] {
			return &fault.Error{Kind: fault.Conflict, Code: CodeNewerSchema, Resource: "database",
				Message: "The database was made by a later release, whose migration " + name + " this one does not know: run that release, or restore a backup from before it."}
		}
	}
	return nil
}

func (db *DB) migrations() (*migrate.Migrations, error) {
	folder := "migrations/sqlite"
	if db.postgres {
		folder = "migrations/postgres"
	}
	files, err := fs.Sub(migrationFiles, folder)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "bunstore.Migrate", err)
	}
	migrations := migrate.NewMigrations()
	if err := migrations.Discover(files); err != nil {
		return nil, fault.Wrap(fault.Internal, "bunstore.Migrate", err)
	}
	return migrations, nil
}

func (db *DB) migrator() (*migrate.Migrator, error) {
	migrations, err := db.migrations()
	if err != nil {
		return nil, err
	}
	return migrate.NewMigrator(db.schema, migrations, migrate.WithTableName(migrationsTable),
		migrate.WithLocksTableName(migrationsLock), migrate.WithMarkAppliedOnSuccess(true)), nil
}

// advisoryLock holds a lock of PostgreSQL on a connection of its own; the server frees it when the connection ends.
func (db *DB) advisoryLock(ctx context.Context) (func(), error) {
	if db.write.Stats().MaxOpenConnections == 1 {
		return nil, fault.New(fault.Disabled, "Migrate needs a pool of at least two connections.")
	}
	conn, err := db.write.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = db.await(ctx, func() (bool, error) {
		var held bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", int64(advisoryKey)).Scan(&held)
		return held, err
	})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(advisoryKey))
		_ = conn.Close()
	}, nil
}

// leaseLock holds a row of SQLite, which has no locks that outlive a transaction.
func (db *DB) leaseLock(ctx context.Context) (func(), error) {
	if _, err := db.schema.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+leaseTable+
		` (id INTEGER PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT`); err != nil {
		return nil, err
	}
	holder, letGo := db.migrant(ctx)
	err := db.await(ctx, func() (bool, error) {
		held, err := db.takeLease(ctx, holder)
		if err == nil && !held {
			err = db.endDeadLease(ctx)
		}
		return held, err
	})
	if err != nil {
		letGo()
		return nil, err
	}
	renewing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(renewing, leaseTime/3) == nil {
			_, _ = db.takeLease(renewing, holder)
		}
	}()
	return func() {
		stop()
		<-done
		_, _ = db.schema.ExecContext(context.WithoutCancel(ctx), `DELETE FROM `+leaseTable+` WHERE holder = ?`, holder)
		letGo()
	}, nil
}

// await tries until something is held, and says now and then what it waits for.
func (db *DB) await(ctx context.Context, try func() (held bool, err error)) error {
	began, next := time.Now(), time.Duration(0)
	for {
		held, err := try()
		if err != nil || held {
			return err
		}
		if waited := time.Since(began); waited >= next {
			db.cfg.Logger.WarnContext(ctx, "waiting for another process that brings the database's schema up to date", "waited", waited.Round(time.Second))
			next += waitingSaid
		}
		if err := pause(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// migrationMark is between the name of the database's file and that of a process that migrates.
const migrationMark = "-migrating-"

// migrant names this process for its lease. Beside a file it holds a lock of that name as long as it lives, so that
// others on this host know when it has died.
func (db *DB) migrant(ctx context.Context) (holder string, letGo func()) {
	holder = rand.Text()
	if db.path == "" {
		return holder, func() {}
	}
	path := db.path + migrationMark + holder
	file, err := filelock.New(path)
	if err != nil {
		db.cfg.Logger.DebugContext(ctx, "the lease of a migration ends in its own time", "error", err)
		return holder, func() {}
	}
	return holder, func() {
		_ = os.Remove(path)
		_ = file.Close()
	}
}

// endDeadLease ends the lease of a process that has died.
func (db *DB) endDeadLease(ctx context.Context) error {
	if db.path == "" {
		return nil
	}
	var holder string
	err := db.schema.QueryRowContext(ctx, `SELECT holder FROM `+leaseTable).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) || err != nil && passing(err) {
		return nil
	}
	if err != nil || holder == "" || strings.ContainsAny(holder, `/\`) {
		return err
	}
	path := db.path + migrationMark + holder
	lock := filelock.Seize(path)
	if lock == nil {
		return nil // it lives, or is on another host
	}
	defer func() { _ = lock.Close() }()
	if _, err := db.schema.ExecContext(ctx, `DELETE FROM `+leaseTable+` WHERE holder = ?`, holder); err != nil && !passing(err) {
		return err
	}
	db.cfg.Logger.WarnContext(ctx, "a process died while it brought the database's schema up to date: going on with it")
	_ = os.Remove(path)
	return nil
}

// takeLease takes or renews the lease, unless another holds it.
func (db *DB) takeLease(ctx context.Context, holder string) (bool, error) {
	now := time.Now()
	res, err := db.schema.ExecContext(ctx, `INSERT INTO `+leaseTable+` (id, holder, until) VALUES (1, ?, ?)
		ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE `+leaseTable+`.until < ? OR `+leaseTable+`.holder = excluded.holder`,
		holder, micros(now.Add(leaseTime)), micros(now))
	if err != nil && passing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
