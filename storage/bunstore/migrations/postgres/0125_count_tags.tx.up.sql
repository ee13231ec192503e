-- Conversations are counted by priority, by whether they are spam, and once more for each of their tags: the lines of
-- tag 0 count all of them.
DROP TRIGGER hw_conversation_counts_insert ON hw_conversations;
--bun:split
DROP TRIGGER hw_conversation_counts_update ON hw_conversations;
--bun:split
DROP TRIGGER hw_conversation_counts_delete ON hw_conversations;
--bun:split
DROP TABLE hw_conversation_counts;
--bun:split
CREATE TABLE hw_conversation_counts (
    account_id BIGINT NOT NULL,
    tag_id BIGINT NOT NULL,
    mailbox_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    team_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    priority TEXT NOT NULL,
    awaiting BOOLEAN NOT NULL,
    snoozed BOOLEAN NOT NULL,
    spam BOOLEAN NOT NULL,
    n BIGINT NOT NULL
);
--bun:split
CREATE INDEX hw_conversation_counts_account ON hw_conversation_counts (account_id, tag_id);
--bun:split
INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
SELECT account_id, 0, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0, snoozed_until > 0, spam_at > 0, count(*) FROM hw_conversations GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
--bun:split
INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
SELECT t.account_id, t.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, count(*)
FROM hw_conversation_tags AS t JOIN hw_conversations AS c ON c.account_id = t.account_id AND c.id = t.conversation_id GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
--bun:split
CREATE OR REPLACE FUNCTION hw_fold_conversation_counts(account BIGINT) RETURNS void LANGUAGE sql AS $$
    WITH lines AS (
        DELETE FROM hw_conversation_counts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM hw_conversation_counts WHERE account_id = account LIMIT 10000 FOR UPDATE SKIP LOCKED))
        RETURNING *
    )
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, sum(n) FROM lines GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING sum(n) <> 0
$$;
--bun:split
-- OFFSET 0 keeps the planner from reading all tags, or all conversations, when it once planned for many.
CREATE OR REPLACE FUNCTION hw_count_conversations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    account BIGINT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
        SELECT account_id, 0, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0, snoozed_until > 0, spam_at > 0, count(*) FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
        SELECT account_id, 0, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0, snoozed_until > 0, spam_at > 0, -count(*) FROM gone GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    ELSE
        WITH changes AS (
            SELECT account_id, id, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0 AS awaiting, snoozed_until > 0 AS snoozed, spam_at > 0 AS spam, 1 AS n FROM added
            UNION ALL
            SELECT account_id, id, mailbox_id, user_id, team_id, status, priority, awaiting_key > 0, snoozed_until > 0, spam_at > 0, -1 FROM gone
        ), moved AS (
            SELECT account_id, id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, sum(n) AS n FROM changes GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING sum(n) <> 0
        )
        INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
        SELECT account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, sum(n) FROM (
            SELECT account_id, 0 AS tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n FROM moved
            UNION ALL
            SELECT m.account_id, t.tag_id, m.mailbox_id, m.user_id, m.team_id, m.status, m.priority, m.awaiting, m.snoozed, m.spam, m.n FROM moved AS m CROSS JOIN LATERAL (
                SELECT tag_id FROM hw_conversation_tags WHERE account_id = m.account_id AND conversation_id = m.id OFFSET 0) AS t
        ) AS lines GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 HAVING sum(n) <> 0;
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
--bun:split
-- When a conversation goes, its tags go with it, and when they do, it is no longer there: they are counted before.
CREATE FUNCTION hw_count_tags_of_conversation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
    SELECT OLD.account_id, tag_id, OLD.mailbox_id, OLD.user_id, OLD.team_id, OLD.status, OLD.priority, OLD.awaiting_key > 0, OLD.snoozed_until > 0, OLD.spam_at > 0, -1
    FROM hw_conversation_tags WHERE account_id = OLD.account_id AND conversation_id = OLD.id;
    RETURN OLD;
END
$$;
--bun:split
CREATE TRIGGER hw_conversation_counts_tags BEFORE DELETE ON hw_conversations
    FOR EACH ROW EXECUTE FUNCTION hw_count_tags_of_conversation();
--bun:split
CREATE FUNCTION hw_count_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
        SELECT t.account_id, t.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, count(*) FROM added AS t CROSS JOIN LATERAL (
            SELECT * FROM hw_conversations WHERE account_id = t.account_id AND id = t.conversation_id OFFSET 0) AS c GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    ELSE
        INSERT INTO hw_conversation_counts (account_id, tag_id, mailbox_id, user_id, team_id, status, priority, awaiting, snoozed, spam, n)
        SELECT t.account_id, t.tag_id, c.mailbox_id, c.user_id, c.team_id, c.status, c.priority, c.awaiting_key > 0, c.snoozed_until > 0, c.spam_at > 0, -count(*) FROM gone AS t CROSS JOIN LATERAL (
            SELECT * FROM hw_conversations WHERE account_id = t.account_id AND id = t.conversation_id OFFSET 0) AS c
        WHERE EXISTS (SELECT 1 FROM hw_tags AS k WHERE k.account_id = t.account_id AND k.id = t.tag_id) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    END IF;
    RETURN NULL;
END
$$;
--bun:split
CREATE TRIGGER hw_tag_counts_insert AFTER INSERT ON hw_conversation_tags
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hw_count_tags();
--bun:split
CREATE TRIGGER hw_tag_counts_delete AFTER DELETE ON hw_conversation_tags
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hw_count_tags();
--bun:split
-- The lines of a tag go with it, but for those that somebody is folding, which nobody reads again.
CREATE FUNCTION hw_forget_tag_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM hw_conversation_counts WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM hw_conversation_counts WHERE account_id = OLD.account_id AND tag_id = OLD.id FOR UPDATE SKIP LOCKED));
    RETURN NULL;
END
$$;
--bun:split
CREATE TRIGGER hw_tag_counts_forget AFTER DELETE ON hw_tags FOR EACH ROW EXECUTE FUNCTION hw_forget_tag_counts();
