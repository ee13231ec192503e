package bunstore

import (
	"context"
	"crypto/rand"
	"embed"
	"io/fs"
	"time"

	"github.com/uptrace/bun/migrate"

	"github.com/helpwright/helpwright/storage/fault"
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

// A lease on the migration of SQLite is renewed while it is held. One that was left behind by a crash is taken over
// after its end.
const (
	leaseTime = 30 * time.Second
	leasePoll = 50 * time.Millisecond
)

// Migrate brings the tables up to this release. Calls at the same time, of this process or of others, wait for each
// other and all succeed; one that a crash has interrupted stops nobody for longer than 30 seconds. Each migration is
// one transaction; what is older than the order of interactions is then put into its place and what is older than search
// into its index, each account in one of its own, and the articles that are older than references get theirs, each site
// in one of its own. There is no way back but a backup.
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
	migrator, err := db.migrator()
	if err != nil {
		return nil, err
	}
	known := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`
	if db.postgres {
		known = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?`
	}
	var tables int
	if err := db.write.NewRaw(known, migrationsTable).Scan(ctx, &tables); err != nil {
		return nil, failure(ctx, err, "migration", 0)
	}
	applied := map[string]bool{}
	if tables > 0 {
		migrations, err := migrator.AppliedMigrations(ctx)
		if err != nil {
			return nil, failure(ctx, err, "migration", 0)
		}
		for _, m := range migrations {
			applied[m.Name] = true
		}
	}
	all, err := db.migrations()
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, m := range all.Sorted() {
		if !applied[m.Name] {
			pending = append(pending, m.Name+"_"+m.Comment)
		}
	}
	return pending, nil
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
	for {
		var held bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", int64(advisoryKey)).Scan(&held)
		if err == nil && held {
			break
		}
		if err == nil {
			err = pause(ctx, leasePoll)
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
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
	holder := rand.Text()
	for {
		held, err := db.takeLease(ctx, holder)
		if err == nil && held {
			break
		}
		if err == nil {
			err = pause(ctx, leasePoll)
		}
		if err != nil {
			return nil, err
		}
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
	}, nil
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
