package bunstore_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// The reads that filing a mail makes go by the index that names what they look for, on tables where walking all rows in
// their order would take seconds: with statistics and without.
func TestBigPlans(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		fillBig(t, app, 300_000)
		seen := &recorder{}
		r := bunstore.New(app.WithQueryHook(seen), bunstore.Config{}).Within(helpdesk.Scope{AccountID: 1})
		pressing := helpdesk.ConversationFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh}}
		reads := map[string]struct {
			index *regexp.Regexp
			run   func(ctx context.Context) error
		}{
			"one message": {regexp.MustCompile(`hw_interactions_message`), func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"150000"})
				return err
			}},
			"several messages": {regexp.MustCompile(`hw_interactions_message`), func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"none", "150000", "7", "299999@example.org"})
				return err
			}},
			"urgent": {regexp.MustCompile(`hw_conversations_priority`), func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"urgent, by change": {regexp.MustCompile(`hw_conversations_priority`), func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing, Sort: helpdesk.ByUpdated}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"waiting mails": {regexp.MustCompile(`hw_inbound_mails_(waiting|state)`), func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, helpdesk.InboundFilter{MailboxID: 1, States: []helpdesk.InboundState{helpdesk.InboundReceived}}, storage.Seek{Limit: 50})
				return err
			}},
		}
		for _, statistics := range []bool{false, true} {
			if statistics {
				if _, err := app.ExecContext(t.Context(), "ANALYZE"); err != nil {
					t.Fatal(err)
				}
			}
			for name, read := range reads {
				seen.take()
				if err := read.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, query := range seen.take() {
					if plan := planOf(t, app, query); !read.index.MatchString(plan) {
						t.Errorf("%s, statistics %t:\n%s\n%s", name, statistics, query, plan)
					}
				}
			}
		}
	})
}

// planOf is how the database would run a query.
func planOf(t *testing.T, app *bun.DB, query string) string {
	t.Helper()
	explain := "EXPLAIN QUERY PLAN "
	if strings.Contains(app.String(), "pg") {
		explain = "EXPLAIN "
	}
	rows, err := app.DB.QueryContext(t.Context(), explain+query)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, rows)
}

// fillBig makes conversations of one mailbox, each with a mail, which the ledger knows.
func fillBig(t *testing.T, app *bun.DB, n int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, created_at, updated_at) VALUES ('a', 1, 'en', '[]', 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'm', 'm', 'm', '', 'm', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_customers (account_id, first_name, last_name, company, created_at, updated_at) VALUES (1, 'a', 'b', 'c', 0, 0)`,
		`INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, status,
			subject, preview, awaiting_since, priority, created_at, updated_at)
			SELECT 1, n.i, 'email', 1, 1, '', 0, 'closed', '', '', 0, CASE WHEN n.i % 50000 = 0 THEN 'urgent' ELSE 'normal' END, 1700000000000000 + n.i, 1700000000000000 + n.i FROM n`,
		`INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject, user_id, posted_by_id,
			customer_email, to_addresses, cc_addresses, bcc_addresses, source, is_starter, is_forward, auto_submitted, seen_at,
			posted_at, send_started_at, message_id, message_refs, threading, at, created_at, updated_at)
			SELECT 1, n.i, 'customer', 'posted', '', '', 0, 0, '', '[]', '[]', '[]', '', FALSE, FALSE, FALSE, 0, 0, 0, n.n,
			'[]', '{}', n.i, 0, 0 FROM n`,
		`INSERT INTO hw_inbound_mails (account_id, mailbox_id, source, position, state, reason, raw_key, size, message_id,
			received_at, updated_at) SELECT 1, 1, 'imap', n.n, CASE WHEN n.i % 100000 = 0 THEN 'received' ELSE 'filed' END, '', n.n, 1, '', 0, 0 FROM n`,
	} {
		if strings.Contains(statement, "FROM n") {
			statement = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?),
				n AS (SELECT i, CAST(i AS TEXT) AS n FROM s) ` + statement
			if _, err := app.ExecContext(t.Context(), statement, n); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := app.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
