-- Mails by which members worked, or tried to: each does so once, and few come back within an hour.
CREATE TABLE hw_member_mails (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    mail_key TEXT NOT NULL,
    inbound_id INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_member_mails_key ON hw_member_mails (account_id, user_id, mail_key);
CREATE INDEX hw_member_mails_user ON hw_member_mails (account_id, user_id, id);
