-- The place of an interaction in its conversation, and when a server had the mail that it came as; the default of the
-- latter is "no time".
ALTER TABLE hw_interactions ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_interactions ADD COLUMN received_at INTEGER NOT NULL DEFAULT -62135596800000000;
UPDATE hw_interactions SET at = created_at;
CREATE INDEX hw_interactions_order ON hw_interactions (account_id, conversation_id, at, id);
-- Accounts whose mails get both from the ledger, once its own columns are there.
CREATE TABLE hw_order_pending (account_id INTEGER PRIMARY KEY REFERENCES hw_accounts (id) ON DELETE CASCADE) STRICT;
INSERT INTO hw_order_pending SELECT id FROM hw_accounts;
