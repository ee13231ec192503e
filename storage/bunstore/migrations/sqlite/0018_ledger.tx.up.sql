-- Who ignored a mail and why, and where interactions were before they were moved.
ALTER TABLE hw_inbound_mails ADD COLUMN user_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_inbound_mails ADD COLUMN note TEXT NOT NULL DEFAULT '';

CREATE TABLE hw_moves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL,
    rule TEXT NOT NULL,
    from_id INTEGER NOT NULL, -- conversation; it may be gone
    into_id INTEGER NOT NULL, -- as from_id
    mailbox_id INTEGER NOT NULL, -- that from_id was of
    user_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, interaction_id) REFERENCES hw_interactions (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_moves_interaction ON hw_moves (account_id, interaction_id, id);
