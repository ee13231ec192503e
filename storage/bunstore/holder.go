package bunstore

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/helpwright/helpwright/storage/filelock"
)

// A process that claims jobs holds a lock as long as it lives: one of the session on PostgreSQL, one on a file beside the
// database on SQLite. The kernel, or the server, frees it however the process ends, and others take its jobs over without
// waiting for the end of their leases.
const (
	reapInterval = 2 * time.Second
	// A lock on PostgreSQL must be free for as long as this: its holder may have lost a connection and be about to make
	// another one.
	reapPatience = 5 * time.Second
	reapTime     = 15 * time.Second // of one look: a server that gives no answer must not hold it up
	minConns     = 4
	lockMark     = "-holder-" // between the name of the database's file and that of a process
)

// holder is this process among those that claim jobs.
type holder struct {
	mu   sync.Mutex
	name string    // "": not known to others
	conn *sql.Conn // PostgreSQL: whose session has the lock
	file *os.File  // SQLite: that is locked

	reaping sync.Mutex // held while locks of others are tried

	suspects map[string]time.Time // of others: since when their locks are free; of the one goroutine that reaps
}

// hold makes sure that others can see that this process lives, and returns its name; "" where that cannot be.
func (db *DB) hold(ctx context.Context) (string, error) {
	h := &db.holder
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !db.owned, h.file != nil, h.conn != nil, !db.postgres && db.path == "":
		return h.name, nil
	case db.postgres && (db.cfg.StatementTimeout < 0 || db.write.Stats().MaxOpenConnections < minConns):
		return "", nil // of a pooler's session nobody knows how long it lives; or there is no connection to spare
	}
	if !db.postgres {
		name := strconv.FormatInt(rand.Int64(), 10)
		file, err := filelock.New(db.path + lockMark + name)
		if err != nil { // the next claim tries again
			db.cfg.Logger.WarnContext(ctx, "jobs of a crash will wait for the end of their leases", "error", err)
			return "", nil
		}
		h.name, h.file = name, file
		return name, nil
	}
	if h.name == "" {
		h.name = strconv.FormatInt(rand.Int64(), 10)
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	conn, err := db.schema.DB.Conn(ctx)
	if err != nil {
		return "", err
	}
	// Shared with nobody but our own earlier sessions, which a server may not know yet to have ended.
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock_shared("+h.name+")"); err != nil {
		_ = conn.Close()
		return "", err
	}
	h.conn = conn
	return h.name, nil
}

// Process implements [storage.Processes].
func (db *DB) Process(ctx context.Context) (string, error) { return db.hold(ctx) }

// Lives implements [storage.Processes].
func (db *DB) Lives(ctx context.Context, name string) (bool, error) {
	db.holder.mu.Lock()
	own := db.holder.name
	db.holder.mu.Unlock()
	if name == own {
		return true, nil
	}
	if number, err := strconv.ParseInt(name, 10, 64); err != nil || strconv.FormatInt(number, 10) != name {
		return false, nil // no name of ours
	}
	if db.postgres {
		var lives bool
		err := db.queue().raw("SELECT EXISTS (SELECT 1 FROM pg_locks AS l "+sessionLock+"= ?)", name).Scan(ctx, &lives)
		return lives, err
	}
	db.holder.reaping.Lock() // a lock that the reaper tries is not one that somebody holds
	defer db.holder.reaping.Unlock()
	path := db.path + lockMark + name
	if lock := filelock.Seize(path); lock != nil {
		return false, lock.Close()
	}
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return true, err
}

// sessionLock finds the lock by which a session of PostgreSQL says that a process lives: what follows is its name.
const sessionLock = `WHERE l.locktype = 'advisory' AND l.objsubid = 1
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND ((l.classid::bigint << 32) | l.objid::bigint)::text `

