-- Tombstones of the addresses of erased customers, and the keys that recognize them.
CREATE TABLE hw_erasures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    customer_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    user_id INTEGER NOT NULL,
    erased_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_erasures_digest ON hw_erasures (account_id, digest);
ALTER TABLE hw_accounts ADD COLUMN sealed_erasure_keys BLOB;
-- Erasing a customer finds the conversations that the customer takes part in.
CREATE INDEX hw_participants_key ON hw_participants (account_id, address_key, conversation_id);
