package bunstore_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage/bunstore"
)

// gauged is the number of rows in each table of TestGauges.
const gauged = 60_000

// wholeTable matches a plan that scans a whole table, or all jobs.
var wholeTable = regexp.MustCompile(`SCAN (hw_jobs|hw_inbound_mails|hw_deliveries|j)( AS [a-z]+)?($|\n)|Seq Scan on hw_(jobs|inbound_mails|deliveries)`)

// TestGauges counts the backlog in tables with mostly irrelevant rows, using only indexes, and no further than documented.
func TestGauges(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		now := time.UnixMicro(1_700_000_000_000_000).UTC()
		fillGauged(t, app)
		seen := &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		got, err := db.Gauges(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		want := bunstore.Gauges{
			Jobs: []bunstore.JobGauge{
				{Kind: "few", Waiting: 2, Running: 1, Scheduled: 3, Since: now.Add(-2 * time.Hour)},
				{Kind: "many", Waiting: bunstore.MaxGauge, Since: now.Add(-time.Hour)},
				{Kind: "snoozed", Scheduled: bunstore.MaxGauge},
			},
			Buried: []bunstore.KindCount{{Kind: "broken", Count: 3}},
			Inbound: []bunstore.InboundGauge{
				{MailboxID: 1, State: "received", Count: 6, Since: now.Add(-10 * time.Minute)},
				{MailboxID: 1, State: "quarantined", Count: 3, Since: now.Add(-10 * time.Minute)},
			},
			Sending:   []bunstore.SendingGauge{{State: "deferred", Count: 6, Since: now.Add(-20 * time.Minute)}},
			Mailboxes: []bunstore.FetchGauge{{MailboxID: 1, Connected: true, LastSuccessAt: now.Add(-time.Minute)}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if stats := db.PoolStats(); len(stats) != 1 || stats["all"].OpenConnections == 0 {
			t.Errorf("pools: %+v", stats)
		}
		for _, query := range seen.take() {
			if plan := planOf(t, app, query); wholeTable.MatchString(plan) {
				t.Errorf("%s\n%s", query, plan)
			}
		}
		began := time.Now()
		if _, err := db.Gauges(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v", time.Since(began))
	})
}

// fillGauged creates the rows that TestGauges counts.
func fillGauged(t *testing.T, app *bun.DB) {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	settings, analyse := "PRAGMA foreign_keys = 0", "PRAGMA analysis_limit = 100; ANALYZE"
	if strings.Contains(app.String(), "pg") {
		settings, analyse = "SET session_replication_role = replica", "ANALYZE"
	}
	const now = "1700000000000000"
	job := func(kind, due, lease, buried, rows string) string {
		return `INSERT INTO hw_jobs (kind, account_id, subject, unique_key, run_at, due_at, lease_until, buried)
			SELECT '` + kind + `', 1, n.i, '', ` + due + `, ` + due + `, ` + lease + `, ` + buried + ` FROM n WHERE n.i <= ` + rows
	}
	const none, minute = "-62135596800000000", "CAST(60000000 AS BIGINT)"
	for _, statement := range []string{
		settings,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'm', 'm', 'm', '', 'm', 'IMAP', '', 0, '', '', TRUE, '[]', 0, 0), (1, 'n', 'n', 'n', '', 'n', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_fetch_status (account_id, mailbox_id, connected, last_success_at, last_error_at, last_error, updated_at)
			VALUES (1, 1, TRUE, ` + now + ` - ` + minute + `, 0, '', 0)`,
		job("many", now+" - 60 * "+minute, none, "FALSE", fmt.Sprint(gauged)),
		job("snoozed", now+" + 60 * "+minute, none, "FALSE", fmt.Sprint(gauged)),
		job("few", now+" - n.i * 60 * "+minute, none, "FALSE", "2"),
		job("few", now+" + 5 * "+minute, now+" + 5 * "+minute, "FALSE", "1"),
		job("few", now+" + 60 * "+minute, none, "FALSE", "3"),
		job("broken", now, none, "TRUE", "3"),
		`INSERT INTO hw_inbound_mails (account_id, mailbox_id, source, position, state, reason, raw_key, size, message_id, received_at, updated_at)
			SELECT 1, 1, 'imap', n.n, CASE WHEN n.i % 10000 = 0 THEN 'received' WHEN n.i % 20000 = 1 THEN 'quarantined' ELSE 'filed' END, '', n.n, 1, '',
			` + now + ` - 10 * ` + minute + `, 0 FROM n`,
		`INSERT INTO hw_deliveries (account_id, interaction_id, address, field, state, attempts, code, enhanced_code, response, next_attempt_at, created_at, updated_at)
			SELECT 1, n.i, '', 'to', CASE WHEN n.i % 10000 = 0 THEN 'deferred' ELSE 'sent' END, 1, 0, '', '', 0, ` + now + ` - 20 * ` + minute + `, 0 FROM n`,
		analyse,
	} {
		if strings.Contains(statement, "FROM n") {
			statement = fmt.Sprintf(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d),
				n AS (SELECT i, CAST(i AS TEXT) AS n FROM s) `, gauged) + statement
		}
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
