-- When the server that a mail was fetched from received it; the default is "no time".
ALTER TABLE hw_inbound_mails ADD COLUMN delivered_at INTEGER NOT NULL DEFAULT -62135596800000000;
