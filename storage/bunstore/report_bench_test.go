package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// BenchmarkReports makes the reports of a year of an account that has a million conversations, begun over three years. It takes
// minutes to fill the database: HELPWRIGHT_BENCH_REPORTS=1 asks for it.
func BenchmarkReports(b *testing.B) {
	if os.Getenv("HELPWRIGHT_BENCH_REPORTS") == "" {
		b.Skip("HELPWRIGHT_BENCH_REPORTS is not set")
	}
	benchmarks(b, func(b *testing.B, s *bench) {
		sealer, err := storage.NewSealer(make([]byte, 32))
		if err != nil {
			b.Fatal(err)
		}
		svc, err := helpdesk.New(helpdesk.Config{Store: s.db, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32), Now: func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }})
		if err != nil {
			b.Fatal(err)
		}
		user, err := svc.Operator().CreateUser(b.Context(), identity.UserInput{Email: "reader@example.org"})
		if err != nil {
			b.Fatal(err)
		}
		account, err := svc.Operator().CreateAccount(b.Context(), identity.AccountInput{Name: "Reports"}, user.ID)
		if err != nil {
			b.Fatal(err)
		}
		s.scope = helpdesk.Scope{AccountID: account.ID}
		s.reported(b, 1_000_000)
		desk, err := svc.Desk(b.Context(), svc.As(user.ID), s.scope.AccountID)
		if err != nil {
			b.Fatal(err)
		}
		q := report.Query{From: time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Timezone: "Europe/Berlin"}
		for _, name := range report.Names() {
			b.Run(string(name), func(b *testing.B) {
				q.GroupBy = name.Groups()[0]
				for b.Loop() {
					r, err := desk.Reports().Get(b.Context(), name, q)
					if err != nil || r.Total.Figures[0].Of == 0 {
						b.Fatal(err, r.Total)
					}
				}
			})
		}
	})
}

// BenchmarkFold folds 500,000 events of 100,000 conversations into facts. It takes minutes: HELPWRIGHT_BENCH_REPORTS=1 asks for it.
func BenchmarkFold(b *testing.B) {
	if os.Getenv("HELPWRIGHT_BENCH_REPORTS") == "" {
		b.Skip("HELPWRIGHT_BENCH_REPORTS is not set")
	}
	benchmarks(b, func(b *testing.B, s *bench) {
		s.tagged(b, 100_000)
		s.happened(b)
		key := storage.NewSecretKey()
		sealer, err := storage.NewSealer(key)
		if err != nil {
			b.Fatal(err)
		}
		svc, err := helpdesk.New(helpdesk.Config{Store: s.db, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
		if err != nil {
			b.Fatal(err)
		}
		logs := helpdesk.Nouns().FactLogs
		for b.Loop() {
			err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				old, err := logs.Reader(tx.Reader()).List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
				if err != nil || len(old) == 0 {
					return err
				}
				return logs.Rows(tx).Delete(ctx, old[0].ID)
			})
			if err != nil {
				b.Fatal(err)
			}
			err = s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				return logs.Rows(tx).Insert(ctx, &helpdesk.FactLog{FoldedAt: time.Unix(1, 0)})
			})
			if err != nil {
				b.Fatal(err)
			}
			if err := svc.Jobs().FoldFacts(b.Context(), storage.ClaimedJob{Job: storage.Job{AccountID: s.scope.AccountID}}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(500_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// reported adds facts of conversations, without the conversations.
func (s *bench) reported(b *testing.B, n int) {
	b.Helper()
	conn, err := s.plain.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	free := "PRAGMA foreign_keys = 0"
	if s.postgres {
		free = "SET session_replication_role = replica"
	}
	if _, err := conn.ExecContext(b.Context(), free); err != nil {
		b.Fatal(err)
	}
	began := time.Date(2023, 12, 1, 0, 0, 0, 0, time.UTC)
	const batch = 1000
	for from := 0; from < n; from += 100 * batch {
		tx, err := conn.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		for at := from; at < min(n, from+100*batch); at += batch {
			if err := s.insertFacts(b.Context(), tx, began, at, batch, n); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	finish := "ANALYZE hw_conversation_facts"
	if s.postgres {
		finish = "VACUUM ANALYZE hw_conversation_facts"
	}
	if _, err := conn.ExecContext(b.Context(), finish); err != nil {
		b.Fatal(err)
	}
}

// insertFacts adds some facts as a desk has them: most are answered and resolved, some open, opened again or rated.
func (s *bench) insertFacts(ctx context.Context, tx *sql.Tx, began time.Time, at, batch, n int) error {
	step := 3 * 365 * 24 * time.Hour / time.Duration(n)
	lines := make([]string, 0, batch)
	none := time.Time{}.UnixMicro()
	for i := at; i < at+batch; i++ {
		created := began.Add(step * time.Duration(i)).Truncate(time.Second)
		first, by, business, wait, ended, replied, replies, said := none, 0, report.None, 0, report.NeverClosed().UnixMicro(), none, 0, "[]"
		resolved := none
		if i%10 > 0 {
			at := created.Add(time.Duration(i*7919%200_000) * time.Second)
			first, by, business, wait, replies = at.UnixMicro(), i%31, i*7919%50_000, i*7919%300_000, 2
			said = fmt.Sprintf(`[{"at":%d,"by":%d},{"at":%d,"by":%d}]`, at.UnixMicro(), by, at.Add(time.Hour).UnixMicro(), i%29)
			ended, replied = created.Add(time.Duration(i*7919%900_000)*time.Second).UnixMicro(), at.Add(time.Hour).UnixMicro()
			resolved = ended
		}
		reopened, closed := 0, "[]"
		if i%8 == 0 {
			reopened, closed = 1, fmt.Sprintf(`[{"from":%d,"to":%d}]`, created.Add(time.Hour).UnixMicro(), created.Add(2*time.Hour).UnixMicro())
		}
		verdict, rated, ratedBy := "", none, 0
		if i%6 == 0 {
			verdict, rated, ratedBy = "good", created.Add(48*time.Hour).UnixMicro(), i%31
		}
		lines = append(lines, fmt.Sprintf("(%d, %d, %d, %d, %d, %d, %d, %d, 'email', '[%d,%d]', %d, %d, %d, %d, %d, 3, 2, %d, %d, %d, %d, %d, '%s', %d, %d, '%s', '', '', '%s', '%s', '[]')",
			s.scope.AccountID, i+1, i+1, created.UnixMicro(), i%7+1, i%4, i%31, i%3, i%40+1, i%13+50, created.UnixMicro(), first, by, business, replies, reopened, wait, resolved, ended, replied,
			verdict, rated, ratedBy, []string{"", "met", "breached"}[i%3], said, closed))
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO hw_conversation_facts (account_id, conversation_id, number, created_at, mailbox_id, team_id, user_id, sla_id, channel, tags, asked_at, first_reply_at, first_reply_by, "+
		"business_reply, replies, touches, received, reopened, wait, resolved_at, ended_at, replied_at, verdict, rated_at, rated_by, first_reply_sla, next_reply_sla, resolution_sla, said, closed, steps) VALUES "+strings.Join(lines, ", "))
	return err
}
