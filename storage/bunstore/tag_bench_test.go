package bunstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// BenchmarkTagFilter lists 25 of 100,000 conversations with a tag that every second one has, that ten have, and that none
// has; the baseline is the same list of all conversations.
func BenchmarkTagFilter(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		tags := s.tagged(b, 100_000)
		list := func(filter helpdesk.ConversationFilter, want int) func(int) error {
			return func(int) error {
				seek := storage.Seek{Desc: true, Limit: 25}
				got, err := s.db.Within(s.scope).Conversations().List(b.Context(), helpdesk.ConversationOrder{ConversationFilter: filter, Sort: helpdesk.ByCreated}, seek)
				if err == nil && len(got) != want {
					return fmt.Errorf("%d conversations, not %d", len(got), want)
				}
				return err
			}
		}
		for i, test := range []struct {
			name string
			want int
		}{{"Common", 25}, {"Rare", 10}, {"Unused", 0}} {
			b.Run(test.name, func(b *testing.B) {
				ratio(b, list(helpdesk.ConversationFilter{}, 25), list(helpdesk.ConversationFilter{TagIDs: tags[i : i+1]}, test.want))
			})
		}
	})
}

// tagged creates the conversations and tags of BenchmarkTagFilter.
func (s *bench) tagged(b *testing.B, total int) []int64 {
	b.Helper()
	var ids []int64
	err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error {
		ids = nil
		for _, name := range []string{"common", "rare", "unused"} {
			tag := helpdesk.Tag{Name: name, Key: name}
			if err := helpdesk.Nouns().Tags.Rows(tx).Insert(ctx, &tag); err != nil {
				return err
			}
			ids = append(ids, tag.ID)
		}
		c := s.conversation(1)
		return tx.Conversations().Insert(ctx, &c)
	})
	if err != nil {
		b.Fatal(err)
	}
	const columns = "account_id, channel, mailbox_id, customer_id, customer_email_id, customer_email, user_id, status, subject, preview, awaiting_since, updated_at"
	for _, statement := range []string{
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO hw_conversations (number, created_at, %s)
			SELECT i, created_at + CAST(i AS BIGINT) * 1000000, %s FROM n, hw_conversations`, total, columns, columns),
		fmt.Sprintf("INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT account_id, id, %d, created_at FROM hw_conversations WHERE number %% 2 = 0", ids[0]),
		fmt.Sprintf("INSERT INTO hw_conversation_tags (account_id, conversation_id, tag_id, created_at) SELECT account_id, id, %d, created_at FROM hw_conversations WHERE number %% %d = 7", ids[1], total/10),
		"ANALYZE",
	} {
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return ids
}
