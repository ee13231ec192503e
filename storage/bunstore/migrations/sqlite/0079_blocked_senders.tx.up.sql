-- Addresses, and domains after "@", whose mail is filed as spam.
CREATE TABLE hw_blocked_senders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    sender TEXT NOT NULL,
    sender_key TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_blocked_senders_key ON hw_blocked_senders (account_id, sender_key);
