-- Tags of conversations, saved views, read marks of users, and where merged conversations are.
CREATE TABLE hw_tags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    color TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;
CREATE UNIQUE INDEX hw_tags_key ON hw_tags (account_id, name_key);

CREATE TABLE hw_conversation_tags (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id, tag_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE,
    FOREIGN KEY (account_id, tag_id) REFERENCES hw_tags (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_tags_tag ON hw_conversation_tags (account_id, tag_id, conversation_id);

CREATE TABLE hw_views (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    filter TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
) STRICT;

CREATE TABLE hw_read_marks (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    interaction_id INTEGER NOT NULL, -- the newest that was read; it may be gone
    PRIMARY KEY (account_id, conversation_id, user_id),
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_interactions_questions ON hw_interactions (account_id, conversation_id, id) WHERE type = 'customer';
ALTER TABLE hw_conversations DROP COLUMN unread_count;

CREATE TABLE hw_conversation_redirects (
    account_id INTEGER NOT NULL,
    conversation_id INTEGER NOT NULL, -- is gone
    mailbox_id INTEGER NOT NULL, -- that it was of
    into_id INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation_id),
    FOREIGN KEY (account_id, into_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX hw_conversation_redirects_into ON hw_conversation_redirects (account_id, into_id, mailbox_id);
