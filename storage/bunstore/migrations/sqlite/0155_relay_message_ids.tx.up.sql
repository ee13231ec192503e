-- The Message-IDs that relays gave to sent mails: replies and reports name these.
ALTER TABLE hw_deliveries ADD COLUMN message_id TEXT NOT NULL DEFAULT '';
CREATE INDEX hw_deliveries_message ON hw_deliveries (account_id, message_id, interaction_id) WHERE message_id <> '';
