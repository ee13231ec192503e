package bunstore

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
)

// dating fills in, for the interactions of account ?0, what the ledger knows of their mails: when a server received them
// and, for mails from a mailbox's backlog, the time they were sent as their place. It applies the current filing rule as far
// as old rows allow: a mail may be in transit for 5 days, and counts as new when it has waited at most 24 hours. ?1 is no
// time.
const dating = `UPDATE hw_interactions SET
	received_at = CASE WHEN m.delivered_at > ?1 THEN m.delivered_at ELSE m.received_at END,
	at = CASE
		WHEN m.source NOT IN ('imap', 'pop3') OR m.delivered_at < 0 OR m.delivered_at > m.received_at THEN hw_interactions.at
		WHEN m.delivered_at >= b.created_at - b.created_at % 1000000 AND m.received_at - m.delivered_at < 86400000000 THEN hw_interactions.at
		WHEN hw_interactions.posted_at > m.delivered_at OR m.delivered_at - hw_interactions.posted_at > 432000000000 THEN m.delivered_at
		ELSE hw_interactions.posted_at END
	FROM hw_inbound_mails AS m JOIN hw_mailboxes AS b ON b.account_id = m.account_id AND b.id = m.mailbox_id
	WHERE hw_interactions.account_id = ?0 AND m.account_id = ?0 AND m.interaction_id = hw_interactions.id
		AND m.state = 'filed' AND (m.delivered_at > ?1 OR m.source IN ('smtp', 'lmtp'))`

// order gives a place to interactions that are older than places, one transaction per account.
func (db *DB) order(ctx context.Context) error {
	var accounts []int64
	if err := db.write.NewRaw("SELECT account_id FROM hw_order_pending ORDER BY account_id").Scan(ctx, &accounts); err != nil {
		return failure(ctx, err, "migration", 0)
	}
	for _, id := range accounts {
		err := db.InTx(ctx, helpdesk.Scope{AccountID: id}, func(ctx context.Context, tx helpdesk.Tx) error {
			w := tx.(writer) //nolint:forcetypeassert // it is this store's
			if _, err := w.raw(dating, id, noTime).Exec(ctx); err != nil {
				return failure(ctx, err, "migration", 0)
			}
			_, err := w.raw("DELETE FROM hw_order_pending WHERE account_id = ?", id).Exec(ctx)
			return failure(ctx, err, "migration", 0)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
