package ingest_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-message"
	_ "github.com/jackc/pgx/v5/stdlib" // the floor's driver
	_ "modernc.org/sqlite"             // the floor's driver

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkFile files one mail of a new customer: from the raw bytes in the ledger to a conversation. The floor parses it
// with the bare library and writes the same rows by hand in one transaction; both run in turns, to meet the same noise.
func BenchmarkFile(b *testing.B) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			url := "sqlite:" + b.TempDir() + "/bench.db"
			if name == "PostgreSQL" {
				url = testenv.Postgres(b)
			}
			f := newFileBench(b, url)
			var floor, ours time.Duration
			for n := 0; b.Loop(); n++ {
				began := time.Now()
				f.byHand(b, rawMail(2*n))
				floor += time.Since(began)
				f.take(b, rawMail(2*n+1))
				began = time.Now()
				f.handle(b)
				ours += time.Since(began)
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) }
			b.ReportMetric(per(floor), "floor-ns/op")
			b.ReportMetric(per(ours), "file-ns/op")
			b.ReportMetric(per(ours)/per(floor), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func rawMail(n int) []byte {
	return fmt.Appendf(nil, "From: Customer %d <c%d@example.com>\r\nTo: support@example.org\r\nSubject: Mail %d\r\n"+
		"Message-ID: <%d@example.com>\r\nDate: Mon, 02 Nov 2026 10:00:00 +0100\r\nMIME-Version: 1.0\r\n"+
		"Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s\r\n"+
		"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>%[5]s</p>\r\n--b--\r\n", n, n, n, n, strings.Repeat("Some words about it. ", 30))
}

type fileBench struct {
	db      *bunstore.DB
	svc     *helpdesk.Service
	desk    *helpdesk.Desk
	plain   *sql.DB
	intake  *helpdesk.Intake
	filer   *ingest.Filer
	account int64
	mailbox int64
	taken   int
}

func newFileBench(b *testing.B, url string) *fileBench {
	b.Helper()
	ctx := b.Context()
	db := check(both.Open(ctx, url, bunstore.Config{}))(b)
	b.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	sealer := check(storage.NewSealer(make([]byte, 32)))(b)
	svc := check(helpdesk.New(helpdesk.Config{Store: db, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32)}))(b)
	user := check(svc.Operator().CreateUser(ctx, identity.UserInput{Email: "o@example.org"}))(b)
	account := check(svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Bench"}, user.ID))(b)
	desk := check(svc.Desk(ctx, svc.As(user.ID), account.ID))(b)
	mailbox := check(desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{Email: storage.Some("support@example.org")}))(b)
	f := &fileBench{db: db, svc: svc, desk: desk, intake: svc.Intake(), account: account.ID, mailbox: mailbox.ID}
	f.filer = check(ingest.NewFiler(ingest.FilerConfig{Intake: f.intake}))(b)
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		f.plain = check(sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate"))(b)
	} else {
		f.plain = check(sql.Open("pgx", url))(b)
	}
	b.Cleanup(func() { _ = f.plain.Close() })
	return f
}

