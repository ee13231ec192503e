-- How a mailbox signs in to its server, from when on its mail is imported, and which server its positions are of.
ALTER TABLE hw_mailboxes ADD COLUMN inbound_auth TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_mailboxes ADD COLUMN oauth_client_id TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_mailboxes ADD COLUMN oauth_token_url TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_mailboxes ADD COLUMN oauth_scope TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_mailboxes ADD COLUMN sealed_oauth BLOB;
ALTER TABLE hw_mailboxes ADD COLUMN import_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_mailboxes ADD COLUMN inbound_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hw_fetch_status ADD COLUMN needs_reauth INTEGER NOT NULL DEFAULT 0;
-- Mails of which the source could not get more than a part can be fetched again.
ALTER TABLE hw_inbound_mails ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;
UPDATE hw_inbound_mails SET partial = 1
    WHERE source = 'imap' AND state = 'quarantined' AND (reason LIKE 'it is too large: %' OR reason LIKE 'imap: %');
