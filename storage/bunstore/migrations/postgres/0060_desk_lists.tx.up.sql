-- Lists of a desk: what is at work, of a user, of a mailbox and of who has waited longest; drafts and failed deliveries.
CREATE INDEX hw_conversations_open ON hw_conversations (account_id, updated_at, id) WHERE status IN ('posted', 'pending');
--bun:split
CREATE INDEX hw_conversations_open_user ON hw_conversations (account_id, user_id, updated_at, id) WHERE status IN ('posted', 'pending');
--bun:split
CREATE INDEX hw_conversations_open_mailbox ON hw_conversations (account_id, mailbox_id, updated_at, id) WHERE status IN ('posted', 'pending');
--bun:split
CREATE INDEX hw_conversations_open_awaiting ON hw_conversations (account_id, awaiting_key, id) WHERE status IN ('posted', 'pending');
--bun:split
CREATE INDEX hw_interactions_drafts ON hw_interactions (account_id, user_id, conversation_id) WHERE status = 'draft';
--bun:split
CREATE INDEX hw_deliveries_undelivered ON hw_deliveries (account_id, interaction_id) WHERE state IN ('failed', 'bounced', 'suppressed');
