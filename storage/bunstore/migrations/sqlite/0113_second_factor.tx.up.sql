-- Since when signing in takes a code too; -62135596800000000: it does not. What codes are checked with is sealed.
ALTER TABLE hw_users ADD COLUMN second_factor_at INTEGER NOT NULL DEFAULT -62135596800000000;
ALTER TABLE hw_users ADD COLUMN sealed_second_factor BLOB NOT NULL DEFAULT X'';
ALTER TABLE hw_accounts ADD COLUMN require_second_factor INTEGER NOT NULL DEFAULT FALSE;
