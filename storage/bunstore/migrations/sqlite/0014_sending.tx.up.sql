-- What sending knows beyond the first try, and addresses that get no mail.
ALTER TABLE hw_accounts ADD COLUMN send_hold INTEGER NOT NULL DEFAULT 0; -- seconds
ALTER TABLE hw_deliveries ADD COLUMN address_key TEXT NOT NULL DEFAULT '';
UPDATE hw_deliveries SET address_key = lower(address);
ALTER TABLE hw_deliveries ADD COLUMN held_by INTEGER NOT NULL DEFAULT 0; -- the job that tries it
ALTER TABLE hw_deliveries ADD COLUMN held_until INTEGER NOT NULL DEFAULT -62135596800000000;
CREATE INDEX hw_deliveries_address ON hw_deliveries (account_id, address_key, updated_at);
DROP INDEX hw_interactions_email;
CREATE INDEX hw_interactions_email ON hw_interactions (account_id, customer_email_id, created_at)
    WHERE customer_email_id IS NOT NULL;

CREATE TABLE hw_suppressions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    user_id INTEGER NOT NULL, -- who did it; 0: a bounce did
    interaction_id INTEGER NOT NULL, -- that bounced; it may be gone
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_suppressions_email ON hw_suppressions (account_id, email_key);
