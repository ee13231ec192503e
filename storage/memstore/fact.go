package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// Contributions implements [helpdesk.FactReader].
func (r reader) Contributions(ctx context.Context, conversationIDs []int64) ([]report.Message, error) {
	return query(ctx, r.src, func(db *data) ([]report.Message, error) {
		var all []report.Message
		for _, i := range db.interactions.all(r.scope.AccountID) {
			if !slices.Contains(conversationIDs, i.ConversationID) || !db.within(r.scope, i) {
				continue
			}
			if m, counts := i.Contribution(); counts {
				all = append(all, m)
			}
		}
		return all, nil
	})
}

// FactFigures implements [helpdesk.FactReader].
func (r reader) FactFigures(ctx context.Context, read report.Read) (string, error) {
	rows, err := nouns.ConversationFacts.Reader(r).List(ctx, helpdesk.ConversationFactFilter{}, storage.Seek{Limit: storage.NoLimit})
	var lines []string
	for _, f := range rows {
		at, line := f.CreatedAt, f.Figures
		switch read.Clock {
		case report.Resolved, report.Open:
			at = f.EndedAt
		case report.Rated:
			at = f.RatedAt
		case report.Replied:
			at, line = f.RepliedAt, f.Figures+"|"+f.Said
		case report.Created:
		}
		in := func(from, to time.Time) bool { return !at.Before(from) && at.Before(to) }
		if !at.IsZero() && in(read.From, read.To) && (read.Before.IsZero() || f.CreatedAt.Before(read.Before)) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), err
}

// DeleteFacts implements [helpdesk.FactWriter].
func (t tx) DeleteFacts(ctx context.Context, conversationIDs []int64) error {
	return t.write(ctx, func(db *data) error {
		table := nouns.ConversationFacts.Table()
		of := table.Index("conversation_id")
		db.plain[table.Name].removeIf(t.scope.AccountID, func(r *storage.Record) bool {
			id, _ := r.Values[of].(int64)
			return slices.Contains(conversationIDs, id)
		})
		return nil
	})
}
