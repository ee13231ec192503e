-- From, Sender, Reply-To, To, Cc and Date of a mail as they came.
ALTER TABLE hw_interactions ADD COLUMN mail_header TEXT NOT NULL DEFAULT '{}';
