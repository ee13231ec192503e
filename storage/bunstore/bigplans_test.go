package bunstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
)

// bigConversations is the number of conversations of TestBigPlans.
const bigConversations = 300_000

// The reads for filing a mail, and some lists, use the index for what they look for, on tables where walking all
// rows in order would take seconds: with statistics and without.
func TestBigPlans(t *testing.T) {
	t.Parallel()
	eachEmbedded(t, func(t *testing.T, app *bun.DB, _ *bunstore.DB) {
		fillBig(t, app, bigConversations)
		seen := &recorder{}
		db := bunstore.New(app.WithQueryHook(seen), bunstore.Config{})
		r := db.Within(helpdesk.Scope{AccountID: 1})
		pressing := helpdesk.ConversationFilter{Priorities: []helpdesk.Priority{helpdesk.PriorityUrgent, helpdesk.PriorityHigh}}
		reads := map[string]bigRead{
			"one message": {index: regexp.MustCompile(`(?s)hw_interactions_message.*hw_deliveries_message`), run: func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"150000"})
				return err
			}},
			"several messages": {index: regexp.MustCompile(`(?s)hw_interactions_message.*hw_deliveries_message`), run: func(ctx context.Context) error {
				_, err := r.Messages(ctx, 1, []string{"none", "150000", "7", "299999@example.org"})
				return err
			}},
			"urgent": {index: regexp.MustCompile(`hw_conversations_priority`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"urgent, by change": {index: regexp.MustCompile(`hw_conversations_priority`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: pressing, Sort: helpdesk.ByUpdated}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"quarantined mails": {index: regexp.MustCompile(`hw_inbound_mails_quarantined`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Quarantined}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"ignored mails": {index: regexp.MustCompile(`hw_inbound_mails_ignored`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails aside": {index: regexp.MustCompile(`(?s)hw_inbound_mails_(ignored|aside).*hw_inbound_mails_(quarantined|aside)`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Quarantined, ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails aside, of all mailboxes": {index: regexp.MustCompile(`hw_inbound_mails_aside`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{States: []ledger.State{ledger.Quarantined, ledger.Ignored}}, storage.Seek{Limit: 50, Desc: true})
				return err
			}},
			"mails counted": {index: regexp.MustCompile(`(?s)hw_inbound_mails_waiting.*hw_inbound_mails_quarantined.*hw_inbound_mails_ignored`), run: func(ctx context.Context) error {
				_, err := r.InboundCounts(ctx, 1)
				return err
			}},
			"who waits longest, from the middle": {index: regexp.MustCompile(`\bid ?< ?['?$\d]|\bid\) ?< ?ROW`), run: func(ctx context.Context) error {
				_, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{Sort: helpdesk.ByAwaiting}, storage.Seek{
					Limit: 50, Desc: true, From: &storage.Position{ID: bigConversations / 2},
				})
				return err
			}},
			"waiting mails": {index: regexp.MustCompile(`hw_inbound_mails_waiting`), run: func(ctx context.Context) error {
				_, err := r.InboundMails(ctx, ledger.Filter{MailboxID: 1, States: []ledger.State{ledger.Received}}, storage.Seek{Limit: 50})
				return err
			}},
		}
		for _, made := range bigStatistics(app) {
			for _, statement := range made {
				if _, err := app.DB.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			app.DB.SetMaxIdleConns(0) // new connections read the settings
			app.DB.SetMaxIdleConns(4)
			for name, read := range reads {
				seen.take()
				if err := read.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				queries := seen.take()
				for _, query := range queries {
					if plan := planOf(t, app, query); !read.index.MatchString(plan) {
						t.Errorf("%s, statistics %v:\n%s\n%s", name, made, query, plan)
					}
				}
			}
		}
		t.Run("Mixed", func(t *testing.T) { mixedBig(t, app, db) })
		t.Run("Searches", func(t *testing.T) { searchBig(t, app) })
		t.Run("Trims", func(t *testing.T) { trimBig(t, app) })
	})
}

// bigStatistics returns the ways to compute the statistics under which plans are checked: none, of all rows, or on SQLite of
// a hundred, as the store does, and outdated ones from when there were few rows.
func bigStatistics(app *bun.DB) [][]string {
	if strings.Contains(app.String(), "pg") {
		return [][]string{nil, {"ANALYZE"}}
	}
	return [][]string{
		nil, {"PRAGMA analysis_limit = 100; ANALYZE"},
		{"UPDATE sqlite_stat1 SET stat = '40 20 10 2 1' WHERE stat LIKE '% % % %'", "UPDATE sqlite_stat1 SET stat = '40 20 1' WHERE tbl LIKE 'hw_conversation%' AND stat LIKE '300000%'"},
	}
}

// bigRead is a read whose plan is checked.
type bigRead struct {
	index *regexp.Regexp
	run   func(ctx context.Context) error
}

// bigWords maps the words of fillBig's conversations to the conversations that have them.
var bigWords = map[string]func(i int) bool{
	"none": func(int) bool { return false }, "rare": func(i int) bool { return i%50_000 == 3 }, "alien": func(i int) bool { return i%60_000 == 7 },
	"percent": func(i int) bool { return i%100 == 4 }, "thousandth": func(i int) bool { return i%1000 == 0 }, "half": func(i int) bool { return i%2 == 0 },
	"common": func(i int) bool { return i%10 != 0 }, "old": func(i int) bool { return i <= 30_000 }, "past": func(i int) bool { return i <= 100_000 },
}

// searchBig searches for rare, less rare and common words, in several orders, in all mailboxes and in one, two pages each:
// all ways of searching find the right rows.
func searchBig(t *testing.T, app *bun.DB) {
	t.Helper()
	db := bunstore.New(app, bunstore.Config{})
	scopes := map[*helpdesk.Scope]func(i int) bool{
		{AccountID: 1}:                           func(int) bool { return true },
		{AccountID: 1, Mailboxes: []int64{2, 9}}: func(i int) bool { return i%100 == 0 && i < 100_000 },
	}
	waits := func(i int) bool { return i%3000 == 1 }
	for scope, sees := range scopes {
		for word, has := range bigWords {
			for _, order := range []helpdesk.ConversationSort{helpdesk.ByUpdated, helpdesk.ByAwaiting} {
				for _, desc := range []bool{false, true} {
					var all []int64 // in id order; in a descending list waiting conversations come first
					for _, waiting := range []bool{desc, !desc} {
						for n := range bigConversations {
							i := n + 1
							if desc {
								i = bigConversations - n
							}
							in := order != helpdesk.ByAwaiting && waiting || order == helpdesk.ByAwaiting && waits(i) == waiting
							if in && has(i) && sees(i) && len(all) < 52 {
								all = append(all, int64(i))
							}
						}
					}
					seek := storage.Seek{Desc: desc, Limit: 26}
					for from := 0; from < 52; from += seek.Limit {
						want := all[from:min(from+seek.Limit, len(all))]
						terms := []helpdesk.SearchTerm{{Text: word[:len(word)-from/26], Prefix: from > 0}}
						page, err := db.Within(*scope).Conversations().List(t.Context(), helpdesk.ConversationOrder{
							ConversationFilter: helpdesk.ConversationFilter{Terms: terms}, Sort: order,
						}, seek)
						if err != nil {
							t.Fatal(err)
						}
						got := []int64{}
						for _, c := range page {
							got = append(got, c.ID)
							seek.From = &storage.Position{Key: c.SortKey(order), ID: c.ID}
						}
						if diff := cmp.Diff(append([]int64{}, want...), got); diff != "" {
							t.Errorf("%s by %s, descending %t, from %d, within %v: (-want +got)\n%s", word, order, desc, from, scope.Mailboxes, diff)
						}
						if len(want) < seek.Limit {
							break
						}
					}
				}
			}
		}
	}
}

// planOf returns how the database would run a query.
func planOf(t *testing.T, app *bun.DB, query string) string {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return (&planner{t: t, conn: conn, postgres: strings.Contains(app.String(), "pg")}).plan(query)
}

// bigText is the text with the bigWords of a conversation.
const bigText = `'x' || CASE WHEN n.i % 10 <> 0 THEN ' common' ELSE '' END || CASE WHEN n.i % 2 = 0 THEN ' half' ELSE '' END
	|| CASE WHEN n.i % 100 = 4 THEN ' percent' ELSE '' END || CASE WHEN n.i % 1000 = 0 THEN ' thousandth' ELSE '' END
	|| CASE WHEN n.i <= 30000 THEN ' old' ELSE '' END || CASE WHEN n.i <= 100000 THEN ' past' ELSE '' END || CASE WHEN n.i % 50000 = 3 THEN ' rare' ELSE '' END || CASE WHEN n.i % 60000 = 7 THEN ' alien' ELSE '' END`

// fillBig creates conversations, each with a mail that is in the ledger.
func fillBig(t *testing.T, app *bun.DB, n int) {
	t.Helper()
	conn, err := app.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The rows are known to be valid: skip checks, and build indexes in memory.
	settings := []string{"PRAGMA cache_size = -400000", "PRAGMA foreign_keys = 0"}
	into, words := "(rowid, account, customer, own) SELECT n.i, '_' || %d, '', %s", bigText
	if strings.Contains(app.String(), "pg") {
		into, words = "(account_id, conversation_id, customer, own) SELECT %d, n.i, '', %s", "array_to_tsvector(string_to_array("+bigText+", ' '))"
		settings = []string{"SET synchronous_commit = off", "SET session_replication_role = replica"}
	}
	for _, statement := range append(settings,
		`INSERT INTO hw_accounts (name, next_number, default_locale, languages, created_at, updated_at) VALUES ('a', 1, 'en', '[]', 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'm', 'm', 'm', '', 'm', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_customers (account_id, first_name, last_name, company, company_id, created_at, updated_at) VALUES (1, 'a', 'b', 'c', 0, 0, 0), (1, 'd', 'e', 'f', 5, 0, 0)`,
		`INSERT INTO hw_mailboxes (account_id, name, email, email_key, from_name, internal_local, inbound_type, host, port,
			username, encryption, validate_certificate, folders, created_at, updated_at)
			VALUES (1, 'n', 'n', 'n', '', 'n', 'FWD', '', 0, '', '', TRUE, '[]', 0, 0)`,
		`INSERT INTO hw_conversations (account_id, number, channel, mailbox_id, customer_id, customer_email, user_id, team_id, status,
			subject, preview, awaiting_since, priority, spam_at, created_at, updated_at)
			SELECT 1, n.i, 'email', CASE WHEN n.i % 100 = 0 AND n.i < 100000 THEN 2 ELSE 1 END, CASE WHEN n.i % 1000 = 6 THEN 2 ELSE 1 END, '',
				CASE WHEN n.i < 3000 AND n.i % 3 = 0 THEN 60 WHEN n.i % 3 = 0 THEN 0 ELSE n.i % 50 END, CASE WHEN n.i % 40 = 1 THEN 1 ELSE 0 END,
				CASE WHEN n.i % 50 = 1 THEN 'posted' WHEN n.i % 30000 = 5 THEN 'pending' ELSE 'closed' END, '', '',
				CASE WHEN n.i % 3000 = 1 THEN 1700000000000000 + n.i ELSE -62135596800000000 END,
				CASE WHEN n.i % 50000 = 0 THEN 'urgent' ELSE 'normal' END, CASE WHEN n.i % 100 = 9 AND n.i < 50000 THEN 1 ELSE -62135596800000000 END,
				1700000000000000 + n.i, 1700000000000000 + n.i FROM n`,
		`INSERT INTO hw_tags (account_id, name, name_key, color, created_at, updated_at) VALUES (1, 'a', 'a', '', 0, 0), (1, 'b', 'b', '', 0, 0), (1, 'c', 'c', '', 0, 0), (1, 'd', 'd', '', 0, 0), (1, 'e', 'e', '', 0, 0)`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 2, 1700000000000000 + n.i FROM n WHERE n.i % 2 = 0`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 3, 1700000000000000 + n.i FROM n WHERE n.i <= 3000`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, 5, 1700000000000000 + n.i FROM n WHERE n.i % 3 = 1 AND n.i <= 1000`,
		`INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT 1, n.i, CASE WHEN n.i % 50000 = 3 THEN 1 ELSE 4 END, 1700000000000000 + n.i FROM n WHERE n.i % 50000 IN (3, 4)`,
		`UPDATE hw_conversation_tags SET shelf = c.shelf, updated_at = c.updated_at, awaiting_key = c.awaiting_key FROM hw_conversations AS c
			WHERE c.account_id = hw_conversation_tags.account_id AND c.id = hw_conversation_tags.conversation_id`, // without the triggers of PostgreSQL
		`INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject, user_id, posted_by_id,
			customer_email, to_addresses, cc_addresses, bcc_addresses, source, is_starter, is_forward, auto_submitted, seen_at,
			posted_at, send_started_at, message_id, message_refs, threading, at, created_at, updated_at)
			SELECT 1, n.i, 'customer', 'posted', '', '', 0, 0, '', '[]', '[]', '[]', '', FALSE, FALSE, FALSE, 0, 0, 0, n.n,
			'[]', '{}', n.i, 0, 0 FROM n`,
		`INSERT INTO hw_deliveries (account_id, interaction_id, address, field, state, attempts, code, enhanced_code, response, message_id,
			next_attempt_at, created_at, updated_at) SELECT 1, n.i, '', 'to', 'sent', 1, 250, '', '', 's' || n.n, 0, 0, 0 FROM n`,
		"INSERT INTO hw_conversation_search "+fmt.Sprintf(into, 1, words)+" FROM n",
		"INSERT INTO hw_conversation_search "+fmt.Sprintf(strings.Replace(into, "n.i", fmt.Sprint(n, " + n.i"), 1), 2, "'alien'")+" FROM n WHERE n.i % 4 = 0",
		`INSERT INTO hw_inbound_mails (account_id, mailbox_id, source, position, state, reason, raw_key, size, message_id,
			received_at, updated_at) SELECT 1, 1, 'imap', n.n, CASE WHEN n.i % 100000 = 0 THEN 'received' ELSE 'filed' END, '', n.n, 1, '', 0, 0 FROM n`,
	) {
		if strings.Contains(statement, "FROM n") {
			statement = `WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?),
				n AS (SELECT i, CAST(i AS TEXT) AS n FROM s) ` + statement
			if _, err := conn.ExecContext(t.Context(), strings.ReplaceAll(statement, "i < ?", fmt.Sprintf("i < %d", n))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
