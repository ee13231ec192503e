-- Conversations sleep until a time. Those that do are counted apart.
ALTER TABLE hw_conversations ADD COLUMN snoozed_until BIGINT NOT NULL DEFAULT -62135596800000000;
--bun:split
CREATE INDEX hw_conversations_snoozed ON hw_conversations (account_id, snoozed_until) WHERE snoozed_until > 0;
--bun:split
ALTER TABLE hw_conversation_counts ADD COLUMN snoozed BOOLEAN NOT NULL DEFAULT FALSE;
--bun:split
CREATE OR REPLACE FUNCTION hw_fold_conversation_counts(account BIGINT) RETURNS void LANGUAGE sql AS $$
    WITH lines AS (
        DELETE FROM hw_conversation_counts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM hw_conversation_counts WHERE account_id = account LIMIT 10000 FOR UPDATE SKIP LOCKED))
        RETURNING *
    )
    INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, status, awaiting, snoozed, n)
    SELECT account_id, mailbox_id, user_id, status, awaiting, snoozed, sum(n) FROM lines GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(n) <> 0
$$;
--bun:split
CREATE OR REPLACE FUNCTION hw_count_conversations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    account BIGINT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, snoozed_until > 0, count(*) FROM added GROUP BY 1, 2, 3, 4, 5, 6;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, snoozed_until > 0, -count(*) FROM gone GROUP BY 1, 2, 3, 4, 5, 6;
    ELSE
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, status, waits, sleeps, sum(n) FROM (
            SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0 AS waits, snoozed_until > 0 AS sleeps, 1 AS n FROM added
            UNION ALL
            SELECT account_id, mailbox_id, user_id, status, awaiting_key > 0, snoozed_until > 0, -1 FROM gone
        ) AS changes GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(n) <> 0;
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