func check[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (f *fileBench) take(b *testing.B, raw []byte) {
	b.Helper()
	f.taken++
	mails := []ledger.Raw{{Raw: raw}}
	if err := f.intake.Take(b.Context(), f.account, f.mailbox, "smtp", mails, nil); err != nil {
		b.Fatal(err)
	}
}

func (f *fileBench) handle(b *testing.B) {
	b.Helper()
	job := storage.ClaimedJob{Job: storage.Job{AccountID: f.account, Subject: f.mailbox}}
	if err := f.filer.Handle(b.Context(), job); err != nil {
		b.Fatal(err)
	}
}

// byHand does the work of filing: it parses the mail, and writes the rows of ledger, customer, conversation, interaction,
// participant and three events.
func (f *fileBench) byHand(b *testing.B, raw []byte) {
	b.Helper()
	text := bareParse(b, raw)
	tx := check(f.plain.BeginTx(b.Context(), nil))(b)
	h := &hand{b: b, tx: tx}
	const none = -62135596800000000
	now := time.Now().UnixMicro()
	n := time.Now().UnixNano()
	email := fmt.Sprintf("hand%d@example.com", n)
	ledger := h.insert("hw_inbound_mails", "account_id mailbox_id source position state reason raw_key size message_id received_at updated_at",
		f.account, f.mailbox, "smtp", "", "received", "", "k", len(raw), "", now, now)
	customer := h.insert("hw_customers", "account_id first_name last_name company created_at updated_at", f.account, "Customer", "1", "", now, now)
	address := h.insert("hw_customer_emails", "account_id customer_id email email_key", f.account, customer, email, email)
	var number, seq int64
	h.one(&number, "UPDATE hw_accounts SET next_number = next_number + 1 WHERE id = $1 RETURNING next_number - 1", f.account)
	conversation := h.insert("hw_conversations", "account_id number channel mailbox_id customer_id customer_email_id customer_email user_id status subject preview awaiting_since created_at updated_at",
		f.account, number, "email", f.mailbox, customer, address, email, 0, "posted", "Mail", text[:100], now, now, now)
	interaction := h.insert("hw_interactions", "account_id conversation_id type status body subject user_id posted_by_id customer_id customer_email_id customer_email to_addresses cc_addresses bcc_addresses source is_starter is_forward auto_submitted seen_at posted_at send_started_at message_id message_refs threading created_at updated_at",
		f.account, conversation, "customer", "posted", text, "Mail", 0, 0, customer, address, email, `["support@example.org"]`, "[]", "[]", "email",
		true, false, false, none, now, none, fmt.Sprintf("%d@hand", n), "[]", `{"rule":"new"}`, now, now)
	h.exec("INSERT INTO hw_participants (account_id, conversation_id, address_key) VALUES ($1, $2, $3)", f.account, conversation, email)
	h.exec("UPDATE hw_inbound_mails SET state = $1, identity = $2, conversation_id = $3, interaction_id = $4, message_id = $5 WHERE id = $6",
		"filed", []byte(email), conversation, interaction, fmt.Sprintf("%d@hand", n), ledger)
	h.one(&seq, "UPDATE hw_accounts SET last_event = last_event + 3 WHERE id = $1 RETURNING last_event", f.account)
	h.exec("INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, data, time) VALUES ($1,$2,$3,$4,0,0,$5,$6), ($1,$7,$3,$4,0,0,$5,$6), ($1,$8,$3,$4,0,0,$5,$6)",
		f.account, seq-2, "conversation.created", conversation, []byte("{}"), now, seq-1, seq)
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// hand runs statements as one writes them by hand.
type hand struct {
	b  *testing.B
	tx *sql.Tx
}

func (h *hand) exec(query string, args ...any) {
	h.b.Helper()
	if _, err := h.tx.ExecContext(context.Background(), query, args...); err != nil {
		h.b.Fatal(err)
	}
}

func (h *hand) one(out *int64, query string, args ...any) {
	h.b.Helper()
	if err := h.tx.QueryRowContext(context.Background(), query, args...).Scan(out); err != nil {
		h.b.Fatal(err)
	}
}

func (h *hand) insert(table, columns string, args ...any) (id int64) {
	h.b.Helper()
	names := strings.Fields(columns)
	holders := make([]string, len(names))
	for i := range names {
		holders[i] = fmt.Sprintf("$%d", i+1)
	}
	h.one(&id, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(holders, ", ")+") RETURNING id", args...)
	return id
}

// bareParse reads a mail with the bare library and returns its last text.
func bareParse(b *testing.B, raw []byte) string {
	b.Helper()
	entity := check(message.Read(bytes.NewReader(raw)))(b)
	var text []byte
	if parts := entity.MultipartReader(); parts != nil {
		for {
			p, err := parts.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			text = check(io.ReadAll(p.Body))(b)
		}
	}
	return string(text)
}
