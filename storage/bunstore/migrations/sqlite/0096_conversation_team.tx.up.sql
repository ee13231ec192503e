-- Conversations are assigned to teams, beside users, and counted by them. Most are in no team: the lists of those that
-- are have indexes of their own. What is nobody's has neither team nor user.
ALTER TABLE hw_conversations ADD COLUMN team_id INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hw_conversations_team ON hw_conversations (account_id, team_id, updated_at, id) WHERE team_id <> 0;
CREATE INDEX hw_conversations_open_team ON hw_conversations (account_id, team_id, updated_at, id) WHERE status IN ('posted', 'pending') AND team_id <> 0;
CREATE INDEX hw_conversations_open_assignee ON hw_conversations (account_id, team_id, user_id, updated_at, id) WHERE status IN ('posted', 'pending');

DROP TRIGGER hw_conversation_counts_insert;
DROP TRIGGER hw_conversation_counts_update;
DROP TRIGGER hw_conversation_counts_delete;
DROP TABLE hw_conversation_counts;
CREATE TABLE hw_conversation_counts (
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    team_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    awaiting INTEGER NOT NULL,
    snoozed INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed)
) STRICT, WITHOUT ROWID;

INSERT INTO hw_conversation_counts
SELECT account_id, mailbox_id, user_id, team_id, status, awaiting_key > 0, snoozed_until > 0, count(*) FROM hw_conversations GROUP BY 1, 2, 3, 4, 5, 6, 7;

CREATE TRIGGER hw_conversation_counts_insert AFTER INSERT ON hw_conversations BEGIN
    INSERT INTO hw_conversation_counts VALUES (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.awaiting_key > 0, NEW.snoozed_until > 0, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_update AFTER UPDATE ON hw_conversations
WHEN (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.awaiting_key > 0, NEW.snoozed_until > 0)
    IS NOT (OLD.account_id, OLD.mailbox_id, OLD.user_id, OLD.team_id, OLD.status, OLD.awaiting_key > 0, OLD.snoozed_until > 0)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND n = 0;
    INSERT INTO hw_conversation_counts VALUES (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.awaiting_key > 0, NEW.snoozed_until > 0, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_delete AFTER DELETE ON hw_conversations BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND n = 0;
END;
