ALTER TABLE hw_accounts ADD COLUMN default_mailbox_id BIGINT NOT NULL DEFAULT 0;
