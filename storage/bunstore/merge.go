package bunstore

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// MergedInto implements [helpdesk.MergeReader].
func (r reader) MergedInto(ctx context.Context, id int64) (helpdesk.Conversation, error) {
	var row conversationRow
	q := r.selects(&row).ApplyQueryBuilder(r.conversationsInScope).
		Where(`id = (SELECT d.into_id FROM hw_conversation_redirects AS d WHERE d.account_id = ? AND d.conversation_id = ?)`,
			r.scope.AccountID, id)
	if err := one(ctx, q, "conversation", id); err != nil {
		return helpdesk.Conversation{}, err
	}
	return row.conversation(), nil
}

type moveRow struct {
	bun.BaseModel `bun:"table:hw_moves,alias:hw_moves"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	InteractionID int64
	Rule          string
	FromID        int64
	IntoID        int64
	MailboxID     int64
	UserID        int64
	CreatedAt     int64
}

func (r *moveRow) move() helpdesk.Move {
	return helpdesk.Move{
		InteractionID: r.InteractionID, Rule: r.Rule, FromID: r.FromID, IntoID: r.IntoID, MailboxID: r.MailboxID,
		UserID: r.UserID, CreatedAt: timeOf(r.CreatedAt),
	}
}

// Moves implements [helpdesk.MergeReader].
func (r reader) Moves(ctx context.Context, interactionIDs []int64) ([]helpdesk.Move, error) {
	if len(interactionIDs) == 0 {
		return nil, r.state()
	}
	var rows []moveRow
	err := r.selects(&rows).ApplyQueryBuilder(r.ofInteraction).Where("interaction_id IN (?)", bun.List(interactionIDs)).
		OrderExpr("+?TableName.id").Scan(ctx) // sorted, not walked
	return mapped(rows, (*moveRow).move), failure(ctx, err, "interaction", 0)
}

// moving moves the contents of conversation ?1 into conversation ?2 of account ?0: the interactions that ?3 selects, and the
// rows that depend on them, as ?4 selects. ?5 to ?7 are for the note about the move.
var moving = []string{
	`INSERT INTO hw_moves (account_id, interaction_id, rule, from_id, into_id, mailbox_id, user_id, created_at)
		SELECT i.account_id, i.id, ?5, ?1, ?2, c.mailbox_id, ?6, ?7 FROM hw_interactions AS i
		JOIN hw_conversations AS c ON c.account_id = i.account_id AND c.id = i.conversation_id
		WHERE i.account_id = ?0 AND i.conversation_id = ?1 AND ?3 ORDER BY i.id`,
	"UPDATE hw_interactions AS i SET conversation_id = ?2 WHERE i.account_id = ?0 AND i.conversation_id = ?1 AND ?3",
	"UPDATE hw_attachments SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1 AND ?4",
	"UPDATE hw_inbound_mails SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1 AND ?4",
	"UPDATE hw_notifications SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1 AND ?4",
}

// merging moves everything else from ?1 to ?2. A read mark that only one of them has says nothing about the interactions of
// the other.
var merging = []string{
	`INSERT INTO hw_participants (account_id, conversation_id, address_key)
		SELECT account_id, ?2, address_key FROM hw_participants WHERE account_id = ?0 AND conversation_id = ?1
		ON CONFLICT DO NOTHING`,
	`DELETE FROM hw_read_marks WHERE account_id = ?0 AND conversation_id = ?2 AND user_id NOT IN
		(SELECT m.user_id FROM hw_read_marks AS m WHERE m.account_id = ?0 AND m.conversation_id = ?1)`,
	`UPDATE hw_read_marks SET interaction_id =
		(SELECT MIN(m.interaction_id) FROM hw_read_marks AS m WHERE m.account_id = ?0
			AND m.conversation_id IN (?1, ?2) AND m.user_id = hw_read_marks.user_id)
		WHERE account_id = ?0 AND conversation_id = ?2`,
	`INSERT INTO hw_followers (account_id, conversation_id, user_id, follows, created_at)
		SELECT account_id, ?2, user_id, follows, created_at FROM hw_followers WHERE account_id = ?0 AND conversation_id = ?1
		ON CONFLICT DO NOTHING`,
	"UPDATE hw_conversation_redirects SET into_id = ?2 WHERE account_id = ?0 AND into_id = ?1",
	`INSERT INTO hw_conversation_redirects (account_id, conversation_id, mailbox_id, into_id)
		SELECT account_id, id, mailbox_id, ?2 FROM hw_conversations WHERE account_id = ?0 AND id = ?1`,
	`UPDATE hw_conversations SET refers_to = CASE WHEN id = ?2 THEN 0 ELSE ?2 END
		WHERE account_id = ?0 AND refers_to <> 0 AND refers_to = ?1`,
	"UPDATE hw_idempotency SET conversation_id = ?2 WHERE conversation_id = ?1",
	"DELETE FROM hw_conversations WHERE account_id = ?0 AND id = ?1",
}

// marking sets the read marks in ?2 of users who have a mark in ?1 or ?2, after the interactions ?3 were moved there: just
// before the first unread customer interaction, or at the end if there is none.
const marking = `INSERT INTO hw_read_marks (account_id, conversation_id, user_id, interaction_id)
	SELECT ?0, ?2, u.user_id, COALESCE(
		(SELECT MIN(i.id) - 1 FROM hw_interactions AS i WHERE i.account_id = ?0 AND i.conversation_id = ?2
			AND i.type = 'customer' AND i.id > CASE WHEN i.id IN (?3) THEN u.was ELSE u.there END),
		(SELECT MAX(i.id) FROM hw_interactions AS i WHERE i.account_id = ?0 AND i.conversation_id = ?2))
	FROM (SELECT m.user_id, MAX(CASE WHEN m.conversation_id = ?1 THEN m.interaction_id ELSE 0 END) AS was,
			MAX(CASE WHEN m.conversation_id = ?2 THEN m.interaction_id ELSE 0 END) AS there
		FROM hw_read_marks AS m WHERE m.account_id = ?0 AND m.conversation_id IN (?1, ?2) GROUP BY m.user_id) AS u
	WHERE TRUE ON CONFLICT (account_id, conversation_id, user_id) DO UPDATE SET interaction_id = EXCLUDED.interaction_id`

// move runs the statements of moving; nil ids mean all interactions.
func (w writer) move(ctx context.Context, ids []int64, m helpdesk.Move) error {
	for _, one := range []int64{m.FromID, m.IntoID} {
		if _, err := w.Conversations().Get(ctx, one); err != nil {
			return err
		}
	}
	if m.FromID == m.IntoID {
		return fault.Field("into", "must be another conversation")
	}
	interactions, others := bun.SafeQuery("TRUE"), bun.SafeQuery("TRUE")
	if ids != nil {
		interactions, others = bun.SafeQuery("i.id IN (?)", bun.List(ids)), bun.SafeQuery("interaction_id IN (?)", bun.List(ids))
	}
	for _, statement := range moving {
		q := w.raw(statement, w.scope.AccountID, m.FromID, m.IntoID, interactions, others, m.Rule, m.UserID, micros(m.CreatedAt))
		if _, err := q.Exec(ctx); err != nil {
			return failure(ctx, err, "conversation", m.FromID)
		}
	}
	return nil
}

// MergeConversation implements [helpdesk.MergeWriter].
func (w writer) MergeConversation(ctx context.Context, m helpdesk.Move) error {
	if err := w.move(ctx, nil, m); err != nil {
		return err
	}
	for _, statement := range merging {
		if _, err := w.raw(statement, w.scope.AccountID, m.FromID, m.IntoID).Exec(ctx); err != nil {
			return failure(ctx, err, "conversation", m.FromID)
		}
	}
	return nil
}

// MoveInteractions implements [helpdesk.MergeWriter].
func (w writer) MoveInteractions(ctx context.Context, ids []int64, m helpdesk.Move) error {
	var found []int64
	if len(ids) > 0 {
		err := w.selects((*interactionRow)(nil)).Column("id").ApplyQueryBuilder(w.account).Where("conversation_id = ?", m.FromID).
			Where("id IN (?)", bun.List(ids)).Scan(ctx, &found)
		if err != nil {
			return failure(ctx, err, "conversation", m.FromID)
		}
	}
	if len(found) == 0 {
		found = []int64{0} // an empty list
	}
	if err := w.move(ctx, found, m); err != nil || found[0] == 0 {
		return err
	}
	_, err := w.raw(marking, w.scope.AccountID, m.FromID, m.IntoID, bun.List(found)).Exec(ctx)
	return failure(ctx, err, "conversation", m.IntoID)
}
