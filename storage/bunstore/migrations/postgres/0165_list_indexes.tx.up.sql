-- Every common list of conversations has an index with its rows in its order. The shelf is where a desk keeps a conversation:
-- the number of its status (posted 0, pending 1, closed 2, draft 3), plus 4 for a snoozed one, or plus 8 for spam.
-- The holder is the user to whom it is assigned, the negative team when no user is, or 0.
DROP INDEX hw_conversations_status;
--bun:split
DROP INDEX hw_conversations_user;
--bun:split
DROP INDEX hw_conversations_user_created;
--bun:split
DROP INDEX hw_conversations_user_number;
--bun:split
DROP INDEX hw_conversations_mailbox;
--bun:split
DROP INDEX hw_conversations_mailbox_number;
--bun:split
DROP INDEX hw_conversations_team;
--bun:split
DROP INDEX hw_conversations_team_number;
--bun:split
DROP INDEX hw_conversations_customer;
--bun:split
DROP INDEX hw_conversations_open;
--bun:split
DROP INDEX hw_conversations_open_created;
--bun:split
DROP INDEX hw_conversations_open_number;
--bun:split
DROP INDEX hw_conversations_open_awaiting;
--bun:split
DROP INDEX hw_conversations_open_user;
--bun:split
DROP INDEX hw_conversations_open_mailbox;
--bun:split
DROP INDEX hw_conversations_open_team;
--bun:split
DROP INDEX hw_conversations_open_assignee;
--bun:split
DROP INDEX hw_conversations_spam;
--bun:split
DROP INDEX hw_conversations_spam_created;
--bun:split
DROP INDEX hw_conversations_priority;
--bun:split
DROP INDEX hw_conversations_priority_awaiting;
--bun:split
ALTER TABLE hw_conversations ADD COLUMN shelf SMALLINT NOT NULL GENERATED ALWAYS AS
    (CASE status WHEN 'posted' THEN 0 WHEN 'pending' THEN 1 WHEN 'closed' THEN 2 ELSE 3 END
    + CASE WHEN spam_at > 0 THEN 8 WHEN snoozed_until > 0 THEN 4 ELSE 0 END) STORED;
--bun:split
ALTER TABLE hw_conversations ADD COLUMN holder BIGINT NOT NULL GENERATED ALWAYS AS
    (CASE WHEN user_id <> 0 THEN user_id ELSE -team_id END) STORED;
