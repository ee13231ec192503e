-- Who follows a conversation, or has said that they do not.
CREATE TABLE hw_followers (
    account_id BIGINT NOT NULL,
    conversation_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    follows BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
);
