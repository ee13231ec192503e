package bunstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// After a lost connection the pause before listening again doubles from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Second
)

// ErrNoListen is the error of Config.Listen when the driver cannot listen.
var ErrNoListen = errors.New("bunstore: the driver cannot listen")

// Wake implements [storage.Jobs]. Jobs of this process wake workers at once; so do those of other processes while [DB.Run]
// runs on PostgreSQL.
func (db *DB) Wake() <-chan struct{} { return db.wake }

// woken has what the values of Wake are about.
type woken struct {
	mu    sync.Mutex
	kinds map[string]bool
	all   bool
}

// Woken implements [storage.KindWaker].
func (db *DB) Woken() (kinds []string, all bool) {
	w := &db.woken
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds, all = slices.Sorted(maps.Keys(w.kinds)), w.all
	w.kinds, w.all = nil, false
	return kinds, all
}

// WakeWorkers makes the workers and readers of this process look for jobs and events. Call it after committing a transaction
// that a [Bound] wrote in.
//
// It also makes lists that may lag show its changes. Without it they do within a second.
func (db *DB) WakeWorkers() {
	db.replica.wroteAny()
	db.wakeUp()
	db.watchers.Notify(0)
}

// NotifyEvents implements [storage.EventNotifier]. It reports events of this process at once, and those of other processes
// while [DB.Run] runs on PostgreSQL.
func (db *DB) NotifyEvents(fn func(accountID int64)) (stop func()) { return db.watchers.Add(fn) }

// wakeUp wakes the workers of this process for jobs of some kinds; without any, of all.
func (db *DB) wakeUp(kinds ...string) {
	db.woken.mu.Lock()
	db.woken.all = db.woken.all || len(kinds) == 0
	if db.woken.kinds == nil {
		db.woken.kinds = map[string]bool{}
	}
	for _, kind := range kinds {
		db.woken.kinds[kind] = true
	}
	db.woken.mu.Unlock()
	select {
	case db.wake <- struct{}{}:
	default: // an untaken value says the same
	}
}

// Run listens for the jobs and events of other processes on PostgreSQL until ctx ends. It uses one connection of the pool
// and replaces it when it is lost. On SQLite, and without Config.Listen, it does not listen. It returns nil.
//
// Run also takes over the jobs of dead processes without waiting for their leases to expire. It recognizes dead processes
// whose databases were opened by package sqlite or postgres on the same file or server. A process that claims jobs of such a
// database uses one more PostgreSQL connection, or a locked file next to the SQLite database. It must call Run; otherwise
// other processes may take it for dead when a connection breaks. Run also maintains the full-text indexes of a SQLite
// database, and the statistics of one that was opened for the DB.
func (db *DB) Run(ctx context.Context) error {
	var others sync.WaitGroup
	others.Go(func() { db.reap(ctx) })
	others.Go(func() { db.keepStatistics(ctx) })
	others.Go(func() { db.keepMerged(ctx) })
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
	begun := db.WakeWorkers             // some may have arrived while nothing listened
	return db.cfg.Listen(ctx, conn, []string{jobChannel, eventChannel}, begun, db.hear)
}
