package bunstore

import (
	"context"

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

// merging moves what is in conversation ?1 into conversation ?2 of account ?0. A mark that only one of them has says
// nothing of the other's interactions.
var merging = []string{
	"UPDATE hw_interactions SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1",
	"UPDATE hw_attachments SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1",
	"UPDATE hw_inbound_mails SET conversation_id = ?2 WHERE account_id = ?0 AND conversation_id = ?1",
	`INSERT INTO hw_participants (account_id, conversation_id, address_key)
		SELECT account_id, ?2, address_key FROM hw_participants WHERE account_id = ?0 AND conversation_id = ?1
		ON CONFLICT DO NOTHING`,
	`DELETE FROM hw_read_marks WHERE account_id = ?0 AND conversation_id = ?2 AND user_id NOT IN
		(SELECT m.user_id FROM hw_read_marks AS m WHERE m.account_id = ?0 AND m.conversation_id = ?1)`,
	`UPDATE hw_read_marks SET interaction_id =
		(SELECT MIN(m.interaction_id) FROM hw_read_marks AS m WHERE m.account_id = ?0
			AND m.conversation_id IN (?1, ?2) AND m.user_id = hw_read_marks.user_id)
		WHERE account_id = ?0 AND conversation_id = ?2`,
	"UPDATE hw_conversation_redirects SET into_id = ?2 WHERE account_id = ?0 AND into_id = ?1",
	`INSERT INTO hw_conversation_redirects (account_id, conversation_id, mailbox_id, into_id)
		SELECT account_id, id, mailbox_id, ?2 FROM hw_conversations WHERE account_id = ?0 AND id = ?1`,
	"DELETE FROM hw_conversations WHERE account_id = ?0 AND id = ?1",
}

// MergeConversation implements [helpdesk.MergeWriter].
func (w writer) MergeConversation(ctx context.Context, id, into int64) error {
	for _, one := range []int64{id, into} {
		if _, err := w.Conversation(ctx, one); err != nil {
			return err
		}
	}
	if id == into {
		return fault.Field("into", "must be another conversation")
	}
	for _, statement := range merging {
		if _, err := w.raw(statement, w.scope.AccountID, id, into).Exec(ctx); err != nil {
			return failure(ctx, err, "conversation", id)
		}
	}
	return nil
}
