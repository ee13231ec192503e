-- Where answers of a mailbox ask for replies to, and what is known of its tagged addresses.
ALTER TABLE hw_mailboxes ADD COLUMN reply_address TEXT NOT NULL DEFAULT ''; -- empty: what is known to work
ALTER TABLE hw_mailboxes ADD COLUMN probe_sent_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_mailboxes ADD COLUMN probe_seen_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_mailboxes ADD COLUMN probe_refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_mailboxes ADD COLUMN probe_note TEXT NOT NULL DEFAULT '';
