-- Since when a user cannot sign in; -62135596800000000: the user can.
ALTER TABLE hw_users ADD COLUMN disabled_at INTEGER NOT NULL DEFAULT -62135596800000000;
