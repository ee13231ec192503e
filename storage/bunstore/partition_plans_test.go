package bunstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// logRows is the number of events that fillLogs makes, and that of entries of the audit log.
const logRows = 240_000

// fillLogs fills this month and the next ones of the logs of two accounts, the first with ten times the rows. The months are
// whole: whatever day it is, none has so few rows that the server had better read all of them.
func fillLogs(tb testing.TB, db *bunstore.DB, months int) {
	tb.Helper()
	now := time.Now().UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	step := first.AddDate(0, months, 0).Sub(first) / (logRows + 1)
	time := fmt.Sprintf("%d + n * %d::bigint", first.UnixMicro(), step.Microseconds())
	for _, statement := range []string{
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, last_event, created_at, updated_at) SELECT 'a', 1, 'en', '[]', %[1]d, 0, 0 FROM generate_series(1, 2)`,
		`INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, conversation_id, time)
			SELECT CASE WHEN n %% 11 = 0 THEN 2 ELSE 1 END, n, 'conversation.type' || n %% 7, n, n %% 3, 0, n %% 1000, %[2]s FROM generate_series(1, %[1]d) AS n`,
		`INSERT INTO hw_audit (account_id, action, subject, mailbox_id, user_id, token_id, address, created_at)
			SELECT CASE WHEN n %% 11 = 0 THEN 2 ELSE 1 END, 'a.b' || n %% 7, 0, 0, n %% 50, 0, '', %[2]s FROM generate_series(1, %[1]d) AS n`,
		`ANALYZE`,
	} {
		if statement != "ANALYZE" {
			statement = fmt.Sprintf(statement, logRows, time)
		}
		if err := bunstore.Exec(tb.Context(), db, statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// Lists of logs with many rows in many partitions read the indexes of these in their order, with the server's own settings.
func TestPlansOfPartitions(t *testing.T) {
	t.Parallel()
	app := embedded["PostgreSQL"](t)
	t.Cleanup(func() { _ = app.Close() })
	own, seen := bunstore.New(app, bunstore.Config{}), &recorder{}
	if err := own.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bunstore.MakePartitions(t.Context(), own, time.Now(), 24); err != nil {
		t.Fatal(err)
	}
	fillLogs(t, own, 24)
	db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
	r := db.Within(helpdesk.Scope{AccountID: 1})
	// A page may be sorted, not the log. The default partitions are empty.
	bad := regexp.MustCompile(`Seq Scan on hw_(events|audit)_[by]|Sort  \(.* rows=\d{4,} `)
	for name, list := range logLists() {
		if strings.HasPrefix(name, "prune") { // its batch may be half of a small partition
			continue
		}
		for _, from := range []*storage.Position{nil, {Key: time.Now().Add(300 * 24 * time.Hour).UnixMicro(), ID: logRows / 2}} {
			seen.take()
			if err := list(t.Context(), db, r, storage.Seek{From: from, Desc: true, Limit: 26}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, query := range seen.take() {
				if plan := planOf(t, app, query); bad.MatchString(plan) {
					t.Errorf("%s:\n%s\n%s", name, query, plan)
				}
			}
		}
	}
}

// logLists returns the statements on the logs.
func logLists() map[string]func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
	type list = func(ctx context.Context, db *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error
	events := func(f subscription.EventFilter) list {
		return func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.Events(ctx, f, seek)
			return err
		}
	}
	audit := func(f helpdesk.AuditFilter) list {
		return func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, seek storage.Seek) error {
			_, err := r.AuditLog(ctx, f, seek)
			return err
		}
	}
	prune := func(of func(tx helpdesk.Tx) func(context.Context, time.Time, int) (int, error)) list {
		return func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
			return db.InTx(ctx, helpdesk.Scope{AccountID: 1}, func(ctx context.Context, tx helpdesk.Tx) error {
				_, err := of(tx)(ctx, time.Now().Add(100*24*time.Hour), 500)
				return err
			})
		}
	}
	type pruning = func(context.Context, time.Time, int) (int, error)
	return map[string]list{
		"events after": func(ctx context.Context, db *bunstore.DB, _ helpdesk.Reader, _ storage.Seek) error {
			_, err := db.Events(ctx, 1, logRows-100, 100)
			return err
		},
		"events by numbers": func(ctx context.Context, _ *bunstore.DB, r helpdesk.Reader, _ storage.Seek) error {
			_, err := r.EventsBySeq(ctx, []int64{1, 1000, logRows - 1})
			return err
		},
		"events": events(subscription.EventFilter{}), "events of a conversation": events(subscription.EventFilter{ConversationIDs: []int64{7}}),
		"events of a type": events(subscription.EventFilter{Types: []string{"conversation.type3"}}),
		"entries":          audit(helpdesk.AuditFilter{}), "entries of an action": audit(helpdesk.AuditFilter{Action: "a.b3"}),
		"entries of a user": audit(helpdesk.AuditFilter{UserID: storage.Some[int64](3)}),
		"entries since":     audit(helpdesk.AuditFilter{Since: time.Now().Add(600 * 24 * time.Hour)}),
		"prune events":      prune(func(tx helpdesk.Tx) pruning { return tx.PruneEvents }),
		"prune entries":     prune(func(tx helpdesk.Tx) pruning { return tx.PruneAudit }),
	}
}
