-- Who is at a conversation, as long as they say so.
CREATE TABLE hw_presence (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    doing TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_presence_seen ON hw_presence (account_id, seen_at);
