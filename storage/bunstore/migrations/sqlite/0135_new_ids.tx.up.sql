-- An account that was imported says from what. While it is being imported, the ids that its rows had are kept by those
-- that they have now.
ALTER TABLE hw_accounts ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_accounts ADD COLUMN origin_finished_at INTEGER NOT NULL DEFAULT -62135596800000000;
CREATE TABLE hw_new_ids (
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    noun TEXT NOT NULL,
    old_id INTEGER NOT NULL,
    new_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, noun, old_id)
) STRICT;
