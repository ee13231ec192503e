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

// A process that claims jobs holds a lock for its lifetime: a session lock on PostgreSQL, a lock on a file next to the
// database on SQLite. However the process ends, the server or the kernel releases the lock, and other processes take over
// its jobs without waiting for their leases to expire.
const (
	reapInterval = 2 * time.Second
	// A lock on PostgreSQL must be free for this long: its holder may have lost a connection and be about to open another.
	reapPatience = 5 * time.Second
	reapTime     = 15 * time.Second // of one check: an unresponsive server must not block it
	minConns     = 4
	lockMark     = "-holder-" // between the names of the database file and the process
)

// holder is this process's place among those that claim jobs.
type holder struct {
	mu   sync.Mutex
	name string    // "": unknown to other processes
	conn *sql.Conn // PostgreSQL: its session holds the lock
	file *os.File  // SQLite: the locked file

	reaping sync.Mutex // held while the locks of others are checked

	suspects map[string]time.Time // of others: since when their locks are free; used only by the reaping goroutine
}

// hold acquires the lock that shows others that this process is alive, and returns its name; "" where that is impossible.
func (db *DB) hold(ctx context.Context) (string, error) {
	h := &db.holder
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !db.owned, h.file != nil, h.conn != nil, !db.postgres && db.path == "":
		return h.name, nil
	case db.postgres && (db.cfg.StatementTimeout < 0 || db.write.Stats().MaxOpenConnections < minConns):
		return "", nil // the life of a pooler's session is unknown, or there is no connection to spare
	}
	if !db.postgres {
		name := strconv.FormatInt(rand.Int64(), 10)
		file, err := filelock.New(db.path + lockMark + name)
		if err != nil { // the next claim retries
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
	// Shared only with earlier sessions of our own that the server may still consider open.
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock_shared("+h.name+")"); err != nil {
		_ = conn.Close()
		return "", err
	}
	h.conn = conn
	return h.name, nil
}

// Process implements [storage.Processes].
func (db *DB) Process(ctx context.Context) (string, error) {
	name, err := db.hold(ctx)
	return name, failure(ctx, err, "process", 0)
}

// Lives implements [storage.Processes].
func (db *DB) Lives(ctx context.Context, name string) (bool, error) {
	db.holder.mu.Lock()
	own := db.holder.name
	db.holder.mu.Unlock()
	if name == own {
		return true, nil
	}
	if number, err := strconv.ParseInt(name, 10, 64); err != nil || strconv.FormatInt(number, 10) != name {
		return false, nil // not a name of this package
	}
	if db.postgres {
		var lives bool
		err := db.queue().raw("SELECT EXISTS (SELECT 1 FROM pg_locks AS l "+sessionLock+"= ?)", name).Scan(ctx, &lives)
		return lives, failure(ctx, err, "process", 0)
	}
	db.holder.reaping.Lock() // so that a lock tried by the reaper does not count as held
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

// sessionLock matches the lock by which a PostgreSQL session marks a process alive; the name follows.
const sessionLock = `WHERE l.locktype = 'advisory' AND l.objsubid = 1
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND ((l.classid::bigint << 32) | l.objid::bigint)::text `

// letGo releases the lock when the DB is closed.
func (h *holder) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		_ = h.file.Close() // the file stays for the next reaper: some jobs may not have been released
	}
	if h.conn != nil {
		_ = h.conn.Close() // back to the pool, which is closed next
	}
	h.file, h.conn, h.name = nil, nil, ""
}

// confirm checks that the lock is still held.
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

// reap takes over jobs of dead processes until ctx ends.
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

// reapOnce also wakes the workers, which pause after a failed claim, once the database is back.
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

// takeOver releases the jobs of processes whose locks are free.
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
			continue // its process is alive
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
		h.suspects = nil // observations from before the outage no longer count
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

// free releases the jobs that a process holds.
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
