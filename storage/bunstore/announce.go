package bunstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"
)

// The processes on a PostgreSQL database announce their jobs and events to each other after the commit. A transaction that
// notifies would hold a lock of the whole server until its commit is on the disk and on synchronous standbys, so that such
// commits would follow one another. When a process dies before it announces, the others find the work by polling.

// announcement is a notification for other processes.
type announcement struct{ channel, payload string }

// announcements are those that wait to be sent.
type announcements struct {
	mu      sync.Mutex
	waiting map[announcement]bool
	sent    chan struct{} // closed when all have been sent; nil: none waits
}

// After an announcement the next one waits for a moment, so that what is committed meanwhile goes along.
const (
	announcePause = 10 * time.Millisecond
	announceLimit = 5 * time.Second
)

// announce tells other processes about new jobs of some kinds, and new events of some accounts.
func (db *DB) announce(kinds []string, accounts []int64) {
	if !db.postgres || len(kinds)+len(accounts) == 0 {
		return
	}
	a := &db.announcements
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[announcement]bool{}
	}
	for _, kind := range kinds {
		a.waiting[announcement{jobChannel, jobNotice(db.process, kind)}] = true
	}
	for _, account := range accounts {
		a.waiting[announcement{eventChannel, eventNotice(account, db.process)}] = true
	}
	if a.sent == nil {
		a.sent = make(chan struct{})
		go db.sendAnnouncements()
	}
}

// sendAnnouncements sends what waits, until nothing does.
func (db *DB) sendAnnouncements() {
	for some := db.announcements.nextBatch(); len(some) > 0; some = db.announcements.nextBatch() {
		if err := db.notify(some); err != nil {
			db.cfg.Logger.Debug("other processes were not told about jobs and events", "error", err)
		}
		time.Sleep(announcePause)
	}
}

// nextBatch returns what waits. When nothing does, all is sent.
func (a *announcements) nextBatch() (some []announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for one := range a.waiting {
		some = append(some, one)
	}
	clear(a.waiting)
	if len(some) == 0 {
		close(a.sent)
		a.sent = nil
	}
	return some
}

// wait waits until all is sent.
func (a *announcements) wait() {
	a.mu.Lock()
	sent := a.sent
	a.mu.Unlock()
	if sent != nil {
		<-sent
	}
}

// notify sends announcements. It is not part of what anybody traces.
func (db *DB) notify(some []announcement) error {
	ctx, cancel := context.WithTimeout(context.Background(), announceLimit)
	defer cancel()
	var channels, payloads []string
	for _, one := range some {
		channels, payloads = append(channels, one.channel), append(payloads, one.payload)
	}
	query := db.write.QueryGen().FormatQuery("SELECT count(pg_notify(channel, payload)) FROM unnest(?::text[], ?::text[]) AS told (channel, payload)",
		pgdialect.Array(channels), pgdialect.Array(payloads))
	_, err := db.write.DB.ExecContext(ctx, query)
	return err
}

// The channels of PostgreSQL's notifications: about new jobs and about new events.
const (
	jobChannel   = "helpwright_jobs"
	eventChannel = "helpwright_events"
)

// jobNotice is the payload of a notification about jobs of a kind: the process that has queued them, which is empty for a caller's
// transaction, and the kind. An empty payload is about jobs of any kind.
func jobNotice(process, kind string) string { return process + " " + kind }

// eventNotice is the payload of a notification about events: their account, and the process that has written them. That of a
// caller's transaction has only the account.
func eventNotice(account int64, process string) string {
	return strconv.FormatInt(account, 10) + " " + process
}

// hear handles a notification, unless this process has sent it.
func (db *DB) hear(channel, payload string) {
	if channel == jobChannel {
		process, kind, told := strings.Cut(payload, " ")
		switch {
		case !told:
			db.wakeUp()
		case process != db.process:
			db.wakeUp(kind)
		}
		return
	}
	id, process, _ := strings.Cut(payload, " ")
	if process == db.process {
		return
	}
	account, _ := strconv.ParseInt(id, 10, 64) // 0, any account, when it is not from here
	db.watchers.Notify(account)
}

// committed tells everybody who waits for what a transaction has written: at once in this process, and soon in others.
func (db *DB) committed(tx *transaction, queued bool) {
	var kinds []string
	if queued {
		kinds = mapped(tx.jobs, func(j *jobRow) string { return j.Kind })
		db.wakeUp(kinds...)
	}
	var accounts []int64
	for account := range tx.events {
		db.watchers.Notify(account)
		accounts = append(accounts, account)
	}
	db.announce(slices.Compact(slices.Sorted(slices.Values(kinds))), accounts)
}
