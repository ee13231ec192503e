-- The rows of a tag are in the order in which its conversations were created, so that a page of them is read from the index.
ALTER TABLE hw_conversation_tags ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0; -- of the conversation
UPDATE hw_conversation_tags SET created_at = c.created_at FROM hw_conversations AS c
    WHERE c.account_id = hw_conversation_tags.account_id AND c.id = hw_conversation_tags.conversation_id;
DROP INDEX hw_conversation_tags_tag;
CREATE INDEX hw_conversation_tags_tag ON hw_conversation_tags (account_id, tag_id, created_at, conversation_id);

-- Who inserts a row without the time gets it from the conversation.
CREATE TRIGGER hw_conversation_tags_created AFTER INSERT ON hw_conversation_tags WHEN NEW.created_at = 0 BEGIN
    UPDATE hw_conversation_tags SET created_at = c.created_at FROM hw_conversations AS c
        WHERE c.account_id = NEW.account_id AND c.id = NEW.conversation_id
        AND hw_conversation_tags.account_id = NEW.account_id AND hw_conversation_tags.conversation_id = NEW.conversation_id AND hw_conversation_tags.tag_id = NEW.tag_id;
END;

CREATE TRIGGER hw_conversations_created_tags AFTER UPDATE OF created_at ON hw_conversations WHEN NEW.created_at <> OLD.created_at BEGIN
    UPDATE hw_conversation_tags SET created_at = NEW.created_at WHERE account_id = NEW.account_id AND conversation_id = NEW.id;
END;
