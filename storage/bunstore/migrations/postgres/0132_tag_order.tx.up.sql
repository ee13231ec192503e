-- The rows of a tag are in the order in which its conversations were created, so that a page of them is read from the index.
ALTER TABLE hw_conversation_tags ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0; -- of the conversation
--bun:split
UPDATE hw_conversation_tags AS t SET created_at = c.created_at FROM hw_conversations AS c
    WHERE c.account_id = t.account_id AND c.id = t.conversation_id;
--bun:split
DROP INDEX hw_conversation_tags_tag;
--bun:split
CREATE INDEX hw_conversation_tags_tag ON hw_conversation_tags (account_id, tag_id, created_at, conversation_id);
--bun:split
-- Who inserts a row without the time, such as a server of an earlier version, gets it from the conversation.
CREATE FUNCTION hw_tag_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT created_at INTO NEW.created_at FROM hw_conversations WHERE account_id = NEW.account_id AND id = NEW.conversation_id;
    NEW.created_at := coalesce(NEW.created_at, 0); -- the foreign key refuses the row
    RETURN NEW;
END
$$;
--bun:split
CREATE TRIGGER hw_conversation_tags_created BEFORE INSERT ON hw_conversation_tags
    FOR EACH ROW WHEN (NEW.created_at = 0) EXECUTE FUNCTION hw_tag_created();
--bun:split
CREATE FUNCTION hw_tags_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hw_conversation_tags SET created_at = NEW.created_at WHERE account_id = NEW.account_id AND conversation_id = NEW.id;
    RETURN NULL;
END
$$;
--bun:split
CREATE TRIGGER hw_conversations_created_tags AFTER UPDATE OF created_at ON hw_conversations
    FOR EACH ROW WHEN (NEW.created_at <> OLD.created_at) EXECUTE FUNCTION hw_tags_created();
