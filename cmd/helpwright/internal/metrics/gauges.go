package metrics

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// Database is queried by scrapes; a [bunstore.DB] is one.
type Database interface {
	Gauges(ctx context.Context, now time.Time) (bunstore.Gauges, error)
	PoolStats() map[string]sql.DBStats
	Replica() bunstore.ReplicaStatus
}

const (
	askedFor  = 10 * time.Second // how long a result of the database is reused, as there may be several scrapers
	askedTime = 5 * time.Second  // how long the database may take
)

// Values from the database. All servers on one database report the same ones.
var (
	databaseUp = describe("helpwright_database_up", "Whether the database answered when it was last asked for what waits.")
	askSeconds = describe("helpwright_database_gauges_duration_seconds", "How long the database took when it was last asked for what waits.")
	jobCount   = describe("helpwright_jobs", "Jobs in the queue, by kind and state; each counted up to 10000. Waiting ones are due; scheduled ones become due, some of them once more; buried ones were given up.", "kind", "state")
	jobOldest  = describe("helpwright_job_oldest_waiting_seconds", "How long the job has waited that has waited longest since it became due; 0: none waits.", "kind")
	mails      = describe("helpwright_inbound_mails", "Mails of the ledger that are received and not filed yet, or quarantined; each counted up to 10000.", "state")
	mailLag    = describe("helpwright_mailbox_lag_seconds", "Age of the oldest mail of a mailbox that was received and is not filed yet; 0: none waits.", "mailbox")
	lastFetch  = describe("helpwright_mailbox_last_success_timestamp_seconds", "When fetching a mailbox last got all mail that was there; 0: never.", "mailbox")
	connected  = describe("helpwright_mailbox_connected", "Whether a mailbox that is fetched is connected.", "mailbox")
	parked     = describe("helpwright_mailbox_parked", "Whether a mailbox is left alone because processes died at it.", "mailbox")
	deliveries = describe("helpwright_deliveries", "Recipients whose mail waits for its first or next try; counted up to 10000.", "state")
	sendOldest = describe("helpwright_delivery_oldest_waiting_seconds", "How long ago the mail was asked for that waits longest for a try; 0: none waits.", "state")

	poolConnections = describe("helpwright_database_connections", "Open connections to the database, by pool and state.", "pool", "state")
	poolLimit       = describe("helpwright_database_connections_limit", "How many connections a pool may open; 0: any number.", "pool")
	poolWaits       = describe("helpwright_database_connection_waits_total", "How often a connection had to be waited for.", "pool")
	poolWaitTime    = describe("helpwright_database_connection_wait_seconds_total", "How long connections were waited for.", "pool")
)

// Values of the database's replica, if there is one.
var (
	replicaCurrent = describe("helpwright_database_replica_current", "Whether the database's replica answers and is at most a second behind.")
	replicaLag     = describe("helpwright_database_replica_lag_seconds", "How far the database's replica is behind at most; absent while that is not known.")
	replicaReads   = describe("helpwright_database_replica_reads_total", "Lists, counts and searches that may be a second old, by who answered: the replica, or the primary in its place.", "by")
)

// gauges collects values from the database. Queries do not overlap, and a result is reused for some time.
type gauges struct {
	db  Database
	cfg Config

	mu    sync.Mutex
	asked time.Time
	took  time.Duration
	now   time.Time
	known bunstore.Gauges
	err   error
}

func newGauges(db Database, cfg Config) *gauges { return &gauges{db: db, cfg: cfg} }

