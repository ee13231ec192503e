ALTER TABLE hw_tokens ADD COLUMN session INTEGER NOT NULL DEFAULT FALSE;

ALTER TABLE hw_memberships ADD COLUMN force_offline INTEGER NOT NULL DEFAULT FALSE;
ALTER TABLE hw_memberships ADD COLUMN while_in_app INTEGER NOT NULL DEFAULT TRUE;
ALTER TABLE hw_memberships ADD COLUMN use_schedule INTEGER NOT NULL DEFAULT FALSE;
ALTER TABLE hw_memberships ADD COLUMN schedule TEXT NOT NULL DEFAULT '[]';
ALTER TABLE hw_memberships ADD COLUMN timezone TEXT NOT NULL DEFAULT '';

CREATE TABLE hw_invitations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    name TEXT NOT NULL,
    role_ids TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    nonce BLOB NOT NULL,
    hash BLOB NOT NULL,
    user_id INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_invitations_hash ON hw_invitations (hash);
