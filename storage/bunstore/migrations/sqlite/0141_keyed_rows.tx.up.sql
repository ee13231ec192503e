-- Rows that are little more than their key are kept in the order of it, so that reading one takes one search instead of two, and
-- writing one changes a page less.
CREATE TABLE hw_read_marks_keyed (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL, -- the newest that was read; it may be gone
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO hw_read_marks_keyed (account_id, conversation_id, user_id, interaction_id)
    SELECT account_id, conversation_id, user_id, interaction_id FROM hw_read_marks ORDER BY 1, 2, 3;
DROP TABLE hw_read_marks;
ALTER TABLE hw_read_marks_keyed RENAME TO hw_read_marks;

CREATE TABLE hw_participants_keyed (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    address_key TEXT NOT NULL,
    PRIMARY KEY (account_id, conversation_id, address_key),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO hw_participants_keyed (account_id, conversation_id, address_key)
    SELECT account_id, conversation_id, address_key FROM hw_participants ORDER BY 1, 2, 3;
DROP TABLE hw_participants;
ALTER TABLE hw_participants_keyed RENAME TO hw_participants;
CREATE INDEX hw_participants_key ON hw_participants (account_id, address_key, conversation_id);
