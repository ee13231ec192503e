package bunstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// BenchmarkDeskLists lists 25 of 200,000 conversations, two percent of them open, as a desk does; the baseline is the same
// list of all conversations.
func BenchmarkDeskLists(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		s.closed(b, 200_000)
		open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusPending}
		list := func(filter helpdesk.ConversationFilter, by helpdesk.ConversationSort, desc bool) func(int) error {
			return func(int) error {
				seek := storage.Seek{Desc: desc, Limit: 25}
				got, err := s.db.Within(s.scope).Conversations().List(b.Context(), helpdesk.ConversationOrder{ConversationFilter: filter, Sort: by}, seek)
				if err == nil && len(got) != 25 {
					return fmt.Errorf("%d conversations, not 25", len(got))
				}
				return err
			}
		}
		for _, test := range []struct {
			name   string
			filter helpdesk.ConversationFilter
			by     helpdesk.ConversationSort
			desc   bool
		}{
			{"Open", helpdesk.ConversationFilter{Statuses: open}, helpdesk.ByUpdated, true},
			{"Mine", helpdesk.ConversationFilter{Statuses: open, UserID: storage.Some[int64](7)}, helpdesk.ByUpdated, true},
			{"Unassigned", helpdesk.ConversationFilter{Statuses: open, UserID: storage.Null[int64]()}, helpdesk.ByUpdated, true},
			{"Mailbox", helpdesk.ConversationFilter{Statuses: open, MailboxID: s.mailbox.ID}, helpdesk.ByUpdated, true},
			{"Waiting", helpdesk.ConversationFilter{Statuses: open, Awaiting: storage.Some(true)}, helpdesk.ByAwaiting, false},
			{"MineWaiting", helpdesk.ConversationFilter{Statuses: open, Awaiting: storage.Some(true), UserID: storage.Some[int64](7)}, helpdesk.ByAwaiting, false},
			{"Drafts", helpdesk.ConversationFilter{DraftBy: 7}, helpdesk.ByUpdated, true},
			{"Undelivered", helpdesk.ConversationFilter{Undelivered: true, Statuses: open}, helpdesk.ByUpdated, true},
		} {
			b.Run(test.name, func(b *testing.B) {
				ratio(b, list(helpdesk.ConversationFilter{}, test.by, test.desc), list(test.filter, test.by, test.desc))
			})
		}
	})
}

// closed creates conversations, every fiftieth of them open and older than most. Every second one is awaiting a reply, as
// after closing without an answer.
func (s *bench) closed(b *testing.B, total int) {
	b.Helper()
	err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		c := s.conversation(1)
		return tx.Conversations().Insert(ctx, &c)
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, statement := range []string{
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO hw_conversations (number, account_id, channel, mailbox_id, customer_id, customer_email_id, customer_email, user_id,
				status, subject, preview, awaiting_since, created_at, updated_at)
			SELECT i, account_id, channel, mailbox_id, customer_id, customer_email_id, customer_email, (i / 50) %% 10,
				CASE WHEN i %% 50 = 0 AND i < 100000 THEN 'posted' ELSE 'closed' END, subject, preview,
				CASE WHEN i %% 4 < 2 THEN -62135596800000000 ELSE awaiting_since + CAST(i AS BIGINT) * 1000000 END,
				created_at + CAST(i AS BIGINT) * 1000000, updated_at + CAST(i AS BIGINT) * 1000000 FROM n, hw_conversations`, total),
		`INSERT INTO hw_interactions (account_id, conversation_id, type, status, body, subject, user_id, posted_by_id,
			customer_email, to_addresses, cc_addresses, bcc_addresses, source, is_starter, is_forward, auto_submitted, seen_at,
			posted_at, send_started_at, message_id, message_refs, threading, at, created_at, updated_at)
			SELECT account_id, id, 'user', CASE WHEN number % 500 = 0 THEN 'draft' ELSE 'posted' END, '', '', 7, 7, '', '[]', '[]', '[]', '',
				FALSE, FALSE, FALSE, 0, 0, 0, '', '[]', '{}', 0, 0, 0 FROM hw_conversations WHERE number % 10 = 0`,
		`INSERT INTO hw_deliveries (account_id, interaction_id, address, field, state, attempts, code, enhanced_code, response,
			next_attempt_at, created_at, updated_at) SELECT account_id, id, '', 'to', CASE WHEN id % 10 = 0 THEN 'bounced' ELSE 'sent' END,
			1, 250, '', '', 0, 0, 0 FROM hw_interactions`,
		"ANALYZE",
	} {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMessages lists 25 messages of a conversation; the baseline is the same query by hand, whose lists stay texts.
func BenchmarkMessages(b *testing.B) {
	const messages = 25
	benchmarks(b, func(b *testing.B, s *bench) {
		c := s.conversation(1)
		err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
			if err := tx.Conversations().Insert(ctx, &c); err != nil {
				return err
			}
			var all []*helpdesk.Interaction
			for range messages {
				all = append(all, &helpdesk.Interaction{
					ConversationID: c.ID, Type: helpdesk.TypeCustomer, Status: helpdesk.StatusPosted, Body: "<p>The door is stuck.</p>", To: []string{"a@example.org"},
				})
			}
			return tx.Interactions().Insert(ctx, all...)
		})
		if err != nil {
			b.Fatal(err)
		}
		query := fmt.Sprintf(`SELECT id, conversation_id, type, status, body, customer_email, to_addresses, cc_addresses, message_id, message_refs, at, created_at
			FROM hw_interactions WHERE account_id = %d AND conversation_id = %d ORDER BY at, id LIMIT %d`, s.scope.AccountID, c.ID, messages)
		byHand := func(int) error {
			rows, err := s.plain.QueryContext(b.Context(), query)
			if err != nil {
				return err
			}
			defer rows.Close()
			var i helpdesk.Interaction
			var to, cc, refs string
			var at, created int64
			for rows.Next() {
				if err := rows.Scan(&i.ID, &i.ConversationID, &i.Type, &i.Status, &i.Body, &i.CustomerEmail, &to, &cc, &i.MessageID, &refs, &at, &created); err != nil {
					return err
				}
			}
			return rows.Err()
		}
		ratio(b, byHand, func(int) error {
			got, err := s.db.Within(s.scope).Interactions().List(b.Context(), helpdesk.InteractionFilter{ConversationID: c.ID}, storage.Seek{Limit: messages})
			if err == nil && len(got) != messages {
				return fmt.Errorf("%d messages, not %d", len(got), messages)
			}
			return err
		})
	})
}
