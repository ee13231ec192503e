-- The conversation that a mail refers to and was not let into; it may be gone, 0: none.
ALTER TABLE hw_conversations ADD COLUMN refers_to INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hw_conversations_refers_to ON hw_conversations (account_id, refers_to) WHERE refers_to <> 0;
