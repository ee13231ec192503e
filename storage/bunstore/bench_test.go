package bunstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// bench is a store with an account, and a plain connection to the same database as the baseline.
type bench struct {
	db       *bunstore.DB
	plain    *sql.DB
	postgres bool
	scope    helpdesk.Scope
	mailbox  helpdesk.Mailbox
	customer helpdesk.Customer
}

// benchmarks runs fn on each persistent database.
func benchmarks(b *testing.B, fn func(b *testing.B, s *bench)) {
	for _, database := range databases {
		if database.name == "SQLiteMemory" {
			continue
		}
		b.Run(database.name, func(b *testing.B) {
			url := database.url(b)
			s := &bench{db: open(b, url, bunstore.Config{}), postgres: database.name == "PostgreSQL"}
			s.plain = plain(b, url)
			fill(b, s)
			fn(b, s)
		})
	}
}

// plain opens a database as for hand-written SQL.
func plain(b *testing.B, url string) *sql.DB {
	b.Helper()
	var db *sql.DB
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		var err error
		db, err = sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23", " ", "%20").Replace(path)+
			"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
	} else {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			b.Fatal(err)
		}
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		db = stdlib.OpenDB(*config)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// fill creates the account for the benchmark.
func fill(b *testing.B, s *bench) {
	b.Helper()
	err := s.db.InSystemTx(b.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		account := identity.Account{Name: "bench", NextNumber: 1}
		if err := tx.InsertAccount(ctx, &account); err != nil {
			return err
		}
		s.scope = helpdesk.Scope{AccountID: account.ID}
		in := tx.Within(s.scope)
		if err := in.Mailboxes().Insert(ctx, &s.mailbox); err != nil {
			return err
		}
		s.customer = helpdesk.Customer{Emails: []helpdesk.CustomerEmail{{Email: "a@example.org", Key: "a@example.org"}}}
		return in.InsertCustomer(ctx, &s.customer)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (s *bench) conversation(n int) helpdesk.Conversation {
	at := time.Unix(1_700_000_000+int64(n), 0).UTC()
	return helpdesk.Conversation{
		Number: int64(n), Channel: "email", MailboxID: s.mailbox.ID, CustomerID: s.customer.ID,
		CustomerEmailID: s.customer.Emails[0].ID, CustomerEmail: "a@example.org", Status: helpdesk.StatusPosted,
		Subject: fmt.Sprintf("Conversation %d about this and that", n), Preview: strings.Repeat("some words ", 12),
		AwaitingSince: at, CreatedAt: at, UpdatedAt: at,
	}
}

// ratio runs the baseline and the store alternately, so that both see the same noise, and reports both.
func ratio(b *testing.B, floor, store func(n int) error) {
	b.Helper()
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i, f := range []func(int) error{floor, store} {
			n++
			began := time.Now()
			if err := f(n); err != nil {
				b.Fatal(err)
			}
			spent[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(b.N), "floor-ns/op")
	b.ReportMetric(float64(spent[1].Nanoseconds())/float64(b.N), "store-ns/op")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "ratio")
	b.ReportMetric(0, "ns/op")
}

const listSQL = `SELECT id, number, channel, mailbox_id, customer_id, customer_email_id, customer_email, user_id, status,
	subject, preview, awaiting_since, created_at, updated_at FROM hw_conversations
	WHERE account_id = %[1]s1 AND (updated_at, id) < (%[1]s2, %[1]s3) ORDER BY updated_at DESC, id DESC LIMIT %[1]s4`

// BenchmarkConversations lists 25 of 100,000 conversations from the middle; the baseline is the same query by hand.
func BenchmarkConversations(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		const total = 100_000
		for done := 0; done < total; {
			err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				for range 10_000 {
					done++
					c := s.conversation(done)
					if err := tx.Conversations().Insert(ctx, &c); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		query := fmt.Sprintf(listSQL, map[bool]string{true: "$", false: "?"}[s.postgres])
		if s.postgres {
			if _, err := s.plain.Exec("ANALYZE"); err != nil {
				b.Fatal(err)
			}
		}
		from := func(n int) storage.Position {
			id := int64(total/4 + n*7%(total/2))
			return storage.Position{Key: time.Unix(1_700_000_000+id, 0).UnixMicro(), ID: id}
		}
		ratio(b, func(n int) error {
			p := from(n)
			rows, err := s.plain.QueryContext(b.Context(), query, s.scope.AccountID, p.Key, p.ID, 25)
			if err != nil {
				return err
			}
			defer rows.Close()
			var list []helpdesk.Conversation
			for rows.Next() {
				var c helpdesk.Conversation
				var email sql.NullInt64
				var awaiting, created, updated int64
				if err := rows.Scan(&c.ID, &c.Number, &c.Channel, &c.MailboxID, &c.CustomerID, &email, &c.CustomerEmail,
					&c.UserID, &c.Status, &c.Subject, &c.Preview, &awaiting, &created, &updated); err != nil {
					return err
				}
				c.CustomerEmailID, c.AwaitingSince = email.Int64, time.UnixMicro(awaiting).UTC()
				c.CreatedAt, c.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
				list = append(list, c)
			}
			if len(list) != 25 {
				return fmt.Errorf("%d conversations", len(list))
			}
			return rows.Err()
		}, func(n int) error {
			p := from(n)
			list, err := s.db.Within(s.scope).Conversations().List(b.Context(), helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: helpdesk.ByUpdated},
				storage.Seek{Desc: true, From: &p, Limit: 25})
			if err == nil && len(list) != 25 {
				err = fmt.Errorf("%d conversations", len(list))
			}
			return err
		})
	})
}

// BenchmarkInTx files a mail: a conversation, an interaction, an event and a job; the baseline writes the same rows by hand.
func BenchmarkInTx(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		body := "<p>" + strings.Repeat("some words ", 100) + "</p>"
		ratio(b, func(n int) error { return s.fileByHand(b.Context(), n, body) }, func(n int) error {
			return s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
				c := s.conversation(n)
				if err := tx.Conversations().Insert(ctx, &c); err != nil {
					return err
				}
				i := helpdesk.Interaction{
					ConversationID: c.ID, Type: helpdesk.TypeCustomer, Status: helpdesk.StatusPosted, Body: body,
					CustomerID: s.customer.ID, MessageID: fmt.Sprintf("%d@example.org", n), To: []string{"help@example.org"},
					CreatedAt: c.CreatedAt, UpdatedAt: c.CreatedAt,
				}
				if err := tx.Interactions().Insert(ctx, &i); err != nil {
					return err
				}
				if err := tx.Emit(ctx, storage.Event{Type: "conversation.created", Subject: c.ID, Time: c.CreatedAt}); err != nil {
					return err
				}
				return tx.Enqueue(ctx, storage.Job{Kind: "mail.send", Subject: i.ID})
			})
		})
	})
}

