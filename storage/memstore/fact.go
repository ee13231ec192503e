package memstore

import (
	"context"
	"slices"

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

// Facts implements [helpdesk.FactReader].
func (r reader) Facts(ctx context.Context, read report.Read) ([]report.Fact, error) {
	rows, err := nouns.ConversationFacts.Reader(r).List(ctx, helpdesk.ConversationFactFilter{}, storage.Seek{Limit: storage.NoLimit})
	var facts []report.Fact
	for _, f := range rows {
		at := f.CreatedAt
		switch read.Clock {
		case report.Resolved, report.Open:
			at = f.EndedAt
		case report.Rated:
			at = f.RatedAt
		case report.Replied:
			at = f.RepliedAt
		case report.Created:
		}
		in := !at.IsZero() && !at.Before(read.From) && at.Before(read.To)
		if in && (read.Before.IsZero() || f.CreatedAt.Before(read.Before)) {
			facts = append(facts, f.Fact)
		}
	}
	return facts, err
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
