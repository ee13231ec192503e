CREATE TABLE hw_domains (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    selector TEXT NOT NULL,
    sealed_key BLOB,
    records TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_domains_name ON hw_domains (account_id, name);

-- A key goes with the address that mail is encrypted for.
CREATE TABLE hw_pgp_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    customer_email_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    content BLOB,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, customer_email_id) REFERENCES hw_customer_emails (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_pgp_keys_fingerprint ON hw_pgp_keys (account_id, customer_email_id, fingerprint);