// fileByHand writes what BenchmarkInTx writes.
func (s *bench) fileByHand(ctx context.Context, n int, body string) error {
	tx, err := s.plain.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	c := s.conversation(n)
	err = tx.QueryRowContext(ctx, `INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id,
		customer_email_id, customer_email, user_id, status, subject, preview, awaiting_since, created_at,
		updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id`,
		s.scope.AccountID, c.Number, c.Channel, c.MailboxID, c.CustomerID, c.CustomerEmailID, c.CustomerEmail, c.UserID,
		string(c.Status), c.Subject, c.Preview, c.AwaitingSince.UnixMicro(), c.CreatedAt.UnixMicro(),
		c.UpdatedAt.UnixMicro()).Scan(&c.ID)
	if err != nil {
		return err
	}
	const none = -62135596800000000
	var interaction int64
	err = tx.QueryRowContext(ctx, `INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject,
		user_id, posted_by_id, customer_id, customer_email_id, customer_email, to_addresses, cc_addresses, bcc_addresses,
		source, is_starter, is_forward, auto_submitted, seen_at, posted_at, send_started_at, message_id, message_refs,
		threading, at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
		$17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $26) RETURNING id`,
		s.scope.AccountID, c.ID, "customer", "posted", body, "", 0, 0, s.customer.ID, nil, "", `["help@example.org"]`,
		"[]", "[]", "", false, false, false, none, none, none, fmt.Sprintf("%d@example.org", n), "[]", "{}",
		c.CreatedAt.UnixMicro(), c.CreatedAt.UnixMicro()).Scan(&interaction)
	if err != nil {
		return err
	}
	var job int64
	err = tx.QueryRowContext(ctx, `INSERT INTO hw_jobs (kind, account_id, subject, unique_key, run_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`, "mail.send", 0, interaction, "", none, none).Scan(&job)
	if err != nil {
		return err
	}
	if s.postgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_notify('helpwright_jobs', '')"); err != nil {
			return err
		}
	}
	var seq int64
	err = tx.QueryRowContext(ctx, "UPDATE hw_accounts SET last_event = last_event + 1 WHERE id = $1 RETURNING last_event",
		s.scope.AccountID).Scan(&seq)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, time)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, s.scope.AccountID, seq, "conversation.created", c.ID, 0, 0, c.CreatedAt.UnixMicro())
	if err != nil {
		return err
	}
	return tx.Commit()
}

// BenchmarkSync compares commits that wait for the disk with those that do not: see Config.SyncNormal.
func BenchmarkSync(b *testing.B) {
	for _, normal := range []bool{false, true} {
		b.Run(map[bool]string{false: "FULL", true: "NORMAL"}[normal], func(b *testing.B) {
			s := &bench{db: open(b, databases[0].url(b), bunstore.Config{SyncNormal: normal})}
			fill(b, s)
			for b.Loop() {
				err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
					c := s.conversation(1)
					return tx.Conversations().Insert(ctx, &c)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBriefInteractions lists the last eight interactions, of 200 kB each, without their bodies; the baseline reads the
// bodies, too.
func BenchmarkBriefInteractions(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		body, c := "<p>"+strings.Repeat("some words ", 18000)+"</p>", s.conversation(0)
		err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
			for range 8 {
				i := helpdesk.Interaction{ConversationID: c.ID, Type: helpdesk.TypeCustomer, Status: helpdesk.StatusPosted, Body: body, CustomerID: s.customer.ID}
				if err := tx.Interactions().Insert(ctx, &i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		list := func(brief bool) func(int) error {
			return func(int) error {
				_, err := s.db.Within(s.scope).Interactions().List(b.Context(), helpdesk.InteractionFilter{ConversationID: c.ID, Brief: brief}, storage.Seek{Desc: true, Limit: 8})
				return err
			}
		}
		ratio(b, list(false), list(true))
	})
}
