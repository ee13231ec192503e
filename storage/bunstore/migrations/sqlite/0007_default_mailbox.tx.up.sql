ALTER TABLE hw_accounts ADD COLUMN default_mailbox_id INTEGER NOT NULL DEFAULT 0;
