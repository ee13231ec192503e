-- Which member disabled a user, of the account that they share; 0: the operator, as for all who were disabled before.
ALTER TABLE hw_users ADD COLUMN disabled_by_id BIGINT NOT NULL DEFAULT 0;
