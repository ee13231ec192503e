-- Keys that applications sign portal tokens with, what customers may see, and the audit log.
CREATE TABLE hw_portal_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    public_key BLOB NOT NULL, -- of EdDSA
    sealed_secret BLOB NOT NULL, -- of HS256
    last_used_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

-- The keys of the addresses that an interaction is from or went to, each between two line feeds; empty when only
-- members see it. The service computes them; of what is there already, addresses that lower() does not normalise are
-- left to the members.
ALTER TABLE hw_interactions ADD COLUMN audience TEXT NOT NULL DEFAULT '';
UPDATE hw_interactions SET audience = char(10) || lower(customer_email || char(10) ||
    coalesce((SELECT group_concat(value, char(10)) FROM (SELECT value FROM json_each(to_addresses)
        UNION ALL SELECT value FROM json_each(cc_addresses)
        UNION ALL SELECT value FROM json_each(bcc_addresses))), '')) || char(10)
WHERE status = 'posted' AND NOT is_forward AND (type = 'customer' OR type = 'user' AND send_started_at > 0);

CREATE TABLE hw_audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    action TEXT NOT NULL,
    subject INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    token_id INTEGER NOT NULL,
    address TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX hw_audit_created ON hw_audit (account_id, created_at, id);
CREATE INDEX hw_audit_action ON hw_audit (account_id, action, created_at, id);
CREATE INDEX hw_audit_user ON hw_audit (account_id, user_id, created_at, id);
