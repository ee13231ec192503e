-- How many conversations there are of each mailbox, user and status, of which how many wait: kept by triggers, so that
-- nothing that writes conversations can forget it, and never counted. A line of none is removed.
CREATE TABLE hw_conversation_counts (
    account_id INTEGER NOT NULL,
    mailbox_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    status TEXT NOT NULL,
    awaiting INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (account_id, mailbox_id, user_id, status, awaiting)
) STRICT, WITHOUT ROWID;

INSERT INTO hw_conversation_counts
SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, count(*) FROM hw_conversations GROUP BY 1, 2, 3, 4, 5;

CREATE TRIGGER hw_conversation_counts_insert AFTER INSERT ON hw_conversations BEGIN
    INSERT INTO hw_conversation_counts VALUES (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.status, NEW.awaiting_key > 0, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_update AFTER UPDATE ON hw_conversations
WHEN (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.status, NEW.awaiting_key > 0)
    IS NOT (OLD.account_id, OLD.mailbox_id, OLD.user_id, OLD.status, OLD.awaiting_key > 0)
BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND n = 0;
    INSERT INTO hw_conversation_counts VALUES (NEW.account_id, NEW.mailbox_id, NEW.user_id, NEW.status, NEW.awaiting_key > 0, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER hw_conversation_counts_delete AFTER DELETE ON hw_conversations BEGIN
    UPDATE hw_conversation_counts SET n = n - 1 WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0);
    DELETE FROM hw_conversation_counts WHERE account_id = OLD.account_id AND mailbox_id = OLD.mailbox_id
        AND user_id = OLD.user_id AND status = OLD.status AND awaiting = (OLD.awaiting_key > 0) AND n = 0;
END;
