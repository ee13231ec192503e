-- Conversations are counted by priority, by whether they are spam, and once more for each of their tags: the lines of
-- tag 0 count all of them.
DROP TRIGGER hw_conversation_counts_insert;
DROP TRIGGER hw_conversation_counts_update;
DROP TRIGGER hw_conversation_counts_delete;
DROP TABLE hw_conversation_counts;
CREATE TABLE hw_conversation_counts (
    account_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    team_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    priority TEXT NOT NULL,
    awaiting INTEGER NOT NULL,
    snoozed INTEGER NOT NULL,
    spam INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam)
) STRICT, WITHOUT ROWID;

INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
SELECT account_id, 0, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0, snoozed_until > 0, spam_at > 0, count(*) FROM hw_conversations GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
SELECT t.account_id, t.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, count(*)
FROM hw_conversation_tags AS t JOIN hw_conversations AS c ON c.account_id = t.account_id AND c.id = t.conversation_id GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

CREATE TRIGGER hw_conversation_counts_insert AFTER INSERT ON hw_conversations BEGIN
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT NEW.account_id, t.tag_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0, 1
    FROM (SELECT 0 AS tag_id UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = NEW.account_id AND conversation_id = NEW.id) AS t WHERE TRUE
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_update AFTER UPDATE ON hw_conversations
WHEN (NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0)
    IS NOT (OLD.mailbox_id, OLD.user_id, OLD.team_id, OLD.status, OLD.priority, OLD.awaiting_key > 0, OLD.snoozed_until > 0, OLD.spam_at > 0)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0) AND n = 0;
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT NEW.account_id, t.tag_id, NEW.mailbox_id, NEW.user_id, NEW.team_id, NEW.status, NEW.priority, NEW.awaiting_key > 0, NEW.snoozed_until > 0, NEW.spam_at > 0, 1
    FROM (SELECT 0 AS tag_id UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = NEW.account_id AND conversation_id = NEW.id) AS t WHERE TRUE
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

-- When a conversation goes, its tags go with it, and when they do, it is no longer there: they are counted before.
CREATE TRIGGER hw_conversation_counts_delete BEFORE DELETE ON hw_conversations BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id IN (SELECT 0 UNION ALL SELECT tag_id FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id)
        AND mailbox_id = OLD.mailbox_id AND user_id = OLD.user_id AND team_id = OLD.team_id AND status = OLD.status AND priority = OLD.priority AND awaiting = (OLD.awaiting_key > 0) AND snoozed = (OLD.snoozed_until > 0) AND spam = (OLD.spam_at > 0) AND n = 0;
END;

CREATE TRIGGER hw_tag_counts_insert AFTER INSERT ON hw_conversation_tags BEGIN
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT c.account_id, NEW.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, 1
    FROM hw_conversations AS c WHERE c.account_id = NEW.account_id AND c.id = NEW.conversation_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_tag_counts_delete AFTER DELETE ON hw_conversation_tags
WHEN EXISTS (SELECT 1 FROM hw_tags WHERE account_id = OLD.account_id AND id = OLD.tag_id)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam) IN (
        SELECT c.account_id, OLD.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0 FROM hw_conversations AS c WHERE c.account_id = OLD.account_id AND c.id = OLD.conversation_id);
    DELETE FROM hw_conversation_counts WHERE n = 0 AND (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam) IN (
        SELECT c.account_id, OLD.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0 FROM hw_conversations AS c WHERE c.account_id = OLD.account_id AND c.id = OLD.conversation_id);
END;

CREATE TRIGGER hw_tag_counts_forget AFTER DELETE ON hw_tags BEGIN
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id = OLD.id;
END;
