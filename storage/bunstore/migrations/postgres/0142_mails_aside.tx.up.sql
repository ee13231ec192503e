-- Mails that were not imported are few among all mails. The list of those of a mailbox walked all its mails.
CREATE INDEX hw_inbound_mails_ignored ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'ignored';
--bun:split
DROP INDEX hw_inbound_mails_quarantined;
--bun:split
CREATE INDEX hw_inbound_mails_quarantined ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'quarantined';
--bun:split
CREATE INDEX hw_inbound_mails_aside ON hw_inbound_mails (account_id, id) WHERE state IN ('ignored', 'quarantined');
--bun:split
DROP INDEX hw_inbound_mails_state; -- mails that are imported cost no entry now
