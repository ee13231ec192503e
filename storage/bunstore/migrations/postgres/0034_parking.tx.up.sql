-- Which process is at work on a mailbox, and when processes died so.
ALTER TABLE hw_fetch_status ADD COLUMN worker TEXT NOT NULL DEFAULT '';
--bun:split
ALTER TABLE hw_fetch_status ADD COLUMN deaths TEXT NOT NULL DEFAULT '[]';
--bun:split
ALTER TABLE hw_fetch_status ADD COLUMN fruitless INTEGER NOT NULL DEFAULT 0;
--bun:split
ALTER TABLE hw_fetch_status ADD COLUMN parked_at BIGINT NOT NULL DEFAULT -62135596800000000;
--bun:split
-- How many processes died while they filed a mail.
ALTER TABLE hw_inbound_mails ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
