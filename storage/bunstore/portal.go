package bunstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// audience returns the column value that finds an interaction by address keys: each key is between two line feeds.
func audience(i *helpdesk.Interaction) string {
	keys := i.Audience()
	if len(keys) == 0 {
		return ""
	}
	return "\n" + strings.Join(keys, "\n") + "\n"
}

// meets is a condition for the interactions of alias whose audience includes any of the keys.
func (s *querier) meets(alias string, keys []string) (clause string, args []any) {
	position := "instr(?.audience, ?) > 0"
	if s.store.postgres {
		position = "strpos(?.audience, ?) > 0"
	}
	var parts []string
	for _, key := range keys {
		if key != "" && !strings.Contains(key, "\n") {
			parts = append(parts, position)
			args = append(args, bun.Ident(alias), "\n"+key+"\n")
		}
	}
	if len(parts) == 0 {
		return "1 = 0", nil
	}
	return "(" + strings.Join(parts, " OR ") + ")", args
}

// Correspondence implements [helpdesk.CorrespondenceReader].
func (r reader) Correspondence(ctx context.Context, conversationID int64, keys []string, seek storage.Seek) ([]helpdesk.Interaction, error) {
	var rows []interactionRow
	clause, args := r.meets("hw_interactions", keys)
	q := r.selects(&rows).Err(checkText(keys)).ApplyQueryBuilder(r.ofConversation).
		Where("conversation_id = ?", conversationID).Where(clause, args...)
	err := page(q, "at", seek).Scan(ctx)
	return mapped(rows, (*interactionRow).interaction), failure(ctx, err, "interaction", 0)
}

// LastCorrespondence implements [helpdesk.CorrespondenceReader].
func (r reader) LastCorrespondence(ctx context.Context, conversationIDs []int64, keys []string) ([]helpdesk.Interaction, error) {
	if len(conversationIDs) == 0 {
		return nil, r.state()
	}
	var rows []interactionRow
	clause, args := r.meets("i", keys)
	newest := r.db.NewSelect().Model((*conversationRow)(nil)).ColumnExpr(
		"(SELECT i.id FROM hw_interactions AS i WHERE i.account_id = ?TableName.account_id AND i.conversation_id = ?TableName.id"+
			" AND "+clause+" ORDER BY i.at DESC, i.id DESC LIMIT 1)", args...).
		ApplyQueryBuilder(r.conversationsInScope).Where("id IN (?)", bun.List(conversationIDs))
	err := r.selects(&rows).Err(checkText(keys)).ApplyQueryBuilder(r.account).
		Where("id IN (?)", newest).OrderExpr("+conversation_id").Scan(ctx) // sorted, not walked
	return mapped(rows, (*interactionRow).interaction), failure(ctx, err, "interaction", 0)
}

// MarkSeen implements [helpdesk.SeenWriter].
func (w writer) MarkSeen(ctx context.Context, ids []int64, at time.Time) ([]int64, error) {
	if len(ids) == 0 {
		return nil, w.requireAccount(ctx)
	}
	var first []int64
	q := w.updates((*interactionRow)(nil)).Set("seen_at = ?", micros(at)).ApplyQueryBuilder(w.ofConversation).
		Where("id IN (?)", bun.List(ids)).Where("type = ?", helpdesk.TypeUser).Where("seen_at = ?", noTime)
	if err := q.Returning("id").Scan(ctx, &first); err != nil {
		return nil, failure(ctx, err, "interaction", 0)
	}
	slices.Sort(first)
	return first, nil
}
