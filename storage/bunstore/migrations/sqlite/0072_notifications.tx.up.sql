-- What members were told. One without a conversation is of a mailbox.
CREATE TABLE hw_notifications (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES hw_accounts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    conversation_id INTEGER,
    interaction_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    actor_id INTEGER NOT NULL,
    source TEXT NOT NULL,
    shown INTEGER NOT NULL,
    browser INTEGER NOT NULL,
    mail_at INTEGER NOT NULL,
    read_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (account_id, conversation_id) REFERENCES hw_conversations (account_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX hw_notifications_source ON hw_notifications (account_id, user_id, source);
CREATE INDEX hw_notifications_user ON hw_notifications (account_id, user_id, id);
CREATE INDEX hw_notifications_unread ON hw_notifications (account_id, user_id, id) WHERE read_at < 0;
CREATE INDEX hw_notifications_conversation ON hw_notifications (account_id, conversation_id, user_id) WHERE conversation_id IS NOT NULL;
