package bunstore

import (
	"context"
	"database/sql"
	"time"
)

// MaxGauge is the highest value of each count in [DB.Gauges]: larger backlogs are not counted exactly.
const MaxGauge = 10_000

// maxGaugedMailboxes limits how many mailboxes are reported.
const maxGaugedMailboxes = 1000

// Gauges reports the backlog of a database to its operators.
type Gauges struct {
	Jobs      []JobGauge     // by kind, for kinds that have jobs
	Buried    []KindCount    // failed jobs by kind; at most MaxGauge in all, oldest first
	Inbound   []InboundGauge // unprocessed mails of the ledger by mailbox and state; at most MaxGauge per state
	Sending   []SendingGauge // recipients whose mail waits for an attempt, by state; at most MaxGauge in all
	Mailboxes []FetchGauge   // mailboxes that are fetched, by id; at most 1000
}

// JobGauge reports the queue of one kind of jobs.
type JobGauge struct {
	Kind      string
	Waiting   int64     // due and unclaimed
	Running   int64     // claimed by a worker
	Scheduled int64     // due later: scheduled, or waiting for a retry
	Since     time.Time // when the oldest waiting job became due; zero: none waits
}

// KindCount is the number of jobs of a kind.
type KindCount struct {
	Kind  string
	Count int64
}

// InboundGauge reports the mails of a mailbox in one state: received or quarantined.
type InboundGauge struct {
	MailboxID int64
	State     string
	Count     int64
	Since     time.Time // when the oldest of them arrived
}

// SendingGauge reports the deliveries in one state: queued or deferred.
type SendingGauge struct {
	State string
	Count int64
	Since time.Time // when the oldest of them was requested
}

// FetchGauge reports the state of fetching a mailbox.
type FetchGauge struct {
	MailboxID     int64
	Connected     bool
	Parked        bool      // fetching is suspended, because processes died during it
	LastSuccessAt time.Time // zero: never
}

// Gauges counts the backlog. It reads a few indexes, however large the tables are, and no whole table. Limit its time with
// ctx.
func (db *DB) Gauges(ctx context.Context, now time.Time) (Gauges, error) {
	var g Gauges
	for _, read := range []func(context.Context, *Gauges, time.Time) error{
		db.gaugeJobs, db.gaugeFailed, db.gaugeInbound, db.gaugeSending, db.gaugeMailboxes,
	} {
		if err := read(ctx, &g, now); err != nil {
			return Gauges{}, failure(ctx, err, "gauge", 0)
		}
	}
	return g, nil
}

// jobKinds steps from kind to kind in the index of due jobs.
const jobKinds = `WITH RECURSIVE kinds(kind) AS (
		SELECT (SELECT MIN(kind) FROM hw_jobs WHERE NOT buried)
		UNION ALL SELECT (SELECT MIN(kind) FROM hw_jobs WHERE NOT buried AND kind > kinds.kind) FROM kinds WHERE kinds.kind IS NOT NULL)
	SELECT kind FROM kinds WHERE kind IS NOT NULL ORDER BY kind`

// jobGauge counts the jobs of a kind in index order, so that it reads nothing beyond the limit.
const jobGauge = `SELECT ?0 AS kind,
	(SELECT COUNT(*) FROM (SELECT 1 FROM hw_jobs WHERE kind = ?0 AND due_at <= ?1 AND NOT buried ORDER BY due_at LIMIT ?2) AS due) AS waiting,
	(SELECT COUNT(*) FROM (SELECT 1 FROM hw_jobs WHERE kind = ?0 AND due_at > ?1 AND NOT buried ORDER BY due_at LIMIT ?2) AS later) AS later,
	(SELECT COUNT(*) FROM (SELECT lease_until FROM hw_jobs WHERE kind = ?0 AND due_at > ?1 AND NOT buried ORDER BY due_at LIMIT ?2) AS held
		WHERE lease_until > ?1) AS running,
	(SELECT MIN(due_at) FROM hw_jobs WHERE kind = ?0 AND due_at <= ?1 AND NOT buried) AS since`

