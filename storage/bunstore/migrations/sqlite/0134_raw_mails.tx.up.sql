-- Raw mails are deleted after a time that can be set, the oldest first.
CREATE INDEX hw_inbound_mails_raw_age ON hw_inbound_mails (account_id, received_at, id) WHERE raw_key <> '' AND state IN ('filed', 'ignored');
