-- How urgent conversations are. Few are anything but normal: lists of those have indexes of their own.
ALTER TABLE hw_conversations ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
--bun:split
CREATE INDEX hw_conversations_priority_created ON hw_conversations (account_id, created_at, id) WHERE priority <> 'normal';
--bun:split
CREATE INDEX hw_conversations_priority ON hw_conversations (account_id, updated_at, id) WHERE priority <> 'normal';
--bun:split
CREATE INDEX hw_conversations_priority_awaiting ON hw_conversations (account_id, awaiting_key, id) WHERE status IN ('posted', 'pending') AND priority <> 'normal';
