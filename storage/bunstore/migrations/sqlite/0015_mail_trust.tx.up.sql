ALTER TABLE hw_interactions ADD COLUMN security TEXT NOT NULL DEFAULT '{}';
ALTER TABLE hw_interactions ADD COLUMN authentication TEXT NOT NULL DEFAULT '{}';
ALTER TABLE hw_inbound_mails ADD COLUMN authentication TEXT NOT NULL DEFAULT '{}';
