-- Who becomes a member of an account by signing in.
CREATE TABLE hw_join_rules (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    domain TEXT NOT NULL,
    role_ids TEXT NOT NULL,
    mailbox_ids TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_join_rules_domain ON hw_join_rules (domain, issuer, account_id);
