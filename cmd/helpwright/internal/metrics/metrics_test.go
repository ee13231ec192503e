package metrics_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/metrics"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/transport/server"
	"github.com/helpwright/helpwright/transport/site"
)

// database counts its queries.
type database struct {
	mu    sync.Mutex
	asked int
	err   error
	known bunstore.Gauges
}

func (d *database) Gauges(ctx context.Context, _ time.Time) (bunstore.Gauges, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if _, limited := ctx.Deadline(); !limited {
		return bunstore.Gauges{}, errors.New("it may take for ever")
	}
	return d.known, d.err
}

func (*database) Replica() bunstore.ReplicaStatus {
	return bunstore.ReplicaStatus{State: bunstore.ReplicaCurrent, Lag: 250 * time.Millisecond, Served: 7, Primary: 2}
}
func (*database) PoolStats() map[string]sql.DBStats { return map[string]sql.DBStats{"all": {InUse: 3}} }

type serving struct{}

func (serving) SiteCache() (site.CacheStats, bool) {
	return site.CacheStats{Hits: 7, Misses: 3}, true
}

func (serving) Swept() *blobs.Swept { return &blobs.Swept{Looked: 5} }

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

func has(t *testing.T, text string, want bool, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if strings.Contains(text, "\n"+line) != want {
			t.Errorf("%q is there: %t, want %t", line, !want, want)
		}
	}
}

// TestGaugesAreAskedSeldom scrapes often: the database is queried only once in a while, and never concurrently.
func TestGaugesAreAskedSeldom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	db := &database{known: bunstore.Gauges{
		Jobs:      []bunstore.JobGauge{{Kind: "mail.send", Waiting: 2, Since: now.Add(-time.Minute)}},
		Inbound:   []bunstore.InboundGauge{{MailboxID: 3, State: "received", Count: 4, Since: now.Add(-time.Hour)}},
		Mailboxes: []bunstore.FetchGauge{{MailboxID: 5, Connected: true}},
	}}
	m := metrics.New(metrics.Config{Now: func() time.Time { return now }})
	if err := m.Of(serving{}, db); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() { scrape(t, m) })
	}
	wait.Wait()
	text := scrape(t, m)
	if db.asked != 1 {
		t.Errorf("asked %d times", db.asked)
	}
	has(t, text, true, `helpwright_database_up 1`, `helpwright_jobs{kind="mail.send",state="waiting"} 2`, `helpwright_job_oldest_waiting_seconds{kind="mail.send"} 60`,
		`helpwright_inbound_mails{state="received"} 4`, `helpwright_inbound_mails{state="quarantined"} 0`, `helpwright_mailbox_lag_seconds{mailbox="3"} 3600`,
		`helpwright_mailbox_lag_seconds{mailbox="5"} 0`, `helpwright_mailbox_connected{mailbox="5"} 1`, `helpwright_mailbox_last_success_timestamp_seconds{mailbox="5"} 0`,
		`helpwright_deliveries{state="queued"} 0`, `helpwright_site_cache_requests_total{result="hit"} 7`, `helpwright_blob_sweep_files{result="looked at"} 5`,
		`helpwright_database_connections{pool="all",state="in use"} 3`, `helpwright_database_replica_current 1`, `helpwright_database_replica_lag_seconds 0.25`,
		`helpwright_database_replica_reads_total{by="primary"} 2`, `helpwright_database_replica_reads_total{by="replica"} 7`)
}

// TestDatabaseIsAway has the database fail: the failure is reported, and no earlier values.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{})
	if err := m.Of(serving{}, &database{err: errors.New("gone"), known: bunstore.Gauges{Jobs: []bunstore.JobGauge{{Kind: "a"}}}}); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, m)
	has(t, text, true, `helpwright_database_up 0`, `helpwright_sends_total{result="sent"} 0`)
	has(t, text, false, `helpwright_jobs{`, `helpwright_inbound_mails{`)
}

// TestStreamsHaveNoDuration counts a stream of events, which lasts as long as a browser window.
func TestStreamsHaveNoDuration(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{})
	var cfg server.Config
	m.Watch(&cfg)
	cfg.Observe(server.Request{Method: "GET", Route: "/events", Status: 200, Took: time.Hour, Stream: true})
	cfg.Observe(server.Request{Method: "GET", Status: 404, Took: time.Second})
	text := scrape(t, m)
	has(t, text, true, `helpwright_http_requests_total{method="GET",route="/events",status="2xx"} 1`, `helpwright_http_requests_total{method="GET",route="{none}",status="4xx"} 1`,
		`helpwright_http_request_duration_seconds_count{method="GET",route="{none}"} 1`)
	has(t, text, false, `helpwright_http_request_duration_seconds_count{method="GET",route="/events"}`)
}
