-- The list of failures shows subject and sender of a mail.
ALTER TABLE hw_inbound_mails ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_inbound_mails ADD COLUMN from_name TEXT NOT NULL DEFAULT '';
ALTER TABLE hw_inbound_mails ADD COLUMN from_email TEXT NOT NULL DEFAULT '';