func (db *DB) gaugeJobs(ctx context.Context, g *Gauges, now time.Time) error {
	var kinds []string
	if err := db.raw(jobKinds).Scan(ctx, &kinds); err != nil || len(kinds) == 0 {
		return err
	}
	all := db.raw(jobGauge, kinds[0], micros(now), MaxGauge)
	for _, kind := range kinds[1:] {
		all = db.raw("? UNION ALL ?", all, db.raw(jobGauge, kind, micros(now), MaxGauge))
	}
	var rows []struct {
		Kind                    string
		Waiting, Running, Later int64
		Since                   sql.NullInt64
	}
	err := all.Scan(ctx, &rows)
	for _, r := range rows {
		one := JobGauge{Kind: r.Kind, Waiting: r.Waiting, Running: r.Running, Scheduled: max(0, r.Later-r.Running)}
		if r.Since.Valid {
			one.Since = timeOf(r.Since.Int64)
		}
		g.Jobs = append(g.Jobs, one)
	}
	return err
}

const failedGauges = `SELECT kind, COUNT(*) AS count FROM (SELECT kind FROM hw_jobs WHERE buried ORDER BY id LIMIT ?) AS b GROUP BY kind ORDER BY kind`

func (db *DB) gaugeFailed(ctx context.Context, g *Gauges, _ time.Time) error {
	return db.raw(failedGauges, MaxGauge).Scan(ctx, &g.Buried)
}

// inboundGauges are in the order of these states' indexes, which hold nothing else.
var inboundGauges = []string{
	`SELECT mailbox_id, COUNT(*) AS count, MIN(received_at) AS since FROM (SELECT mailbox_id, received_at FROM hw_inbound_mails
		WHERE state = 'received' ORDER BY account_id, mailbox_id, id LIMIT ?) AS m GROUP BY mailbox_id ORDER BY mailbox_id`,
	`SELECT mailbox_id, COUNT(*) AS count, MIN(received_at) AS since FROM (SELECT mailbox_id, received_at FROM hw_inbound_mails
		WHERE state = 'quarantined' ORDER BY account_id, mailbox_id LIMIT ?) AS m GROUP BY mailbox_id ORDER BY mailbox_id`,
}

func (db *DB) gaugeInbound(ctx context.Context, g *Gauges, _ time.Time) error {
	for i, state := range []string{"received", "quarantined"} {
		var rows []struct{ MailboxID, Count, Since int64 }
		if err := db.raw(inboundGauges[i], MaxGauge).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			g.Inbound = append(g.Inbound, InboundGauge{MailboxID: r.MailboxID, State: state, Count: r.Count, Since: timeOf(r.Since)})
		}
	}
	return nil
}

const sendingGauges = `SELECT state, COUNT(*) AS count, MIN(created_at) AS since FROM (SELECT state, created_at FROM hw_deliveries
	WHERE state IN ('queued', 'deferred') ORDER BY account_id, interaction_id LIMIT ?) AS d GROUP BY state ORDER BY state`

func (db *DB) gaugeSending(ctx context.Context, g *Gauges, _ time.Time) error {
	var rows []struct {
		State        string
		Count, Since int64
	}
	err := db.raw(sendingGauges, MaxGauge).Scan(ctx, &rows)
	for _, r := range rows {
		g.Sending = append(g.Sending, SendingGauge{State: r.State, Count: r.Count, Since: timeOf(r.Since)})
	}
	return err
}

const fetchGauges = `SELECT m.id AS mailbox_id, s.connected, s.parked_at, s.last_success_at FROM hw_mailboxes AS m
	JOIN hw_fetch_status AS s ON s.account_id = m.account_id AND s.mailbox_id = m.id
	WHERE m.inbound_type <> 'FWD' ORDER BY m.id LIMIT ?`

func (db *DB) gaugeMailboxes(ctx context.Context, g *Gauges, _ time.Time) error {
	var rows []struct {
		MailboxID     int64
		Connected     bool
		ParkedAt      int64
		LastSuccessAt int64
	}
	err := db.raw(fetchGauges, maxGaugedMailboxes).Scan(ctx, &rows)
	for _, r := range rows {
		g.Mailboxes = append(g.Mailboxes, FetchGauge{
			MailboxID: r.MailboxID, Connected: r.Connected, Parked: r.ParkedAt != noTime, LastSuccessAt: timeOf(r.LastSuccessAt),
		})
	}
	return err
}

// PoolStats returns statistics of the database connections by pool: "all" and, with a replica, "replica", or "read" and
// "write" for SQLite.
func (db *DB) PoolStats() map[string]sql.DBStats {
	if db.replica != nil {
		return map[string]sql.DBStats{"all": db.write.DB.Stats(), "replica": db.replica.db.DB.Stats()}
	}
	if db.read == db.write {
		return map[string]sql.DBStats{"all": db.write.DB.Stats()}
	}
	return map[string]sql.DBStats{"read": db.read.DB.Stats(), "write": db.write.DB.Stats()}
}
