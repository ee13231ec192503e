package api_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkListConversations reads a page of 25 of 100,000 conversations through the complete handler (token, membership,
// roles). The floor is hand-written code without any of that: one indexed query and json.Marshal.
func BenchmarkListConversations(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		store := openDB(b, "sqlite:"+path)
		listBench(b, store, openPlain(b, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"))
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		url := testenv.Postgres(b)
		store := openDB(b, url)
		listBench(b, store, openPlain(b, "pgx", url))
	})
}

func openPlain(b *testing.B, driver, dsn string) *sql.DB {
	b.Helper()
	plain, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = plain.Close() })
	return plain
}

func listBench(b *testing.B, store helpdesk.Store, plain *sql.DB) {
	w := newWorld(b, store)
	manyConversations(b, w, plain, 100_000)
	var floor float64
	b.Run("Floor", func(b *testing.B) {
		for b.Loop() {
			if byHand(b, plain) == 0 {
				b.Fatal("nothing")
			}
		}
		floor = float64(b.Elapsed()) / float64(b.N)
	})
	first := httptest.NewRequest(http.MethodGet, "/api/v1/accounts/1/conversations?limit=1", nil)
	first.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, first)
	_, tag, _ := strings.Cut(rec.Header().Get("Link"), "cursor=") // what ends the cursors of the list
	tag, _, _ = strings.Cut(tag, "&")
	tag = tag[len(tag)-6:]
	for _, tt := range []struct{ name, query string }{
		{"Page", ""},
		{"SecondPage", "&cursor=" + cursorAt(b, plain, 100_000-24) + tag},
		{"DeepPage", "&cursor=" + cursorAt(b, plain, 10_000) + tag},
		{"Expanded", "&expand=user,mailbox,customer"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, "/api/v1/accounts/1/conversations?limit=25"+tt.query, nil)
			req.Header.Set("Authorization", "Bearer "+w.tokens["owner"])
			b.ReportAllocs()
			for b.Loop() {
				rec := httptest.NewRecorder()
				w.handler.ServeHTTP(rec, req)
				if rec.Code != http.StatusOK || rec.Body.Len() < 25*300 {
					b.Fatalf("%d %s", rec.Code, rec.Body)
				}
			}
			if floor > 0 {
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/floor, "x-floor")
			}
		})
	}
}

// manyConversations copies the one conversation that the API has made.
func manyConversations(b *testing.B, w *world, plain *sql.DB, n int) {
	b.Helper()
	fill(b, w, 1)
	const columns = `account_id, channel, mailbox_id, customer_id, customer_email_id, customer_email, user_id,
		status, subject, preview, awaiting_since, updated_at`
	_, err := plain.ExecContext(b.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO hw_conversations (number, created_at, `+columns+`)
		SELECT i, created_at + CAST(i AS BIGINT) * 1000000, `+columns+` FROM n, hw_conversations`, n))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := plain.ExecContext(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
}

// cursorAt is the cursor of the page after a conversation, newest first.
func cursorAt(b *testing.B, plain *sql.DB, number int) string {
	b.Helper()
	var key, id int64
	err := plain.QueryRowContext(b.Context(), "SELECT created_at, id FROM hw_conversations WHERE account_id = 1 AND number = $1", number).Scan(&key, &id)
	if err != nil {
		b.Fatal(err)
	}
	cursor := [17]byte{1} // descending, see storage.Page
	binary.BigEndian.PutUint64(cursor[1:], uint64(key))
	binary.BigEndian.PutUint64(cursor[9:], uint64(id))
	return base64.RawURLEncoding.EncodeToString(cursor[:])
}

type rowByHand struct {
	ID              int64     `json:"id"`
	Number          int64     `json:"number"`
	Channel         string    `json:"channel"`
	MailboxID       int64     `json:"mailbox_id"`
	CustomerEmailID int64     `json:"customer_email_id"`
	CustomerEmail   string    `json:"customer_email"`
	UserID          int64     `json:"user_id"`
	Status          string    `json:"status"`
	Subject         string    `json:"subject"`
	Preview         string    `json:"preview"`
	AwaitingSince   time.Time `json:"customer_awaiting_reply_since"`
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at"`
}

func byHand(b *testing.B, plain *sql.DB) int {
	rows, err := plain.QueryContext(context.Background(), `SELECT id, number, channel, mailbox_id, customer_email_id, customer_email, user_id,
		status, subject, preview, awaiting_since, created_at, updated_at
		FROM hw_conversations WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 25`, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var page []rowByHand
	for rows.Next() {
		var r rowByHand
		var awaiting, created, updated int64
		if err := rows.Scan(&r.ID, &r.Number, &r.Channel, &r.MailboxID, &r.CustomerEmailID, &r.CustomerEmail, &r.UserID,
			&r.Status, &r.Subject, &r.Preview, &awaiting, &created, &updated); err != nil {
			b.Fatal(err)
		}
		r.AwaitingSince, r.CreatedAt, r.UpdatedAt = time.UnixMicro(awaiting).UTC(), time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
		page = append(page, r)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	out, err := json.Marshal(map[string]any{"data": page})
	if err != nil {
		b.Fatal(err)
	}
	return len(out)
}
