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

type portalKeyRow struct {
	bun.BaseModel `bun:"table:hw_portal_keys,alias:hw_portal_keys"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	Name          string
	Algorithm     string
	PublicKey     []byte
	SealedSecret  []byte
	UserID        int64
	LastUsedAt    int64
	CreatedAt     int64
}

func (r *portalKeyRow) key() helpdesk.PortalKey {
	return helpdesk.PortalKey{
		ID: r.ID, Name: r.Name, Algorithm: r.Algorithm, PublicKey: empty(r.PublicKey), SealedSecret: empty(r.SealedSecret),
		UserID: r.UserID, LastUsedAt: timeOf(r.LastUsedAt), CreatedAt: timeOf(r.CreatedAt),
	}
}

func portalKeyRowOf(account int64, k *helpdesk.PortalKey) portalKeyRow {
	return portalKeyRow{
		ID: k.ID, AccountID: account, Name: k.Name, Algorithm: k.Algorithm, PublicKey: filled(k.PublicKey),
		SealedSecret: filled(k.SealedSecret), UserID: k.UserID, LastUsedAt: micros(k.LastUsedAt), CreatedAt: micros(k.CreatedAt),
	}
}

var portalKeys = table[writer, helpdesk.PortalKey, storage.NoFilter, portalKeyRow]{
	Noun: nouns.PortalKeys, row: portalKeyRowOf, item: (*portalKeyRow).key,
}

// PortalKeys implements [helpdesk.Reader].
func (r reader) PortalKeys() storage.RowReader[helpdesk.PortalKey, storage.NoFilter] {
	return rowsOf(r.placed(), &portalKeys)
}

// PortalKeys implements [helpdesk.Rows].
func (w writer) PortalKeys() storage.Rows[helpdesk.PortalKey, storage.NoFilter] {
	return storedOf(w, &portalKeys)
}

// TouchPortalKey implements [helpdesk.PortalKeyWriter].
func (w writer) TouchPortalKey(ctx context.Context, id int64, at time.Time) error {
	res, err := w.raw("UPDATE hw_portal_keys SET last_used_at = ? WHERE account_id = ? AND id = ?",
		micros(at), w.scope.AccountID, id).Exec(ctx)
	return changed(ctx, res, err, "key", id)
}
