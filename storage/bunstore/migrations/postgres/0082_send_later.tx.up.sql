-- Answers that are told to leave at a time.
ALTER TABLE hw_interactions ADD COLUMN send_at BIGINT NOT NULL DEFAULT -62135596800000000;
--bun:split
CREATE INDEX hw_interactions_scheduled ON hw_interactions (account_id, conversation_id, id) WHERE send_at > 0;
--bun:split
CREATE INDEX hw_interactions_scheduled_user ON hw_interactions (account_id, user_id, conversation_id) WHERE send_at > 0;
