package bunstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
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

// ErrNoListen is what Config.Listen answers when the driver of a connection cannot listen.
var ErrNoListen = errors.New("bunstore: the driver cannot listen")

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
// pool; a lost one is replaced. On SQLite, and without Config.Listen, it does not listen. It returns nil.
//
// Besides it takes the jobs of processes over that have died, without waiting for the end of their leases, where that
// can be known: of those whose databases package sqlite or postgres has opened on the same server or the same file. A process that claims
// jobs of such a database keeps a connection to PostgreSQL more, or a locked file beside that of SQLite, and must call
// Run, lest the others take it for dead when a connection breaks. It also keeps the statistics of a SQLite that was opened for the DB.
func (db *DB) Run(ctx context.Context) error {
	var others sync.WaitGroup
	others.Go(func() { db.reap(ctx) })
	others.Go(func() { db.keepStatistics(ctx) })
	defer others.Wait()
	wait := firstPause
	for db.postgres && db.cfg.Listen != nil && ctx.Err() == nil {
		began := time.Now()
		err := db.listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrNoListen) {
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
	begun := db.WakeWorkers             // there may have come some while nobody listened
	return db.cfg.Listen(ctx, conn, []string{channel, eventChannel}, begun, func(name, payload string) {
		if name == channel {
			db.wakeUp()
			return
		}
		account, _ := strconv.ParseInt(payload, 10, 64) // 0, any account, when it is not from here
		db.watchers.Notify(account)
	})
}
