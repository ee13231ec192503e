-- A mail is looked for in all mailboxes of the account: the mailbox comes last.
DROP INDEX hw_inbound_mails_identity;
CREATE UNIQUE INDEX hw_inbound_mails_identity ON hw_inbound_mails (account_id, identity, mailbox_id)
    WHERE identity IS NOT NULL;
