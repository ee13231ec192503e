package bunstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// Contributions implements [helpdesk.FactReader].
func (r reader) Contributions(ctx context.Context, conversationIDs []int64) ([]report.Message, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []interactionRow
	err := r.selects(&rows).Column("id", "conversation_id", "type", "status", "posted_by_id", "source", "is_forward", "auto_submitted", "posted_at", "send_at", "at").
		ApplyQueryBuilder(r.ofConversation).Where("?TableName.conversation_id IN (?)", bun.List(conversationIDs)).
		Where("?TableName.status = ?", helpdesk.StatusPosted).Scan(ctx)
	var all []report.Message
	for i := range rows {
		if m, counts := rows[i].interaction().Contribution(); counts {
			all = append(all, m)
		}
	}
	return all, failure(ctx, err, "interaction", 0)
}

// Facts implements [helpdesk.FactReader].
func (r reader) Facts(ctx context.Context, read report.Read) ([]report.Fact, error) {
	column, more := "created_at", ""
	switch read.Clock {
	case report.Resolved, report.Open:
		column = "ended_at"
	case report.Rated:
		column, more = "rated_at", " AND rated_at > 0"
	case report.Replied:
		column = "replied_at"
	case report.Created:
	}
	var names []string
	found := factScan{columns: helpdesk.Nouns().ConversationFacts.Columns}
	found.columns = slices.DeleteFunc(slices.Clone(found.columns), func(c storage.Column[helpdesk.ConversationFact]) bool {
		return !slices.Contains(read.Columns, report.Column(c.Name))
	})
	for _, c := range found.columns {
		names = append(names, c.Name)
	}
	args := []any{bun.Safe(strings.Join(names, ", ")), r.scope.AccountID, bun.Safe(column), micros(read.From), bun.Safe(column), micros(read.To)}
	if !read.Before.IsZero() {
		more, args = more+" AND created_at < ?", append(args, micros(read.Before))
	}
	err := r.raw("SELECT ? FROM hw_conversation_facts WHERE account_id = ? AND ? >= ? AND ? < ?"+more, args...).Scan(ctx, &found)
	return found.all, failure(ctx, err, "fact of a conversation", 0)
}

// factScan is the [bun.Model] that collects some columns of facts.
type factScan struct {
	columns []storage.Column[helpdesk.ConversationFact]
	all     []report.Fact
}

// Value implements [bun.Model].
func (s *factScan) Value() any { return nil }

// ScanRows implements [bun.Model].
func (s *factScan) ScanRows(_ context.Context, rows *sql.Rows) (int, error) {
	var row helpdesk.ConversationFact
	scanned := make([]any, len(s.columns))
	var convert []func() error
	for i, c := range s.columns {
		switch field := c.Field(&row).(type) {
		case *time.Time:
			number := new(int64)
			scanned[i], convert = number, append(convert, func() error {
				*field = time.UnixMicro(*number).UTC()
				return nil
			})
		case storage.Value:
			text := new(string)
			scanned[i], convert = text, append(convert, func() error { return field.Read(*text) })
		default:
			scanned[i] = field
		}
	}
	for rows.Next() {
		if err := rows.Scan(scanned...); err != nil {
			return len(s.all), err
		}
		for _, fn := range convert {
			if err := fn(); err != nil {
				return len(s.all), err
			}
		}
		s.all = append(s.all, row.Fact)
	}
	return len(s.all), rows.Err()
}

// DeleteFacts implements [helpdesk.FactWriter].
func (w writer) DeleteFacts(ctx context.Context, conversationIDs []int64) error {
	if len(conversationIDs) == 0 {
		return w.state()
	}
	_, err := w.raw("DELETE FROM hw_conversation_facts WHERE account_id = ? AND conversation_id IN (?)", w.scope.AccountID, bun.List(conversationIDs)).Exec(ctx)
	return failure(ctx, err, "fact of a conversation", 0)
}
