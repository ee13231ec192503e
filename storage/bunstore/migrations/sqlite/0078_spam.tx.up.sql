-- Conversations that are spam, which are closed, since a time.
ALTER TABLE hw_conversations ADD COLUMN spam_at INTEGER NOT NULL DEFAULT -62135596800000000;
CREATE INDEX hw_conversations_spam ON hw_conversations (account_id, updated_at, id) WHERE spam_at > 0;