// letGo ends the lock, when the DB is closed.
func (h *holder) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		_ = h.file.Close() // the file stays for whoever reaps next: there may be jobs that could not be given back
	}
	if h.conn != nil {
		_ = h.conn.Close() // into the pool, which is closed next
	}
	h.file, h.conn, h.name = nil, nil, ""
}

// confirm makes sure that the lock is still held.
func (db *DB) confirm(ctx context.Context) error {
	h := &db.holder
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn == nil {
		if h.known() {
			_, err := db.hold(ctx)
			return err
		}
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, reapPatience)
	defer cancel()
	if _, err := conn.ExecContext(limited, "SELECT 1"); err == nil || ctx.Err() != nil {
		return nil
	}
	h.mu.Lock()
	_ = conn.Close()
	h.conn = nil
	h.mu.Unlock()
	_, err := db.hold(ctx)
	return err
}

// known reports whether this process has claimed jobs under its name.
func (h *holder) known() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.name != ""
}

// reap takes jobs over from processes that do not live any more, until ctx ends.
func (db *DB) reap(ctx context.Context) {
	for {
		if err := db.reapOnce(ctx); err != nil && ctx.Err() == nil {
			db.cfg.Logger.DebugContext(ctx, "looking for jobs that nobody works at failed", "error", err)
		}
		if pause(ctx, reapInterval) != nil {
			return
		}
	}
}

// reapOnce also wakes the workers when the database is back after a claim has failed: they have paused.
func (db *DB) reapOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	if err := db.confirm(ctx); err != nil {
		return err
	}
	if err := errors.Join(db.takeOver(ctx), db.giveBack(ctx)); err != nil {
		return err
	}
	if !db.hands.failed() {
		return nil
	}
	if err := db.CheckWrite(ctx); err != nil {
		return err
	}
	db.hands.works()
	db.wakeUp()
	return nil
}

// takeOver frees the jobs of those whose locks nobody holds.
func (db *DB) takeOver(ctx context.Context) error {
	if db.postgres {
		return db.takeOverSessions(ctx)
	}
	if db.path == "" {
		return nil
	}
	db.holder.reaping.Lock()
	defer db.holder.reaping.Unlock()
	entries, err := os.ReadDir(filepath.Dir(db.path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), filepath.Base(db.path)+lockMark)
		if !ours {
			continue
		}
		path := db.path + lockMark + name
		lock := filelock.Seize(path)
		if lock == nil {
			continue // its process lives
		}
		if err = db.free(ctx, name); err == nil {
			err = os.Remove(path)
		}
		_ = lock.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) takeOverSessions(ctx context.Context) error {
	h := &db.holder
	h.mu.Lock()
	own := h.name
	h.mu.Unlock()
	var names []string
	err := db.queue().raw(`SELECT h.holder FROM (SELECT DISTINCT holder FROM hw_jobs WHERE holder <> '') AS h
		WHERE h.holder <> ? AND NOT EXISTS (SELECT 1 FROM pg_locks AS l `+sessionLock+`= h.holder)`, own).Scan(ctx, &names)
	if err != nil {
		h.suspects = nil // what was seen before the database was away says nothing
		return err
	}
	suspects, now := map[string]time.Time{}, time.Now()
	for _, name := range names {
		since, known := h.suspects[name]
		if !known {
			since = now
		}
		if now.Sub(since) < reapPatience {
			suspects[name] = since
		} else if err := db.free(ctx, name); err != nil {
			return err
		}
	}
	h.suspects = suspects
	return nil
}

// free has the jobs that a process holds claimed by others.
func (db *DB) free(ctx context.Context, name string) error {
	res, err := db.queue().raw(`UPDATE hw_jobs SET lease_until = ?, due_at = run_at, holder = ''
		WHERE holder = ? AND holder <> '' AND NOT buried AND lease_until <> ?`, noTime, name, noTime).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		db.cfg.Logger.WarnContext(ctx, "took jobs over from a process that has died", "jobs", n)
		db.wakeUp()
	}
	return nil
}
