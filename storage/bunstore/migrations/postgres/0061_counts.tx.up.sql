-- How many conversations there are of each mailbox, user and status, of which how many wait: kept by triggers, so that
-- nothing that writes conversations can forget it, and never counted. A number is the sum of its lines. A change adds a
-- line and locks none, so that nobody waits for another's transaction or ends it in a deadlock; now and then, one who
-- changes something folds the lines of the account that nobody else is folding.
CREATE TABLE hw_conversation_counts (
    account_id BIGINT NOT NULL,
    mailbox_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    awaiting BOOLEAN NOT NULL,
    n BIGINT NOT NULL
);
--bun:split
CREATE INDEX hw_conversation_counts_account ON hw_conversation_counts (account_id);
--bun:split
INSERT INTO hw_conversation_counts
SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, count(*) FROM hw_conversations GROUP BY 1, 2, 3, 4, 5;
--bun:split
CREATE FUNCTION hw_fold_conversation_counts(account BIGINT) RETURNS void LANGUAGE sql AS $$
    WITH lines AS (
        DELETE FROM hw_conversation_counts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM hw_conversation_counts WHERE account_id = account LIMIT 10000 FOR UPDATE SKIP LOCKED))
        RETURNING *
    )
    INSERT INTO hw_conversation_counts
    SELECT account_id, mailbox_id, user_id, status, awaiting, sum(n) FROM lines GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0
$$;
--bun:split
CREATE FUNCTION hw_count_conversations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    account BIGINT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hw_conversation_counts
        SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, count(*) FROM added GROUP BY 1, 2, 3, 4, 5;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hw_conversation_counts
        SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, -count(*) FROM gone GROUP BY 1, 2, 3, 4, 5;
    ELSE
        INSERT INTO hw_conversation_counts
        SELECT account_id, mailbox_id, user_id, status, waits, sum(n) FROM (
            SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0 AS waits, 1 AS n FROM added
            UNION ALL
            SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, -1 FROM gone
        ) AS changes GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0;
    END IF;
    IF FOUND AND random() < 0.01 THEN
        IF TG_OP = 'DELETE' THEN
            SELECT account_id INTO account FROM gone LIMIT 1;
        ELSE
            SELECT account_id INTO account FROM added LIMIT 1;
        END IF;
        PERFORM hw_fold_conversation_counts(account);
    END IF;
    RETURN NULL;
END
$$;
--bun:split
CREATE TRIGGER hw_conversation_counts_insert AFTER INSERT ON hw_conversations
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hw_count_conversations();
--bun:split
CREATE TRIGGER hw_conversation_counts_update AFTER UPDATE ON hw_conversations
    REFERENCING OLD TABLE AS gone NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hw_count_conversations();
--bun:split
CREATE TRIGGER hw_conversation_counts_delete AFTER DELETE ON hw_conversations
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hw_count_conversations();
