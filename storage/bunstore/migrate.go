package bunstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filelock"
)

// The locks of migrations: a row of a table on SQLite, and the key of an advisory lock on PostgreSQL.
const (
	leaseTable  = "hw_migration_lease"
	advisoryKey = 0x68656c7077 // "helpw"
)

// A lease on SQLite's migration is renewed while it is held. A lease left behind by a crash is taken over at once when its
// holder is known to be dead, otherwise when it expires.
const (
	leaseTime = 30 * time.Second
	leasePoll = 50 * time.Millisecond
	// waitingSaid is how often waiting is logged.
	waitingSaid = 5 * time.Second
)

// Migrate updates the tables to this release. Concurrent calls, in this or other processes, wait for each other and all
// succeed. A call interrupted by a crash blocks no process on the same host, and others for 30 seconds; the next one goes on
// where it ended. Each migration is one transaction. Afterwards Migrate makes the partitions of the next months on PostgreSQL.
// The only way back is a backup. A schema of a later release, or from before the first one, is a Conflict fault, see
// [DB.CheckSchema].
func (db *DB) Migrate(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	all, err := db.migrations()
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
	if err := db.apply(ctx, all); err != nil {
		return err
	}
	return db.makeNextPartitions(ctx)
}

// advisoryLock holds a PostgreSQL lock in a transaction of its own; the server releases it when the connection ends. A pooler
// may give the session to others between transactions.
func (db *DB) advisoryLock(ctx context.Context) (func(), error) {
	if db.write.Stats().MaxOpenConnections == 1 {
		return nil, fault.New(fault.Disabled, "Migrate needs a pool of at least two connections.")
	}
	tx, err := db.write.DB.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	letGo := func() { _ = tx.Rollback() }
	_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	if err == nil {
		err = db.await(ctx, func() (bool, error) {
			var held bool
			err := tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(advisoryKey)).Scan(&held)
			return held, err
		})
	}
	if err != nil {
		letGo()
		return nil, err
	}
	return letGo, nil
}

// leaseLock holds a row in SQLite, which has no locks that outlive a transaction.
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

// await retries until the lock is held, and logs now and then what it waits for.
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

// migrationMark separates the names of the database file and of a migrating process.
const migrationMark = "-migrating-"

// migrant returns this process's name for its lease. Next to a database file the process holds a lock of that name for its
// lifetime, so that others on this host can tell when it has died.
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

// endDeadLease ends the lease of a dead process.
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
		return nil // it is alive, or on another host
	}
	defer func() { _ = lock.Close() }()
	if _, err := db.schema.ExecContext(ctx, `DELETE FROM `+leaseTable+` WHERE holder = ?`, holder); err != nil && !passing(err) {
		return err
	}
	db.cfg.Logger.WarnContext(ctx, "a process died while it brought the database's schema up to date: going on with it")
	_ = os.Remove(path)
	return nil
}

// takeLease takes or renews the lease, unless another process holds it.
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
