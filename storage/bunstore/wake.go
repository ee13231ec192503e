package bunstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// The channels of PostgreSQL's notifications about new jobs, and about new events of the account that they name.
const (
	channel      = "helpwright_jobs"
	eventChannel = "helpwright_events"
)

// The pause before listening again after the connection was lost doubles from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Second
)

// errNoListen tells that the driver of the embedding application cannot listen.
var errNoListen = errors.New("the driver is not pgx")

// Wake implements [storage.Jobs]. Jobs of this process wake at once; those of others do while [DB.Run] runs on
// PostgreSQL.
func (db *DB) Wake() <-chan struct{} { return db.wake }

// WakeWorkers makes the workers and readers of this process look for jobs and events, after the commit of a transaction
// that a [Bound] wrote in.
func (db *DB) WakeWorkers() {
	db.wakeUp()
	db.watchers.Notify(0)
}

// NotifyEvents implements [storage.EventNotifier]. It tells of events of this process at once; of those of others while
// [DB.Run] runs on PostgreSQL.
func (db *DB) NotifyEvents(fn func(accountID int64)) (stop func()) { return db.watchers.Add(fn) }

func (db *DB) wakeUp() {
	select {
	case db.wake <- struct{}{}:
	default: // a value that nobody has taken yet says the same
	}
}

// Run listens for the jobs and events of other processes until ctx ends, on PostgreSQL, for which it keeps one connection of the
// pool; a lost one is replaced. On SQLite, and with another driver than pgx, it does not listen. It returns nil.
//
// Besides it takes the jobs of processes over that have died, without waiting for the end of their leases, where that
// can be known: of those whose databases [Open] has opened on the same server or the same file. A process that claims
// jobs of such a database keeps a connection to PostgreSQL more, or a locked file beside that of SQLite, and must call
// Run, lest the others take it for dead when a connection breaks.
func (db *DB) Run(ctx context.Context) error {
	var reaper sync.WaitGroup
	reaper.Go(func() { db.reap(ctx) })
	defer reaper.Wait()
	wait := firstPause
	for db.postgres && ctx.Err() == nil {
		began := time.Now()
		err := db.listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errNoListen) {
			break
		}
		if time.Since(began) > lastPause { // it was well for a while
			wait = firstPause
		}
		db.cfg.Logger.WarnContext(ctx, "listening for jobs and events was interrupted", "error", err, "pause", wait)
		if pause(ctx, wait) != nil {
			return nil
		}
		wait = min(2*wait, lastPause)
	}
	<-ctx.Done()
	return nil
}

// listen waits for notifications on one connection until it breaks.
func (db *DB) listen(ctx context.Context) error {
	conn, err := db.write.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool, or broken anyway
	var failed error
	err = conn.Raw(func(raw any) error {
		c, ok := raw.(interface{ Conn() *pgx.Conn })
		if !ok {
			failed = errNoListen
			return nil
		}
		failed = db.receive(ctx, c.Conn())
		return driver.ErrBadConn // a connection that listens must not go back to the pool
	})
	if failed != nil {
		return failed
	}
	return err
}

func (db *DB) receive(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "LISTEN "+channel+"; LISTEN "+eventChannel); err != nil {
		return err
	}
	db.WakeWorkers() // there may have come some while nobody listened
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.Channel == channel {
			db.wakeUp()
			continue
		}
		account, _ := strconv.ParseInt(n.Payload, 10, 64) // 0, any account, when it is not from here
		db.watchers.Notify(account)
	}
}
