ALTER TABLE hw_mailboxes ADD COLUMN outbound TEXT NOT NULL DEFAULT '{}'; -- how its mail leaves, as JSON
