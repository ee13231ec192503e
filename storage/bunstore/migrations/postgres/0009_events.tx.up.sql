-- Events know their conversation, and are found by it and by their type.
ALTER TABLE hw_events ADD COLUMN conversation_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX hw_events_type ON hw_events (account_id, type, seq);
CREATE INDEX hw_events_conversation ON hw_events (account_id, conversation_id, seq) WHERE conversation_id <> 0;