// Describe implements [prometheus.Collector].
func (*gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		databaseUp, askSeconds, jobCount, jobOldest, mails, mailLag, lastFetch, connected, parked, deliveries, sendOldest,
		poolConnections, poolLimit, poolWaits, poolWaitTime, replicaCurrent, replicaLag, replicaReads,
	} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	for pool, s := range g.db.PoolStats() {
		to <- gauge(poolConnections, float64(s.InUse), pool, "in use")
		to <- gauge(poolConnections, float64(s.Idle), pool, "idle")
		to <- gauge(poolLimit, float64(s.MaxOpenConnections), pool)
		to <- count(poolWaits, float64(s.WaitCount), pool)
		to <- count(poolWaitTime, s.WaitDuration.Seconds(), pool)
	}
	g.replica(to)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ask()
	to <- gauge(askSeconds, g.took.Seconds())
	if g.err != nil { // earlier values may be far from the truth
		to <- gauge(databaseUp, 0)
		return
	}
	to <- gauge(databaseUp, 1)
	g.jobs(to)
	g.inbound(to)
	g.sending(to)
}

func (g *gauges) replica(to chan<- prometheus.Metric) {
	is := g.db.Replica()
	if is.State == bunstore.ReplicaNone {
		return
	}
	to <- gauge(replicaCurrent, yes(is.State == bunstore.ReplicaCurrent))
	if is.Lag >= 0 {
		to <- gauge(replicaLag, is.Lag.Seconds())
	}
	to <- count(replicaReads, float64(is.Served), "replica")
	to <- count(replicaReads, float64(is.Primary), "primary")
}

// ask queries the database unless the last result is recent.
func (g *gauges) ask() {
	if !g.asked.IsZero() && time.Since(g.asked) < askedFor {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askedTime)
	defer cancel()
	began := time.Now()
	g.now = g.cfg.Now()
	g.known, g.err = g.db.Gauges(ctx, g.now)
	g.asked = time.Now()
	g.took = g.asked.Sub(began)
	if g.err != nil {
		g.cfg.Logger.Warn("cannot count queues in the database", "error", shownError(g.err))
	}
}

// age returns how long ago a time was, 0 for the zero time.
func (g *gauges) age(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, g.now.Sub(since).Seconds())
}

func (g *gauges) jobs(to chan<- prometheus.Metric) {
	for _, j := range g.known.Jobs {
		to <- gauge(jobCount, float64(j.Waiting), j.Kind, "waiting")
		to <- gauge(jobCount, float64(j.Running), j.Kind, "running")
		to <- gauge(jobCount, float64(j.Scheduled), j.Kind, "scheduled")
		to <- gauge(jobOldest, g.age(j.Since), j.Kind)
	}
	for _, b := range g.known.Buried {
		to <- gauge(jobCount, float64(b.Count), b.Kind, "buried")
	}
}

func (g *gauges) inbound(to chan<- prometheus.Metric) {
	counts := map[string]int64{string(ledger.Received): 0, string(ledger.Quarantined): 0}
	lags := map[int64]float64{}
	for _, m := range g.known.Mailboxes {
		lags[m.MailboxID] = 0
	}
	for _, m := range g.known.Inbound {
		counts[m.State] += m.Count
		if m.State == string(ledger.Received) {
			lags[m.MailboxID] = g.age(m.Since)
		}
	}
	for state, n := range counts {
		to <- gauge(mails, float64(n), state)
	}
	for id, lag := range lags {
		to <- gauge(mailLag, lag, strconv.FormatInt(id, 10))
	}
	for _, m := range g.known.Mailboxes {
		id := strconv.FormatInt(m.MailboxID, 10)
		at := 0.0
		if !m.LastSuccessAt.IsZero() {
			at = float64(m.LastSuccessAt.UnixMilli()) / 1000
		}
		to <- gauge(lastFetch, at, id)
		to <- gauge(connected, yes(m.Connected), id)
		to <- gauge(parked, yes(m.Parked), id)
	}
}

func (g *gauges) sending(to chan<- prometheus.Metric) {
	waiting := map[string]bunstore.SendingGauge{string(sending.Queued): {}, string(sending.Deferred): {}}
	for _, s := range g.known.Sending {
		waiting[s.State] = s
	}
	for state, s := range waiting {
		to <- gauge(deliveries, float64(s.Count), state)
		to <- gauge(sendOldest, g.age(s.Since), state)
	}
}

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
