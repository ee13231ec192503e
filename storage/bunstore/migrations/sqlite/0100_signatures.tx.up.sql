-- What the answers of a member end with.
CREATE TABLE hw_signatures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    body TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_signatures_user ON hw_signatures (account_id, user_id);
-- What the answers of a mailbox end with, and what they quote.
ALTER TABLE hw_mailboxes ADD COLUMN signature TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_mailboxes ADD COLUMN quotes TEXT NOT NULL DEFAULT 'none';
-- What an answer ends with, fixed when it is posted: JSON.
ALTER TABLE hw_interactions ADD COLUMN ending TEXT NOT NULL DEFAULT '{}';
