-- Who made a portal key; 0: it was made before that was noted.
ALTER TABLE hw_portal_keys ADD COLUMN user_id BIGINT NOT NULL DEFAULT 0;
