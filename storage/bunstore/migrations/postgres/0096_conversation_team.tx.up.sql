-- Conversations are assigned to teams, beside users, and counted by them. Most are in no team: the lists of those that
-- are have indexes of their own. What is nobody's has neither team nor user.
ALTER TABLE hw_conversations ADD COLUMN team_id BIGINT NOT NULL DEFAULT 0;
--bun:split
CREATE INDEX hw_conversations_team ON hw_conversations (account_id, team_id, updated_at, id) WHERE team_id <> 0;
--bun:split
CREATE INDEX hw_conversations_open_team ON hw_conversations (account_id, team_id, updated_at, id) WHERE status IN ('posted', 'pending') AND team_id <> 0;
--bun:split
CREATE INDEX hw_conversations_open_assignee ON hw_conversations (account_id, team_id, user_id, updated_at, id) WHERE status IN ('posted', 'pending');
--bun:split
ALTER TABLE hw_conversation_counts ADD COLUMN team_id BIGINT NOT NULL DEFAULT 0;
--bun:split
CREATE OR REPLACE FUNCTION hw_fold_conversation_counts(account BIGINT) RETURNS void LANGUAGE sql AS $$
    WITH lines AS (
        DELETE FROM hw_conversation_counts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM hw_conversation_counts WHERE account_id = account LIMIT 10000 FOR UPDATE SKIP LOCKED))
        RETURNING *
    )
    INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed, n)
    SELECT account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed, sum(n) FROM lines GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(n) <> 0
$$;
--bun:split
CREATE OR REPLACE FUNCTION hw_count_conversations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    account BIGINT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, team_id, status, awaiting_key > 0, snoozed_until > 0, count(*) FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, team_id, status, awaiting_key > 0, snoozed_until > 0, -count(*) FROM gone GROUP BY 1, 2, 3, 4, 5, 6, 7;
    ELSE
        INSERT INTO hw_conversation_counts (account_id, mailbox_id, user_id, team_id, status, awaiting, snoozed, n)
        SELECT account_id, mailbox_id, user_id, team_id, status, waits, sleeps, sum(n) FROM (
            SELECT account_id, mailbox_id, user_id, team_id, status, awaiting_key > 0 AS waits, snoozed_until > 0 AS sleeps, 1 AS n FROM added
            UNION ALL
            SELECT account_id, mailbox_id, user_id, team_id, status, awaiting_key > 0, snoozed_until > 0, -1 FROM gone
        ) AS changes GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(n) <> 0;
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
