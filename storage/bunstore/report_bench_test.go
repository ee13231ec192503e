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
	for i := at; i < at+batch; i++ {
		created := began.Add(step * time.Duration(i)).Truncate(time.Second)
		f := report.Fact{
			ConversationID: int64(i + 1), Number: int64(i + 1), CreatedAt: created, MailboxID: int64(i%7 + 1), TeamID: int64(i % 4), UserID: int64(i % 31), SLAID: int64(i % 3),
			Channel: "email", Tags: []int64{int64(i%40 + 1), int64(i%13 + 50)}, AskedAt: created, BusinessReply: report.None, Received: 2, FirstReplySLA: report.Outcome([]string{"", "met", "breached"}[i%3]),
		}
		if i%10 > 0 {
			f.FirstReplyAt, f.FirstReplyBy, f.Replies, f.Touches = created.Add(time.Duration(i*7919%200_000)*time.Second), int64(i%31), 2, 3
			f.BusinessReply, f.Wait = int64(i*7919%50_000), int64(i*7919%300_000)
			f.Said = []report.Reply{{At: f.FirstReplyAt, UserID: f.FirstReplyBy}, {At: f.FirstReplyAt.Add(time.Hour), UserID: int64(i % 29)}}
			f.ResolvedAt = created.Add(time.Duration(i*7919%900_000) * time.Second)
		}
		if i%8 == 0 {
			f.Reopened, f.Closed = 1, []report.Gap{{From: created.Add(time.Hour), To: created.Add(2 * time.Hour)}}
		}
		rated := int64(-62135596800000000)
		if i%6 == 0 {
			f.Verdict, f.RatedAt, f.RatedID = "good", created.Add(48*time.Hour), int64(i%31)
			rated = f.RatedAt.UnixMicro()
		}
		ended, replied := report.NeverClosed(), int64(-62135596800000000)
		if !f.ResolvedAt.IsZero() {
			ended, replied = f.ResolvedAt, f.Said[1].At.UnixMicro()
		}
		lines = append(lines, fmt.Sprintf("(%d, %d, %d, %d, %d, %d, '%s', '%s', '')", s.scope.AccountID, f.ConversationID, created.UnixMicro(), ended.UnixMicro(), rated, replied, f.Figures(), report.SaidText(f.Said)))
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO hw_conversation_facts (account_id, conversation_id, created_at, ended_at, rated_at, replied_at, figures, said, steps) VALUES "+strings.Join(lines, ", "))
	return err
}
