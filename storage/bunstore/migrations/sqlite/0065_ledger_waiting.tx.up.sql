-- Mails that wait in a mailbox are found without reading all of its mails.
CREATE INDEX hw_inbound_mails_waiting ON hw_inbound_mails (account_id, mailbox_id, id) WHERE state = 'received';