--bun:split
CREATE INDEX hw_conversations_holder_created ON hw_conversations (account_id, holder, created_at, id);
--bun:split
CREATE INDEX hw_conversations_holder_updated ON hw_conversations (account_id, holder, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_mailbox_updated ON hw_conversations (account_id, mailbox_id, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_team_updated ON hw_conversations (account_id, team_id, updated_at, id) WHERE team_id <> 0;
--bun:split
CREATE INDEX hw_conversations_customer_created ON hw_conversations (account_id, customer_id, created_at, id);
--bun:split
CREATE INDEX hw_conversations_customer_updated ON hw_conversations (account_id, customer_id, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_shelf_created ON hw_conversations (account_id, shelf, created_at, id);
--bun:split
CREATE INDEX hw_conversations_shelf_updated ON hw_conversations (account_id, shelf, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_shelf_awaiting ON hw_conversations (account_id, shelf, awaiting_key, id) WHERE awaiting_key > 0;
--bun:split
CREATE INDEX hw_conversations_holder_shelf_created ON hw_conversations (account_id, holder, shelf, created_at, id);
--bun:split
CREATE INDEX hw_conversations_holder_shelf_updated ON hw_conversations (account_id, holder, shelf, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_holder_shelf_awaiting ON hw_conversations (account_id, holder, shelf, awaiting_key, id) WHERE awaiting_key > 0;
--bun:split
CREATE INDEX hw_conversations_mailbox_shelf_created ON hw_conversations (account_id, mailbox_id, shelf, created_at, id);
--bun:split
CREATE INDEX hw_conversations_mailbox_shelf_updated ON hw_conversations (account_id, mailbox_id, shelf, updated_at, id);
--bun:split
CREATE INDEX hw_conversations_mailbox_shelf_awaiting ON hw_conversations (account_id, mailbox_id, shelf, awaiting_key, id) WHERE awaiting_key > 0;
--bun:split
CREATE INDEX hw_conversations_team_shelf_created ON hw_conversations (account_id, team_id, shelf, created_at, id) WHERE team_id <> 0;
--bun:split
CREATE INDEX hw_conversations_team_shelf_updated ON hw_conversations (account_id, team_id, shelf, updated_at, id) WHERE team_id <> 0;
--bun:split
CREATE INDEX hw_conversations_team_shelf_awaiting ON hw_conversations (account_id, team_id, shelf, awaiting_key, id) WHERE team_id <> 0 AND awaiting_key > 0;
--bun:split
CREATE INDEX hw_conversations_priority_updated ON hw_conversations (account_id, updated_at, id) WHERE priority <> 'normal';
--bun:split
CREATE INDEX hw_conversations_priority_awaiting ON hw_conversations (account_id, awaiting_key, id) WHERE priority <> 'normal' AND awaiting_key > 0;
--bun:split
-- The rows of a tag have what their conversations are listed by, so that lists of a tag are read from an index too.
ALTER TABLE hw_conversation_tags ADD COLUMN shelf SMALLINT NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE hw_conversation_tags ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE hw_conversation_tags ADD COLUMN awaiting_key BIGINT NOT NULL DEFAULT 0;
--bun:split
UPDATE hw_conversation_tags SET shelf = c.shelf, created_at = c.created_at, updated_at = c.updated_at, awaiting_key = c.awaiting_key
    FROM hw_conversations AS c WHERE c.account_id = hw_conversation_tags.account_id AND c.id = hw_conversation_tags.conversation_id;
--bun:split
DROP INDEX hw_conversation_tags_tag;
--bun:split
CREATE INDEX hw_conversation_tags_created ON hw_conversation_tags (account_id, tag_id, created_at, conversation_id);
--bun:split
CREATE INDEX hw_conversation_tags_updated ON hw_conversation_tags (account_id, tag_id, updated_at, conversation_id);
--bun:split
CREATE INDEX hw_conversation_tags_shelf_created ON hw_conversation_tags (account_id, tag_id, shelf, created_at, conversation_id);
--bun:split
CREATE INDEX hw_conversation_tags_shelf_updated ON hw_conversation_tags (account_id, tag_id, shelf, updated_at, conversation_id);
--bun:split
CREATE INDEX hw_conversation_tags_shelf_awaiting ON hw_conversation_tags (account_id, tag_id, shelf, awaiting_key, conversation_id) WHERE awaiting_key > 0;
--bun:split
DROP TRIGGER hw_conversation_tags_created ON hw_conversation_tags;
--bun:split
DROP TRIGGER hw_conversations_created_tags ON hw_conversations;
--bun:split
DROP FUNCTION hw_tag_created();
--bun:split
DROP FUNCTION hw_tags_created();
--bun:split
CREATE FUNCTION hw_tag_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT shelf, created_at, updated_at, awaiting_key INTO NEW.shelf, NEW.created_at, NEW.updated_at, NEW.awaiting_key
        FROM hw_conversations WHERE account_id = NEW.account_id AND id = NEW.conversation_id FOR NO KEY UPDATE; -- so that no change is missed
    IF NOT FOUND THEN -- the foreign key refuses the row
        NEW.shelf := 0; NEW.created_at := 0; NEW.updated_at := 0; NEW.awaiting_key := 0;
    END IF;
    RETURN NEW;
END
$$;
--bun:split
CREATE TRIGGER hw_conversation_tags_listed BEFORE INSERT ON hw_conversation_tags
    FOR EACH ROW EXECUTE FUNCTION hw_tag_listed();
--bun:split
CREATE FUNCTION hw_tags_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hw_conversation_tags SET shelf = NEW.shelf, created_at = NEW.created_at, updated_at = NEW.updated_at, awaiting_key = NEW.awaiting_key
        WHERE account_id = NEW.account_id AND conversation_id = NEW.id;
    RETURN NULL;
END
$$;
--bun:split
CREATE TRIGGER hw_conversations_listed_tags AFTER UPDATE ON hw_conversations FOR EACH ROW
    WHEN ((NEW.shelf, NEW.created_at, NEW.updated_at, NEW.awaiting_key) IS DISTINCT FROM (OLD.shelf, OLD.created_at, OLD.updated_at, OLD.awaiting_key))
    EXECUTE FUNCTION hw_tags_listed();
