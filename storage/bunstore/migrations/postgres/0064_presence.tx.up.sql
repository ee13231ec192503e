-- Who is at a conversation, as long as they say so.
CREATE TABLE hw_presence (
    account_id BIGINT NOT NULL,
    conversation_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    doing TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX hw_presence_seen ON hw_presence (account_id, seen_at);
